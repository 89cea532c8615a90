// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of collectives in all three forms. Only the last process makes the wrong calls, and the next collective of all
// is right: nothing was sent.
#include "hier/misuse.h"

#include <climits>
#include <cstdint>

namespace {

class Misuse : public ::testing::Test {
  protected:
    void TearDown() override {
        int one = 1, sum = 0;
        EXPECT_OK(weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm_));
        EXPECT_EQ(sum, size_);
        EXPECT_EQ(request_, WEFT_REQUEST_NULL) << "stays as it is on an error";
    }
    bool here() const {
        return rank_ == size_ - 1;
    }
    weft_comm *const comm_ = weft_process_comm();
    const int rank_ = weft_rank(comm_), size_ = weft_size(comm_);
    const std::string rank_text_ = "rank " + std::to_string(rank_);
    weft_request *request_ = WEFT_REQUEST_NULL;
    int a_[64] = {0}, b_[64] = {0};
    const size_t ones_[8] = {1, 1, 1, 1, 1, 1, 1, 1}, twos_[8] = {2, 2, 2, 2, 2, 2, 2, 2};
    const size_t huge_[8] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    const ptrdiff_t displs_[8] = {0, 4, 8, 12, 16, 20, 24, 28};
    const weft_datatype *const ints_[8] = {WEFT_INT, WEFT_INT, WEFT_INT, WEFT_INT,
                                           WEFT_INT, WEFT_INT, WEFT_INT, WEFT_INT};
    const weft_datatype *const none_[8] = {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
};

// The arguments before the communicator, in parentheses; the words that the sentence must have beside the call and the rank.
#define LIST(...) __VA_ARGS__
#define EXPECT_ERRORS(code, name, arguments, ...)                                                                      \
    do {                                                                                                               \
        EXPECT_ERROR(code, weft_##name(LIST arguments, comm_), rank_text_, "weft_" #name, __VA_ARGS__);                \
        EXPECT_ERROR(code, weft_i##name(LIST arguments, comm_, &request_), rank_text_, "weft_i" #name, __VA_ARGS__);   \
        EXPECT_ERROR(code, weft_##name##_init(LIST arguments, comm_, &request_), rank_text_, "weft_" #name "_init",    \
                     __VA_ARGS__);                                                                                     \
    } while (0)

TEST_F(Misuse, RootOutOfRange) {
    for (int root : {-1, size_, INT_MAX, INT_MIN}) {
        std::string named = "root is " + std::to_string(root);
        if (!here())
            break;
        EXPECT_ERRORS(WEFT_ERR_RANK, bcast, (a_, 1, WEFT_INT, root), named);
        EXPECT_ERRORS(WEFT_ERR_RANK, reduce, (a_, b_, 1, WEFT_INT, WEFT_SUM, root), named);
        EXPECT_ERRORS(WEFT_ERR_RANK, gather, (a_, 1, WEFT_INT, b_, 1, WEFT_INT, root), named);
        EXPECT_ERRORS(WEFT_ERR_RANK, scatter, (a_, 1, WEFT_INT, b_, 1, WEFT_INT, root), named);
        EXPECT_ERRORS(WEFT_ERR_RANK, gatherv, (a_, 1, WEFT_INT, b_, ones_, displs_, WEFT_INT, root), named);
        EXPECT_ERRORS(WEFT_ERR_RANK, scatterv, (a_, ones_, displs_, WEFT_INT, b_, 1, WEFT_INT, root), named);
    }
}

TEST_F(Misuse, NoBuffer) {
    if (!here())
        return;
    for (void *wrong : {(void *)nullptr, WEFT_IN_PLACE}) {
        const char *what = wrong ? "is WEFT_IN_PLACE" : "is NULL";
        std::string send = std::string("send ") + what, recv = std::string("recv ") + what;
        EXPECT_ERRORS(WEFT_ERR_ARG, gatherv, (a_, 1, WEFT_INT, wrong, ones_, displs_, WEFT_INT, rank_), recv);
        EXPECT_ERRORS(WEFT_ERR_ARG, scatterv, (wrong, ones_, displs_, WEFT_INT, b_, 1, WEFT_INT, rank_), send);
        EXPECT_ERRORS(WEFT_ERR_ARG, allgatherv, (a_, 1, WEFT_INT, wrong, ones_, displs_, WEFT_INT), recv);
        EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (a_, ones_, displs_, ints_, wrong, ones_, displs_, ints_), recv);
        EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter, (a_, wrong, ones_, WEFT_INT, WEFT_SUM), recv);
        EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter_block, (a_, wrong, 1, WEFT_INT, WEFT_SUM), recv);
        EXPECT_ERRORS(WEFT_ERR_ARG, scan, (a_, wrong, 1, WEFT_INT, WEFT_SUM), recv);
        EXPECT_ERRORS(WEFT_ERR_ARG, bcast, (wrong, 1, WEFT_INT, 0), std::string("buffer ") + what);
        if (rank_ > 0)
            EXPECT_ERRORS(WEFT_ERR_ARG, exscan, (a_, wrong, 1, WEFT_INT, WEFT_SUM), recv);
    }
    EXPECT_ERRORS(WEFT_ERR_ARG, gatherv, (nullptr, 1, WEFT_INT, b_, ones_, displs_, WEFT_INT, rank_), "send is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, scatterv, (a_, ones_, displs_, WEFT_INT, nullptr, 1, WEFT_INT, rank_), "recv is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, allgatherv, (nullptr, 1, WEFT_INT, b_, ones_, displs_, WEFT_INT), "send is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (nullptr, ones_, displs_, ints_, b_, ones_, displs_, ints_), "send is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter, (nullptr, b_, ones_, WEFT_INT, WEFT_SUM), "send is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter_block, (nullptr, b_, 1, WEFT_INT, WEFT_SUM), "send is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, scan, (nullptr, b_, 1, WEFT_INT, WEFT_SUM), "send is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, exscan, (nullptr, b_, 1, WEFT_INT, WEFT_SUM), "send is NULL");
}

TEST_F(Misuse, InPlaceElsewhereThanAtTheRoot) {
    if (!here() || size_ == 1)
        return;
    EXPECT_ERRORS(WEFT_ERR_ARG, gatherv, (WEFT_IN_PLACE, 1, WEFT_INT, b_, ones_, displs_, WEFT_INT, 0), "send");
    EXPECT_ERRORS(WEFT_ERR_ARG, scatterv, (a_, ones_, displs_, WEFT_INT, WEFT_IN_PLACE, 1, WEFT_INT, 0), "recv");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce, (WEFT_IN_PLACE, b_, 1, WEFT_INT, WEFT_SUM, 0), "send");
}

TEST_F(Misuse, NoCountsDisplacementsOrTypes) {
    if (!here())
        return;
    EXPECT_ERRORS(WEFT_ERR_ARG, gatherv, (a_, 1, WEFT_INT, b_, nullptr, displs_, WEFT_INT, rank_),
                  "recv_counts is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, gatherv, (a_, 1, WEFT_INT, b_, ones_, nullptr, WEFT_INT, rank_), "recv_displs is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, scatterv, (a_, nullptr, displs_, WEFT_INT, b_, 1, WEFT_INT, rank_),
                  "send_counts is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, scatterv, (a_, ones_, nullptr, WEFT_INT, b_, 1, WEFT_INT, rank_),
                  "send_displs is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, allgatherv, (a_, 1, WEFT_INT, b_, nullptr, displs_, WEFT_INT), "recv_counts is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, allgatherv, (a_, 1, WEFT_INT, b_, ones_, nullptr, WEFT_INT), "recv_displs is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (a_, nullptr, displs_, ints_, b_, ones_, displs_, ints_),
                  "send_counts is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (a_, ones_, nullptr, ints_, b_, ones_, displs_, ints_),
                  "send_displs is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (a_, ones_, displs_, nullptr, b_, ones_, displs_, ints_),
                  "send_types is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (a_, ones_, displs_, ints_, b_, ones_, displs_, nullptr),
                  "recv_types is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (WEFT_IN_PLACE, nullptr, nullptr, nullptr, b_, nullptr, displs_, ints_),
                  "recv_counts is NULL");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter, (a_, b_, nullptr, WEFT_INT, WEFT_SUM), "recv_counts is NULL");
}

TEST_F(Misuse, NoDatatypeOrOperation) {
    if (!here())
        return;
    EXPECT_ERRORS(WEFT_ERR_ARG, gatherv, (a_, 1, nullptr, b_, ones_, displs_, WEFT_INT, rank_), "send_type");
    EXPECT_ERRORS(WEFT_ERR_ARG, gatherv, (a_, 1, WEFT_INT, b_, ones_, displs_, nullptr, rank_), "recv_type");
    EXPECT_ERRORS(WEFT_ERR_ARG, scatterv, (a_, ones_, displs_, nullptr, b_, 1, WEFT_INT, rank_), "send_type");
    EXPECT_ERRORS(WEFT_ERR_ARG, scatterv, (a_, ones_, displs_, WEFT_INT, b_, 1, nullptr, rank_), "recv_type");
    EXPECT_ERRORS(WEFT_ERR_ARG, allgatherv, (a_, 1, nullptr, b_, ones_, displs_, WEFT_INT), "send_type");
    EXPECT_ERRORS(WEFT_ERR_ARG, allgatherv, (a_, 1, WEFT_INT, b_, ones_, displs_, nullptr), "recv_type");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (a_, ones_, displs_, none_, b_, ones_, displs_, ints_), "send_type");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (a_, ones_, displs_, ints_, b_, ones_, displs_, none_), "recv_type");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter, (a_, b_, ones_, nullptr, WEFT_SUM), "type is not a datatype");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter_block, (a_, b_, 1, nullptr, WEFT_SUM), "type is not a datatype");
    EXPECT_ERRORS(WEFT_ERR_ARG, scan, (a_, b_, 1, nullptr, WEFT_SUM), "type is not a datatype");
    EXPECT_ERRORS(WEFT_ERR_ARG, exscan, (a_, b_, 1, nullptr, WEFT_SUM), "type is not a datatype");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter, (a_, b_, ones_, WEFT_INT, nullptr), "op is not an operation");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter_block, (a_, b_, 1, WEFT_INT, nullptr), "op is not an operation");
    EXPECT_ERRORS(WEFT_ERR_ARG, scan, (a_, b_, 1, WEFT_INT, nullptr), "op is not an operation");
    EXPECT_ERRORS(WEFT_ERR_ARG, exscan, (a_, b_, 1, WEFT_INT, nullptr), "op is not an operation");
    EXPECT_ERRORS(WEFT_ERR_ARG, scan, (a_, b_, 1, WEFT_INT, WEFT_MAXLOC), "WEFT_MAXLOC is not defined for WEFT_INT");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter, (a_, b_, ones_, WEFT_DOUBLE, WEFT_BAND), "WEFT_BAND", "WEFT_DOUBLE");
}

TEST_F(Misuse, MoreThanMemoryCanHold) {
    if (!here())
        return;
    EXPECT_ERRORS(WEFT_ERR_ARG, gatherv, (a_, SIZE_MAX, WEFT_INT, b_, huge_, displs_, WEFT_INT, rank_),
                  std::to_string(SIZE_MAX));
    EXPECT_ERRORS(WEFT_ERR_ARG, scatterv, (a_, huge_, displs_, WEFT_INT, b_, 1, WEFT_INT, rank_),
                  std::to_string(SIZE_MAX));
    EXPECT_ERRORS(WEFT_ERR_ARG, allgatherv, (a_, 1, WEFT_INT, b_, huge_, displs_, WEFT_INT), std::to_string(SIZE_MAX));
    EXPECT_ERRORS(WEFT_ERR_ARG, allgatherv, (a_, 1, WEFT_BYTE, b_, huge_, displs_, WEFT_BYTE), "memory can hold");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (a_, ones_, displs_, ints_, b_, huge_, displs_, ints_), "memory can hold");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter, (a_, b_, huge_, WEFT_INT, WEFT_SUM),
                  size_ == 1 ? "memory can hold" : "size_t can count");
    EXPECT_ERRORS(WEFT_ERR_ARG, reduce_scatter_block, (a_, b_, SIZE_MAX / 4 / size_t(size_) + 1, WEFT_INT, WEFT_SUM),
                  "memory can hold");
    EXPECT_ERRORS(WEFT_ERR_ARG, scan, (a_, b_, SIZE_MAX / 4 + 1, WEFT_INT, WEFT_SUM), "memory can hold");
    EXPECT_ERRORS(WEFT_ERR_ARG, exscan, (a_, b_, SIZE_MAX, WEFT_INT, WEFT_SUM), "memory can hold");
}

TEST_F(Misuse, OwnBlocksOfDifferentSizes) {
    if (!here())
        return;
    EXPECT_ERRORS(WEFT_ERR_ARG, gatherv, (a_, 2, WEFT_INT, b_, ones_, displs_, WEFT_INT, rank_), "8 bytes", "4");
    EXPECT_ERRORS(WEFT_ERR_ARG, scatterv, (a_, ones_, displs_, WEFT_INT, b_, 2, WEFT_INT, rank_), "4 bytes", "8");
    EXPECT_ERRORS(WEFT_ERR_ARG, allgatherv, (a_, 1, WEFT_INT, b_, ones_, displs_, WEFT_DOUBLE), "4 bytes", "8");
    size_t sends[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    sends[rank_] = 2;
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallv, (a_, sends, displs_, WEFT_INT, b_, ones_, displs_, WEFT_INT), "8 bytes",
                  "4");
    EXPECT_ERRORS(WEFT_ERR_ARG, alltoallw, (a_, sends, displs_, ints_, b_, ones_, displs_, ints_), "8 bytes", "4");
}

TEST_F(Misuse, NoCommunicator) {
    EXPECT_ERROR(WEFT_ERR_ARG, weft_scan(a_, b_, 1, WEFT_INT, WEFT_SUM, nullptr), "weft_scan", "communicator");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_iscan(a_, b_, 1, WEFT_INT, WEFT_SUM, nullptr, &request_), "weft_iscan");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_scan_init(a_, b_, 1, WEFT_INT, WEFT_SUM, nullptr, &request_), "weft_scan_init");
    if (here())
        EXPECT_ERROR(WEFT_ERR_ARG, weft_iscan(a_, b_, 1, WEFT_INT, WEFT_SUM, comm_, nullptr), "request is NULL");
}

// The forms that do not block on a thread communicator: complete, and their requests in the wrong state.
#define EXPECT_FORMS(name, ...)                                                                                        \
    do {                                                                                                               \
        EXPECT_OK(weft_i##name(__VA_ARGS__));                                                                          \
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_request_free(r), "rank", "weft_i" #name, "under way");                        \
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_team_leave(&comm), "rank", "1 requests");                                     \
        EXPECT_OK(weft_wait(r, WEFT_STATUS_IGNORE));                                                                   \
        EXPECT_EQ(*r, WEFT_REQUEST_NULL);                                                                              \
        EXPECT_OK(weft_##name##_init(__VA_ARGS__));                                                                    \
        EXPECT_OK(weft_start(r));                                                                                      \
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_start(r), "weft_" #name "_init", "under way");                                \
        EXPECT_OK(weft_wait(r, WEFT_STATUS_IGNORE));                                                                   \
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_team_leave(&comm), "rank", "1 requests");                                     \
        EXPECT_OK(weft_request_free(r));                                                                               \
    } while (0)

TEST_F(Misuse, RequestsOfThreadCommunicators) {
    weft_team *team = nullptr;
    weft_comm *comm = nullptr;
    EXPECT_OK(weft_team_create(comm_, 1, &team));
    EXPECT_OK(weft_team_enter(team, 0, &comm));
    weft_request **r = &request_;
    EXPECT_FORMS(barrier, comm, r);
    EXPECT_FORMS(bcast, a_, 1, WEFT_INT, 0, comm, r);
    EXPECT_FORMS(scatter, a_, 1, WEFT_INT, b_, 1, WEFT_INT, 0, comm, r);
    EXPECT_FORMS(scatterv, a_, ones_, displs_, WEFT_INT, b_, 1, WEFT_INT, 0, comm, r);
    EXPECT_FORMS(gather, a_, 1, WEFT_INT, b_, 1, WEFT_INT, 0, comm, r);
    EXPECT_FORMS(gatherv, a_, 1, WEFT_INT, b_, ones_, displs_, WEFT_INT, 0, comm, r);
    EXPECT_FORMS(allgather, a_, 1, WEFT_INT, b_, 1, WEFT_INT, comm, r);
    EXPECT_FORMS(allgatherv, a_, 1, WEFT_INT, b_, ones_, displs_, WEFT_INT, comm, r);
    EXPECT_FORMS(alltoall, a_, 1, WEFT_INT, b_, 1, WEFT_INT, comm, r);
    EXPECT_FORMS(alltoallv, a_, ones_, displs_, WEFT_INT, b_, ones_, displs_, WEFT_INT, comm, r);
    EXPECT_FORMS(alltoallw, a_, ones_, displs_, ints_, b_, ones_, displs_, ints_, comm, r);
    EXPECT_FORMS(reduce, a_, b_, 1, WEFT_INT, WEFT_SUM, 0, comm, r);
    EXPECT_FORMS(allreduce, a_, b_, 1, WEFT_INT, WEFT_SUM, comm, r);
    EXPECT_FORMS(reduce_scatter, a_, b_, ones_, WEFT_INT, WEFT_SUM, comm, r);
    EXPECT_FORMS(reduce_scatter_block, a_, b_, 1, WEFT_INT, WEFT_SUM, comm, r);
    EXPECT_FORMS(scan, a_, b_, 1, WEFT_INT, WEFT_SUM, comm, r);
    EXPECT_FORMS(exscan, a_, b_, 1, WEFT_INT, WEFT_SUM, comm, r);
    EXPECT_OK(weft_team_leave(&comm));
    EXPECT_OK(weft_team_free(&team));
}

} // namespace
