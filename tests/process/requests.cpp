// SPDX-License-Identifier: BSD-3-Clause
// Requests: many under way, completed in any order by any call; what is null, inactive, active, freed; who allocates.
#include "algorithms.h"
#include "hier/misuse.h"
#include "program.h"

namespace {

using namespace process;

class Requests : public ::testing::Test {
  protected:
    void TearDown() override {
        int one = 1, sum = 0;
        EXPECT_OK(weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm_));
        EXPECT_EQ(sum, size_) << "all processes still work together";
    }
    weft_request *sum() {
        weft_request *request = WEFT_REQUEST_NULL;
        EXPECT_OK(weft_iallreduce(&one_, &sum_, 1, WEFT_INT, WEFT_SUM, comm_, &request));
        return request;
    }
    weft_request *barrier() {
        weft_request *request = WEFT_REQUEST_NULL;
        EXPECT_OK(weft_barrier_init(comm_, &request));
        return request;
    }
    weft_comm *const comm_ = weft_process_comm();
    const int rank_ = weft_rank(comm_), size_ = weft_size(comm_);
    const std::string rank_text_ = "rank " + std::to_string(rank_);
    int one_ = 1, sum_ = 0;
};

} // namespace

// Which request serves the next call is each process's own affair, what it does is not: first of all, after what weft_init has called.
TEST_F(Requests, TakenUpInAnyOrder) {
    for (int round = 0; round < 3; round++) {
        uint64_t first = 1, second = 2, third = 3, size = uint64_t(size_);
        weft_request *requests[2] = {WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
        EXPECT_OK(weft_iallreduce(WEFT_IN_PLACE, &first, 1, WEFT_UINT64_T, WEFT_SUM, comm_, &requests[0]));
        EXPECT_OK(weft_iallreduce(WEFT_IN_PLACE, &second, 1, WEFT_UINT64_T, WEFT_SUM, comm_, &requests[1]));
        for (int i : {rank_ % 2, 1 - rank_ % 2})
            EXPECT_OK(weft_wait(&requests[i], WEFT_STATUS_IGNORE));
        EXPECT_OK(weft_allreduce(WEFT_IN_PLACE, &third, 1, WEFT_UINT64_T, WEFT_SUM, comm_));
        EXPECT_EQ(first, size);
        EXPECT_EQ(second, 2 * size);
        EXPECT_EQ(third, 3 * size);
    }
}

TEST_F(Requests, HundredsInFlight) {
    for (uint64_t seed : {1, 2})
        run_program(comm_, seed, 500, 400);
    run_program(comm_, 3, 300, 8);
}

TEST_F(Requests, PersistentOnesInAnyOrder) {
    run_persistent(comm_, 4, 60, 5);
}

TEST_F(Requests, WhatIsToldCompleteIsTheCallers) {
    expect_delivered_once(comm_);
}

TEST_F(Requests, OfSeveralThreads) {
    if (weft_thread_level_get() == WEFT_THREAD_FUNNELED)
        GTEST_SKIP() << "under FUNNELED one thread completes requests";
    for (int threads : {2, 4})
        run_program_by_threads(comm_, 6, 200, threads);
}

// Rank 0 starts a barrier that the others do not start before rank 0 has looked at it.
TEST_F(Requests, WhatIsNotCompleteStaysAsItIs) {
    if (size_ == 1)
        GTEST_SKIP() << "a process alone completes all at once";
    weft_request *held = barrier(), *kept = held, *list[3] = {held, WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
    size_t index = 0, done_count = 0, indices[3] = {9, 9, 9};
    int done = 7;
    weft_status statuses[3];
    if (rank_ == 0) {
        EXPECT_OK(weft_start(&held));
    }
    for (int way = 0; way < 6; way++) { // all ranks take part in the sums
        weft_request *other = sum(), *active = other;
        if (rank_ != 0) {
            EXPECT_OK(weft_wait(&other, WEFT_STATUS_IGNORE));
            continue;
        }
        list[0] = held, list[2] = other;
        EXPECT_OK(weft_test(&held, &done, statuses));
        EXPECT_EQ(done, 0);
        done = 7;
        EXPECT_OK(weft_request_get_status(held, &done, statuses));
        EXPECT_EQ(done, 0);
        index = 0;
        EXPECT_OK(weft_testany(2, list, &index, &done, statuses));
        EXPECT_EQ(done, 0);
        EXPECT_EQ(index, WEFT_UNDEFINED);
        EXPECT_OK(weft_testsome(2, list, &done_count, indices, statuses));
        EXPECT_EQ(done_count, 0u);
        for (int look = 0; look < 1000; look++) {
            EXPECT_OK(weft_testall(3, list, &done, statuses));
            EXPECT_EQ(done, 0);
        }
        EXPECT_EQ(list[2], active) << "weft_testall completes all or none";
        done_count = 0;
        if (way == 0) {
            EXPECT_OK(weft_waitany(3, list, &index, statuses));
        } else if (way == 1) {
            EXPECT_OK(weft_waitsome(3, list, &done_count, indices, statuses));
        } else if (way == 2) {
            for (done = 0; !done;)
                EXPECT_OK(weft_testany(3, list, &index, &done, statuses));
        } else if (way == 3) {
            while (!done_count)
                EXPECT_OK(weft_testsome(3, list, &done_count, indices, statuses));
        } else if (way == 4) {
            EXPECT_OK(weft_waitall(2, list + 1, statuses));
        } else {
            for (done = 0; !done;)
                EXPECT_OK(weft_testall(2, list + 1, &done, statuses));
        }
        if (way < 4) {
            EXPECT_EQ(done_count ? indices[0] : index, 2u);
        }
        EXPECT_EQ(list[2], WEFT_REQUEST_NULL);
        EXPECT_EQ(list[0], kept);
        EXPECT_EQ(sum_, size_);
    }
    EXPECT_OK(weft_barrier(comm_));
    if (rank_ != 0) {
        EXPECT_OK(weft_start(&held));
    }
    EXPECT_OK(weft_waitany(1, &held, &index, statuses));
    EXPECT_EQ(index, 0u);
    EXPECT_TRUE(is_empty(statuses[0]));
    EXPECT_OK(weft_request_free(&held));
}

// They count as complete, with an empty status; who asks for one is told that there is none.
TEST_F(Requests, NullAndInactive) {
    weft_request *inactive = barrier(), *null = WEFT_REQUEST_NULL, *list[3] = {null, inactive, null};
    for (weft_request **request : {&null, &inactive}) {
        weft_status status{7, 7, 7, 7, 7};
        int done = 7;
        EXPECT_OK(weft_wait(request, &status));
        EXPECT_TRUE(is_empty(status));
        EXPECT_OK(weft_wait(request, WEFT_STATUS_IGNORE));
        status.tag = 7;
        EXPECT_OK(weft_test(request, &done, &status));
        EXPECT_EQ(done, 1);
        EXPECT_TRUE(is_empty(status));
        status.tag = 7, done = 7;
        EXPECT_OK(weft_request_get_status(*request, &done, &status));
        EXPECT_EQ(done, 1);
        EXPECT_TRUE(is_empty(status));
    }
    EXPECT_NE(inactive, WEFT_REQUEST_NULL);
    for (size_t count : {size_t(0), size_t(3)}) {
        weft_status statuses[3] = {{7, 7, 7, 7, 7}, {7, 7, 7, 7, 7}, {7, 7, 7, 7, 7}};
        size_t index = 7, done_count = 7, indices[3];
        int done = 7;
        weft_request **requests = count ? list : nullptr;
        EXPECT_OK(weft_waitall(count, requests, statuses));
        EXPECT_OK(weft_waitall(count, requests, WEFT_STATUSES_IGNORE));
        for (size_t i = 0; i < count; i++)
            EXPECT_TRUE(is_empty(statuses[i]));
        EXPECT_OK(weft_testall(count, requests, &done, statuses));
        EXPECT_EQ(done, 1);
        statuses[0].source = 7;
        EXPECT_OK(weft_waitany(count, requests, &index, statuses));
        EXPECT_EQ(index, WEFT_UNDEFINED);
        EXPECT_TRUE(is_empty(statuses[0]));
        index = 7, done = 7;
        EXPECT_OK(weft_testany(count, requests, &index, &done, WEFT_STATUS_IGNORE));
        EXPECT_EQ(index, WEFT_UNDEFINED);
        EXPECT_EQ(done, 1);
        EXPECT_OK(weft_waitsome(count, requests, &done_count, indices, statuses));
        EXPECT_EQ(done_count, WEFT_UNDEFINED);
        done_count = 7;
        EXPECT_OK(weft_testsome(count, requests, &done_count, indices, statuses));
        EXPECT_EQ(done_count, WEFT_UNDEFINED);
        EXPECT_OK(weft_startall(0, requests));
    }
    EXPECT_OK(weft_request_free(&inactive));
    EXPECT_EQ(inactive, WEFT_REQUEST_NULL);
}

// A request is active until a call completes it, whatever the network has done.
TEST_F(Requests, ActiveOnesAreNotStartedOrFreed) {
    weft_request *persistent = barrier(), *once = sum(), *list[2] = {persistent, once};
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_request_free(&once), rank_text_, "weft_request_free", "weft_iallreduce");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_start(&once), rank_text_, "weft_start", "weft_iallreduce", "not persistent");
    EXPECT_OK(weft_start(&persistent));
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_start(&persistent), rank_text_, "weft_start", "weft_barrier_init");
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_request_free(&persistent), rank_text_, "weft_request_free", "weft_barrier_init");
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_startall(2, list), "weft_start");
    EXPECT_OK(weft_waitall(2, list, WEFT_STATUSES_IGNORE));
    EXPECT_EQ(list[1], WEFT_REQUEST_NULL);
    EXPECT_EQ(list[0], persistent);
    EXPECT_ERROR(WEFT_ERR_ARG, weft_startall(2, list), "weft_start"); // at the null one: the first has started
    EXPECT_OK(weft_wait(&persistent, WEFT_STATUS_IGNORE));
    EXPECT_OK(weft_request_free(&persistent));
}

TEST_F(Requests, HandlesThatAreNone) {
    weft_request *request = sum(), *stale = request, *freed = barrier(), *null = WEFT_REQUEST_NULL;
    EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
    EXPECT_EQ(request, WEFT_REQUEST_NULL);
    EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
    weft_request *copy = freed;
    EXPECT_OK(weft_request_free(&copy));
    size_t index, indices[1];
    int done;
    for (weft_request *wrong : {stale, freed}) {
        EXPECT_ERROR(WEFT_ERR_ARG, weft_wait(&wrong, nullptr), "weft_wait", "freed before");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_test(&wrong, &done, nullptr), "weft_test");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_request_get_status(wrong, &done, nullptr), "weft_request_get_status");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_waitall(1, &wrong, nullptr), "weft_waitall");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_testall(1, &wrong, &done, nullptr), "weft_testall");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_waitany(1, &wrong, &index, nullptr), "weft_waitany");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_testany(1, &wrong, &index, &done, nullptr), "weft_testany");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_waitsome(1, &wrong, &index, indices, nullptr), "weft_waitsome");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_testsome(1, &wrong, &index, indices, nullptr), "weft_testsome");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_start(&wrong), "weft_start");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_request_free(&wrong), "weft_request_free");
    }
    EXPECT_ERROR(WEFT_ERR_ARG, weft_start(&null), "weft_start");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_request_free(&null), "weft_request_free");
}

TEST_F(Requests, NoPlaceForTheResult) {
    weft_request *request = sum(), *null = WEFT_REQUEST_NULL;
    size_t index, indices[1];
    int done;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_wait(nullptr, nullptr), "weft_wait");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_waitall(1, nullptr, nullptr), "weft_waitall", "requests is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_test(&request, nullptr, nullptr), "weft_test", "done is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_request_get_status(request, nullptr, nullptr), "get_status", "done is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_testall(1, &request, nullptr, nullptr), "weft_testall", "done is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_waitany(1, &request, nullptr, nullptr), "weft_waitany", "index is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_testany(1, &request, nullptr, &done, nullptr), "weft_testany", "index is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_testany(1, &request, &index, nullptr, nullptr), "weft_testany", "done is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_waitsome(1, &request, nullptr, indices, nullptr), "weft_waitsome", "done_count");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_testsome(1, &request, &index, nullptr, nullptr), "weft_testsome", "indices");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_start(nullptr), "weft_start");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_startall(1, nullptr), "weft_startall");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_request_free(nullptr), "weft_request_free");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_ibarrier(comm_, nullptr), rank_text_, "weft_ibarrier", "request is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_barrier_init(comm_, nullptr), rank_text_, "request is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_ibarrier(nullptr, &null), "weft_ibarrier", "communicator");
    EXPECT_EQ(null, WEFT_REQUEST_NULL);
    EXPECT_OK(weft_wait(&request, nullptr));
}

TEST_F(Requests, OfAnotherThreadUnderFunneled) {
    if (weft_thread_level_get() != WEFT_THREAD_FUNNELED)
        GTEST_SKIP() << "under SERIALIZED every thread may";
    weft_request *request = sum(), *other = WEFT_REQUEST_NULL;
    misuse::elsewhere([&] {
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_wait(&request, nullptr), rank_text_, "weft_wait");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_ibarrier(comm_, &other), rank_text_, "weft_ibarrier");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_barrier_init(comm_, &other), rank_text_, "weft_barrier_init");
    });
    EXPECT_OK(weft_wait(&request, nullptr));
}

TEST_F(Requests, FinalizeWaitsForNobody) {
    weft_request *inactive = barrier(), *active = sum();
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_finalize(), rank_text_, "weft_finalize", "2 requests", "weft_wait");
    EXPECT_OK(weft_wait(&active, WEFT_STATUS_IGNORE));
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_finalize(), "1 requests", "weft_request_free");
    EXPECT_OK(weft_request_free(&inactive)); // and main's weft_finalize succeeds
}

// Nor for a buffer to be detached: main's weft_finalize does that, and sends what is in it.
TEST_F(Requests, FinalizeDetachesABuffer) {
    static char buffer[4 * (WEFT_BSEND_OVERHEAD + sizeof(int))];
    weft_comm *comm = weft_process_comm();
    int next = (rank_ + 1) % size_, from = -1;
    EXPECT_OK(weft_comm_attach_buffer(comm, buffer, sizeof(buffer)));
    EXPECT_OK(weft_bsend(&rank_, 1, WEFT_INT, next, 5, comm));
    EXPECT_OK(weft_recv(&from, 1, WEFT_INT, WEFT_ANY_SOURCE, 5, comm, WEFT_STATUS_IGNORE));
    EXPECT_EQ(from, (rank_ + size_ - 1) % size_);
    weft_request *active = sum();
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_finalize(), rank_text_, "1 requests");
    EXPECT_OK(weft_wait(&active, WEFT_STATUS_IGNORE));
}

// Every algorithm, those of gatherv and scatterv that ask for the counts among them: a start after the first takes no memory.
TEST_F(Requests, StartingAgainAllocatesNothing) {
    for (int kind = 0; kind < INTER_COLLECTIVES; kind++)
        for (const inter_algorithm &algorithm : algorithms(inter_collective(kind), false))
            for (size_t count : {3, 3000}) {
                Case what{inter_collective(kind)};
                what.count = count, what.uneven = true, what.root = size_ - 1, what.seed = 1;
                Forced forced(comm_, what.collective, algorithm);
                expect_no_allocations(comm_, what, algorithm.name, 1, [] {});
            }
}

// Nor does a blocking or nonblocking call that has been made before.
TEST_F(Requests, TheMemoryOfARequestIsUsedAgain) {
    const size_t *allocations = &comm_->world->engine.allocations;
    for (int round = 0; round < 50; round++) // as many requests as the communicator has kept
        EXPECT_OK(weft_allreduce(&one_, &sum_, 1, WEFT_INT, WEFT_SUM, comm_));
    size_t before = *allocations;
    for (int round = 0; round < 50; round++) {
        weft_request *request = sum();
        EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
    }
    EXPECT_EQ(*allocations, before);
}
