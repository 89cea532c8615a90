// SPDX-License-Identifier: BSD-3-Clause
// Lists that mix requests: messages of two teams with the same tags, messages of the process communicator, and collectives of it.
// Every way to complete them; and what is sent in one team is not received in the other.
#include "effort.h"
#include "oracle_job.h"
#include "sim_worlds.h"
#include <algorithm>
#include <array>
#include <cstring>

namespace {

constexpr size_t words = 700; // above and below the eager limits
enum Completion { WAITALL, WAITANY, WAITSOME, TESTALL, TESTANY, TESTSOME, COMPLETIONS };

// A message each way with one partner in one communicator.
struct Exchange {
    weft_comm *comm;
    int peer;
    uint64_t key;
    size_t length;
    std::array<uint64_t, words> out{}, in{};

    static uint64_t key_of(uint64_t key, int from) {
        return job::hash(key, uint64_t(from));
    }
    void start(std::vector<weft_request *> &list, int tag, bool synchronous) {
        weft_request *request = nullptr;
        out.fill(key_of(key, weft_rank(comm)));
        in.fill(0);
        job::ok(weft_irecv(in.data(), length, WEFT_UINT64_T, peer, tag, comm, &request), comm, "weft_irecv");
        list.push_back(request);
        auto send = synchronous ? weft_issend : weft_isend;
        job::ok(send(out.data(), length, WEFT_UINT64_T, peer, tag, comm, &request), comm, "weft_isend");
        list.push_back(request);
    }
    void check() {
        auto end = in.begin() + ptrdiff_t(length);
        job::check(std::count(in.begin(), end, key_of(key, peer)) == ptrdiff_t(length) &&
                       std::count(end, in.end(), uint64_t{0}) == ptrdiff_t(words - length),
                   comm, "a message of another communicator, or a wrong one");
    }
};

// Every request exactly once.
void complete(std::vector<weft_request *> &list, Completion how, weft_comm *comm) {
    size_t all = size_t(list.size() - size_t(std::count(list.begin(), list.end(), WEFT_REQUEST_NULL))), got = 0;
    std::vector<weft_status> statuses(list.size());
    std::vector<size_t> indices(list.size());
    std::vector<int> times(list.size(), 0);
    size_t count = list.size();
    int done = 0;
    if (how == WAITALL)
        job::ok(weft_waitall(count, list.data(), statuses.data()), comm, "weft_waitall");
    while (how == TESTALL && !done)
        job::ok(weft_testall(count, list.data(), &done, statuses.data()), comm, "weft_testall");
    while (how != WAITALL && how != TESTALL && got < all) {
        size_t found = 0;
        if (how == WAITANY) {
            job::ok(weft_waitany(count, list.data(), &indices[0], statuses.data()), comm, "weft_waitany");
            found = 1;
        } else if (how == TESTANY) {
            job::ok(weft_testany(count, list.data(), &indices[0], &done, statuses.data()), comm, "weft_testany");
            found = done ? 1 : 0;
        } else {
            auto some = how == WAITSOME ? weft_waitsome : weft_testsome;
            job::ok(some(count, list.data(), &found, indices.data(), statuses.data()), comm, "weft_…some");
            job::check(how == TESTSOME || found > 0, comm, "weft_waitsome completes one");
        }
        for (size_t i = 0; i < found; i++)
            job::check(indices[i] < count && ++times[indices[i]] == 1, comm, "a request that is completed once");
        got += found;
    }
    job::check(std::count(list.begin(), list.end(), WEFT_REQUEST_NULL) == ptrdiff_t(count), comm,
               "all requests are completed");
    size_t index = 0;
    job::ok(weft_waitany(count, list.data(), &index, statuses.data()), comm, "weft_waitany");
    job::check(index == WEFT_UNDEFINED, comm, "of what is completed none is found");
}

// What the leading thread of a process adds: a message with the next process each way, and two collectives.
struct Processes {
    weft_comm *comm;
    std::array<uint64_t, 3> sent{}, sum{}, root{};

    void start(std::vector<weft_request *> &list, uint64_t round) {
        weft_request *request = nullptr;
        sent.fill(round + uint64_t(weft_rank(comm)));
        sum.fill(0);
        root.fill(weft_rank(comm) == 0 ? round : 0);
        job::ok(weft_iallreduce(sent.data(), sum.data(), 3, WEFT_UINT64_T, WEFT_SUM, comm, &request), comm,
                "weft_iallreduce");
        list.push_back(request);
        job::ok(weft_ibcast(root.data(), 3, WEFT_UINT64_T, 0, comm, &request), comm, "weft_ibcast");
        list.push_back(request);
    }
    void check(uint64_t round) const {
        uint64_t size = uint64_t(weft_size(comm));
        job::check(sum[0] == size * round + size * (size - 1) / 2 && sum[2] == sum[0], comm, "weft_iallreduce");
        job::check(root[0] == round && root[2] == round, comm, "weft_ibcast");
    }
};

// `processes` is NULL but for the leading thread of a process.
void round_of(weft_comm *teams[2], weft_comm *processes, uint64_t round) {
    threads::Random random(round * 64 + uint64_t(weft_rank(teams[0])) + 1);
    Processes others{processes};
    std::vector<Exchange> exchanges;
    size_t length = round % 3 ? round % 40 : words;
    for (size_t team = 0; team < 2; team++)
        exchanges.push_back(
            {teams[team], weft_size(teams[team]) - 1 - weft_rank(teams[team]), round * 8 + team, length});
    if (processes)
        exchanges.push_back({processes, weft_size(processes) - 1 - weft_rank(processes), round * 8 + 5, length});
    // Each rank begins with another one: only the context tells their messages apart.
    std::rotate(exchanges.begin(), exchanges.begin() + ptrdiff_t(random.below(exchanges.size())), exchanges.end());
    std::vector<weft_request *> list{WEFT_REQUEST_NULL};
    for (Exchange &exchange : exchanges)
        exchange.start(list, 7, round % 2 == 1);
    if (processes)
        others.start(list, round);
    for (size_t i = list.size(); i-- > 1;)
        std::swap(list[i], list[random.below(i + 1)]);
    complete(list, Completion((round + uint64_t(weft_rank(teams[0]))) % COMPLETIONS), teams[0]);
    for (Exchange &exchange : exchanges)
        exchange.check();
    if (processes)
        others.check(round);
}

void run_mixed(const JobShape &shape) {
    threads::Watchdog watchdog(110);
    SimWorlds(shape).run_processes([&](int rank, hier_world *world) {
        int count = shape.threads[size_t(rank)];
        weft_team *teams[2] = {nullptr, nullptr};
        for (weft_team *&team : teams)
            ASSERT_EQ(weft_team_create(world->process_comm, count, &team), WEFT_SUCCESS) << weft_last_error();
        threads::run(count, [&](int thread) {
            weft_comm *comms[2] = {nullptr, nullptr};
            for (int team : {0, 1})
                ASSERT_EQ(weft_team_enter(teams[team], thread, &comms[team]), WEFT_SUCCESS) << weft_last_error();
            for (uint64_t round = 0; round < effort::rounds<uint64_t>(30); round++)
                round_of(comms, thread == 0 ? world->process_comm : nullptr, round);
            // Under FUNNELED the others need the leader's help to their end.
            job::ok(weft_barrier(comms[0]), comms[0], "weft_barrier");
            for (weft_comm *&comm : comms)
                EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS) << weft_last_error();
        });
        for (weft_team *&team : teams)
            EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS) << weft_last_error();
    });
}

} // namespace

TEST(MixedLists, OfTeamsProcessesAndCollectives) {
    for (const std::vector<int> &threads : {std::vector<int>{1}, {2}, {3}, {1, 1}, {2, 2}, {1, 2, 3}})
        for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE})
            for (weft_wait_policy policy : {WEFT_WAIT_AUTO, WEFT_WAIT_BLOCK}) {
                JobShape shape{threads, level, policy};
                SCOPED_TRACE(::testing::Message() << shape);
                run_mixed(shape);
                ASSERT_FALSE(HasFailure());
            }
}

// Two that end in errors of their own: the first of the list is the one that is returned, with its sentence, and each status has its own.
TEST(MixedLists, TellTheFirstErrorOfSeveral) {
    threads::Watchdog watchdog(110);
    SimWorlds(JobShape{{2}}).run([](weft_comm *comm) {
        const int other = 1 - weft_rank(comm), two[2] = {};
        for (bool truncated_first : {true, false})
            for (bool with_statuses : {true, false}) {
                weft_comm *broken = nullptr;
                weft_request *list[3] = {};
                weft_status statuses[3] = {};
                int one = 1, got = 0, sum = 0;
                const size_t receive = truncated_first ? 0 : 1, collective = 1 - receive;
                ASSERT_EQ(weft_comm_dup(comm, &broken), WEFT_SUCCESS);
                EXPECT_EQ(weft_irecv(&got, 1, WEFT_INT, other, 7, comm, &list[receive]), WEFT_SUCCESS);
                EXPECT_EQ(other ? weft_ibarrier(broken, &list[collective])
                                : weft_iallreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, broken, &list[collective]),
                          WEFT_SUCCESS);
                EXPECT_EQ(weft_isend(two, 2, WEFT_INT, other, 7, comm, &list[2]), WEFT_SUCCESS);
                EXPECT_EQ(weft_waitall(3, list, with_statuses ? statuses : WEFT_STATUSES_IGNORE),
                          truncated_first ? WEFT_ERR_TRUNCATE : WEFT_ERR_MISMATCH);
                EXPECT_EQ(strstr(weft_last_error(), "weft_irecv") != nullptr, truncated_first) << weft_last_error();
                if (with_statuses) {
                    EXPECT_EQ(statuses[receive].error, WEFT_ERR_TRUNCATE);
                    EXPECT_EQ(statuses[collective].error, WEFT_ERR_MISMATCH);
                    EXPECT_EQ(statuses[2].error, WEFT_SUCCESS);
                }
                EXPECT_EQ(weft_comm_free(&broken), WEFT_SUCCESS);
            }
    });
}
