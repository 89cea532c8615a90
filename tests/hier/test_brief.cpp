// SPDX-License-Identifier: BSD-3-Clause
// Short collectives of the threads of one process, again and again with the same arguments: that is when they are brief. Some come late, some
// calls are not brief in between, and some go wrong after many that went well.
#include "effort.h"
#include "misuse.h"

#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

namespace {

constexpr int most_threads = 8, longest = 2000, cell = 256; // elements; a cell has room for that many

// What rank `from` has at place i for rank `to` in a round.
int element(int round, int from, int to, int i) {
    return round * 1000003 + from * 1009 + to * 101 + i;
}

enum form_of_call { BLOCKING, WAITED_FOR, TESTED, EITHER, PREPARED };

// One rank's memory for all calls, which stays where it is.
class rank_of {
  public:
    rank_of(weft_comm *handle, std::atomic<int> *rounds, form_of_call of)
        : comm(handle), arrived(rounds), form(of), own((uint64_t)weft_rank(handle) + 10) {
        rank = weft_rank(comm);
        size = weft_size(comm);
        for (int r = 0, at = 0; r < size; at += uneven[r++]) {
            uneven[r] = (size_t)r % 3;
            starts[r] = at;
            one_long[r] = r == size / 2 ? (size_t)longest : 1;
            full[r] = cell;
            long_starts[r] = r * (longest + 1);
            to_each[r] = (size_t)(rank + r) % 4;
            each_starts[r] = r * 4;
            byte_starts[r] = r * 16;
            types[r] = WEFT_INT;
        }
    }

    weft_comm *comm;
    std::atomic<int> *arrived; // by rank: the rounds of barriers that it has come to
    form_of_call form;
    threads::Random own;
    int rank, size;
    std::vector<int> send = std::vector<int>(most_threads * (longest + 1)), recv = send;
    size_t uneven[most_threads], one_long[most_threads], full[most_threads], to_each[most_threads];
    ptrdiff_t starts[most_threads], long_starts[most_threads], each_starts[most_threads], byte_starts[most_threads];
    const weft_datatype *types[most_threads];

    // What each rank has for everybody: `count` elements.
    int *fill(int round, int *to, size_t count) const {
        for (size_t i = 0; i < count; i++)
            to[i] = element(round, rank, 0, (int)i);
        return to;
    }
    // Blocks for each rank: `count(to)` elements at `start(to)`.
    template <class Count, class Start> int *fill_blocks(int round, int *at, Count count, Start start) const {
        for (int to = 0; to < size; to++)
            for (size_t i = 0; i < count(to); i++)
                at[start(to) + (ptrdiff_t)i] = element(round, rank, to, (int)i);
        return at;
    }
    int sum(int round, int i) const {
        int sum = 0;
        for (int from = 0; from < size; from++)
            sum += element(round, from, 0, i);
        return sum;
    }
};

// The code of a nonblocking call, at its end.
int finish(rank_of &me, int code, weft_request *request) {
    const bool tests = me.form == TESTED || (me.form == EITHER && me.own.below(2));
    int done = !tests;
    while (!code && !done) {
        code = weft_test(&request, &done, WEFT_STATUS_IGNORE);
        std::this_thread::yield();
    }
    return code || tests ? code : weft_wait(&request, WEFT_STATUS_IGNORE);
}

// The code of a persistent one.
int run_once(rank_of &me, int code, weft_request *request) {
    if (!code)
        code = weft_start(&request);
    me.own.dawdle();
    if (!code)
        code = weft_wait(&request, WEFT_STATUS_IGNORE);
    EXPECT_OK(weft_request_free(&request));
    return code;
}

bool blocks(rank_of &me) {
    return me.form == BLOCKING || (me.form == EITHER && me.own.below(3) == 0);
}

// A collective in the form that this rank has just now.
#define CALL(me, name, ...)                                                                                            \
    [&] {                                                                                                              \
        if (blocks(me))                                                                                                \
            return weft_##name(__VA_ARGS__ me.comm);                                                                   \
        weft_request *request = WEFT_REQUEST_NULL;                                                                     \
        if (me.form == PREPARED) {                                                                                     \
            const int made = weft_##name##_init(__VA_ARGS__ me.comm, &request);                                        \
            return run_once(me, made, request);                                                                        \
        }                                                                                                              \
        const int code = weft_i##name(__VA_ARGS__ me.comm, &request);                                                  \
        me.own.dawdle();                                                                                               \
        return finish(me, code, request);                                                                              \
    }()

struct collective {
    const char *name;
    std::function<void(rank_of &me, int round)> run;
};

void allreduce(rank_of &me, int round, size_t count, bool in_place) {
    const int *send = me.fill(round, in_place ? me.recv.data() : me.send.data(), count);
    EXPECT_OK(CALL(me, allreduce, in_place ? WEFT_IN_PLACE : send, me.recv.data(), count, WEFT_INT, WEFT_SUM, ));
    for (size_t i = 0; i < count; i++)
        ASSERT_EQ(me.sum(round, (int)i), me.recv[i]) << i;
}

void reduce_scatter(rank_of &me, int round, bool in_place) {
    const size_t whole = std::accumulate(me.uneven, me.uneven + me.size, size_t(0));
    const int *send = me.fill(round, in_place ? me.recv.data() : me.send.data(), whole);
    EXPECT_OK(
        CALL(me, reduce_scatter, in_place ? WEFT_IN_PLACE : send, me.recv.data(), me.uneven, WEFT_INT, WEFT_SUM, ));
    for (size_t i = 0; i < me.uneven[me.rank]; i++)
        ASSERT_EQ(me.sum(round, (int)(me.starts[me.rank] + (ptrdiff_t)i)), me.recv[i]) << i;
}

void reduce_scatter_block(rank_of &me, int round) {
    const int *send = me.fill(round, me.send.data(), 2 * (size_t)me.size);
    EXPECT_OK(CALL(me, reduce_scatter_block, send, me.recv.data(), 2, WEFT_INT, WEFT_SUM, ));
    for (int i = 0; i < 2; i++)
        ASSERT_EQ(me.sum(round, 2 * me.rank + i), me.recv[(size_t)i]) << i;
}

void allgather(rank_of &me, int round, size_t count, bool in_place) {
    int *place = me.recv.data() + (size_t)me.rank * count;
    const int *send = me.fill(round, in_place ? place : me.send.data(), count);
    EXPECT_OK(CALL(me, allgather, in_place ? WEFT_IN_PLACE : send, count, WEFT_INT, me.recv.data(), count, WEFT_INT, ));
    for (int from = 0; from < me.size; from++)
        for (size_t i = 0; i < count; i++)
            ASSERT_EQ(element(round, from, 0, (int)i), me.recv[(size_t)from * count + i]) << from;
}

void allgatherv(rank_of &me, int round, const size_t *counts, const ptrdiff_t *starts, bool in_place) {
    int *place = me.recv.data() + starts[me.rank];
    const size_t own = counts[me.rank];
    const int *send = me.fill(round, in_place ? place : me.send.data(), own);
    EXPECT_OK(CALL(me, allgatherv, in_place ? WEFT_IN_PLACE : send, own, WEFT_INT, me.recv.data(), counts, starts,
                   WEFT_INT, ));
    for (int from = 0; from < me.size; from++)
        for (size_t i = 0; i < counts[from]; i++)
            ASSERT_EQ(element(round, from, 0, (int)i), me.recv[(size_t)starts[from] + i]) << from;
}

void expect_blocks(const rank_of &me, int round, const std::function<size_t(int)> &count, int each) {
    for (int from = 0; from < me.size; from++)
        for (size_t i = 0; i < count(from); i++)
            ASSERT_EQ(element(round, from, me.rank, (int)i), me.recv[(size_t)(from * each) + i]) << from;
}

void alltoall(rank_of &me, int round, size_t count, bool in_place) {
    int *at = in_place ? me.recv.data() : me.send.data();
    auto each = [&](int) { return count; };
    me.fill_blocks(round, at, each, [&](int to) { return to * (ptrdiff_t)count; });
    EXPECT_OK(CALL(me, alltoall, in_place ? WEFT_IN_PLACE : at, count, WEFT_INT, me.recv.data(), count, WEFT_INT, ));
    expect_blocks(me, round, each, (int)count);
}

// Between two ranks as much goes one way as the other.
void alltoallv(rank_of &me, int round, bool typed, bool in_place) {
    int *at = in_place ? me.recv.data() : me.send.data();
    auto each = [&](int other) { return me.to_each[other]; };
    me.fill_blocks(round, at, each, [&](int to) { return me.each_starts[to]; });
    const void *send = in_place ? WEFT_IN_PLACE : at;
    EXPECT_OK(typed ? CALL(me, alltoallw, send, me.to_each, me.byte_starts, me.types, me.recv.data(), me.to_each,
                           me.byte_starts, me.types, )
                    : CALL(me, alltoallv, send, me.to_each, me.each_starts, WEFT_INT, me.recv.data(), me.to_each,
                           me.each_starts, WEFT_INT, ));
    expect_blocks(me, round, each, 4);
}

void barrier(rank_of &me, int round) {
    me.arrived[me.rank].store(round + 1, std::memory_order_relaxed);
    EXPECT_OK(CALL(me, barrier, ));
    for (int other = 0; other < me.size; other++) // the barrier is what orders them
        EXPECT_GE(me.arrived[other].load(std::memory_order_relaxed), round + 1);
}

void bcast(rank_of &me, int round, int root, size_t count) {
    me.fill(round, me.recv.data(), count);
    EXPECT_OK(CALL(me, bcast, me.recv.data(), count, WEFT_INT, root, ));
    for (size_t i = 0; i < count; i++)
        ASSERT_EQ(element(round, root, 0, (int)i), me.recv[i]) << i;
}

void reduce(rank_of &me, int round, int root, bool in_place) {
    const bool from_recv = in_place && me.rank == root;
    const int *send = me.fill(round, from_recv ? me.recv.data() : me.send.data(), 3);
    EXPECT_OK(CALL(me, reduce, from_recv ? WEFT_IN_PLACE : send, me.recv.data(), 3, WEFT_INT, WEFT_SUM, root, ));
    for (int i = 0; me.rank == root && i < 3; i++)
        ASSERT_EQ(me.sum(round, i), me.recv[(size_t)i]) << i;
}

void gather(rank_of &me, int round, int root, bool in_place) {
    const bool from_recv = in_place && me.rank == root;
    const int *send = me.fill(round, from_recv ? me.recv.data() + 2 * root : me.send.data(), 2);
    EXPECT_OK(CALL(me, gather, from_recv ? WEFT_IN_PLACE : send, 2, WEFT_INT, me.recv.data(), 2, WEFT_INT, root, ));
    for (int i = 0; me.rank == root && i < 2 * me.size; i++)
        ASSERT_EQ(element(round, i / 2, 0, i % 2), me.recv[(size_t)i]) << i;
}

void gatherv(rank_of &me, int round, int root, const size_t *counts, const ptrdiff_t *starts, bool in_place) {
    const bool from_recv = in_place && me.rank == root;
    const size_t own = counts[me.rank];
    const int *send = me.fill(round, from_recv ? me.recv.data() + starts[root] : me.send.data(), own);
    EXPECT_OK(CALL(me, gatherv, from_recv ? WEFT_IN_PLACE : send, own, WEFT_INT, me.recv.data(), counts, starts,
                   WEFT_INT, root, ));
    for (int from = 0; me.rank == root && from < me.size; from++)
        for (size_t i = 0; i < counts[from]; i++)
            ASSERT_EQ(element(round, from, 0, (int)i), me.recv[(size_t)starts[from] + i]) << from;
}

void scatterv(rank_of &me, int round, int root, const size_t *counts, const ptrdiff_t *starts, bool in_place) {
    const bool stays = in_place && me.rank == root;
    const size_t own = counts[me.rank];
    me.fill_blocks(
        round, me.send.data(), [&](int to) { return counts[to]; }, [&](int to) { return starts[to]; });
    EXPECT_OK(CALL(me, scatterv, me.send.data(), counts, starts, WEFT_INT, stays ? WEFT_IN_PLACE : me.recv.data(), own,
                   WEFT_INT, root, ));
    for (size_t i = 0; !stays && i < own; i++)
        ASSERT_EQ(element(round, root, me.rank, (int)i), me.recv[i]) << i;
}

void scatter(rank_of &me, int round, int root, size_t count, bool in_place) {
    me.fill_blocks(
        round, me.send.data(), [&](int) { return count; }, [&](int to) { return to * (ptrdiff_t)count; });
    const bool stays = in_place && me.rank == root;
    EXPECT_OK(CALL(me, scatter, me.send.data(), count, WEFT_INT, stays ? WEFT_IN_PLACE : me.recv.data(), count,
                   WEFT_INT, root, ));
    for (size_t i = 0; !stays && i < count; i++)
        ASSERT_EQ(element(round, root, me.rank, (int)i), me.recv[i]) << i;
}

// `before`: of the ranks before this one alone.
void scan(rank_of &me, int round, bool before, bool in_place) {
    const int *send = me.fill(round, in_place ? me.recv.data() : me.send.data(), 2);
    const void *given = in_place ? WEFT_IN_PLACE : send;
    EXPECT_OK(before ? CALL(me, exscan, given, me.recv.data(), 2, WEFT_INT, WEFT_SUM, )
                     : CALL(me, scan, given, me.recv.data(), 2, WEFT_INT, WEFT_SUM, ));
    for (int i = 0, end = me.rank + !before; end && i < 2; i++) {
        int sum = 0;
        for (int from = 0; from < end; from++)
            sum += element(round, from, 0, i);
        ASSERT_EQ(sum, me.recv[(size_t)i]) << i;
    }
}

const std::vector<collective> collectives = {
    {"barrier", barrier},
    {"allreduce", [](rank_of &me, int round) { allreduce(me, round, 2, false); }},
    {"allreduce in place", [](rank_of &me, int round) { allreduce(me, round, cell, true); }},
    {"allreduce of nothing", [](rank_of &me, int round) { allreduce(me, round, 0, false); }},
    {"allreduce, long", [](rank_of &me, int round) { allreduce(me, round, longest, false); }},
    {"reduce_scatter", [](rank_of &me, int round) { reduce_scatter(me, round, false); }},
    {"reduce_scatter in place", [](rank_of &me, int round) { reduce_scatter(me, round, true); }},
    {"reduce_scatter_block", reduce_scatter_block},
    {"allgather", [](rank_of &me, int round) { allgather(me, round, 3, false); }},
    {"allgather in place", [](rank_of &me, int round) { allgather(me, round, 30, true); }},
    {"allgatherv", [](rank_of &me, int round) { allgatherv(me, round, me.uneven, me.starts, false); }},
    {"allgatherv in place", [](rank_of &me, int round) { allgatherv(me, round, me.uneven, me.starts, true); }},
    {"allgatherv, one long", [](rank_of &me, int round) { allgatherv(me, round, me.one_long, me.long_starts, false); }},
    {"allgatherv, full cells", [](rank_of &me, int round) { allgatherv(me, round, me.full, me.long_starts, false); }},
    {"alltoall", [](rank_of &me, int round) { alltoall(me, round, 1, false); }},
    {"alltoall in place", [](rank_of &me, int round) { alltoall(me, round, 5, true); }},
    {"alltoallv", [](rank_of &me, int round) { alltoallv(me, round, false, false); }},
    {"alltoallv in place", [](rank_of &me, int round) { alltoallv(me, round, false, true); }},
    {"alltoallw", [](rank_of &me, int round) { alltoallv(me, round, true, false); }},
    {"bcast", [](rank_of &me, int round) { bcast(me, round, me.size - 1, 2); }},
    {"bcast of 1 KiB", [](rank_of &me, int round) { bcast(me, round, 0, cell); }},
    {"bcast from anybody", [](rank_of &me, int round) { bcast(me, round, round % me.size, 1); }},
    {"reduce", [](rank_of &me, int round) { reduce(me, round, 0, false); }},
    {"reduce in place", [](rank_of &me, int round) { reduce(me, round, me.size - 1, true); }},
    {"gather", [](rank_of &me, int round) { gather(me, round, me.size - 1, false); }},
    {"gather in place", [](rank_of &me, int round) { gather(me, round, 0, true); }},
    {"scatter", [](rank_of &me, int round) { scatter(me, round, 0, 2, false); }},
    {"scatter by the tray", [](rank_of &me, int round) { scatter(me, round, me.size - 1, 70, true); }},
    {"gatherv", [](rank_of &me, int round) { gatherv(me, round, 0, me.uneven, me.starts, true); }},
    {"gatherv, one long", [](rank_of &me, int round) { gatherv(me, round, 0, me.one_long, me.long_starts, false); }},
    {"gatherv, full cells", [](rank_of &me, int round) { gatherv(me, round, 0, me.full, me.long_starts, false); }},
    {"scatterv, a full cell", [](rank_of &me, int round) { scatterv(me, round, 0, me.full, me.long_starts, false); }},
    {"scatterv", [](rank_of &me, int round) { scatterv(me, round, me.size - 1, me.uneven, me.starts, true); }},
    {"scatterv, one long", [](rank_of &me, int round) { scatterv(me, round, 0, me.one_long, me.long_starts, false); }},
    {"scan", [](rank_of &me, int round) { scan(me, round, false, false); }},
    {"scan in place", [](rank_of &me, int round) { scan(me, round, false, true); }},
    {"exscan", [](rank_of &me, int round) { scan(me, round, true, false); }},
};

struct team {
    int threads;
    weft_wait_policy wait;
    form_of_call form;
};

class Brief : public ::testing::TestWithParam<team> {
  protected:
    void on_ranks(const std::function<void(rank_of &)> &calls) {
        weft_options options = {};
        options.wait_policy = GetParam().wait;
        ASSERT_EQ(WEFT_SUCCESS, weft_init(&options)) << weft_last_error();
        std::atomic<int> arrived[most_threads] = {};
        misuse::in_team(GetParam().threads, [&](weft_comm *comm, int) {
            rank_of me(comm, arrived, GetParam().form);
            calls(me);
        });
        EXPECT_OK(weft_finalize());
    }
};

// Each in a row, longer than a team has slots.
TEST_P(Brief, OneAgainAndAgain) {
    on_ranks([](rank_of &me) {
        int round = 0;
        for (const collective &one : collectives) {
            SCOPED_TRACE(one.name);
            for (int i = 0; i < 40; i++)
                one.run(me, round++);
        }
    });
}

TEST_P(Brief, AllInAnyOrder) {
    on_ranks([](rank_of &me) {
        threads::Random order(1);
        for (int round = 0; round < effort::rounds(3000); round++) {
            const collective &one = collectives[order.below(collectives.size())];
            SCOPED_TRACE(one.name);
            me.own.dawdle();
            one.run(me, round);
        }
    });
}

// What was begun before and is under way keeps its slot, so that brief calls behind it wait for theirs, and drive it.
TEST_P(Brief, WithOthersUnderWay) {
    on_ranks([](rank_of &me) {
        threads::Random order(2);
        for (int round = 0; round < effort::rounds(240); round++) {
            int mine = me.rank + round, sum = 0;
            weft_request *request = WEFT_REQUEST_NULL;
            EXPECT_OK(weft_iallreduce(&mine, &sum, 1, WEFT_INT, WEFT_SUM, me.comm, &request));
            for (uint64_t i = order.below(40); i > 0; i--) {
                const collective &one = collectives[order.below(collectives.size())];
                SCOPED_TRACE(one.name);
                me.own.dawdle();
                one.run(me, round);
            }
            EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
            EXPECT_EQ(sum, me.size * round + me.size * (me.size - 1) / 2);
        }
    });
}

// When all have begun, the first test says so.
TEST_P(Brief, IsSeenToBeOver) {
    std::atomic<int> begun{0};
    on_ranks([&](rank_of &me) {
        const std::function<int(weft_request **)> starts[] = {
            [&](weft_request **request) { return weft_ibarrier(me.comm, request); },
            [&](weft_request **request) {
                return weft_iallreduce(me.send.data(), me.recv.data(), 1, WEFT_INT, WEFT_SUM, me.comm, request);
            },
            [&](weft_request **request) {
                return weft_igather(me.send.data(), 1, WEFT_INT, me.recv.data(), 1, WEFT_INT, 0, me.comm, request);
            }};
        for (int round = 0; round < 30; round++) {
            weft_request *request = WEFT_REQUEST_NULL;
            int done = 0;
            EXPECT_OK(starts[round % 3](&request));
            for (begun++; begun < (round + 1) * me.size;)
                std::this_thread::yield();
            EXPECT_OK(weft_test(&request, &done, WEFT_STATUS_IGNORE));
            EXPECT_TRUE(done) << "round " << round;
            EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
        }
    });
}

// What a nonblocking one has counted when it gave stays, whether it ends as a brief one or not.
TEST_P(Brief, CountersOnlyGrow) {
    on_ranks([&](rank_of &me) {
        const auto moved = [] {
            weft_counters now;
            EXPECT_OK(weft_counters_get(&now));
            return now.rows[WEFT_COUNTED_ALLREDUCE].inside.messages;
        };
        EXPECT_OK(weft_barrier(me.comm));
        const uint64_t before = moved();
        EXPECT_OK(weft_barrier(me.comm));
        for (int round = 0; round < 20; round++) {
            weft_request *request = WEFT_REQUEST_NULL;
            int done = 0;
            me.own.dawdle();
            EXPECT_OK(weft_iallreduce(me.send.data(), me.recv.data(), 1, WEFT_INT, WEFT_SUM, me.comm, &request));
            const uint64_t given = moved();
            EXPECT_OK(weft_test(&request, &done, WEFT_STATUS_IGNORE));
            EXPECT_LE(given, moved());
            EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
        }
        EXPECT_OK(weft_barrier(me.comm));
        EXPECT_EQ(moved() - before, 20 * 2 * uint64_t(me.size - 1));
        EXPECT_OK(weft_barrier(me.comm));
    });
}

// Persistent ones, alone and beside each other, in any order.
TEST_P(Brief, PreparedOnceForAll) {
    on_ranks([](rank_of &me) {
        weft_request *requests[2] = {WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
        int *gathered = me.recv.data() + 10;
        EXPECT_OK(weft_allreduce_init(me.send.data(), me.recv.data(), 2, WEFT_INT, WEFT_SUM, me.comm, &requests[0]));
        EXPECT_OK(weft_allgather_init(me.send.data(), 1, WEFT_INT, gathered, 1, WEFT_INT, me.comm, &requests[1]));
        threads::Random together(3);
        for (int round = 0; round < 60; round++) {
            const bool both = together.below(2);
            const size_t first = (both ? me.own : together).below(2);
            me.fill(round, me.send.data(), 2);
            for (size_t i : {first, 1 - first}) {
                EXPECT_OK(weft_start(&requests[i]));
                if (!both) {
                    me.own.dawdle();
                    EXPECT_OK(weft_wait(&requests[i], WEFT_STATUS_IGNORE));
                }
            }
            EXPECT_OK(weft_waitall(2, requests, WEFT_STATUSES_IGNORE)); // of those that are active
            for (int i = 0; i < 2; i++)
                ASSERT_EQ(me.sum(round, i), me.recv[(size_t)i]) << round;
            for (int from = 0; from < me.size; from++)
                ASSERT_EQ(element(round, from, 0, 0), gathered[from]) << round;
        }
        EXPECT_OK(weft_request_free(&requests[0]));
        EXPECT_OK(weft_request_free(&requests[1]));
    });
}

// After many that went well one rank calls something else, at once or late: whoever notices names that rank, and all know it in the next call.
TEST_P(Brief, OneCallsSomethingElse) {
    if (GetParam().threads == 1 || GetParam().form == PREPARED)
        GTEST_SKIP() << "there is nobody else, or it is noticed in another call";
    for (size_t odd = 0; odd < collectives.size(); odd++) {
        const size_t usual = (odd + 7) % collectives.size();
        SCOPED_TRACE(std::string(collectives[odd].name) + " where others call " + collectives[usual].name);
        on_ranks([&](rank_of &me) {
            int first = 1, second = 0;
            auto sum = [&] { return CALL(me, allreduce, &first, &second, 1, WEFT_INT, WEFT_SUM, ); };
            auto all = [&] { return CALL(me, allgather, &first, 1, WEFT_INT, me.recv.data(), 1, WEFT_INT, ); };
            for (int round = 0; round < 20; round++) {
                collectives[odd].run(me, round);
                collectives[usual].run(me, round);
                EXPECT_OK(sum());
                EXPECT_OK(all());
            }
            me.own.dawdle();
            const int code = me.rank == me.size - 1 ? sum() : all();
            EXPECT_EQ(WEFT_ERR_MISMATCH, code) << weft_last_error();
            misuse::expect_sentence({"rank " + std::to_string(me.size - 1) + " called weft_", "allreduce", "allgather"},
                                    "the first");
            EXPECT_EQ(WEFT_ERR_MISMATCH, weft_barrier(me.comm));
            EXPECT_EQ(WEFT_ERR_MISMATCH, weft_barrier(me.comm));
        });
    }
}

// A block of another length than before, which its receivers do not expect.
TEST_P(Brief, OneSendsMore) {
    if (GetParam().threads == 1 || GetParam().form == PREPARED)
        GTEST_SKIP() << "there is nobody else, or it is noticed in another call";
    for (const bool to_all : {true, false})
        on_ranks([&](rank_of &me) {
            size_t counts[most_threads], sent[most_threads], sends = 1;
            ptrdiff_t starts[most_threads];
            for (int rank = 0; rank < me.size; rank++) {
                counts[rank] = sent[rank] = 1;
                starts[rank] = 8 * rank;
            }
            auto call = [&] {
                return to_all ? CALL(me, allgatherv, me.send.data(), sends, WEFT_INT, me.recv.data(), counts, starts,
                                     WEFT_INT, )
                              : CALL(me, alltoallv, me.send.data(), sent, starts, WEFT_INT, me.recv.data(), counts,
                                     starts, WEFT_INT, );
            };
            for (int round = 0; round < 20; round++)
                EXPECT_OK(call());
            me.own.dawdle();
            if (me.rank == 0) {
                sends = sent[1] = 5;
                counts[0] = to_all ? 5 : 1;
            }
            const int code = call();
            if (code) {
                EXPECT_EQ(WEFT_ERR_MISMATCH, code) << weft_last_error();
                misuse::expect_sentence(to_all ? misuse::words{"rank 0 called weft_"}
                                               : misuse::words{"sends rank 1 20 bytes", "expects 4"},
                                        "another length");
            }
            EXPECT_EQ(WEFT_ERR_MISMATCH, weft_barrier(me.comm)) << weft_last_error();
        });
}

std::string name_of(const ::testing::TestParamInfo<team> &info) {
    const char *waits[] = {"default", "auto", "spin", "yield", "block"};
    const char *forms[] = {"", "nonblocking", "tested", "either", "persistent"};
    return std::to_string(info.param.threads) + waits[info.param.wait] + forms[info.param.form];
}

INSTANTIATE_TEST_SUITE_P(Teams, Brief,
                         ::testing::Values(team{1, WEFT_WAIT_AUTO, BLOCKING}, team{2, WEFT_WAIT_AUTO, BLOCKING},
                                           team{2, WEFT_WAIT_SPIN, BLOCKING}, team{2, WEFT_WAIT_BLOCK, BLOCKING},
                                           team{3, WEFT_WAIT_AUTO, BLOCKING}, team{5, WEFT_WAIT_YIELD, BLOCKING},
                                           team{8, WEFT_WAIT_AUTO, BLOCKING}, team{8, WEFT_WAIT_BLOCK, BLOCKING},
                                           team{2, WEFT_WAIT_AUTO, WAITED_FOR}, team{3, WEFT_WAIT_BLOCK, WAITED_FOR},
                                           team{2, WEFT_WAIT_AUTO, TESTED}, team{1, WEFT_WAIT_AUTO, EITHER},
                                           team{2, WEFT_WAIT_AUTO, EITHER}, team{5, WEFT_WAIT_AUTO, EITHER},
                                           team{8, WEFT_WAIT_BLOCK, EITHER}, team{2, WEFT_WAIT_AUTO, PREPARED},
                                           team{5, WEFT_WAIT_BLOCK, PREPARED}),
                         name_of);

} // namespace
