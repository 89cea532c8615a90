// SPDX-License-Identifier: BSD-3-Clause
// Requests of several processes, all within this one, whose threads share a process communicator: whoever waits drives the
// operations of all. The test of requests under ThreadSanitizer.
#include "effort.h"
#include "hier/sim_worlds.h"
#include "hier/thread_algorithms.h"
#include "mixture.h"
#include "program.h"

namespace {

using namespace process;

class SimRequests : public ::testing::TestWithParam<int> {
  protected:
    void on_worlds(weft_thread_level level, weft_wait_policy policy, uint64_t seed,
                   const std::function<void(weft_comm *)> &run) {
        threads::Watchdog watchdog(280);
        JobShape shape{std::vector<int>(size_t(GetParam()), 1), level, policy};
        shape.seed = seed;
        SimWorlds(shape).run_processes([&](int, hier_world *world) { run(world->process_comm); });
    }
};

} // namespace

TEST_P(SimRequests, AnyOrderOfCompletion) {
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED})
        for (uint64_t seed : {0, 1, 2})
            on_worlds(level, WEFT_WAIT_YIELD, seed, [=](weft_comm *comm) {
                run_program(comm, seed, effort::rounds(150), 60);
                run_persistent(comm, seed + 3, 20, 4);
            });
}

TEST_P(SimRequests, ThreadsWaitForRequestsOfTheirOwn) {
    for (weft_wait_policy policy : {WEFT_WAIT_YIELD, WEFT_WAIT_AUTO, WEFT_WAIT_BLOCK})
        for (int thread_count : {2, 3})
            on_worlds(WEFT_THREAD_SERIALIZED, policy, 0, [=](weft_comm *comm) {
                run_program_by_threads(comm, uint64_t(policy), effort::rounds(120), thread_count);
            });
}

// A message comes to who waits for one of several when another thread frees a communicator on which as many had come.
TEST(SimWaits, SeeWhatCameThoughACommunicatorGoes) {
    threads::Watchdog watchdog(120);
    JobShape shape{{1, 1}, WEFT_THREAD_SERIALIZED, WEFT_WAIT_BLOCK};
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        weft_comm *waited = nullptr, *told = nullptr;
        int rounds = 20, value = 0, never = 0;
        EXPECT_EQ(weft_comm_dup(world->process_comm, &waited), WEFT_SUCCESS);
        EXPECT_EQ(weft_comm_dup(world->process_comm, &told), WEFT_SUCCESS);
        std::atomic<int> begun{0}, seen{0};
        std::thread waiter;
        if (rank == 0)
            waiter = std::thread([&] {
                int got = 0;
                weft_request *requests[2] = {nullptr, nullptr};
                EXPECT_EQ(weft_irecv(&never, 1, WEFT_INT, 1, 99, waited, &requests[1]), WEFT_SUCCESS);
                for (int round = 1; round <= rounds; round++) {
                    size_t index = 7;
                    while (begun < round)
                        std::this_thread::yield();
                    EXPECT_EQ(weft_irecv(&got, 1, WEFT_INT, 1, 1, waited, &requests[0]), WEFT_SUCCESS);
                    EXPECT_EQ(weft_waitany(2, requests, &index, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
                    EXPECT_EQ(index, 0u);
                    EXPECT_EQ(got, round);
                    seen = round;
                }
                EXPECT_EQ(weft_cancel(&requests[1]), WEFT_SUCCESS);
                EXPECT_EQ(weft_wait(&requests[1], WEFT_STATUS_IGNORE), WEFT_SUCCESS);
            });
        for (int round = 1; round <= rounds; round++) {
            weft_comm *gone = nullptr;
            EXPECT_EQ(weft_comm_dup(told, &gone), WEFT_SUCCESS);
            auto receive = [&](int tag, weft_comm *comm) {
                EXPECT_EQ(weft_recv(&value, 1, WEFT_INT, 1 - rank, tag, comm, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
            };
            auto send = [&](int tag, weft_comm *comm) {
                EXPECT_EQ(weft_send(&round, 1, WEFT_INT, 1 - rank, tag, comm), WEFT_SUCCESS);
            };
            if (rank == 0) {
                receive(0, gone);
                receive(0, gone);
                begun = round;
                std::this_thread::sleep_for(std::chrono::milliseconds(2)); // it waits, in all likelihood
                send(5, told);
                receive(2, told);
                EXPECT_EQ(weft_comm_free(&gone), WEFT_SUCCESS);
                while (seen < round)
                    std::this_thread::yield();
            } else {
                send(0, gone);
                send(0, gone);
                receive(5, told);
                send(1, waited);
                send(2, told);
                EXPECT_EQ(weft_comm_free(&gone), WEFT_SUCCESS);
            }
        }
        if (rank == 0)
            waiter.join();
        EXPECT_EQ(weft_comm_free(&waited), WEFT_SUCCESS);
        EXPECT_EQ(weft_comm_free(&told), WEFT_SUCCESS);
    });
}

INSTANTIATE_TEST_SUITE_P(Processes, SimRequests, ::testing::Values(1, 2, 3, 5));

namespace {

// The same on thread communicators, whose parts are each thread's own.
class SimTeams : public ::testing::TestWithParam<Threads> {
  protected:
    void on_team(weft_thread_level level, weft_wait_policy policy, int slots, uint64_t seed,
                 const std::function<void(weft_comm *)> &run, const std::string &algorithm = "") {
        threads::Watchdog watchdog(280);
        JobShape shape{GetParam(), level, policy};
        shape.slots = slots;
        shape.seed = seed;
        shape.algorithm = algorithm;
        SCOPED_TRACE(::testing::Message() << shape);
        SimWorlds(shape).run(run);
    }
};

} // namespace

// More under way than there are slots, and far fewer: whatever order each rank completes them in.
TEST_P(SimTeams, AnyOrderOfCompletion) {
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED})
        for (int slots : {2, 16})
            on_team(level, WEFT_WAIT_AUTO, slots, uint64_t(slots), [=](weft_comm *comm) {
                run_program(comm, uint64_t(slots), effort::rounds(120), 60);
                run_persistent(comm, uint64_t(slots) + 3, 12, 4);
            });
}

TEST_P(SimTeams, WithTheArgumentsOfTheLast) {
    on_team(WEFT_THREAD_SERIALIZED, WEFT_WAIT_AUTO, 4, 5,
            [=](weft_comm *comm) { run_repeated(comm, 5, effort::rounds(30)); });
}

TEST_P(SimTeams, EveryWaitingPolicy) {
    for (weft_wait_policy policy : {WEFT_WAIT_YIELD, WEFT_WAIT_BLOCK})
        on_team(WEFT_THREAD_SERIALIZED, policy, 4, 7, [=](weft_comm *comm) { run_program(comm, 7, 60, 20); });
}

TEST_P(SimTeams, EveryThreadAlgorithm) {
    std::vector<std::string> algorithms = every_thread_algorithm();
    algorithms.push_back(
        "bcast=nbFT:1K/flags,reduce=CHAIN:1K/slices,allreduce=nbBDE:1K/slices,allgather=nbFT:1K/slices");
    for (const std::string &algorithm : algorithms)
        on_team(
            WEFT_THREAD_SERIALIZED, WEFT_WAIT_AUTO, 4, 11,
            [=](weft_comm *comm) {
                run_program(comm, 11, effort::rounds(100), 30);
                run_persistent(comm, 12, 10, 3);
            },
            algorithm);
}

TEST_P(SimTeams, BesideAProgressThread) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE}) {
        JobShape shape{GetParam(), level};
        shape.progress = true;
        shape.slots = 4;
        SimWorlds(shape).run([&](weft_comm *comm) {
            run_program(comm, 31, effort::rounds(100), 30);
            run_persistent(comm, 32, 10, 3);
        });
    }
}

// A thousand started before the first is waited for, the last one first.
TEST_P(SimTeams, ThousandsUnderWay) {
    on_team(WEFT_THREAD_SERIALIZED, WEFT_WAIT_AUTO, 4, 0, [](weft_comm *comm) {
        const size_t count = effort::rounds(2000);
        std::vector<weft_request *> requests(count);
        std::vector<int> sums(count);
        for (size_t i = 0; i < count; i++) {
            sums[i] = int(i) + weft_rank(comm);
            EXPECT_EQ(weft_iallreduce(WEFT_IN_PLACE, &sums[i], 1, WEFT_INT, WEFT_SUM, comm, &requests[i]),
                      WEFT_SUCCESS);
        }
        int size = weft_size(comm), ranks = size * (size - 1) / 2;
        for (size_t i = count; i-- > 0;) {
            EXPECT_EQ(weft_wait(&requests[i], WEFT_STATUS_IGNORE), WEFT_SUCCESS);
            EXPECT_EQ(sums[i], int(i) * size + ranks);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Teams, SimTeams,
                         ::testing::Values(Threads{1}, Threads{2}, Threads{5}, Threads{9}, Threads{2, 2},
                                           Threads{1, 3, 2}, Threads{3, 3}),
                         shape_name);

// Teams and communicators that come and go, collectives and messages on all of them.
TEST(SimMixtures, OfEverything) {
    threads::Watchdog watchdog(280);
    uint64_t seed = 0;
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE})
        for (weft_wait_policy policy : {WEFT_WAIT_YIELD, WEFT_WAIT_BLOCK})
            for (size_t processes : {1, 3}) {
                JobShape shape{Threads(processes, 1), level, policy};
                SCOPED_TRACE(shape);
                shape.slots = int(2u << seed % 4);
                shape.eager_limit = seed % 3 ? 4096 : 0;
                shape.seed = seed;
                shape.progress = level != WEFT_THREAD_FUNNELED && policy == WEFT_WAIT_BLOCK;
                SimWorlds(shape).run_processes([&](int, hier_world *world) {
                    for (uint64_t program = 0; program < effort::rounds(12u); program++)
                        run_mixture(world->process_comm, 3, 100 * seed + program);
                });
                seed++;
            }
}
