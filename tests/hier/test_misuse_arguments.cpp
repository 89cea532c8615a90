// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of collectives, on the process communicator and as rank 1 of a team of three. Nothing is sent, so the other
// ranks need not be there.
#include "misuse.h"
#include "oracle_operands.h"

#include <climits>

namespace {

class Arguments : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
        EXPECT_OK(weft_team_create(weft_process_comm(), 3, &team_));
        EXPECT_OK(weft_team_enter(team_, 1, &worker_));
    }
    void TearDown() override {
        EXPECT_OK(weft_team_leave(&worker_));
        EXPECT_OK(weft_team_free(&team_));
        EXPECT_OK(weft_finalize());
    }
    // The communicators: the rank and the root in range differ.
    void on_each(const std::function<void(weft_comm *comm, int self, const std::string &rank)> &run) {
        run(weft_process_comm(), 0, "rank 0");
        run(worker_, 1, "rank 1");
    }
    weft_team *team_ = nullptr;
    weft_comm *worker_ = nullptr;
    int a_[64] = {0}, b_[64] = {0};
    size_t counts_[3] = {1, 1, 1};
    ptrdiff_t displs_[3] = {0, 1, 2};
};

TEST_F(Arguments, RootOutOfRange) {
    on_each([&](weft_comm *comm, int, const std::string &rank) {
        for (int root : {-1, weft_size(comm), INT_MAX, INT_MIN}) {
            std::string named = "root is " + std::to_string(root);
            EXPECT_ERROR(WEFT_ERR_RANK, weft_bcast(a_, 1, WEFT_INT, root, comm), rank, "weft_bcast", named);
            EXPECT_ERROR(WEFT_ERR_RANK, weft_reduce(a_, b_, 1, WEFT_INT, WEFT_SUM, root, comm), rank, "weft_reduce",
                         named);
            EXPECT_ERROR(WEFT_ERR_RANK, weft_gather(a_, 1, WEFT_INT, b_, 1, WEFT_INT, root, comm), rank, "weft_gather",
                         named);
            EXPECT_ERROR(WEFT_ERR_RANK, weft_scatter(a_, 1, WEFT_INT, b_, 1, WEFT_INT, root, comm), rank,
                         "weft_scatter", named);
        }
    });
}

// NULL, and WEFT_IN_PLACE where it is not allowed.
TEST_F(Arguments, NoBuffer) {
    on_each([&](weft_comm *comm, int self, const std::string &rank) {
        for (void *wrong : {(void *)nullptr, WEFT_IN_PLACE}) {
            const char *what = wrong ? "is WEFT_IN_PLACE" : "is NULL";
            std::string send = std::string("send ") + what, recv = std::string("recv ") + what;
            EXPECT_ERROR(WEFT_ERR_ARG, weft_bcast(wrong, 1, WEFT_INT, self, comm), rank, "weft_bcast",
                         std::string("buffer ") + what);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_reduce(a_, wrong, 1, WEFT_INT, WEFT_SUM, self, comm), rank, recv);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, wrong, 1, WEFT_INT, WEFT_SUM, comm), rank, recv);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(a_, 1, WEFT_INT, wrong, 1, WEFT_INT, self, comm), rank, recv);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_scatter(wrong, 1, WEFT_INT, b_, 1, WEFT_INT, self, comm), rank, send);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_allgather(a_, 1, WEFT_INT, wrong, 1, WEFT_INT, comm), rank, recv);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoall(a_, 1, WEFT_INT, wrong, 1, WEFT_INT, comm), rank, recv);
            EXPECT_ERROR(WEFT_ERR_ARG,
                         weft_alltoallv(a_, counts_, displs_, WEFT_INT, wrong, counts_, displs_, WEFT_INT, comm), rank,
                         recv);
        }
        EXPECT_ERROR(WEFT_ERR_ARG, weft_reduce(nullptr, b_, 1, WEFT_INT, WEFT_SUM, self, comm), rank, "send is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(nullptr, b_, 1, WEFT_INT, WEFT_SUM, comm), rank, "send is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(nullptr, 1, WEFT_INT, b_, 1, WEFT_INT, self, comm), rank, "send");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_scatter(a_, 1, WEFT_INT, nullptr, 1, WEFT_INT, self, comm), rank, "recv");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allgather(nullptr, 1, WEFT_INT, b_, 1, WEFT_INT, comm), rank, "send is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoall(nullptr, 1, WEFT_INT, b_, 1, WEFT_INT, comm), rank, "send is NULL");
    });
}

// Only the root of reduce, gather and scatter has its part in place.
TEST_F(Arguments, InPlaceElsewhereThanAtTheRoot) {
    EXPECT_ERROR(WEFT_ERR_ARG, weft_reduce(WEFT_IN_PLACE, b_, 1, WEFT_INT, WEFT_SUM, 0, worker_), "rank 1",
                 "weft_reduce", "send is WEFT_IN_PLACE");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(WEFT_IN_PLACE, 1, WEFT_INT, b_, 1, WEFT_INT, 2, worker_), "rank 1",
                 "weft_gather", "send is WEFT_IN_PLACE");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_scatter(a_, 1, WEFT_INT, WEFT_IN_PLACE, 1, WEFT_INT, 0, worker_), "rank 1",
                 "weft_scatter", "recv is WEFT_IN_PLACE");
}

// The one of many is named.
TEST_F(Arguments, TypeOfOneBlock) {
    const weft_datatype *good[] = {WEFT_INT, WEFT_INT, WEFT_INT}, *bad[] = {WEFT_INT, WEFT_INT, nullptr};
    EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoallw(a_, counts_, displs_, bad, b_, counts_, displs_, good, worker_), "rank 1",
                 "weft_alltoallw", "send_types[2] is not a datatype");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoallw(a_, counts_, displs_, good, b_, counts_, displs_, bad, worker_), "rank 1",
                 "weft_alltoallw", "recv_types[2] is not a datatype");
}

// As MPI's programs have it beside WEFT_IN_PLACE at the root: no elements, and of no type.
TEST_F(Arguments, InPlaceElsewhereWithoutElements) {
    for (const weft_datatype *type :
         {static_cast<const weft_datatype *>(WEFT_INT), static_cast<const weft_datatype *>(nullptr)}) {
        EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(WEFT_IN_PLACE, 0, type, b_, 1, WEFT_INT, 2, worker_), "rank 1",
                     "weft_gather", "send is WEFT_IN_PLACE");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_gatherv(WEFT_IN_PLACE, 0, type, b_, counts_, displs_, WEFT_INT, 2, worker_),
                     "rank 1", "weft_gatherv", "send is WEFT_IN_PLACE");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_scatter(a_, 1, WEFT_INT, WEFT_IN_PLACE, 0, type, 0, worker_), "rank 1",
                     "weft_scatter", "recv is WEFT_IN_PLACE");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_scatterv(a_, counts_, displs_, WEFT_INT, WEFT_IN_PLACE, 0, type, 0, worker_),
                     "rank 1", "weft_scatterv", "recv is WEFT_IN_PLACE");
    }
    EXPECT_ERROR(WEFT_ERR_ARG, weft_reduce(WEFT_IN_PLACE, b_, 0, WEFT_INT, WEFT_SUM, 0, worker_), "rank 1",
                 "weft_reduce", "send is WEFT_IN_PLACE");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_bcast(WEFT_IN_PLACE, 0, WEFT_INT, 0, worker_), "rank 1", "weft_bcast",
                 "buffer is WEFT_IN_PLACE");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_allgather(a_, 0, WEFT_INT, WEFT_IN_PLACE, 0, WEFT_INT, worker_), "rank 1",
                 "weft_allgather", "recv is WEFT_IN_PLACE");
}

TEST_F(Arguments, UndefinedOperations) {
    on_each([&](weft_comm *comm, int self, const std::string &rank) {
        int pairs = 0;
        oracle::for_each_type([&](const weft_datatype *type, auto zero) {
            for (const weft_op *op : oracle::operations) {
                if (oracle::defined<decltype(zero)>(op->kind))
                    continue;
                pairs++;
                EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, b_, 1, type, op, comm), rank, "weft_allreduce",
                             weft_op_name(op), weft_datatype_name(type));
                EXPECT_ERROR(WEFT_ERR_ARG, weft_reduce(a_, b_, 1, type, op, self, comm), rank, weft_op_name(op));
            }
        });
        EXPECT_GT(pairs, 100);
    });
}

extern "C" void nothing(const void *, void *, size_t, const weft_datatype *) {}

TEST_F(Arguments, OperationHandles) {
    weft_op *op = nullptr;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_op_create(nullptr, 1, &op), "weft_op_create", "function");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_op_create(nothing, 1, nullptr), "weft_op_create", "op");
    EXPECT_OK(weft_op_create(nothing, 1, &op));
    weft_op *stale = op, *predefined = const_cast<weft_op *>(WEFT_SUM);
    EXPECT_OK(weft_op_free(&op));
    EXPECT_EQ(op, nullptr);
    on_each([&](weft_comm *comm, int self, const std::string &rank) {
        for (weft_op *wrong : {stale, op}) {
            EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, b_, 1, WEFT_INT, wrong, comm), rank, "op", "freed");
            EXPECT_ERROR(WEFT_ERR_ARG, weft_reduce(a_, b_, 1, WEFT_INT, wrong, self, comm), rank, "op", "freed");
        }
    });
    EXPECT_ERROR(WEFT_ERR_ARG, weft_op_free(&stale), "weft_op_free", "freed");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_op_free(&op), "weft_op_free", "NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_op_free(nullptr), "weft_op_free");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_op_free(&predefined), "weft_op_free", "WEFT_SUM", "predefined");
}

TEST_F(Arguments, NoDatatype) {
    on_each([&](weft_comm *comm, int self, const std::string &rank) {
        EXPECT_ERROR(WEFT_ERR_ARG, weft_bcast(a_, 1, nullptr, self, comm), rank, "weft_bcast", "type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, b_, 1, nullptr, WEFT_SUM, comm), rank, "type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_reduce(a_, b_, 1, nullptr, WEFT_SUM, self, comm), rank, "type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(a_, 1, nullptr, b_, 1, WEFT_INT, self, comm), rank, "send_type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(a_, 1, WEFT_INT, b_, 1, nullptr, self, comm), rank, "recv_type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_scatter(a_, 1, nullptr, b_, 1, WEFT_INT, self, comm), rank, "send_type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_scatter(a_, 1, WEFT_INT, b_, 1, nullptr, self, comm), rank, "recv_type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allgather(a_, 1, nullptr, b_, 1, WEFT_INT, comm), rank, "send_type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoall(a_, 1, WEFT_INT, b_, 1, nullptr, comm), rank, "recv_type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoallv(a_, counts_, displs_, nullptr, b_, counts_, displs_, WEFT_INT, comm),
                     rank, "send_type");
    });
}

TEST_F(Arguments, MoreThanMemoryCanHold) {
    on_each([&](weft_comm *comm, int self, const std::string &rank) {
        for (size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4 + 1}) {
            std::string named = std::to_string(count);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_bcast(a_, count, WEFT_INT, self, comm), rank, "weft_bcast", named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, b_, count, WEFT_INT, WEFT_SUM, comm), rank, named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_reduce(a_, b_, count, WEFT_INT, WEFT_SUM, self, comm), rank, named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(a_, count, WEFT_INT, b_, count, WEFT_INT, self, comm), rank, named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_scatter(a_, count, WEFT_INT, b_, count, WEFT_INT, self, comm), rank, named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_allgather(a_, count, WEFT_INT, b_, count, WEFT_INT, comm), rank, named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoall(a_, count, WEFT_INT, b_, count, WEFT_INT, comm), rank, named);
        }
        size_t counts[3] = {SIZE_MAX, SIZE_MAX, 2};
        EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoallv(a_, counts, displs_, WEFT_INT, b_, counts_, displs_, WEFT_INT, comm),
                     rank, "weft_alltoallv");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoallv(a_, counts_, displs_, WEFT_INT, b_, counts, displs_, WEFT_INT, comm),
                     rank, "weft_alltoallv");
    });
    // One block would fit, those of all ranks do not.
    size_t third = SIZE_MAX / 5;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_allgather(a_, third, WEFT_BYTE, b_, third, WEFT_BYTE, worker_), "3 ranks");
}

TEST_F(Arguments, NoCounts) {
    on_each([&](weft_comm *comm, int, const std::string &rank) {
        auto exchange = [&](const size_t *sc, const ptrdiff_t *sd, const size_t *rc, const ptrdiff_t *rd) {
            return weft_alltoallv(a_, sc, sd, WEFT_INT, b_, rc, rd, WEFT_INT, comm);
        };
        EXPECT_ERROR(WEFT_ERR_ARG, exchange(nullptr, displs_, counts_, displs_), rank, "send_counts is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, exchange(counts_, nullptr, counts_, displs_), rank, "send_displs is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, exchange(counts_, displs_, nullptr, displs_), rank, "recv_counts is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, exchange(counts_, displs_, counts_, nullptr), rank, "recv_displs is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG,
                     weft_alltoallv(WEFT_IN_PLACE, nullptr, nullptr, nullptr, b_, nullptr, displs_, WEFT_INT, comm),
                     rank, "recv_counts is NULL");
    });
}

TEST_F(Arguments, BlocksOfDifferentSizes) {
    on_each([&](weft_comm *comm, int self, const std::string &rank) {
        EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(a_, 2, WEFT_INT, b_, 1, WEFT_INT, self, comm), rank, "8 bytes", "4");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_scatter(a_, 1, WEFT_INT, b_, 2, WEFT_INT, self, comm), rank, "4 bytes", "8");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allgather(a_, 1, WEFT_INT, b_, 1, WEFT_DOUBLE, comm), rank, "4 bytes", "8");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_alltoall(a_, 3, WEFT_SHORT, b_, 1, WEFT_INT, comm), rank, "6 bytes", "4");
    });
    size_t two[1] = {2};
    EXPECT_ERROR(WEFT_ERR_ARG,
                 weft_alltoallv(a_, two, displs_, WEFT_INT, b_, counts_, displs_, WEFT_INT, weft_process_comm()),
                 "rank 0", "8 bytes", "4");
    const weft_datatype *const ints[1] = {WEFT_INT}, *const floats[1] = {WEFT_FLOAT};
    EXPECT_ERROR(WEFT_ERR_ARG,
                 weft_alltoallw(a_, counts_, displs_, floats, b_, counts_, displs_, ints, weft_process_comm()),
                 "rank 0", "WEFT_FLOAT", "WEFT_INT");
}

// With nothing to move, no buffer is needed.
TEST_F(Arguments, NothingToMove) {
    weft_comm *comm = weft_process_comm();
    size_t zero[1] = {0};
    EXPECT_OK(weft_bcast(nullptr, 0, WEFT_INT, 0, comm));
    EXPECT_OK(weft_reduce(nullptr, nullptr, 0, WEFT_INT, WEFT_SUM, 0, comm));
    EXPECT_OK(weft_allreduce(nullptr, nullptr, 0, WEFT_INT, WEFT_SUM, comm));
    EXPECT_OK(weft_allreduce(WEFT_IN_PLACE, nullptr, 0, WEFT_INT, WEFT_SUM, comm));
    EXPECT_OK(weft_gather(nullptr, 0, WEFT_INT, nullptr, 0, WEFT_INT, 0, comm));
    EXPECT_OK(weft_scatter(nullptr, 0, WEFT_INT, nullptr, 0, WEFT_INT, 0, comm));
    EXPECT_OK(weft_allgather(nullptr, 0, WEFT_INT, nullptr, 0, WEFT_INT, comm));
    EXPECT_OK(weft_alltoall(nullptr, 0, WEFT_INT, nullptr, 0, WEFT_INT, comm));
    EXPECT_OK(weft_alltoall(WEFT_IN_PLACE, 0, WEFT_INT, nullptr, 0, WEFT_INT, comm));
    EXPECT_OK(weft_alltoallv(nullptr, zero, displs_, WEFT_INT, nullptr, zero, displs_, WEFT_INT, comm));
}

// What a call was found to be is kept for the next one that is like it: no other is taken for such.
class AfterGoodCalls : public ::testing::Test {
  protected:
    void on_each(const std::function<void(weft_comm *)> &calls) {
        ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
        calls(weft_process_comm());
        misuse::in_team(1, [&](weft_comm *comm, int) { calls(comm); });
        EXPECT_OK(weft_finalize());
    }
    static void twice(const std::function<int()> &call) {
        EXPECT_OK(call());
        EXPECT_OK(call());
    }
    int a_[64] = {0}, b_[64] = {0};
    size_t counts_[1] = {1};
    ptrdiff_t displs_[1] = {0};
};

TEST_F(AfterGoodCalls, EachArgumentIsStillChecked) {
    on_each([&](weft_comm *comm) {
        auto good = [&] { return weft_allreduce(a_, b_, 1, WEFT_INT, WEFT_SUM, comm); };
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(nullptr, b_, 1, WEFT_INT, WEFT_SUM, comm), "send is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(nullptr, b_, 1, WEFT_INT, WEFT_SUM, comm), "send is NULL");
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, nullptr, 1, WEFT_INT, WEFT_SUM, comm), "recv is NULL");
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, b_, SIZE_MAX, WEFT_INT, WEFT_SUM, comm), "memory");
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, b_, 1, nullptr, WEFT_SUM, comm), "type");
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, b_, 1, WEFT_INT, WEFT_MAXLOC, comm), "WEFT_MAXLOC");
        twice([&] { return weft_bcast(a_, 1, WEFT_INT, 0, comm); });
        EXPECT_ERROR(WEFT_ERR_RANK, weft_bcast(a_, 1, WEFT_INT, 1, comm), "root is 1");
        twice([&] { return weft_gather(a_, 2, WEFT_INT, b_, 2, WEFT_INT, 0, comm); });
        EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(a_, 1, WEFT_INT, b_, 2, WEFT_INT, 0, comm), "block of 4 bytes");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_gather(a_, 2, WEFT_FLOAT, b_, 2, WEFT_INT, 0, comm), "WEFT_FLOAT");
    });
}

// A nonblocking call may use what is left of the last.
TEST_F(AfterGoodCalls, NonblockingOnesToo) {
    on_each([&](weft_comm *comm) {
        weft_request *request = WEFT_REQUEST_NULL;
        auto start = [&](const void *send, void *recv, size_t count, const weft_op *op) {
            return weft_iallreduce(send, recv, count, WEFT_INT, op, comm, &request);
        };
        auto good = [&] {
            std::fill_n(a_, 64, a_[0] + 1);
            EXPECT_OK(start(a_, b_, 1, WEFT_SUM));
            EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
            EXPECT_EQ(b_[0], a_[0]);
            return WEFT_SUCCESS;
        };
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, start(nullptr, b_, 1, WEFT_SUM), "send is NULL");
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, start(a_, nullptr, 1, WEFT_SUM), "recv is NULL");
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, start(a_, b_, SIZE_MAX, WEFT_SUM), "memory");
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, start(a_, b_, 1, WEFT_MAXLOC), "WEFT_MAXLOC");
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_iallreduce(a_, b_, 1, WEFT_INT, WEFT_SUM, comm, nullptr), "request is NULL");
        twice(good);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(nullptr, b_, 1, WEFT_INT, WEFT_SUM, comm), "send is NULL");
        twice(good);
        for (int i = 0; i < 2; i++) { // one of another collective between
            EXPECT_OK(weft_ibarrier(comm, &request));
            EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
            good();
            EXPECT_OK(weft_ibcast(a_, 1, WEFT_INT, 0, comm, &request));
            EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
            EXPECT_ERROR(WEFT_ERR_RANK, weft_ibcast(a_, 1, WEFT_INT, 1, comm, &request), "root is 1");
            good();
        }
    });
}

TEST_F(AfterGoodCalls, WhatHasChangedIsDone) {
    on_each([&](weft_comm *comm) {
        for (int i = 0; i < 64; i++)
            a_[i] = i;
        for (size_t count : {1, 1, 3, 3, 2, 0, 4}) { // other counts, from and to other places, in place
            std::fill_n(b_, 64, -1);
            EXPECT_OK(weft_allgather(a_ + count, count, WEFT_INT, b_ + 2 * count, count, WEFT_INT, comm));
            EXPECT_OK(weft_allgather(a_ + count, count, WEFT_INT, b_ + 2 * count, count, WEFT_INT, comm));
            for (int i = 0; i < 64; i++)
                EXPECT_EQ(b_[i], i >= 2 * (int)count && i < 3 * (int)count ? i - (int)count : -1);
            EXPECT_OK(weft_allgather(WEFT_IN_PLACE, count, WEFT_INT, b_ + 2 * count, count, WEFT_INT, comm));
            EXPECT_OK(weft_alltoall(a_, count, WEFT_INT, b_ + 32, count, WEFT_INT, comm));
            EXPECT_EQ(b_[32 + (int)count], -1);
        }
    });
}

// What lies in arrays is looked at anew, and so is what its owner may have freed.
TEST_F(AfterGoodCalls, ArraysAndWhatIsFreed) {
    on_each([&](weft_comm *comm) {
        const std::vector<std::function<int()>> of_arrays = {
            [&] { return weft_alltoallv(a_, counts_, displs_, WEFT_INT, b_, counts_, displs_, WEFT_INT, comm); },
            [&] { return weft_allgatherv(a_, 1, WEFT_INT, b_, counts_, displs_, WEFT_INT, comm); },
            [&] { return weft_gatherv(a_, 1, WEFT_INT, b_, counts_, displs_, WEFT_INT, 0, comm); },
            [&] { return weft_scatterv(a_, counts_, displs_, WEFT_INT, b_, 1, WEFT_INT, 0, comm); },
            [&] { return weft_reduce_scatter(a_, b_, counts_, WEFT_INT, WEFT_SUM, comm); }};
        for (const auto &call : of_arrays) {
            counts_[0] = 1;
            twice(call);
            counts_[0] = SIZE_MAX / 2;
            EXPECT_ERROR(WEFT_ERR_ARG, call(), "memory can hold");
        }
        weft_datatype *raw = nullptr; // not committed
        EXPECT_OK(weft_type_contiguous(1, WEFT_INT, &raw));
        const weft_datatype *types[2] = {WEFT_INT, WEFT_INT};
        auto of_types = [&] {
            return weft_alltoallw(a_, counts_, displs_, &types[0], b_, counts_, displs_, &types[1], comm);
        };
        counts_[0] = 1;
        for (const weft_datatype *&type : types) {
            twice(of_types);
            type = raw;
            EXPECT_ERROR(WEFT_ERR_ARG, of_types(), &type == types ? "send_types[0]" : "recv_types[0]", "commit");
            type = WEFT_INT;
        }
        EXPECT_OK(weft_type_free(&raw));
        weft_op *op = nullptr;
        EXPECT_OK(weft_op_create(nothing, 1, &op));
        weft_op *stale = op;
        twice([&] { return weft_allreduce(a_, b_, 1, WEFT_INT, op, comm); });
        EXPECT_OK(weft_op_free(&op));
        EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(a_, b_, 1, WEFT_INT, stale, comm), "op", "freed");
        weft_datatype *pair = nullptr;
        EXPECT_OK(weft_type_contiguous(2, WEFT_INT, &pair));
        EXPECT_OK(weft_type_commit(&pair));
        weft_datatype *gone = pair;
        twice([&] { return weft_bcast(a_, 1, pair, 0, comm); });
        EXPECT_OK(weft_type_free(&pair));
        EXPECT_ERROR(WEFT_ERR_ARG, weft_bcast(a_, 1, gone, 0, comm), "type", "freed");
    });
}

} // namespace
