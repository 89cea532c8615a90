// SPDX-License-Identifier: BSD-3-Clause
// The schedule as a container: what is added comes out in order, stages and strands are cut where there is something to
// cut, places are moved, memory is kept for the next one. And what inter_build() makes around an algorithm's own schedule.
#include <gtest/gtest.h>
extern "C" {
#include <inter/algorithm.h>
#include <inter/schedule.h>
}

class Schedule : public ::testing::Test {
  protected:
    void SetUp() override {
        inter_schedule_clear(&schedule);
    }
    void TearDown() override {
        inter_schedule_free(&schedule);
        EXPECT_EQ(schedule.steps, nullptr);
        EXPECT_EQ(schedule.capacity, 0u);
    }
    inter_schedule schedule{};
};

TEST_F(Schedule, KeepsStepsAsTheyWereAdded) {
    inter_schedule_send(&schedule, 3, inter_at(INTER_SEND, 5), 7);
    inter_schedule_recv(&schedule, 4, inter_at(INTER_RECV, 6), 8);
    inter_schedule_reduce(&schedule, inter_at(INTER_SEND, 1), inter_at(INTER_TEMP, 2), inter_at(INTER_RECV, 3), 9);
    inter_schedule_copy(&schedule, inter_at(INTER_TEMP, 10), inter_at(INTER_RECV, 11), 12);
    ASSERT_EQ(schedule.count, 4u);
    const inter_step *step = schedule.steps;
    EXPECT_TRUE(step[0].kind == INTER_STEP_SEND && step[0].peer == 3 && step[0].count == 7);
    EXPECT_TRUE(step[0].left.buffer == INTER_SEND && step[0].left.offset == 5);
    EXPECT_TRUE(step[1].kind == INTER_STEP_RECV && step[1].peer == 4 && step[1].count == 8);
    EXPECT_TRUE(step[1].out.buffer == INTER_RECV && step[1].out.offset == 6);
    EXPECT_TRUE(step[2].kind == INTER_STEP_REDUCE && step[2].count == 9);
    EXPECT_TRUE(step[2].left.buffer == INTER_SEND && step[2].left.offset == 1);
    EXPECT_TRUE(step[2].right.buffer == INTER_TEMP && step[2].right.offset == 2);
    EXPECT_TRUE(step[2].out.buffer == INTER_RECV && step[2].out.offset == 3);
    EXPECT_TRUE(step[3].kind == INTER_STEP_COPY && step[3].count == 12);
    EXPECT_TRUE(step[3].left.buffer == INTER_TEMP && step[3].left.offset == 10);
    EXPECT_TRUE(step[3].out.buffer == INTER_RECV && step[3].out.offset == 11);
}

TEST_F(Schedule, EmptyStagesDoNotCount) {
    inter_schedule_next_stage(&schedule);
    inter_schedule_next_stage(&schedule);
    inter_schedule_send(&schedule, 1, inter_at(INTER_SEND, 0), 1);
    inter_schedule_next_stage(&schedule);
    inter_schedule_next_stage(&schedule);
    inter_schedule_send(&schedule, 1, inter_at(INTER_SEND, 0), 1);
    inter_schedule_recv(&schedule, 1, inter_at(INTER_RECV, 0), 1);
    EXPECT_EQ(schedule.steps[0].stage, 0u);
    EXPECT_EQ(schedule.steps[1].stage, 1u);
    EXPECT_EQ(schedule.steps[2].stage, 1u);
}

TEST_F(Schedule, TemporaryPlacesLieOneBehindTheOther) {
    inter_place a = inter_schedule_temp(&schedule, 10), b = inter_schedule_temp(&schedule, 0),
                c = inter_schedule_temp(&schedule, 5);
    EXPECT_TRUE(a.buffer == INTER_TEMP && a.offset == 0);
    EXPECT_TRUE(b.buffer == INTER_TEMP && b.offset == 10);
    EXPECT_TRUE(c.buffer == INTER_TEMP && c.offset == 10);
    EXPECT_EQ(schedule.temp_count, 15u);
    inter_place d = inter_plus(c, 3);
    EXPECT_TRUE(d.buffer == INTER_TEMP && d.offset == 13 && c.offset == 10);
}

TEST_F(Schedule, GrowsAndIsUsedAgain) {
    for (int step = 0; step < 1000; step++) {
        inter_schedule_send(&schedule, step, inter_at(INTER_SEND, size_t(step)), 1);
        inter_schedule_next_stage(&schedule);
    }
    inter_schedule_temp(&schedule, 4);
    ASSERT_EQ(schedule.count, 1000u);
    for (int step = 0; step < 1000; step++) {
        EXPECT_EQ(schedule.steps[step].peer, step);
        EXPECT_EQ(schedule.steps[step].stage, unsigned(step));
    }
    EXPECT_FALSE(schedule.out_of_memory);
    size_t capacity = schedule.capacity;
    inter_schedule_clear(&schedule);
    EXPECT_EQ(schedule.count, 0u);
    EXPECT_EQ(schedule.temp_count, 0u);
    EXPECT_EQ(schedule.capacity, capacity);
    inter_schedule_send(&schedule, 1, inter_at(INTER_SEND, 0), 1);
    EXPECT_EQ(schedule.steps[0].stage, 0u);
}

// Only the stage that is ended is marked, and a strand's stages begin at 0.
TEST_F(Schedule, StagesMayBeIndependentAndStrandsBeginAnew) {
    auto send = [this] { inter_schedule_send(&schedule, 1, inter_at(INTER_SEND, 0), 1); };
    inter_schedule_next_stage_independent(&schedule); // nothing to mark
    send();
    inter_schedule_next_stage(&schedule);
    send();
    send();
    inter_schedule_next_stage_independent(&schedule);
    inter_schedule_next_stage_independent(&schedule);
    send();
    inter_schedule_next_strand(&schedule);
    send();
    inter_schedule_next_stage(&schedule);
    send();
    const bool independent[] = {false, true, true, false, false, false};
    const unsigned stages[] = {0, 1, 1, 2, 0, 1}, strands[] = {0, 0, 0, 0, 1, 1};
    ASSERT_EQ(schedule.count, 6u);
    for (int i = 0; i < 6; i++) {
        EXPECT_EQ(schedule.steps[i].independent, independent[i]) << i;
        EXPECT_EQ(schedule.steps[i].stage, stages[i]) << i;
        EXPECT_EQ(schedule.steps[i].strand, strands[i]) << i;
    }
    inter_schedule_clear(&schedule);
    send();
    EXPECT_TRUE(schedule.steps[0].strand == 0 && schedule.steps[0].stage == 0 && !schedule.steps[0].independent);
}

TEST_F(Schedule, MovedBuffersLieElsewhereUntilTheyAreRestored) {
    auto send = [this](inter_buffer buffer, size_t offset) {
        inter_schedule_send(&schedule, 1, inter_at(buffer, offset), 1);
        return schedule.steps[schedule.count - 1].left;
    };
    inter_frame outer = inter_schedule_move(&schedule, INTER_SEND, inter_at(INTER_RECV, 10));
    inter_place place = send(INTER_SEND, 3);
    EXPECT_TRUE(place.buffer == INTER_RECV && place.offset == 13);
    place = send(INTER_RECV, 3);
    EXPECT_TRUE(place.buffer == INTER_RECV && place.offset == 3) << "only what was moved has moved";
    inter_frame inner = inter_schedule_move(&schedule, INTER_SEND, inter_at(INTER_SEND, 5));
    place = send(INTER_SEND, 1);
    EXPECT_TRUE(place.buffer == INTER_RECV && place.offset == 16) << "moves are relative to what a name meant before";
    inter_schedule_restore(&schedule, inner);
    place = send(INTER_SEND, 1);
    EXPECT_TRUE(place.buffer == INTER_RECV && place.offset == 11);
    inter_schedule_restore(&schedule, outer);
    place = send(INTER_SEND, 1);
    EXPECT_TRUE(place.buffer == INTER_SEND && place.offset == 1);
    inter_schedule_move(&schedule, INTER_RECV, inter_at(INTER_TEMP, 7));
    inter_schedule_reduce(&schedule, inter_at(INTER_SEND, 1), inter_at(INTER_RECV, 2), inter_at(INTER_RECV, 3), 1);
    const inter_step &reduce = schedule.steps[schedule.count - 1];
    EXPECT_TRUE(reduce.left.buffer == INTER_SEND && reduce.left.offset == 1);
    EXPECT_TRUE(reduce.right.buffer == INTER_TEMP && reduce.right.offset == 9);
    EXPECT_TRUE(reduce.out.buffer == INTER_TEMP && reduce.out.offset == 10);
    inter_schedule_clear(&schedule);
    place = send(INTER_RECV, 4);
    EXPECT_TRUE(place.buffer == INTER_RECV && place.offset == 4) << "a cleared schedule has moved nothing";
}

TEST(View, BlocksArePackedOrWhereTheOffsetsSay) {
    const size_t offsets[] = {0, 3, 3, 10};
    inter_view even{}, uneven{};
    even.size = uneven.size = 3;
    even.count = 4;
    uneven.offsets = offsets;
    EXPECT_EQ(inter_block_offset(&even, 2), 8u);
    EXPECT_EQ(inter_blocks_count(&even, 1, 2), 8u);
    EXPECT_EQ(inter_block_offset(&uneven, 2), 3u);
    EXPECT_EQ(inter_blocks_count(&uneven, 1, 1), 0u);
    EXPECT_EQ(inter_blocks_count(&uneven, 0, 2), 10u);
}

// 11 elements in 4 blocks: 3, 3, 3, 2.
TEST(View, ACutVectorsFirstBlocksAreLonger) {
    inter_view cut{};
    cut.size = 4;
    cut.cut = true;
    for (size_t count = 0; count < 40; count++) {
        cut.count = count;
        EXPECT_EQ(inter_block_offset(&cut, 0), 0u);
        EXPECT_EQ(inter_block_offset(&cut, 4), count);
        for (int block = 0; block < 4; block++)
            EXPECT_EQ(inter_block_count(&cut, block), (count + 3 - size_t(block)) / 4) << count;
    }
}

TEST(View, SingleBlocksLieWhereTheDisplacementsSay) {
    const size_t displs[] = {9, 2, 5};
    inter_view view{};
    view.size = 3;
    view.count = 2;
    EXPECT_EQ(inter_block_place(&view, 1), 2u);
    view.displs = displs;
    EXPECT_EQ(inter_block_place(&view, 0), 9u);
    EXPECT_EQ(inter_block_offset(&view, 0), 0u) << "packed offsets are what they were";
}
