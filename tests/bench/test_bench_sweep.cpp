// SPDX-License-Identifier: BSD-3-Clause
// The sweep against libraries of one or two ranks: its check ends it, each mode has its row, overlap starts and tests.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <overlap.h>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sweep.h>
#include <thread>

namespace {

void nothing(void *) {}

void only_one(void *, double *, size_t) {}

void not_needed(void *, const bench_call *) {}

// One rank alone: a right collective copies; the wrong one forgets the last byte of calls of 64 bytes, in one mode.
struct Copier {
    bool forgets;
    bench_mode forgetful;
    int prepared, starts, tests;
    bench_touched touched; // in the last call
};

void copy(void *state, const bench_call *call) {
    const Copier *self = static_cast<const Copier *>(state);
    bool forgets = self->forgets && call->mode == self->forgetful && call->block == 64;
    memcpy(call->recv, call->send, call->block - (forgets ? 1 : 0));
}

void run_copies(void *state, const void *data, size_t calls) {
    const bench_call *call = static_cast<const bench_call *>(data);
    Copier *self = static_cast<Copier *>(state);
    self->touched = call->touched;
    EXPECT_TRUE(!call->touched.given || (call->touched.given == call->send && call->touched.got == call->recv));
    for (size_t i = 0; i < calls; i++)
        copy(state, call);
}

void prepare_copier(void *state, const bench_call *) {
    static_cast<Copier *>(state)->prepared++;
}

void release_copier(void *state, const bench_call *) {
    static_cast<Copier *>(state)->prepared--;
}

void start_copy(void *state, const bench_call *call) {
    EXPECT_GT(static_cast<Copier *>(state)->prepared, 0);
    static_cast<Copier *>(state)->starts++;
    copy(state, call);
}

void test_copy(void *state, const bench_call *) {
    static_cast<Copier *>(state)->tests++;
}

const bench_library copies = {
    {run_copies, nothing, only_one}, prepare_copier, release_copier, start_copy, test_copy, not_needed};

int sweep(Copier *copier, unsigned modes, bool overlap = false, bool touch = false) {
    const bench_rank rank = {&copies, copier, 0, 1};
    bench_options options = {};
    bench_setting setting = {"test", "0", "process", 1, 1, 1, BENCH_JSON, true, false, nullptr};
    options.operation = BENCH_ALLGATHER;
    options.modes = modes;
    options.overlap = overlap;
    options.touch = touch;
    options.check = true;
    options.repeats = 1;
    options.tests = 7;
    options.size_count = bench_parse_sizes("32,63,128", options.sizes);
    int wrong = bench_sweep(&rank, &options, &setting);
    EXPECT_EQ(copier->prepared, 0) << "what is prepared is released";
    return wrong;
}

size_t times_in(const std::string &text, const std::string &part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        count++;
    return count;
}

class Sweep : public ::testing::TestWithParam<bench_mode> {};

TEST_P(Sweep, StopsAtTheRowWhoseCheckFails) {
    unsigned modes = 1u << BENCH_BLOCKING | 1u << GetParam();
    Copier copier = {false, GetParam(), 0, 0, 0, {}};
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(sweep(&copier, modes), 0);
    EXPECT_NE(::testing::internal::GetCapturedStdout().find("\"bytes\": 128"), std::string::npos);
    copier.forgets = true; // 64 is one byte more than the second row
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(sweep(&copier, modes), 1);
    std::string rows = ::testing::internal::GetCapturedStdout(), message = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(rows.find("\"bytes\": 32"), std::string::npos);
    EXPECT_EQ(rows.find("\"bytes\": 63"), std::string::npos);
    std::string expected = bench_mode_name(GetParam()) +
                           std::string(" allgather of 64 bytes, call 0, root 0: rank 0 of 1: result, offset 63");
    EXPECT_NE(message.find(expected), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Modes, Sweep, ::testing::Values(BENCH_BLOCKING, BENCH_NONBLOCKING, BENCH_PERSISTENT));

TEST(Modes, EachHasItsRow) {
    Copier copier = {};
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(sweep(&copier, 1u << BENCH_BLOCKING | 1u << BENCH_PERSISTENT), 0);
    std::string rows = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(times_in(rows, "\"mode\": \"blocking\""), 3u);
    EXPECT_EQ(times_in(rows, "\"mode\": \"nonblocking\""), 0u);
    EXPECT_EQ(times_in(rows, "\"mode\": \"persistent\""), 3u);
}

// The check fills buffers itself; what is timed is written anew.
TEST(Touch, TheLibraryIsToldWhat) {
    Copier copier = {};
    EXPECT_EQ(sweep(&copier, 1u << BENCH_BLOCKING), 0);
    EXPECT_EQ(copier.touched.given_bytes + copier.touched.got_bytes, 0u);
    EXPECT_EQ(sweep(&copier, 1u << BENCH_BLOCKING, false, true), 0);
    EXPECT_EQ(copier.touched.given_bytes, 128u);
    EXPECT_EQ(copier.touched.got_bytes, 128u);
}

TEST(Touch, WritesIntoEachLine) {
    alignas(64) unsigned char bytes[192];
    const double one = 1;
    memset(bytes, 7, sizeof(bytes));
    const bench_touched touched = {bytes, 130, bytes, 130}; // two lines, and two bytes of a third
    bench_touch_given(&touched);
    bench_touch_got(&touched);
    for (size_t line = 0; line < 128; line += 64)
        EXPECT_EQ(memcmp(bytes + line, &one, sizeof(one)), 0);
    EXPECT_EQ(bytes[128], 1);
    EXPECT_EQ(bytes[129], 7);
    EXPECT_EQ(bytes[64 + sizeof(one)], 7);
}

TEST(Overlap, StartsTestsAndWaits) {
    Copier copier = {};
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(sweep(&copier, 1u << BENCH_NONBLOCKING, true), 0);
    std::string rows = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(copier.starts, 3) << "one sample a size";
    EXPECT_EQ(copier.tests, 3 * 7);
    EXPECT_EQ(times_in(rows, "\"tests\": 7, "), 3u);
}

// Somebody else who computes on the rank's processor as long as the operation is under way.
struct Disturber {
    std::atomic<bool> under_way;
    std::thread thread;
};

void start_disturbing(void *state, const bench_call *) {
    Disturber *disturber = static_cast<Disturber *>(state);
    disturber->under_way = true;
    disturber->thread = std::thread([disturber] {
        while (disturber->under_way) {
        }
    });
}

void end_disturbing(void *state, const bench_call *) {
    static_cast<Disturber *>(state)->under_way = false;
    static_cast<Disturber *>(state)->thread.join();
}

void return_at_once(void *, const void *, size_t) {}

TEST(Overlap, WhoSharesAProcessorDoesNotTakeTheOthersTimeForExposed) {
    static const bench_library library = {
        {return_at_once, nothing, only_one}, not_needed, not_needed, start_disturbing, not_needed, end_disturbing};
    Disturber disturber = {};
    const bench_rank rank = {&library, &disturber, 0, 1};
    bench_call call = {};
    bench_overlap_timing timing;
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    bench_warm_up(&library.driver, &disturber, 2);
    ASSERT_TRUE(bench_is_crowded());
    call.mode = BENCH_NONBLOCKING;
    ASSERT_EQ(bench_overlap(&rank, &call, 5, 4, &timing), 0);
    sched_setaffinity(0, sizeof before, &before);
    EXPECT_LE(timing.us.exposed, timing.us.calls);
}

// Ranks that are bound to a processor each have as many as they are, though each may use but one.
TEST(Crowded, ComparesRanksWithWhatTheyMayUseTogether) {
    static const auto beside_another = [](void *, double *values, size_t count) {
        for (size_t cpu = 0; cpu < count && count > 1; cpu++)
            if (values[cpu] > 0) { // the other one has the next
                values[(cpu + 1) % count] = 1;
                return;
            }
    };
    const bench_driver alone = {nullptr, nothing, only_one}, two = {nullptr, nothing, beside_another};
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    bench_warm_up(&alone, nullptr, CPU_COUNT(&before));
    EXPECT_FALSE(bench_is_crowded());
    bench_warm_up(&alone, nullptr, CPU_COUNT(&before) + 1);
    EXPECT_TRUE(bench_is_crowded());
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    bench_warm_up(&alone, nullptr, 2);
    EXPECT_TRUE(bench_is_crowded());
    bench_warm_up(&two, nullptr, 2);
    EXPECT_FALSE(bench_is_crowded());
    sched_setaffinity(0, sizeof before, &before);
}

// Two ranks, whose maximum needs a real meeting; the operation under test may leave it out.
struct Pair {
    pthread_barrier_t meeting;
    double values[2];
    bool waits;
};

struct Member {
    Pair *pair;
    int rank;
};

void meet(void *state) {
    pthread_barrier_wait(&static_cast<Member *>(state)->pair->meeting);
}

void perhaps_meet(void *state, const void *, size_t calls) {
    for (size_t i = 0; i < calls && static_cast<Member *>(state)->pair->waits; i++)
        meet(state);
}

void maximum_of_two(void *state, double *values, size_t count) {
    Member *member = static_cast<Member *>(state);
    for (size_t i = 0; i < count; i++) {
        member->pair->values[member->rank] = values[i];
        meet(state);
        values[i] = std::max(member->pair->values[0], member->pair->values[1]);
        meet(state);
    }
}

int sweep_barrier(Pair *pair, int rank) {
    static const bench_library library = {
        {perhaps_meet, meet, maximum_of_two}, not_needed, not_needed, not_needed, not_needed, not_needed};
    Member member = {pair, rank};
    const bench_rank self = {&library, &member, rank, 2};
    const bench_setting setting = {"test", "0", "thread", 1, 2, 2, BENCH_JSON, true, false, nullptr};
    bench_options options = {};
    options.operation = BENCH_BARRIER;
    options.modes = 1u << BENCH_BLOCKING;
    options.check = true;
    options.repeats = 1;
    return bench_sweep(&self, &options, &setting);
}

TEST(CheckOfBarrier, SeesOneThatDoesNotWait) {
    for (bool waits : {true, false}) {
        Pair pair = {};
        int other = -1;
        pair.waits = waits;
        pthread_barrier_init(&pair.meeting, nullptr, 2);
        ::testing::internal::CaptureStderr();
        std::thread thread([&] { other = sweep_barrier(&pair, 1); });
        EXPECT_EQ(sweep_barrier(&pair, 0), waits ? 0 : 1);
        thread.join();
        EXPECT_EQ(other, waits ? 0 : 1);
        EXPECT_EQ(::testing::internal::GetCapturedStderr().empty(), waits);
        pthread_barrier_destroy(&pair.meeting);
    }
}

} // namespace
