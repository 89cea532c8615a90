// SPDX-License-Identifier: BSD-3-Clause
// A blocked thread stops nobody, and who waits in a collective still receives: several processes in one.
#include "effort.h"
#include "messages_progression.h"
#include "sim_worlds.h"
#include <atomic>

namespace {

using progression::Blocked;
using Parameter = std::tuple<weft_thread_level, weft_wait_policy, int>; // level, policy, blocked thread

class Progression : public ::testing::TestWithParam<Parameter> {};

std::string name_of(const ::testing::TestParamInfo<Parameter> &info) {
    return std::string(level_name(std::get<0>(info.param))) +
           (std::get<1>(info.param) == WEFT_WAIT_BLOCK ? "Block" : "Auto") + "Thread" +
           std::to_string(std::get<2>(info.param));
}

JobShape shape_of(const Parameter &parameter, std::vector<int> threads, int eager) {
    JobShape shape{std::move(threads), std::get<0>(parameter)};
    shape.policy = std::get<1>(parameter);
    shape.eager_limit = eager;
    return shape;
}

} // namespace

TEST_P(Progression, OneBlockedThread) {
    int blocked = std::get<2>(GetParam());
    for (Blocked where : {progression::IN_RECEIVE, progression::IN_PROBE, progression::OUTSIDE})
        for (int eager : {4096, 0}) {
            // Under FUNNELED nobody else drives the network while the leader is outside.
            if (where == progression::OUTSIDE && blocked == 0 && std::get<0>(GetParam()) == WEFT_THREAD_FUNNELED)
                continue;
            threads::Watchdog watchdog(100);
            progression::Gate gates[2];
            SimWorlds(shape_of(GetParam(), {3, 3}, eager)).run([&](weft_comm *comm) {
                progression::exchange_beside(comm, gates[weft_node(comm)], blocked, where, effort::rounds(24));
            });
        }
}

TEST_P(Progression, ReceiveBehindABarrier) {
    for (const std::vector<int> &threads : {std::vector<int>{2}, {3}, {1, 1}, {2, 2}})
        for (int receiver :
             {0, threads[0] - 1}) { // which under FUNNELED may be the only one of its process with messages
            threads::Watchdog watchdog(100);
            SimWorlds worlds(shape_of(GetParam(), threads, receiver ? 0 : 4096));
            worlds.run([&](weft_comm *comm) { progression::receive_behind_barrier(comm, receiver); });
        }
}

TEST_P(Progression, ReceiveBehindABarrierOfProcesses) {
    threads::Watchdog watchdog(100);
    SimWorlds worlds(shape_of(GetParam(), {1, 1, 1}, 4096));
    worlds.run_processes([&](int, hier_world *world) { progression::receive_behind_barrier(world->process_comm, 0); });
}

TEST_P(Progression, TeamBehindABarrierOfProcesses) {
    threads::Watchdog watchdog(100);
    SimWorlds worlds(shape_of(GetParam(), {2, 2}, 4096));
    worlds.run([&](weft_comm *comm) { progression::team_behind_barrier(comm, comm->world->process_comm); });
}

TEST_P(Progression, ProcessesBehindWaitsWithinAProcess) {
    using progression::Within;
    threads::Watchdog watchdog(100);
    for (Within how : {Within::barrier, Within::receive, Within::probe, Within::test}) {
        progression::Gate gate;
        SimWorlds worlds(shape_of(GetParam(), {2, 2, 2, 2}, 4096));
        worlds.run([&](weft_comm *comm) {
            progression::processes_behind_barrier(comm, comm->world->process_comm, gate, how);
        });
    }
}

// Under MULTIPLE any thread may be the first to send on a process communicator, and several may be it at once.
TEST(ProgressionOfProcesses, SeveralFirstMessagesAtOnce) {
    threads::Watchdog watchdog(100);
    const int each = 4;
    SimWorlds worlds(JobShape{{1, 1}, WEFT_THREAD_MULTIPLE});
    worlds.run_processes([&](int rank, hier_world *world) {
        for (int round = 0; round < effort::rounds(60); round++) {
            weft_comm *comm = nullptr;
            ASSERT_EQ(weft_comm_dup(world->process_comm, &comm), WEFT_SUCCESS) << weft_last_error();
            std::atomic<int> ready{0};
            threads::run(each, [&](int thread) {
                for (ready++; ready < each;)
                    std::this_thread::yield();
                int mine = rank * each + thread, theirs = -1;
                weft_request *request = nullptr;
                EXPECT_EQ(weft_isend(&mine, 1, WEFT_INT, 1 - rank, thread, comm, &request), WEFT_SUCCESS);
                EXPECT_EQ(weft_recv(&theirs, 1, WEFT_INT, 1 - rank, thread, comm, nullptr), WEFT_SUCCESS);
                EXPECT_EQ(weft_wait(&request, nullptr), WEFT_SUCCESS);
                EXPECT_EQ(theirs, (1 - rank) * each + thread);
            });
            ASSERT_EQ(weft_comm_free(&comm), WEFT_SUCCESS) << weft_last_error();
        }
    });
}

// Who uses no messages has no more of them put aside than others: its sender is told to stop.
TEST(ProgressionOfProcesses, WhoUsesNoMessagesHasThemBounded) {
    threads::Watchdog watchdog(100);
    JobShape shape{{1, 1}};
    shape.unexpected_limit = 10000;
    SimWorlds worlds(shape);
    worlds.run_processes([&](int process, hier_world *world) {
        constexpr size_t messages = 30;
        weft_comm *comm = world->process_comm;
        std::vector<char> bytes(1000);
        std::vector<weft_request *> requests(process ? 0 : messages);
        for (weft_request *&request : requests)
            EXPECT_EQ(weft_isend(bytes.data(), bytes.size(), WEFT_BYTE, 1, 3, comm, &request), WEFT_SUCCESS)
                << weft_last_error();
        for (int times = 0; times < 300; times++)
            EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS) << weft_last_error();
        EXPECT_TRUE(process == 1 || world->channel.peers[1].stopped);
        EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS) << weft_last_error(); // before this nobody has room again
        for (size_t i = 0; process == 1 && i < messages; i++)
            EXPECT_EQ(weft_recv(bytes.data(), bytes.size(), WEFT_BYTE, 0, 3, comm, WEFT_STATUS_IGNORE), WEFT_SUCCESS)
                << weft_last_error();
        EXPECT_EQ(weft_waitall(requests.size(), requests.data(), WEFT_STATUSES_IGNORE), WEFT_SUCCESS)
            << weft_last_error();
    });
}

// Who never waits long, since the short message that he waits for is there at once, has other things under way all the same.
TEST(ProgressionBesideShortOnes, OfLongReceives) {
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE})
        for (const std::vector<int> &threads : {std::vector<int>{2}, {2, 1}}) {
            threads::Watchdog watchdog(100);
            JobShape shape{threads, level};
            shape.policy = WEFT_WAIT_SPIN; // else nobody looks twice for a short one
            SimWorlds(shape).run([&](weft_comm *comm) {
                weft_comm *other = nullptr;
                ASSERT_EQ(weft_comm_dup(comm, &other), WEFT_SUCCESS) << weft_last_error();
                for (weft_comm *on : {comm, other})
                    for (int from = 1; from < weft_size(comm); from++)
                        progression::receive_beside_short_ones(comm, from, on);
                EXPECT_EQ(weft_comm_free(&other), WEFT_SUCCESS) << weft_last_error();
            });
        }
}

// The same without a race: what a rank sends itself is always there at once.
TEST(ProgressionBesideShortOnes, OfAnotherCommunicator) {
    JobShape shape{{1}, WEFT_THREAD_SERIALIZED};
    SimWorlds(shape).run([&](weft_comm *comm) {
        const std::vector<int> data(20000, 7);
        std::vector<int> in(data.size());
        weft_comm *other = nullptr;
        weft_request *requests[2];
        ASSERT_EQ(weft_comm_dup(comm, &other), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(weft_irecv(in.data(), in.size(), WEFT_INT, 0, 1, other, &requests[0]), WEFT_SUCCESS);
        EXPECT_EQ(weft_isend(data.data(), data.size(), WEFT_INT, 0, 1, other, &requests[1]), WEFT_SUCCESS);
        for (int64_t word = 0, back = -1; word < 1000; word++) {
            EXPECT_EQ(weft_send(&word, 1, WEFT_INT64_T, 0, 1, comm), WEFT_SUCCESS);
            EXPECT_EQ(weft_recv(&back, 1, WEFT_INT64_T, 0, 1, comm, nullptr), WEFT_SUCCESS);
            EXPECT_EQ(back, word);
        }
        EXPECT_TRUE(in == data) << "nobody looked after it";
        EXPECT_EQ(weft_waitall(2, requests, nullptr), WEFT_SUCCESS);
        EXPECT_EQ(weft_comm_free(&other), WEFT_SUCCESS) << weft_last_error();
    });
}

// Who only completes sends that are done has other things under way all the same: its part in a collective of its process, or
// what comes from another one.
TEST(ProgressionBesideWindows, OfPartsAndLongReceives) {
    static constexpr size_t count = 100000;
    for (weft_thread_level level : {WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE})
        for (const std::vector<int> &threads : {std::vector<int>{2}, {2, 1}})
            for (size_t window : {1, 2, 5}) {
                threads::Watchdog watchdog(100);
                std::atomic<bool> through{false};
                SimWorlds(JobShape{threads, level}).run([&](weft_comm *comm) {
                    const bool inside = weft_nodes(comm) == 1;
                    const int rank = weft_rank(comm), last = weft_size(comm) - 1;
                    std::vector<int> in(count), out(count, 3);
                    int word = 1, sent = 0;
                    weft_request *request = nullptr;
                    EXPECT_EQ(weft_sendrecv(&word, 1, WEFT_INT, rank, 1, &sent, 1, WEFT_INT, rank, 1, comm, nullptr),
                              WEFT_SUCCESS);
                    EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
                    int code = WEFT_SUCCESS;
                    if (inside)
                        code = weft_iallreduce(out.data(), in.data(), count, WEFT_INT, WEFT_SUM, comm, &request);
                    else if (rank == 0)
                        code = weft_irecv(in.data(), count, WEFT_INT, last, 2, comm, &request);
                    EXPECT_EQ(code, WEFT_SUCCESS);
                    if (rank == 0) {
                        for (sent = 0; !through; sent += int(window)) {
                            weft_request *sends[5];
                            for (size_t i = 0; i < window; i++)
                                EXPECT_EQ(weft_isend(&word, 1, WEFT_INT, 1, 3, comm, &sends[i]), WEFT_SUCCESS);
                            EXPECT_EQ(weft_waitall(window, sends, nullptr), WEFT_SUCCESS);
                            std::this_thread::sleep_for(std::chrono::microseconds(100));
                        }
                        EXPECT_EQ(weft_send(&sent, 1, WEFT_INT, 1, 4, comm), WEFT_SUCCESS);
                    } else if (rank == last) {
                        EXPECT_EQ(inside ? weft_wait(&request, nullptr)
                                         : weft_send(out.data(), count, WEFT_INT, 0, 2, comm),
                                  WEFT_SUCCESS);
                        through = true;
                    }
                    if (rank == 1) {
                        EXPECT_EQ(weft_recv(&sent, 1, WEFT_INT, 0, 4, comm, nullptr), WEFT_SUCCESS);
                        for (; sent > 0; sent--)
                            EXPECT_EQ(weft_recv(&word, 1, WEFT_INT, 0, 3, comm, nullptr), WEFT_SUCCESS);
                    }
                    EXPECT_EQ(weft_wait(&request, nullptr), WEFT_SUCCESS);
                    EXPECT_TRUE(!(inside || rank == 0) || in == std::vector<int>(count, inside ? 6 : 3));
                });
            }
}

INSTANTIATE_TEST_SUITE_P(
    Levels, Progression,
    ::testing::Combine(::testing::Values(WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE),
                       ::testing::Values(WEFT_WAIT_AUTO, WEFT_WAIT_BLOCK), ::testing::Values(0, 2)),
    name_of);
