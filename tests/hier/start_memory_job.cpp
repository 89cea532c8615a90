// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends of weft for which process 1 has no memory, and which it makes again: the other one waits for that.
#include "short_memory.h"

#include <gtest/gtest.h>
#include <weft/weft.h>

namespace {

// Calls, and calls again when it failed because the allocation of this number did, which process 1 may do without. Did it fail?
template <class Call> bool made_again(bool here, size_t number, const Call &call) {
    short_memory::fail(here ? number : 0);
    int code = call();
    const bool failed = short_memory::failed();
    short_memory::fail(0);
    if (!code)
        return false;
    EXPECT_TRUE(failed);
    EXPECT_EQ(code, WEFT_ERR_NOMEM) << weft_last_error();
    EXPECT_EQ(call(), WEFT_SUCCESS) << weft_last_error();
    return true;
}

void check(weft_comm *comm) {
    int one = 1, sum = 0;
    EXPECT_EQ(weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm), WEFT_SUCCESS);
    EXPECT_EQ(sum, 2);
}

} // namespace

TEST(StartMemory, FinalizeIsMadeAgain) {
    int failures = 0;
    bool here = false;
    for (size_t number = 1; number < 6; number++) {
        ASSERT_EQ(weft_init(nullptr), WEFT_SUCCESS) << weft_last_error();
        here = weft_rank(weft_process_comm()) == 1;
        failures += made_again(here, number, weft_finalize);
        EXPECT_EQ(weft_initialized(), 0);
    }
    EXPECT_EQ(failures > 0, here);
}

// The first allocations come before the processes meet.
TEST(StartMemory, InitIsMadeAgain) {
    const char *rank = getenv("PMIX_RANK");
    ASSERT_TRUE(rank) << "a job of weftrun";
    int failures = 0;
    for (size_t number = 1; number < 6; number++) {
        failures += made_again(*rank == '1', number, [] { return weft_init(nullptr); });
        check(weft_process_comm());
        EXPECT_EQ(weft_finalize(), WEFT_SUCCESS);
    }
    EXPECT_EQ(failures > 1, *rank == '1');
}

TEST(StartMemory, PersistentIsPreparedAgain) {
    ASSERT_EQ(weft_init(nullptr), WEFT_SUCCESS) << weft_last_error();
    weft_team *team = nullptr;
    weft_comm *comm = nullptr;
    ASSERT_EQ(weft_team_create(weft_process_comm(), 1, &team), WEFT_SUCCESS);
    ASSERT_EQ(weft_team_enter(team, 0, &comm), WEFT_SUCCESS);
    const bool here = weft_rank(comm) == 1;
    int failures = 0;
    for (size_t number = 1; number < 12; number++) {
        int one = 1, sum = 0;
        weft_request *request = nullptr;
        failures += made_again(here, number,
                               [&] { return weft_allreduce_init(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm, &request); });
        EXPECT_EQ(weft_start(&request), WEFT_SUCCESS);
        EXPECT_EQ(weft_wait(&request, nullptr), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(sum, 2);
        EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS);
        check(comm);
    }
    EXPECT_EQ(failures > 0, here);
    EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    EXPECT_EQ(weft_finalize(), WEFT_SUCCESS);
}
