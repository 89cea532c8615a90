// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking and persistent collectives of thread communicators over real transports: mixtures under way at once, completed
// in any order, on one communicator and on several.
#include "effort.h"
#include "hier/misuse.h"
#include "mixture.h"
#include "program.h"

namespace {

using namespace process;

// A body in each thread of a process, with its handles on two teams.
void on_two_teams(const std::function<void(weft_comm *, weft_comm *)> &run) {
    weft_team *first = nullptr, *second = nullptr;
    EXPECT_OK(weft_team_create(weft_process_comm(), job::threads(), &first));
    EXPECT_OK(weft_team_create(weft_process_comm(), job::threads(), &second));
    auto body = [&](int thread) {
        job::in_team(first, thread,
                     [&](weft_comm *one) { job::in_team(second, thread, [&](weft_comm *other) { run(one, other); }); });
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < job::threads(); thread++)
        others.emplace_back(body, thread);
    body(0);
    for (std::thread &other : others)
        other.join();
    EXPECT_OK(weft_team_free(&first));
    EXPECT_OK(weft_team_free(&second));
}

} // namespace

TEST(TeamRequests, DozensUnderWay) {
    job::on_team([](weft_comm *comm) {
        run_program(comm, 1, 150, 60);
        run_program(comm, 2, 100, 5);
    });
}

TEST(TeamRequests, PersistentOnesInAnyOrder) {
    job::on_team([](weft_comm *comm) { run_persistent(comm, 3, 20, 4); });
}

TEST(TeamRequests, WithTheArgumentsOfTheLast) {
    job::on_team([](weft_comm *comm) { run_repeated(comm, 5, 40); });
}

TEST(TeamRequests, WhatIsToldCompleteIsTheCallers) {
    job::on_team(expect_delivered_once);
}

TEST(TeamRequests, OnTwoTeamsAtOnce) {
    on_two_teams([](weft_comm *one, weft_comm *other) { run_program_on({one, other}, 4, 120, 30); });
}

// All that a persistent collective needs between processes it has after two starts: as many may be under way, somewhere.
TEST(TeamRequests, StartingAgainAllocatesNothing) {
    job::on_team([](weft_comm *comm) {
        auto apart = [&] { EXPECT_OK(weft_barrier(comm)); };
        for (int i = 0; i < 50; i++) // what barriers need, too
            apart();
        for (int kind = 0; kind < INTER_COLLECTIVES; kind++)
            for (bool in_place : {false, true})
                for (size_t count : {3, 3000}) {
                    Case what{inter_collective(kind)};
                    what.in_place = in_place && !inter_is(what.collective, without_in_place);
                    what.count = count, what.root = weft_size(comm) - 1, what.seed = 1;
                    expect_no_allocations(comm, what, "started again", 2, apart);
                }
    });
}

// A rank sends the last part of a message while it waits in a collective, and the other way round.
TEST(TeamRequests, AmongMessages) {
    job::on_team([](weft_comm *comm) {
        int rank = weft_rank(comm), size = weft_size(comm), next = (rank + 1) % size, last = (rank + size - 1) % size;
        std::vector<int> sent(30000, rank), came(30000, -1);
        for (int round = 0; round < 20; round++) {
            weft_request *list[3];
            int sum = rank;
            EXPECT_OK(weft_iallreduce(WEFT_IN_PLACE, &sum, 1, WEFT_INT, WEFT_SUM, comm, &list[0]));
            EXPECT_OK(weft_irecv(came.data(), came.size(), WEFT_INT, last, round, comm, &list[1]));
            EXPECT_OK(weft_isend(sent.data(), sent.size(), WEFT_INT, next, round, comm, &list[2]));
            if (round % 2) {
                EXPECT_OK(weft_wait(&list[round % 3], WEFT_STATUS_IGNORE));
            }
            if (round % 5 == 0) {
                EXPECT_OK(weft_barrier(comm));
            }
            EXPECT_OK(weft_waitall(3, list, WEFT_STATUSES_IGNORE));
            EXPECT_EQ(sum, size * (size - 1) / 2);
            EXPECT_EQ(came[29999], last);
        }
        EXPECT_OK(weft_barrier(comm)); // under FUNNELED messages move while the leader is in weft
    });
}

TEST(TeamRequests, AmongAllElse) {
    for (uint64_t seed = 0; seed < effort::rounds(24u); seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        run_mixture(weft_process_comm(), job::threads(), seed);
    }
}
