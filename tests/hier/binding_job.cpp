// SPDX-License-Identifier: BSD-3-Clause
// WEFT_BIND=core in a job: where the threads of a team run while they are in it.
#include "oracle_job.h"

#include <algorithm>
#include <cpus.h>
#include <thread>
#include <vector>

namespace {

// As many threads as the processes that may use the same cores have there.
bool is_crowded(const std::vector<int> &cpus) {
    const cpu_set_t set = set_of(cpus);
    weft_comm *comm = weft_process_comm();
    int processes = weft_size(comm), threads = job::threads(), sharing = 0;
    std::vector<cpu_set_t> sets((size_t)processes);
    std::vector<int> brought((size_t)processes);
    EXPECT_EQ(weft_allgather(&set, sizeof(set), WEFT_BYTE, sets.data(), sizeof(set), WEFT_BYTE, comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_allgather(&threads, 1, WEFT_INT, brought.data(), 1, WEFT_INT, comm), WEFT_SUCCESS);
    for (int process = 0; process < processes; process++)
        sharing += CPU_EQUAL(&sets[(size_t)process], &set) ? brought[(size_t)process] : 0;
    return sharing > int(cpus.size());
}

// Runs the body on threads of their own, none of which is bound but by weft.
void on_threads(weft_team *team, const std::function<void(int)> &body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < weft_team_threads(team); i++)
        threads.emplace_back(body, i);
    for (std::thread &thread : threads)
        thread.join();
}

class Binding : public ::testing::Test {
  protected:
    void SetUp() override {
        cpus_ = allowed_cpus();
        crowded_ = is_crowded(cpus_);
        ASSERT_EQ(weft_team_create(weft_process_comm(), job::threads(), &team_), WEFT_SUCCESS) << weft_last_error();
    }
    void TearDown() override {
        EXPECT_EQ(weft_team_free(&team_), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(allowed_cpus(), cpus_);
    }
    std::vector<int> cpus_;
    bool crowded_ = false;
    weft_team *team_ = nullptr;
};

} // namespace

TEST_F(Binding, EachHasACoreOfItsOwnWhileItIsInTheTeam) {
    on_threads(team_, [&](int thread) {
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
    on_threads(team_, [&](int thread) {
        weft_comm *comm = nullptr;
        bind_to({cpus_.back()});
        ASSERT_EQ(weft_team_enter(team_, thread, &comm), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(allowed_cpus(), std::vector<int>{cpus_.back()});
        EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
        EXPECT_EQ(allowed_cpus(), std::vector<int>{cpus_.back()});
    });
}

TEST_F(Binding, WhoBindsHimselfMeanwhileStaysThere) {
    on_threads(team_, [&](int thread) {
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
    on_threads(team_, [&](int thread) {
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
