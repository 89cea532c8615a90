// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends of weft for which process 1 has no memory, and which it makes again: the other one waits for that. And teams: there the
// other one may have failed, too, and then makes it again itself.
#include "short_memory.h"

#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>
#include <weft/weft.h>

// The linker wraps it, for the library's own threads.
static bool no_threads;
extern "C" int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                                     void *argument);
extern "C" int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                                     void *argument) {
    return no_threads ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

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

int largest(int value) {
    int all = 0;
    EXPECT_EQ(weft_allreduce(&value, &all, 1, WEFT_INT, WEFT_MAX, weft_process_comm()), WEFT_SUCCESS)
        << weft_last_error();
    return all;
}

void check(weft_comm *comm) {
    int one = 1, sum = 0;
    EXPECT_EQ(weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm), WEFT_SUCCESS);
    EXPECT_EQ(sum, weft_size(comm));
}

} // namespace

// Also of processes that were found in different calls.
class StartMemoryOf : public testing::TestWithParam<bool> {};

TEST_P(StartMemoryOf, FinalizeIsMadeAgain) {
    int failures = 0, one = 1, sum = 0;
    bool here = false;
    for (size_t number = 1; number < 8; number++) {
        ASSERT_EQ(weft_init(nullptr), WEFT_SUCCESS) << weft_last_error();
        here = weft_rank(weft_process_comm()) == 1;
        if (GetParam()) {
            EXPECT_EQ(here ? weft_barrier(weft_process_comm())
                           : weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, weft_process_comm()),
                      WEFT_ERR_MISMATCH);
        }
        failures += made_again(here, number, weft_finalize);
        EXPECT_EQ(weft_initialized(), 0);
    }
    EXPECT_EQ(failures > 0, here);
}

INSTANTIATE_TEST_SUITE_P(Broken, StartMemoryOf, testing::Bool());

// The world of a process is there before the processes meet.
TEST(StartMemory, InitIsMadeAgain) {
    const char *rank = getenv("PMIX_RANK");
    ASSERT_TRUE(rank) << "a job of weftrun";
    int failures = 0;
    for (size_t number = 1; number < 16; number++) {
        failures += made_again(*rank == '1', number, [] { return weft_init(nullptr); });
        check(weft_process_comm());
        EXPECT_EQ(weft_finalize(), WEFT_SUCCESS);
    }
    EXPECT_EQ(failures > 8, *rank == '1');
}

// A file that cannot be made is found before they meet, too. Without weftrun's ear, which would be told instead.
TEST(StartMemory, InitIsMadeAgainForReports) {
    const bool here = *getenv("PMIX_RANK") == '1';
    unsetenv("WEFTRUN_SESSION");
    setenv("WEFT_HANG_TIMEOUT", "60", 1);
    setenv("WEFT_HANG_REPORT", here ? "/nowhere/report" : "/tmp/weft-report", 1);
    if (here) {
        EXPECT_EQ(weft_init(nullptr), WEFT_ERR_CONFIG);
    }
    setenv("WEFT_HANG_REPORT", "/tmp/weft-report", 1);
    ASSERT_EQ(weft_init(nullptr), WEFT_SUCCESS) << weft_last_error();
    check(weft_process_comm());
    EXPECT_EQ(weft_finalize(), WEFT_SUCCESS);
    unsetenv("WEFT_HANG_REPORT");
    unsetenv("WEFT_HANG_TIMEOUT");
}

// Weft's own threads are started when they have met: all fail then, and all can call again.
TEST(StartMemory, AllStartOrNone) {
    const bool here = *getenv("PMIX_RANK") == '1';
    ASSERT_EQ(weft_init(nullptr), WEFT_SUCCESS) << weft_last_error(); // PMIx takes a thread the first time
    ASSERT_EQ(weft_finalize(), WEFT_SUCCESS) << weft_last_error();
    setenv("WEFT_HANG_TIMEOUT", "60", 1); // a thread for roll-calls
    for (const char *progress : {"none", "thread"}) {
        setenv("WEFT_PROGRESS", progress, 1);
        no_threads = here;
        EXPECT_EQ(weft_init(nullptr), here ? WEFT_ERR_NOMEM : WEFT_ERR_PROC_FAILED) << weft_last_error();
        no_threads = false;
        EXPECT_TRUE(here || strstr(weft_last_error(), "process 1 could not start")) << weft_last_error();
        EXPECT_EQ(weft_initialized(), 0);
        ASSERT_EQ(weft_init(nullptr), WEFT_SUCCESS) << weft_last_error();
        check(weft_process_comm());
        EXPECT_EQ(weft_finalize(), WEFT_SUCCESS) << weft_last_error();
    }
    unsetenv("WEFT_PROGRESS");
    unsetenv("WEFT_HANG_TIMEOUT");
}

// The end of weft takes threads, too; without them a process goes as far as it comes.
TEST(StartMemory, EndsWithoutThreads) {
    for (int round = 0; round < 3; round++) {
        ASSERT_EQ(weft_init(nullptr), WEFT_SUCCESS) << weft_last_error();
        no_threads = weft_rank(weft_process_comm()) == 1;
        check(weft_process_comm());
        EXPECT_EQ(weft_finalize(), WEFT_SUCCESS) << weft_last_error();
        no_threads = false;
    }
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

// The first that needs an allreduce of the processes.
TEST(StartMemory, CommunicatorIsDuplicatedAgain) {
    int failed = 1;
    for (size_t number = 1; failed && !HasFailure(); number++) {
        SCOPED_TRACE("allocation " + std::to_string(number));
        ASSERT_EQ(weft_init(nullptr), WEFT_SUCCESS) << weft_last_error();
        weft_comm *made = nullptr;
        short_memory::fail(weft_rank(weft_process_comm()) == 1 ? number : 0);
        int code = weft_comm_dup(weft_process_comm(), &made);
        failed = short_memory::failed();
        short_memory::fail(0);
        if (code) {
            EXPECT_EQ(code, WEFT_ERR_NOMEM) << weft_last_error();
            EXPECT_EQ(weft_comm_dup(weft_process_comm(), &made), WEFT_SUCCESS) << weft_last_error();
        }
        failed = largest(failed);
        EXPECT_EQ(weft_barrier(made), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(weft_comm_free(&made), WEFT_SUCCESS);
        EXPECT_EQ(weft_finalize(), WEFT_SUCCESS) << weft_last_error();
        EXPECT_TRUE(failed || number > 3);
    }
}

// Under MULTIPLE, where the processes open channels and tell each other their addresses.
TEST(StartMemory, TeamIsMadeAgain) {
    weft_options options{};
    options.thread_level = WEFT_THREAD_MULTIPLE;
    int failed = 1;
    for (size_t number = 1; failed && !HasFailure(); number++) {
        SCOPED_TRACE("allocation " + std::to_string(number));
        ASSERT_EQ(weft_init(&options), WEFT_SUCCESS) << weft_last_error();
        weft_team *team = nullptr;
        weft_comm *comm = nullptr;
        short_memory::fail(weft_rank(weft_process_comm()) == 1 ? number : 0);
        int code = weft_team_create(weft_process_comm(), 2, &team);
        failed = short_memory::failed();
        short_memory::fail(0);
        if (code) {
            EXPECT_EQ(code, WEFT_ERR_NOMEM) << weft_last_error();
            EXPECT_EQ(weft_team_create(weft_process_comm(), 2, &team), WEFT_SUCCESS) << weft_last_error();
        }
        failed = largest(failed);
        ASSERT_EQ(weft_team_enter(team, 1, &comm), WEFT_SUCCESS) << weft_last_error();
        int rank = weft_rank(comm), other = 4 - rank, got = 0; // 1 and 3
        EXPECT_EQ(weft_sendrecv(&rank, 1, WEFT_INT, other, 0, &got, 1, WEFT_INT, other, 0, comm, nullptr),
                  WEFT_SUCCESS);
        EXPECT_EQ(got, other);
        EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
        EXPECT_EQ(weft_finalize(), WEFT_SUCCESS) << weft_last_error();
        EXPECT_TRUE(failed || number > 10);
    }
}
