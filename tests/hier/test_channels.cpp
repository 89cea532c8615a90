// SPDX-License-Identifier: BSD-3-Clause
// Channels of threads (WEFT_THREAD_MULTIPLE) in worlds over the sim transport.
#include "sim_worlds.h"

#include <atomic>
#include <hier/comm.h>
#include <thread>
#include <vector>

namespace {

// Every rank sends `rounds` messages to the next one, short and long, some of them synchronous, and receives as many.
void around_the_ring(weft_comm *comm, int rounds) {
    int rank = weft_rank(comm), size = weft_size(comm), from = (rank + size - 1) % size;
    std::vector<int> out(4000), in(4000);
    for (int round = 0; round < rounds; round++) {
        size_t count = round % 3 == 2 ? out.size() : size_t(round);
        out[0] = rank * 1000 + round;
        weft_request *request = nullptr;
        auto start = round % 2 ? weft_issend : weft_isend;
        EXPECT_EQ(start(out.data(), count, WEFT_INT, (rank + 1) % size, round, comm, &request), WEFT_SUCCESS);
        weft_status status;
        EXPECT_EQ(weft_recv(in.data(), in.size(), WEFT_INT, round % 2 ? from : WEFT_ANY_SOURCE, round, comm, &status),
                  WEFT_SUCCESS);
        EXPECT_EQ(status.bytes, count * sizeof(int));
        if (count) {
            EXPECT_EQ(in[0], from * 1000 + round);
        }
        EXPECT_EQ(weft_wait(&request, nullptr), WEFT_SUCCESS);
    }
}

JobShape shape_of(std::vector<int> threads, weft_wait_policy policy = WEFT_WAIT_AUTO) {
    JobShape shape{std::move(threads), WEFT_THREAD_MULTIPLE, policy};
    shape.seed = 5;
    return shape;
}

} // namespace

// Somebody keeps the funnel all the time; messages between threads of different processes go on.
TEST(Channels, NeedNoFunnel) {
    threads::Watchdog watchdog(100);
    for (weft_wait_policy policy : {WEFT_WAIT_AUTO, WEFT_WAIT_BLOCK}) {
        std::atomic<int> kept[2] = {}, through[2] = {};
        SimWorlds(shape_of({3, 3}, policy)).run([&](weft_comm *comm) {
            EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
            int node = weft_node(comm), thread = weft_rank(comm) % 3;
            std::thread keeper;
            if (thread == 0) {
                keeper = std::thread([&, world = comm->world] {
                    hier_funnel_enter(world);
                    kept[node] = 1;
                    while (through[node] < 3)
                        std::this_thread::yield();
                    hier_funnel_leave(world);
                });
            }
            while (!kept[0] || !kept[1])
                std::this_thread::yield();
            around_the_ring(comm, 12);
            through[node]++;
            if (keeper.joinable())
                keeper.join();
            EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
        });
    }
}

TEST(Channels, AreSharedByMoreThreads) {
    threads::Watchdog watchdog(100);
    SimWorlds(shape_of({INTER_CHANNELS + 3, 2}, WEFT_WAIT_BLOCK)).run([](weft_comm *comm) {
        around_the_ring(comm, 6);
    });
}

TEST(Channels, GrowWithTheTeams) {
    threads::Watchdog watchdog(100);
    SimWorlds worlds(shape_of({1, 1, 1}));
    worlds.run_processes([&](int rank, hier_world *world) {
        const int counts[][3] = {{1, 1, 1}, {1, 3, 2}, {2, 1, 1}, {4, 4, 1}};
        weft_team *first = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, 2, &first), WEFT_SUCCESS);
        for (const auto &count : counts) {
            weft_team *team = nullptr;
            ASSERT_EQ(weft_team_create(world->process_comm, count[rank], &team), WEFT_SUCCESS) << weft_last_error();
            worlds.run_team(team, [](weft_comm *comm) { around_the_ring(comm, 6); });
            worlds.run_team(first, [](weft_comm *comm) { around_the_ring(comm, 3); });
            EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
        }
        EXPECT_EQ(weft_team_free(&first), WEFT_SUCCESS);
    });
}

// One thread has handles of several teams, under different numbers, and so several channels.
TEST(Channels, OfOneThreadInTwoTeams) {
    threads::Watchdog watchdog(100);
    for (weft_wait_policy policy : {WEFT_WAIT_AUTO, WEFT_WAIT_BLOCK}) {
        SimWorlds worlds(shape_of({2, 2}, policy));
        worlds.run_processes([&](int, hier_world *world) {
            weft_team *teams[2] = {};
            for (weft_team *&team : teams)
                ASSERT_EQ(weft_team_create(world->process_comm, 2, &team), WEFT_SUCCESS) << weft_last_error();
            threads::run(2, [&](int index) {
                weft_comm *comms[2] = {};
                EXPECT_EQ(weft_team_enter(teams[0], index, &comms[0]), WEFT_SUCCESS);
                EXPECT_EQ(weft_team_enter(teams[1], 1 - index, &comms[1]), WEFT_SUCCESS);
                for (int round = 0; round < 3; round++)
                    for (weft_comm *comm : comms)
                        around_the_ring(comm, 4);
                for (weft_comm *&comm : comms)
                    EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
            });
            for (weft_team *&team : teams)
                EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
        });
    }
}
