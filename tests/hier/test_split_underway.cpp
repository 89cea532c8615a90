// SPDX-License-Identifier: BSD-3-Clause
// Communicators are made and freed while operations of others are under way: each rank has collectives on the team and messages
// to its neighbours started, which it completes between the steps, in an order of its own.
#include "effort.h"
#include "oracle_job.h"
#include "sim_worlds.h"
#include <weft/comm.h>
#include <weft/message.h>

#include <random>

namespace {

constexpr size_t count = 3000; // long enough to be offered

// A ring's message and a sum on one communicator.
struct Pair {
    std::vector<int> out, in, sum;
    weft_request *requests[3] = {nullptr, nullptr, nullptr};

    void start(weft_comm *comm, int step) {
        int rank = weft_rank(comm), size = weft_size(comm);
        out.assign(count, rank + step);
        in.assign(count, -1);
        sum = out;
        job::ok(weft_irecv(in.data(), count, WEFT_INT, (rank + size - 1) % size, step, comm, &requests[0]), comm,
                "weft_irecv");
        job::ok(weft_isend(out.data(), count, WEFT_INT, (rank + 1) % size, step, comm, &requests[1]), comm,
                "weft_isend");
        job::ok(weft_iallreduce(WEFT_IN_PLACE, sum.data(), count, WEFT_INT, WEFT_SUM, comm, &requests[2]), comm,
                "weft_iallreduce");
    }
    void look(size_t i) {
        int done = 0;
        EXPECT_EQ(WEFT_SUCCESS, weft_test(&requests[i], &done, nullptr)) << weft_last_error();
    }
    void finish(weft_comm *comm, int step) {
        int rank = weft_rank(comm), size = weft_size(comm);
        job::ok(weft_waitall(3, requests, nullptr), comm, "weft_waitall");
        job::check(in == std::vector<int>(count, (rank + size - 1) % size + step), comm, "what was received");
        job::check(sum == std::vector<int>(count, size * (size - 1) / 2 + size * step), comm, "the sum");
    }
};

void run(weft_comm *team, int steps) {
    std::mt19937 random(unsigned(weft_rank(team)) + 1);
    Pair standing, last;
    weft_comm *made = nullptr, *before = nullptr;
    standing.start(team, 0);
    for (int step = 1; step <= steps; step++) {
        int color = step % 3 ? weft_rank(team) % (step % 3) : 0;
        job::ok(weft_comm_split(team, color, -(weft_rank(team) * step % 5), &made), team, "weft_comm_split");
        Pair own;
        own.start(made, step);
        for (int i = random() % 4; i > 0; i--)
            standing.look(random() % 3);
        if (before) { // with operations under way on its parent and its sibling
            last.finish(before, step - 1);
            job::ok(weft_comm_free(&before), team, "weft_comm_free");
        }
        before = made;
        last = std::move(own);
    }
    last.finish(before, steps);
    job::ok(weft_comm_free(&before), team, "weft_comm_free");
    standing.finish(team, 0);
}

class Underway : public ::testing::TestWithParam<Threads> {};

TEST_P(Underway, OperationsStay) {
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE}) {
        threads::Watchdog watchdog(100);
        JobShape shape{GetParam(), level};
        shape.slots = 2;
        shape.seed = 3 - uint64_t(level); // of one level nothing is over before it is received
        SimWorlds(shape).run([](weft_comm *comm) {
            run(comm, int(effort::rounds(12)));
            job::ok(weft_barrier(comm), comm, "weft_barrier"); // under FUNNELED the leader stays until all are through
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Sim, Underway, ::testing::Values(Threads{3}, Threads{2, 2}, Threads{1, 3, 2}), shape_name);

} // namespace
