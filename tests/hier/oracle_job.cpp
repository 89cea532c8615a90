// SPDX-License-Identifier: BSD-3-Clause
#include "oracle_job.h"
#include "directory_bootstrap.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace job {

namespace {
std::atomic<int> failures;
constexpr int shown_failures = 20;
constexpr size_t guard = 128;

// What ranks other than 0 say: their failures only.
class failure_printer : public ::testing::EmptyTestEventListener {
    void OnTestPartResult(const ::testing::TestPartResult &result) override {
        if (result.failed())
            fprintf(stderr, "process %d: %s:%d: %s\n", weft_rank(weft_process_comm()),
                    result.file_name() ? result.file_name() : "?", result.line_number(), result.message());
    }
};
} // namespace

int threads() {
    if (getenv("ORACLE_UNEVEN"))
        return 1 + weft_rank(weft_process_comm()) * 2 % 3;
    const char *text = getenv("WEFT_THREADS");
    return text ? atoi(text) : 1;
}

void in_team(weft_team *team, int thread, const body &run) {
    weft_comm *comm = nullptr;
    if (!ok(weft_team_enter(team, thread, &comm), nullptr, "weft_team_enter"))
        abort(); // the other threads would wait for this one for ever
    run(comm);
    ok(weft_team_leave(&comm), nullptr, "weft_team_leave");
    check(comm == nullptr, nullptr, "weft_team_leave sets the handle to NULL");
}

namespace {
struct place {
    int color, key;
};

place place_of(const std::string &mode, const weft_comm *comm) {
    int rank = weft_rank(comm), node = weft_node(comm), mixed = (int)(hash((uint64_t)rank) >> 40);
    bool alone = weft_nodes(comm) == weft_size(comm); // no threads to choose among
    if (mode == "dup")
        return {0, 0};
    if (mode == "mixed")
        return {0, mixed};
    if (mode == "halves")
        return {rank % 2, -rank};
    if (mode == "some")
        return {node % 2 == 0 || weft_thread(comm) == weft_node_threads(comm, node) - 1 ? 7 : WEFT_COLOR_UNDEFINED,
                mixed};
    return {(alone ? rank : weft_thread(comm)) > 0 ? INT_MAX : WEFT_COLOR_UNDEFINED, mixed};
}

void on_groups(weft_comm *comm, const body &run) {
    const char *mode = getenv("ORACLE_SPLIT");
    if (!mode) {
        run(comm);
        return;
    }
    weft_comm *group = nullptr;
    place own = place_of(mode, comm);
    ok(std::string(mode) == "dup" ? weft_comm_dup(comm, &group) : weft_comm_split(comm, own.color, own.key, &group),
       comm, "weft_comm_split");
    check((group != nullptr) == (own.color >= 0), comm, "those without a color get no communicator");
    if (group) {
        run(group);
        ok(weft_comm_free(&group), comm, "weft_comm_free");
    }
    ok(weft_barrier(comm), comm, "weft_barrier");
}
} // namespace

void on_team(int threads, const body &run) {
    weft_team *team = nullptr;
    if (!ok(weft_team_create(weft_process_comm(), threads, &team), weft_process_comm(), "weft_team_create"))
        return;
    check(weft_team_threads(team) == threads, weft_process_comm(), "weft_team_threads");
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; thread++)
        others.emplace_back([=, &run] { in_team(team, thread, [&](weft_comm *comm) { on_groups(comm, run); }); });
    in_team(team, 0, [&](weft_comm *comm) { on_groups(comm, run); });
    for (auto &other : others)
        other.join();
    ok(weft_team_free(&team), weft_process_comm(), "weft_team_free");
}

void on_team(const body &run) {
    on_team(threads(), run);
}

void on_processes(const body &run) {
    on_groups(weft_process_comm(), run);
}

void on_both(const body &run) {
    on_team(run);
    on_processes(run);
}

bool takes(size_t number) {
    static const std::pair<uint64_t, uint64_t> part = [] {
        unsigned which = 0, parts = 1;
        const char *text = getenv("ORACLE_CASES");
        if (text && (sscanf(text, "%u/%u", &which, &parts) != 2 || !parts))
            abort(); // a test that tests nothing
        return std::make_pair(uint64_t(which % parts), uint64_t(parts));
    }();
    return hash(number) % part.second == part.first; // at random: loops within loops have their own periods
}

bool check(bool holds, const weft_comm *comm, const std::string &what) {
    if (!holds && failures++ < shown_failures)
        ADD_FAILURE() << "rank " << (comm ? weft_rank(comm) : -1) << " of " << (comm ? weft_size(comm) : -1) << ": "
                      << what;
    else if (!holds && failures == shown_failures + 1)
        ADD_FAILURE() << "more failures are not shown";
    return holds;
}

bool ok(int code, const weft_comm *comm, const std::string &what) {
    return code == WEFT_SUCCESS ||
           check(false, comm, what + " returned " + weft_strerror(code) + "; " + weft_last_error());
}

buffer::buffer(size_t bytes, size_t alignment)
    : bytes_(bytes), all_((bytes + alignment + 2 * guard + 127) / 128 * 128),
      memory_(static_cast<unsigned char *>(aligned_alloc(128, all_)), free), data_(memory_.get() + guard + alignment) {
    memset(memory_.get(), filler, all_);
}

static bool filled(const unsigned char *from, const unsigned char *to) {
    while (from < to && *from == buffer::filler)
        from++;
    return from == to;
}

bool buffer::intact() const {
    return filled(memory_.get(), data_) && filled(data_ + bytes_, memory_.get() + all_);
}

bool buffer::untouched() const {
    return filled(memory_.get(), memory_.get() + all_);
}

// The finaliser of MurmurHash3, chained.
uint64_t hash(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    uint64_t h = 0x9e3779b97f4a7c15;
    for (uint64_t value : {a, b, c, d}) {
        h = (h ^ value) * 0xff51afd7ed558ccd;
        h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
        h ^= h >> 33;
    }
    return h;
}

static uint64_t word_of(uint64_t seed, size_t at) {
    uint64_t word = (seed + at + 1) * 0x9e3779b97f4a7c15;
    return word ^ word >> 29;
}

void fill(void *at, size_t bytes, uint64_t seed) {
    auto *to = static_cast<unsigned char *>(at);
    for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t word = word_of(seed, done);
        memcpy(to + done, &word, std::min(bytes - done, sizeof(word)));
    }
}

bool matches(const void *at, size_t bytes, uint64_t seed) {
    auto *from = static_cast<const unsigned char *>(at);
    for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t word = word_of(seed, done);
        if (memcmp(from + done, &word, std::min(bytes - done, sizeof(word))) != 0)
            return false;
    }
    return true;
}

} // namespace job

int main(int argc, char **argv) {
    ::testing::InitGoogleTest(&argc, argv);
    DirectoryBootstrap directory;
    weft_options options{};
    options.bootstrap = directory.get(); // most often none
    if (weft_init(&options) != WEFT_SUCCESS) {
        fprintf(stderr, "%s\n", weft_last_error());
        return 1;
    }
    if (weft_rank(weft_process_comm()) > 0) {
        auto &listeners = ::testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new job::failure_printer);
    }
    int failed = RUN_ALL_TESTS();
    if (weft_finalize() != WEFT_SUCCESS) {
        fprintf(stderr, "%s\n", weft_last_error());
        failed = 1;
    }
    return failed;
}
