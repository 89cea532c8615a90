// SPDX-License-Identifier: BSD-3-Clause
// WEFT_BIND=core in a job: where the threads of a team run while they are in it.
#include "oracle_job.h"

#include <algorithm>
#include <atomic>
#include <cpus.h>
#include <thread>
#include <vector>

namespace {

// The threads of the processes that may use the same cores.
int sharing_threads(const std::vector<int> &cpus, int threads) {
    const cpu_set_t set = set_of(cpus);
    weft_comm *comm = weft_process_comm();
    int processes = weft_size(comm), sharing = 0;
    std::vector<cpu_set_t> sets((size_t)processes);
    std::vector<int> brought((size_t)processes);
    EXPECT_EQ(weft_allgather(&set, sizeof(set), WEFT_BYTE, sets.data(), sizeof(set), WEFT_BYTE, comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_allgather(&threads, 1, WEFT_INT, brought.data(), 1, WEFT_INT, comm), WEFT_SUCCESS);
    for (int process = 0; process < processes; process++)
        sharing += CPU_EQUAL(&sets[(size_t)process], &set) ? brought[(size_t)process] : 0;
    return sharing;
}

// Runs the body on threads of their own, none of which is bound but by weft.
void on_threads(int count, const std::function<void(int)> &body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i++)
        threads.emplace_back(body, i);
    for (std::thread &thread : threads)
        thread.join();
}

class Binding : public ::testing::Test {
  protected:
    void SetUp() override {
        cpus_ = allowed_cpus();
        crowded_ = sharing_threads(cpus_, job::threads()) > int(cpus_.size());
        ASSERT_EQ(weft_team_create(weft_process_comm(), job::threads(), &team_), WEFT_SUCCESS) << weft_last_error();
    }
    void TearDown() override {
        EXPECT_EQ(weft_team_free(&team_), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(allowed_cpus(), cpus_);
    }
    // Enters the teams with threads of their own, all at once. The cores that each may use meanwhile.
    std::vector<std::vector<int>> cores_in(const std::vector<weft_team *> &teams) {
        const int each = job::threads(), all = each * int(teams.size());
        std::vector<std::vector<int>> cores((size_t)all);
        std::atomic<int> inside{0};
        on_threads(all, [&](int thread) {
            weft_comm *comm = nullptr;
            EXPECT_EQ(weft_team_enter(teams[size_t(thread / each)], thread % each, &comm), WEFT_SUCCESS);
            cores[size_t(thread)] = allowed_cpus();
            for (inside++; inside < all;)
                std::this_thread::yield();
            EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(allowed_cpus(), cpus_);
        });
        return cores;
    }
    // Of the threads of all processes that were bound: has each a core of its own? How many of this process were.
    static int bound_apart(const std::vector<std::vector<int>> &cores, size_t unbound) {
        std::vector<int> own, all(cores.size() * size_t(weft_size(weft_process_comm())));
        for (const std::vector<int> &set : cores)
            own.push_back(set.size() < unbound ? set[0] : -1);
        EXPECT_EQ(
            weft_allgather(own.data(), own.size(), WEFT_INT, all.data(), own.size(), WEFT_INT, weft_process_comm()),
            WEFT_SUCCESS);
        std::sort(all.begin(), all.end());
        const auto first = std::upper_bound(all.begin(), all.end(), -1);
        EXPECT_EQ(std::adjacent_find(first, all.end()), all.end()) << "two are on one core";
        return int(own.size()) - int(std::count(own.begin(), own.end(), -1));
    }
    std::vector<int> cpus_;
    bool crowded_ = false;
    weft_team *team_ = nullptr;
};

} // namespace

TEST_F(Binding, EachHasACoreOfItsOwnWhileItIsInTheTeam) {
    on_threads(job::threads(), [&](int thread) {
        weft_comm *comm = nullptr;
        ASSERT_EQ(weft_team_enter(team_, thread, &comm), WEFT_SUCCESS) << weft_last_error();
        std::vector<int> own = allowed_cpus();
        if (crowded_) {
            EXPECT_EQ(own, cpus_);
        } else {
            EXPECT_EQ(own.size(), 1u);
        }
        std::vector<int> all((size_t)weft_size(comm));
        EXPECT_EQ(weft_allgather(&own[0], 1, WEFT_INT, all.data(), 1, WEFT_INT, comm), WEFT_SUCCESS);
        std::sort(all.begin(), all.end());
        if (!crowded_) {
            EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "two are on one core";
        }
        EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
        EXPECT_EQ(allowed_cpus(), cpus_);
    });
}

TEST_F(Binding, WhoIsBoundStaysWhereHeIs) {
    on_threads(job::threads(), [&](int thread) {
        weft_comm *comm = nullptr;
        bind_to({cpus_.back()});
        ASSERT_EQ(weft_team_enter(team_, thread, &comm), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(allowed_cpus(), std::vector<int>{cpus_.back()});
        EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
        EXPECT_EQ(allowed_cpus(), std::vector<int>{cpus_.back()});
    });
}

TEST_F(Binding, WhoBindsHimselfMeanwhileStaysThere) {
    on_threads(job::threads(), [&](int thread) {
        weft_comm *comm = nullptr;
        ASSERT_EQ(weft_team_enter(team_, thread, &comm), WEFT_SUCCESS) << weft_last_error();
        const std::vector<int> other{allowed_cpus()[0] == cpus_.front() ? cpus_.back() : cpus_.front()};
        bind_to(other);
        EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
        EXPECT_EQ(allowed_cpus(), other.size() == cpus_.size() ? cpus_ : other);
    });
}

// A thread in two teams is bound by the first, until it leaves that one.
TEST_F(Binding, TheFirstTeamBinds) {
    weft_team *second = nullptr;
    ASSERT_EQ(weft_team_create(weft_process_comm(), job::threads(), &second), WEFT_SUCCESS) << weft_last_error();
    on_threads(job::threads(), [&](int thread) {
        weft_comm *first_comm = nullptr, *second_comm = nullptr;
        ASSERT_EQ(weft_team_enter(team_, thread, &first_comm), WEFT_SUCCESS) << weft_last_error();
        const std::vector<int> bound = allowed_cpus();
        ASSERT_EQ(weft_team_enter(second, weft_team_threads(second) - 1 - thread, &second_comm), WEFT_SUCCESS);
        EXPECT_EQ(allowed_cpus(), bound);
        EXPECT_EQ(weft_team_leave(&second_comm), WEFT_SUCCESS);
        EXPECT_EQ(allowed_cpus(), bound);
        EXPECT_EQ(weft_team_leave(&first_comm), WEFT_SUCCESS);
        EXPECT_EQ(allowed_cpus(), cpus_);
    });
    EXPECT_EQ(weft_team_free(&second), WEFT_SUCCESS) << weft_last_error();
}

// As many as there are cores for are bound, whatever the team.
TEST_F(Binding, ThreadsOfTwoTeamsShareNoCore) {
    weft_team *second = nullptr;
    ASSERT_EQ(weft_team_create(weft_process_comm(), job::threads(), &second), WEFT_SUCCESS) << weft_last_error();
    const int bound = bound_apart(cores_in({team_, second}), cpus_.size());
    const bool enough = sharing_threads(cpus_, 2 * job::threads()) <= int(cpus_.size());
    if (enough && cpus_.size() > 1) {
        EXPECT_EQ(bound, 2 * job::threads());
    }
    EXPECT_EQ(weft_team_free(&second), WEFT_SUCCESS) << weft_last_error();
}

TEST_F(Binding, TeamsOfHalvesShareNoCore) {
    const int rank = weft_rank(weft_process_comm());
    weft_comm *half = nullptr;
    weft_team *team = nullptr;
    ASSERT_EQ(weft_comm_split(weft_process_comm(), rank / 2, -rank, &half), WEFT_SUCCESS) << weft_last_error();
    ASSERT_EQ(weft_team_create(half, job::threads(), &team), WEFT_SUCCESS) << weft_last_error();
    const int bound = bound_apart(cores_in({team}), cpus_.size());
    if (!crowded_ && cpus_.size() > 1) {
        EXPECT_EQ(bound, job::threads());
    }
    EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS) << weft_last_error();
    EXPECT_EQ(weft_comm_free(&half), WEFT_SUCCESS) << weft_last_error();
}

// Those who do not make a team have a thread each, too: cores are short where those are counted.
TEST_F(Binding, WhoMakesATeamAloneCountsTheOthers) {
    const int others = sharing_threads(cpus_, 1) - 1;
    weft_comm *alone = nullptr;
    weft_team *team = nullptr;
    ASSERT_EQ(weft_comm_split(weft_process_comm(), weft_rank(weft_process_comm()), 0, &alone), WEFT_SUCCESS);
    ASSERT_EQ(weft_team_create(alone, job::threads(), &team), WEFT_SUCCESS) << weft_last_error();
    const int bound = bound_apart(cores_in({team}), cpus_.size());
    if (cpus_.size() > 1) {
        EXPECT_EQ(bound > 0, job::threads() + others <= int(cpus_.size()));
    }
    EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS) << weft_last_error();
    EXPECT_EQ(weft_comm_free(&alone), WEFT_SUCCESS) << weft_last_error();
}
