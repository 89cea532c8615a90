// SPDX-License-Identifier: BSD-3-Clause
// Every collective of a process communicator by every algorithm, in its three forms, against a sequential computation.
#include "algorithms.h"
#include "effort.h"
#include "operation.h"
#include "sim/table_of_names.h"
#include <cstdlib>
#include <cstring>
#include <set>

namespace {

using namespace process;

const size_t long_bytes = effort::sanitized ? 100000 : 300000;
constexpr uint64_t rounds = 3;
const char *const form_names[] = {"blocking", "nonblocking", "persistent"};

// Makes the call in a form; a persistent one is started three times.
void perform(const Case &what, Form form, const std::string &algorithm) {
    weft_comm *comm = weft_process_comm();
    Operation operation(comm, what);
    std::string how = algorithm + ", " + form_names[int(form)];
    weft_request *request = WEFT_REQUEST_NULL;
    operation.fill(0);
    int code = operation.call(form, &request);
    if (form == Form::blocking) {
        operation.verify(code, how);
        return;
    }
    if (!job::ok(code, comm, describe(what) + ", " + how))
        return;
    weft_status status{7, 7, 7, 7, 7};
    if (form == Form::nonblocking) {
        operation.verify(weft_wait(&request, &status), how);
        job::check(is_empty(status) && request == WEFT_REQUEST_NULL, comm, how + ": status and handle after weft_wait");
        return;
    }
    for (uint64_t round = 0; round < rounds; round++) {
        operation.fill(round);
        job::ok(weft_start(&request), comm, how + ": weft_start");
        operation.verify(weft_wait(&request, &status), how);
        job::check(is_empty(status), comm, how + ": status after weft_wait");
    }
    job::ok(weft_request_free(&request), comm, how + ": weft_request_free");
}

size_t long_count(inter_collective collective, unsigned kind) {
    return long_bytes / unit_bytes(collective, kind);
}

class Collectives : public ::testing::TestWithParam<int> {
  protected:
    inter_collective collective() const {
        return inter_collective(GetParam());
    }
    bool is(unsigned set) const {
        return inter_is(collective(), set);
    }
    bool rooted() const {
        return is(INTER_ROOTED);
    }
    // Every variety that the collective has, each with another root, other types and contents than the one before.
    std::vector<Case> varieties(const std::vector<size_t> &counts) {
        std::vector<Case> made;
        for (size_t count : counts)
            for (bool in_place : {false, true})
                for (bool uneven : {false, true}) {
                    if ((in_place && is(without_in_place)) || (uneven && (!is(with_counts) || !count)))
                        continue;
                    made.push_back(next(count, in_place, uneven));
                }
        if (is(INTER_BIT(INTER_BARRIER)))
            made.assign(1, next(0, false, false));
        return made;
    }
    // A call, and others that differ from it in one thing; in as many bytes, but for the one with another count.
    std::vector<Case> like_one() const {
        const Case base{collective(), 32, 0, false, false, 0, 1};
        std::vector<Case> made{base, base, base, base, base, base};
        made[1].root = root_of(1);
        made[2].in_place = !is(without_in_place);
        made[3].uneven = is(with_counts);
        made[4].count = 31;
        made[5].uneven = made[3].uneven;
        made[5].in_place = made[2].in_place;
        for (unsigned kind = 1; kind < 4; kind++) {
            Case other = base;
            other.kind = kind;
            other.count = base.count * unit_bytes(collective(), 0) / unit_bytes(collective(), kind);
            made.push_back(other);
        }
        return made;
    }
    // Those, in any order, some of them again and again.
    void call_like_ones(const std::string &how) {
        std::vector<Case> pool = like_one();
        uint64_t random = 1;
        size_t picked = 0;
        for (uint64_t round = 0; round < effort::rounds(uint64_t(120)); round++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            if (random >> 63)
                picked = (random >> 33) % pool.size();
            Case what = pool[picked];
            what.seed += what.uneven && random >> 62 & 1 ? 0 : round; // other contents; where counts differ, other ones
            perform(what, random >> 61 & 1 ? Form::blocking : Form::nonblocking,
                    how + ", round " + std::to_string(round));
        }
    }
    // Those that this run takes. Five processes and more, which have few cores to run on, take a third for each algorithm.
    std::vector<Case> some_of(const std::vector<size_t> &counts) {
        return effort::part_of(varieties(counts), shift_++, effort::parts * (size_ > 4 ? 3 : 1));
    }
    // A count of SIZE_MAX stands for a long one.
    Case next(size_t count, bool in_place, bool uneven) {
        serial_++;
        unsigned kind = unsigned(serial_ % 7);
        if (count == SIZE_MAX)
            count = long_count(collective(), kind);
        return {collective(), count, root_of(serial_ * 5 / 3), in_place, uneven, kind, serial_};
    }
    int root_of(uint64_t number) const {
        return rooted() ? int(number % uint64_t(size_)) : 0;
    }
    const int size_ = weft_size(weft_process_comm());
    uint64_t serial_ = 0;
    size_t shift_ = 0; // which part of the varieties comes next
};

std::string collective_name(const ::testing::TestParamInfo<int> &info) {
    return inter_collective_name(inter_collective(info.param));
}

} // namespace

// The names of the table, which the source has a list of.
TEST_P(Collectives, EveryAlgorithm) {
    std::set<std::string> run;
    for (const inter_algorithm &algorithm : algorithms(collective(), false)) {
        Forced forced(weft_process_comm(), collective(), algorithm);
        for (Form form : forms)
            for (const Case &what : some_of({0, 1, 7, 1000, SIZE_MAX}))
                perform(what, form, algorithm.name);
        run.insert(algorithm.name);
    }
    for (const std::string &name : sim::table_of_names().at(inter_collective_name(collective())))
        EXPECT_EQ(run.count(name), 1u) << inter_collective_name(collective()) << " by " << name << " was not run";
}

TEST_P(Collectives, EveryRoot) {
    for (const inter_algorithm &algorithm : algorithms(collective(), false)) {
        Forced forced(weft_process_comm(), collective(), algorithm);
        for (int root = 0; rooted() && root < size_; root++)
            for (Case what : some_of({5})) {
                what.root = root;
                perform(what, forms[what.seed % 3], algorithm.name);
            }
    }
}

TEST_P(Collectives, EveryComposition) {
    for (const inter_algorithm &algorithm : algorithms(collective(), true)) {
        Forced forced(weft_process_comm(), collective(), algorithm);
        for (const Case &what : some_of({1, 700}))
            perform(what, forms[what.seed % 3], algorithm.name);
    }
}

TEST_P(Collectives, TheSelectorsOwnChoice) {
    for (Form form : forms)
        for (const Case &what : some_of({0, 1, 3, 100, 3000, SIZE_MAX}))
            perform(what, form, "no algorithm forced");
}

// A call like the one before has its schedule; one that differs in anything, its arrays' contents included, has another.
TEST_P(Collectives, LikeTheOneBeforeOrNot) {
    call_like_ones("no algorithm forced");
    for (const inter_algorithm &algorithm : algorithms(collective(), false))
        if (algorithm.commutes) { // operations that do not have another one
            Forced forced(weft_process_comm(), collective(), algorithm);
            call_like_ones(algorithm.name);
        }
}

// As many elements of another size.
TEST(Repeated, ElementsOfAnotherSize) {
    weft_comm *comm = weft_process_comm();
    int size = weft_size(comm), rank = weft_rank(comm);
    for (int round = 0; round < 4; round++) {
        int words[3] = {rank, 1, round}, sums[3] = {-1, -1, -1};
        int64_t longs[3] = {rank, 1, round}, long_sums[3] = {-1, -1, -1};
        ASSERT_EQ(weft_allreduce(words, sums, 3, WEFT_INT, WEFT_SUM, comm), WEFT_SUCCESS);
        ASSERT_EQ(weft_allreduce(longs, long_sums, 3, WEFT_INT64_T, WEFT_SUM, comm), WEFT_SUCCESS);
        const int expected[3] = {size * (size - 1) / 2, size, size * round};
        for (int i = 0; i < 3; i++) {
            EXPECT_EQ(sums[i], expected[i]);
            EXPECT_EQ(long_sums[i], expected[i]);
        }
    }
}

// The same arrays with as long blocks in other places.
TEST(Repeated, BlocksElsewhere) {
    weft_comm *comm = weft_process_comm();
    size_t size = size_t(weft_size(comm));
    int rank = weft_rank(comm);
    std::vector<size_t> counts(size, 1);
    std::vector<ptrdiff_t> displs(size);
    for (size_t round = 0; round < 4; round++) {
        std::vector<int> all(size, -1);
        for (size_t block = 0; block < size; block++)
            displs[block] = ptrdiff_t((block + round) % size);
        ASSERT_EQ(weft_allgatherv(&rank, 1, WEFT_INT, all.data(), counts.data(), displs.data(), WEFT_INT, comm),
                  WEFT_SUCCESS);
        for (size_t block = 0; block < size; block++)
            EXPECT_EQ(all[size_t(displs[block])], int(block)) << "round " << round;
    }
}

// Segments shorter than an element, not a multiple of one, of the middle size, and one segment for all.
TEST_P(Collectives, Segments) {
    if (!is(INTER_VECTORS))
        return;
    for (const inter_algorithm &named : algorithms(collective(), false))
        for (const char *segment : {":5", ":512", ":1000", ":4K", ":1M"}) {
            inter_algorithm algorithm;
            std::string name = named.name;
            name = name.substr(0, name.find(':')) + segment;
            ASSERT_TRUE(inter_algorithm_find(collective(), name.c_str(), &algorithm)) << name;
            Forced forced(weft_process_comm(), collective(), algorithm);
            for (const Case &what : some_of({100, strcmp(segment, ":5") ? SIZE_MAX : 1000}))
                perform(what, forms[what.seed % 3], name);
        }
}

// An operation that does not commute, by every algorithm: one that loses rank order gives way to the rules.
TEST_P(Collectives, RankOrder) {
    if (!is(INTER_REDUCTIONS))
        return;
    for (bool compositions : {false, true})
        for (const inter_algorithm &algorithm : algorithms(collective(), compositions)) {
            Forced forced(weft_process_comm(), collective(), algorithm);
            for (Case what : some_of({1, 50, 4000})) {
                what.kind = 2;
                perform(what, forms[what.seed % 3], algorithm.name);
            }
        }
}

INSTANTIATE_TEST_SUITE_P(Process, Collectives, ::testing::Range(0, int(INTER_COLLECTIVES)), collective_name);

// Where a test has spread the processes over hosts they must see so many.
TEST(Job, Hosts) {
    const char *expected = getenv("ORACLE_HOSTS");
    if (!expected)
        return;
    std::set<int> hosts;
    for (int process = 0; process < weft_size(weft_process_comm()); process++)
        hosts.insert(hier_world_host(weft_process_comm()->world, process));
    EXPECT_EQ(std::to_string(hosts.size()), expected);
}

// Sums of numbers whose rounding depends on the order: every rank has the same bits.
TEST(Allreduce, TheSameBitsEverywhere) {
    weft_comm *comm = weft_process_comm();
    size_t count = 3000, ranks = size_t(weft_size(comm));
    std::vector<double> operand(count), sums(count), all(count * ranks);
    for (size_t i = 0; i < count; i++)
        operand[i] = double(job::hash(uint64_t(weft_rank(comm)), i)) * 0x1p-40;
    for (bool compositions : {false, true})
        for (const inter_algorithm &algorithm : algorithms(INTER_ALLREDUCE, compositions)) {
            Forced forced(comm, INTER_ALLREDUCE, algorithm);
            std::string name = std::string("allreduce of doubles by ") + algorithm.name;
            job::ok(weft_allreduce(operand.data(), sums.data(), count, WEFT_DOUBLE, WEFT_SUM, comm), comm, name);
            job::ok(weft_allgather(sums.data(), count, WEFT_DOUBLE, all.data(), count, WEFT_DOUBLE, comm), comm, name);
            for (size_t rank = 0; rank < ranks; rank++)
                job::check(memcmp(&all[rank * count], sums.data(), count * sizeof(double)) == 0, comm,
                           name + ": rank " + std::to_string(rank) + " has other bits");
        }
}
