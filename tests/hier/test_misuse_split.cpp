// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of communicators that were split or duplicated, and of those that they descend from.
#include "misuse.h"

namespace {

class MisuseSplit : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
        EXPECT_OK(weft_team_create(weft_process_comm(), 1, &team_));
        EXPECT_OK(weft_team_enter(team_, 0, &world_));
    }
    void TearDown() override {
        EXPECT_OK(weft_team_leave(&world_));
        EXPECT_OK(weft_team_free(&team_));
        EXPECT_OK(weft_finalize());
    }
    weft_team *team_ = nullptr;
    weft_comm *world_ = nullptr;
};

TEST_F(MisuseSplit, OfNothing) {
    weft_comm *made = nullptr, *none = nullptr;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_dup(nullptr, &made), "weft_comm_dup", "NULL or was given back");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_split(nullptr, 0, 0, &made), "weft_comm_split");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_dup(world_, nullptr), "rank 0", "weft_comm_dup", "made is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_split(weft_process_comm(), 0, 0, nullptr), "made is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_free(nullptr), "weft_comm_free", "NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_free(&none), "weft_comm_free");
    EXPECT_EQ(made, nullptr);
}

TEST_F(MisuseSplit, NegativeColorsGiveNothing) {
    for (int color : {WEFT_COLOR_UNDEFINED, -2, INT32_MIN}) {
        weft_comm *made = world_;
        EXPECT_OK(weft_comm_split(world_, color, 0, &made));
        EXPECT_EQ(made, nullptr);
    }
}

TEST_F(MisuseSplit, FreeingWhatIsNotMadeSo) {
    weft_comm *processes = weft_process_comm(), *entered = world_;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_free(&processes), "rank 0", "belongs to weft");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_free(&entered), "rank 0", "weft_team_leave");
    EXPECT_EQ(entered, world_);
}

TEST_F(MisuseSplit, FreedTwice) {
    for (weft_comm *parent : {world_, weft_process_comm()}) {
        weft_comm *made = nullptr;
        EXPECT_OK(weft_comm_dup(parent, &made));
        weft_comm *stale = made;
        EXPECT_OK(weft_comm_free(&made));
        EXPECT_EQ(made, nullptr);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_free(&stale), "given back");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_barrier(stale), "given back");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_dup(stale, &made), "given back");
    }
}

TEST_F(MisuseSplit, LeavingWithAStandingOne) {
    weft_comm *first = nullptr, *second = nullptr, *left = world_;
    EXPECT_OK(weft_comm_dup(world_, &first));
    EXPECT_OK(weft_comm_dup(first, &second));
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_leave(&first), "rank 0", "weft_comm_free");
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_team_leave(&left), "rank 0", "2 communicators", "weft_comm_free");
    EXPECT_OK(weft_comm_free(&first));
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_team_leave(&left), "1 communicators");
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_team_free(&team_), "thread 0");
    EXPECT_OK(weft_barrier(second));
    EXPECT_OK(weft_comm_free(&second));
}

TEST_F(MisuseSplit, FinalizeWithAStandingOne) {
    weft_comm *made = nullptr;
    EXPECT_OK(weft_team_leave(&world_));
    EXPECT_OK(weft_team_free(&team_));
    EXPECT_OK(weft_comm_dup(weft_process_comm(), &made));
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_finalize(), "rank 0", "1 process communicators", "weft_comm_free");
    EXPECT_OK(weft_comm_free(&made));
    EXPECT_OK(weft_team_create(weft_process_comm(), 1, &team_));
    EXPECT_OK(weft_team_enter(team_, 0, &world_));
}

TEST_F(MisuseSplit, FreeingWhatIsInUse) {
    int sent = 7, got = 0;
    char room[256];
    for (weft_comm *parent : {world_, weft_process_comm()}) {
        weft_comm *made = nullptr;
        weft_request *request = nullptr;
        void *buffer;
        size_t bytes;
        EXPECT_OK(weft_comm_dup(parent, &made));
        EXPECT_OK(weft_irecv(&got, 1, WEFT_INT, 0, 1, made, &request));
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_comm_free(&made), "rank 0", "1 requests of messages and collectives");
        EXPECT_OK(weft_send(&sent, 1, WEFT_INT, 0, 1, made));
        EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
        EXPECT_EQ(got, 7);
        EXPECT_OK(weft_comm_attach_buffer(made, room, sizeof(room)));
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_comm_free(&made), "a buffer is attached");
        EXPECT_OK(weft_comm_detach_buffer(made, &buffer, &bytes));
        EXPECT_OK(weft_comm_free(&made));
    }
    weft_comm *made = nullptr;
    weft_request *request = nullptr;
    EXPECT_OK(weft_comm_dup(weft_process_comm(), &made));
    EXPECT_OK(weft_barrier_init(made, &request));
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_comm_free(&made), "1 requests of messages and collectives");
    EXPECT_OK(weft_request_free(&request));
    EXPECT_OK(weft_comm_free(&made));
}

TEST_F(MisuseSplit, FromAnotherThread) {
    weft_comm *made = nullptr;
    EXPECT_OK(weft_comm_dup(world_, &made));
    misuse::elsewhere([&] {
        weft_comm *again = nullptr, *freed = made;
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_comm_dup(made, &again), "rank 0", "weft_comm_dup");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_comm_free(&freed), "rank 0", "weft_comm_free");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_barrier(made), "weft_barrier");
    });
    EXPECT_OK(weft_comm_free(&made));
}

} // namespace
