// SPDX-License-Identifier: BSD-3-Clause
// Processes, all within this one, call collectives that do not belong together, on thread communicators and on process
// communicators: blocking, nonblocking, persistent.
#include "effort.h"
#include "mismatch_between.h"
#include "sim_worlds.h"

namespace {

using namespace mismatch;

std::string pair_name(const one_call &odd, const one_call &usual) {
    return std::string(odd.name) + " / " + usual.name;
}

// A team in which all threads of the last process are odd, and another one that goes on.
void on_teams(const JobShape &shape, const one_call &odd, const one_call &usual) {
    if (!comparable(odd, usual))
        return;
    std::string what = pair_name(odd, usual);
    int last = int(shape.threads.size()) - 1;
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        weft_team *broken = nullptr, *whole = nullptr;
        int count = shape.threads[size_t(rank)];
        EXPECT_OK(weft_team_create(world->process_comm, count, &broken));
        EXPECT_OK(weft_team_create(world->process_comm, count, &whole));
        worlds.run_team(broken, [&](weft_comm *comm) {
            expect_two_calls(expect_between(comm, rank == last ? odd : usual, what), what);
        });
        worlds.run_team(whole, [&](weft_comm *comm) { expect_works(comm, what); });
        EXPECT_OK(weft_team_free(&broken));
        expect_works(world->process_comm, what);
        EXPECT_OK(weft_team_free(&whole));
    });
}

class MismatchBetween : public ::testing::TestWithParam<JobShape> {
    threads::Watchdog watchdog_{170};
};

TEST_P(MismatchBetween, EveryPair) {
    size_t count = std::size(calls) - 1, shape = GetParam().threads.size() + size_t(GetParam().threads[0]),
           step = (11 + shape) * effort::parts;
    // Each one, and each one as the usual one.
    for (size_t i = (shape + size_t(GetParam().level)) % effort::call_parts, j = 0; i < count; i += effort::call_parts)
        for (j = (i + 1) % step; j < count; j += step)
            if (i != j)
                on_teams(GetParam(), calls[i], calls[j]);
}

TEST_P(MismatchBetween, OneThingOnly) {
    const JobShape &shape = GetParam();
    for (const two_calls &pair :
         effort::part_of(special_pairs(), shape.threads.size() + size_t(shape.level), effort::call_parts))
        on_teams(GetParam(), pair.odd, pair.usual);
}

TEST_P(MismatchBetween, AProcessFarAhead) {
    on_teams(GetParam(), ahead_late, ahead);
    on_teams(GetParam(), ahead, ahead_late);
}

// Each process has one thread and a core: calls like the last one are begun again as that was, until one process does something else.
TEST(MismatchOfOneThreadEach, AfterManyThatWentWell) {
    threads::Watchdog watchdog(60);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED})
        for (const Threads &each : {Threads{1, 1}, Threads{1, 1, 1}}) {
            JobShape shape{each, level};
            shape.cores = 8;
            SimWorlds worlds(shape);
            worlds.run_processes([&](int rank, hier_world *world) {
                weft_team *team = nullptr;
                EXPECT_OK(weft_team_create(world->process_comm, 1, &team));
                worlds.run_team(team, [&](weft_comm *comm) {
                    int own = 1, sum = 0, all[3] = {};
                    for (int i = 0; i < 40; i++)
                        EXPECT_OK(weft_allreduce(&own, &sum, 1, WEFT_INT, WEFT_SUM, comm));
                    EXPECT_EQ(sum, weft_size(comm));
                    for (int again = 0; again < 3; again++) {
                        const int code = rank == 1 ? weft_allgather(&own, 1, WEFT_INT, all, 1, WEFT_INT, comm)
                                                   : weft_allreduce(&own, &sum, 1, WEFT_INT, WEFT_SUM, comm);
                        EXPECT_STREQ(weft_strerror(WEFT_ERR_MISMATCH), weft_strerror(code));
                        expect_two_calls(weft_last_error(), "one thread each");
                    }
                });
                expect_works(world->process_comm, "one thread each");
                EXPECT_OK(weft_team_free(&team));
            });
        }
}

// One thread of the last process only: its process notices, and tells the others.
void one_thread(const JobShape &shape, int thread, const one_call &odd, const one_call &usual) {
    if (!comparable(odd, usual))
        return;
    int last = int(shape.threads.size()) - 1;
    std::string what = pair_name(odd, usual);
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        weft_team *team = nullptr;
        EXPECT_OK(weft_team_create(world->process_comm, shape.threads[size_t(rank)], &team));
        worlds.run_team(team, [&](weft_comm *comm) {
            bool is_odd = rank == last && weft_thread(comm) == thread;
            misuse::words named = {"rank ", "weft_", "called"};
            expect_between(comm, is_odd ? odd : usual, what);
            misuse::expect_sentence(named, what.c_str());
        });
        expect_works(world->process_comm, what);
        EXPECT_OK(weft_team_free(&team));
    });
}

TEST_P(MismatchBetween, OneThread) {
    if (GetParam().threads[0] == 1)
        GTEST_SKIP() << "there is one thread a process";
    for (size_t i = size_t(GetParam().level) % effort::call_parts; i + 1 < std::size(calls); i += effort::call_parts)
        one_thread(GetParam(), 1, calls[i], calls[(i + 7) % (std::size(calls) - 1)]);
}

// Two threads of the last process, while those for whom they wait are elsewhere until they have found out.
TEST(MismatchOfTwoThreads, WithoutTheOthers) {
    threads::Watchdog watchdog(170);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED})
        for (size_t i = size_t(level) % effort::parts; i + 1 < std::size(calls); i += effort::parts) {
            const one_call &second = calls[i], &last = calls[(i + 5) % (std::size(calls) - 1)];
            if (!comparable(second, last))
                continue;
            const std::string what = pair_name(second, last);
            JobShape shape{{2, 4}, level};
            SimWorlds worlds(shape);
            worlds.run_processes([&](int rank, hier_world *world) {
                weft_team *team = nullptr;
                EXPECT_OK(weft_team_create(world->process_comm, shape.threads[size_t(rank)], &team));
                worlds.run_team(team, [&](weft_comm *comm) {
                    if (rank)
                        expect_without_others(comm, second, last, what);
                    else
                        expect_between(comm, second, what);
                });
                expect_works(world->process_comm, what);
                EXPECT_OK(weft_team_free(&team));
            });
        }
}

// Threads that do not look at each other's flags, and whose network part begins before they have all met.
TEST(MismatchOfManyThreads, InPieces) {
    threads::Watchdog watchdog(170);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED}) {
        JobShape shape{{2, 9}, level};
        shape.algorithm = "allreduce=nbBDE:1K/slices,reduce=MST:1K/slices,bcast=nbFT:1K/flags,allgather=nbFT:1K/slices,"
                          "alltoall=nb1FT:1K/slices,reduce_scatter=nbBKT:1K/slices";
        for (size_t i = size_t(level) % effort::parts; i + 1 < std::size(calls); i += effort::parts)
            for (int thread : {0, 5})
                one_thread(shape, thread, calls[i], calls[(i + 3) % (std::size(calls) - 1)]);
    }
}

// Requests of teams, waited for or tested.
void with_requests(const JobShape &shape, const std::function<void(weft_comm *, bool odd)> &run) {
    int last = int(shape.threads.size()) - 1;
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        weft_team *broken = nullptr, *whole = nullptr;
        int count = shape.threads[size_t(rank)];
        EXPECT_OK(weft_team_create(world->process_comm, count, &broken));
        EXPECT_OK(weft_team_create(world->process_comm, count, &whole));
        worlds.run_team(broken, [&](weft_comm *comm) { run(comm, rank == last); });
        worlds.run_team(whole, [&](weft_comm *comm) { expect_works(comm, "requests"); });
        EXPECT_OK(weft_team_free(&broken));
        expect_works(world->process_comm, "requests");
        EXPECT_OK(weft_team_free(&whole));
    });
}

TEST_P(MismatchBetween, Nonblocking) {
    /* Threads start what they have under way in no fixed order: the first difference may not be known when one is found. */
    const char *named = GetParam().threads[0] == 1 ? "WEFT_FLOAT" : "called";
    with_requests(GetParam(), [&](weft_comm *comm, bool odd) { mismatch_nonblocking(comm, odd, named); });
}

TEST_P(MismatchBetween, Persistent) {
    with_requests(GetParam(), mismatch_persistent);
}

TEST_P(MismatchBetween, EveryPairNonblocking) {
    size_t count = std::size(started), step = (6 + GetParam().threads[0]) * effort::parts;
    for (size_t i = 0; i < count; i++)
        for (size_t j = (i + 1) % step; j < count; j += step)
            if (i != j)
                with_requests(GetParam(),
                              [&](weft_comm *comm, bool odd) { expect_started(comm, odd ? started[i] : started[j]); });
}

// One thread of the last process starts another one, in the midst of those that all start.
TEST_P(MismatchBetween, OneThreadNonblocking) {
    if (GetParam().threads[0] == 1)
        GTEST_SKIP() << "there is one thread a process";
    for (size_t i = size_t(GetParam().level) % effort::call_parts; i < std::size(started); i += effort::call_parts)
        with_requests(GetParam(), [&](weft_comm *comm, bool odd) {
            bool is_odd = odd && weft_thread(comm) == 1;
            expect_started(comm, started[is_odd ? i : (i + 3) % std::size(started)]);
        });
}

// The last process does not come to the last call: it leaves.
TEST_P(MismatchBetween, OneLeaves) {
    const JobShape &shape = GetParam();
    int last = int(shape.threads.size()) - 1;
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        weft_team *team = nullptr;
        EXPECT_OK(weft_team_create(world->process_comm, shape.threads[size_t(rank)], &team));
        worlds.run_team(team, [&](weft_comm *comm) {
            EXPECT_OK(weft_barrier(comm));
            if (rank != last)
                EXPECT_ERROR(WEFT_ERR_MISMATCH, weft_barrier(comm), "weft_barrier", "left");
        });
        EXPECT_OK(weft_team_free(&team));
        expect_works(world->process_comm, "after one has left");
    });
}

JobShape shape_of(std::vector<int> threads, weft_thread_level level = WEFT_THREAD_SERIALIZED,
                  weft_wait_policy policy = WEFT_WAIT_YIELD) {
    JobShape shape{std::move(threads), level, policy};
    return shape;
}
INSTANTIATE_TEST_SUITE_P(Teams, MismatchBetween,
                         ::testing::Values(shape_of({1, 1}), shape_of({1, 1, 1}), shape_of({2, 2}),
                                           shape_of({2, 2}, WEFT_THREAD_FUNNELED, WEFT_WAIT_BLOCK)));

// On a process communicator, which is each world's only one.
class MismatchOfProcesses : public ::testing::TestWithParam<int> {
  protected:
    void on_processes(const std::function<void(weft_comm *, bool odd)> &run) const {
        JobShape shape{std::vector<int>(size_t(GetParam()), 1), WEFT_THREAD_SERIALIZED, WEFT_WAIT_YIELD};
        SimWorlds(shape).run_processes(
            [&](int rank, hier_world *world) { run(world->process_comm, rank == GetParam() - 1); });
    }

  private:
    threads::Watchdog watchdog_{170};
};

TEST_P(MismatchOfProcesses, Blocking) {
    const size_t count = std::size(calls) - 1, step = 13 * effort::parts;
    for (size_t i = 0; i < count; i++)
        for (size_t j = (i + 1) % step; j < count; j += step)
            if (i != j && comparable(calls[i], calls[j]))
                on_processes([&](weft_comm *comm, bool odd) {
                    std::string what = pair_name(calls[i], calls[j]);
                    expect_two_calls(expect_between(comm, odd ? calls[i] : calls[j], what), what);
                });
    for (const two_calls &pair : effort::part_of(special_pairs(), size_t(GetParam()), effort::call_parts))
        on_processes([&](weft_comm *comm, bool odd) {
            std::string what = pair_name(pair.odd, pair.usual);
            expect_two_calls(expect_between(comm, odd ? pair.odd : pair.usual, what), what);
        });
}

// All that are under way end, and so do those that are started later; messages go on.
TEST_P(MismatchOfProcesses, Nonblocking) {
    on_processes([](weft_comm *comm, bool odd) {
        mismatch_nonblocking(comm, odd);
        expect_messages(comm);
    });
}

TEST_P(MismatchOfProcesses, Persistent) {
    on_processes([](weft_comm *comm, bool odd) {
        mismatch_persistent(comm, odd);
        expect_messages(comm);
    });
}

INSTANTIATE_TEST_SUITE_P(Processes, MismatchOfProcesses, ::testing::Values(2, 3));

// As many words in all from one process to another, but not from each rank to each: who gets other blocks than he expects says so, others
// may have theirs, and learn of it with the next call.
TEST(MismatchOfBlocks, ThatAddUpAlike) {
    threads::Watchdog watchdog(170);
    SimWorlds(JobShape{{2, 1, 3}}).run([](weft_comm *comm) {
        const size_t ranks = 6;
        const size_t self = size_t(weft_rank(comm));
        for (bool wrong : {false, true}) {
            size_t sent[ranks], expected[ranks];
            ptrdiff_t displs[ranks];
            std::vector<int> from(8 * ranks), to(8 * ranks, -1);
            for (size_t rank = 0; rank < ranks; rank++) {
                sent[rank] = expected[rank] = 3;
                displs[rank] = ptrdiff_t(8 * rank);
                std::fill_n(&from[8 * rank], 8, int(10 * self + rank));
            }
            if (wrong && self == 1) // to process 2: one word for the first, five for the second
                sent[3] = 1, sent[4] = 5;
            int code = weft_alltoallv(from.data(), sent, displs, WEFT_INT, to.data(), expected, displs, WEFT_INT, comm);
            for (size_t rank = 0; code == WEFT_SUCCESS && rank < ranks; rank++)
                for (size_t i = 0; i < 8; i++)
                    EXPECT_EQ(to[8 * rank + i], i < 3 ? int(10 * rank + self) : -1)
                        << "rank " << self << " from " << rank;
            if (!wrong) {
                EXPECT_OK(code);
                continue;
            }
            EXPECT_TRUE(code || (self != 3 && self != 4));
            if (code == WEFT_SUCCESS)
                code = weft_barrier(comm);
            EXPECT_EQ(code, WEFT_ERR_MISMATCH);
            misuse::expect_sentence(
                {"rank 1 called weft_alltoallv and sends rank ", " called weft_alltoallv and expects 12"},
                "blocks that add up alike");
            std::string sentence = weft_last_error();
            EXPECT_TRUE(sentence.find("sends rank 3 4 bytes, but rank 3") != std::string::npos ||
                        sentence.find("sends rank 4 20 bytes, but rank 4") != std::string::npos)
                << sentence;
        }
    });
}

} // namespace
