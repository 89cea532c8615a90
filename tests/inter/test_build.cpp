// SPDX-License-Identifier: BSD-3-Clause
// What inter_build() makes around an algorithm's own schedule: packed copies of blocks that lie apart, a copy of what is
// overwritten in place, and strands of segments.
#include <gtest/gtest.h>
#include <vector>
extern "C" {
#include <inter/algorithm.h>
}

namespace {

class Build : public ::testing::Test {
  protected:
    void TearDown() override {
        inter_schedule_free(&schedule);
    }
    // Steps of a kind, in their order.
    std::vector<inter_step> steps(inter_step_kind kind) const {
        std::vector<inter_step> found;
        for (size_t i = 0; i < schedule.count; i++)
            if (schedule.steps[i].kind == kind)
                found.push_back(schedule.steps[i]);
        return found;
    }
    inter_schedule schedule{};
};

bool is(inter_place place, inter_buffer buffer, size_t offset) {
    return place.buffer == buffer && place.offset == offset;
}

// Sends the whole to the right in one message; receives one likewise.
void pass_the_whole(inter_schedule *schedule, const inter_view *view) {
    size_t whole = inter_blocks_count(view, 0, view->size - 1);
    EXPECT_EQ(view->displs, nullptr);
    inter_buffer buffer = inter_is(view->collective, INTER_SCATTERS) ? INTER_SEND : INTER_RECV;
    if (buffer == INTER_SEND)
        inter_schedule_send(schedule, 1, inter_at(buffer, 0), whole);
    else
        inter_schedule_recv(schedule, 1, inter_at(buffer, 0), whole);
}

// Swaps block `peer` with everybody.
void swap_blocks(inter_schedule *schedule, const inter_view *view) {
    EXPECT_FALSE(view->in_place);
    for (int peer = 0; peer < view->size; peer++) {
        size_t begin = view->send_offsets ? view->send_offsets[peer] : size_t(peer) * view->count;
        size_t count = view->send_counts ? view->send_counts[peer] : view->count;
        inter_schedule_send(schedule, peer, inter_at(INTER_SEND, begin), count);
        inter_schedule_recv(schedule, peer, inter_at(INTER_RECV, begin), count);
    }
}

// Receives what it adds.
void add(inter_schedule *schedule, const inter_view *view) {
    inter_place arrived = inter_schedule_temp(schedule, view->count);
    inter_schedule_recv(schedule, 1, arrived, view->count);
    inter_schedule_next_stage(schedule);
    inter_schedule_reduce(schedule, inter_at(INTER_SEND, 0), arrived, inter_at(INTER_RECV, 0), view->count);
}

inter_algorithm made_of(inter_builder *build) {
    inter_algorithm algorithm{};
    algorithm.build = build;
    return algorithm;
}

inter_view view_of(inter_collective collective, size_t count) {
    inter_view view{};
    view.collective = collective;
    view.size = 3;
    view.count = count;
    view.element_bytes = 8;
    return view;
}

} // namespace

TEST_F(Build, BlocksThatLieApartArePackedBeforeAScatter) {
    const size_t offsets[] = {0, 2, 2, 5}, displs[] = {10, 100, 4};
    inter_view view = view_of(INTER_SCATTERV, 2);
    view.offsets = offsets;
    view.displs = displs;
    inter_algorithm algorithm = made_of(pass_the_whole);
    inter_build(&schedule, &algorithm, &view);
    EXPECT_EQ(schedule.temp_count, 5u);
    auto copies = steps(INTER_STEP_COPY), sends = steps(INTER_STEP_SEND);
    ASSERT_EQ(copies.size(), 2u) << "an empty block is not copied";
    EXPECT_TRUE(is(copies[0].left, INTER_SEND, 10) && is(copies[0].out, INTER_TEMP, 0) && copies[0].count == 2);
    EXPECT_TRUE(is(copies[1].left, INTER_SEND, 4) && is(copies[1].out, INTER_TEMP, 2) && copies[1].count == 3);
    ASSERT_EQ(sends.size(), 1u);
    EXPECT_TRUE(is(sends[0].left, INTER_TEMP, 0) && sends[0].count == 5);
    EXPECT_EQ(schedule.steps[2].kind, INTER_STEP_SEND);
}

TEST_F(Build, BlocksThatLieApartAreUnpackedAfterAGather) {
    const size_t displs[] = {7, 0, 3};
    inter_view view = view_of(INTER_ALLGATHERV, 2);
    view.displs = displs;
    inter_algorithm algorithm = made_of(pass_the_whole);
    inter_build(&schedule, &algorithm, &view);
    auto copies = steps(INTER_STEP_COPY), receives = steps(INTER_STEP_RECV);
    ASSERT_EQ(receives.size(), 1u);
    EXPECT_TRUE(is(receives[0].out, INTER_TEMP, 0) && receives[0].count == 6);
    ASSERT_EQ(copies.size(), 3u);
    for (size_t block = 0; block < 3; block++) {
        EXPECT_TRUE(is(copies[block].left, INTER_TEMP, 2 * block) && is(copies[block].out, INTER_RECV, displs[block]));
        EXPECT_GT(copies[block].stage, receives[0].stage);
    }
}

// What is sent is sent from a copy, so that what arrives may overwrite it.
TEST_F(Build, AlltoallInPlaceSendsFromACopy) {
    inter_view view = view_of(INTER_ALLTOALL, 2);
    view.in_place = true;
    inter_algorithm algorithm = made_of(swap_blocks);
    inter_build(&schedule, &algorithm, &view);
    auto copies = steps(INTER_STEP_COPY), sends = steps(INTER_STEP_SEND), receives = steps(INTER_STEP_RECV);
    EXPECT_EQ(schedule.temp_count, 6u);
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_TRUE(is(copies[0].left, INTER_RECV, 0) && is(copies[0].out, INTER_TEMP, 0) && copies[0].count == 6);
    EXPECT_TRUE(is(sends[2].left, INTER_TEMP, 4) && is(receives[2].out, INTER_RECV, 4));
}

TEST_F(Build, AlltoallvInPlaceCopiesWhatIsSentAndNothingElse) {
    const size_t counts[] = {2, 0, 1}, offsets[] = {6, 1000, 3};
    inter_view view = view_of(INTER_ALLTOALLV, 0);
    view.in_place = true;
    view.recv_counts = counts;
    view.recv_offsets = offsets;
    inter_algorithm algorithm = made_of(swap_blocks);
    inter_build(&schedule, &algorithm, &view);
    auto copies = steps(INTER_STEP_COPY), sends = steps(INTER_STEP_SEND);
    EXPECT_EQ(schedule.temp_count, 3u);
    ASSERT_EQ(copies.size(), 2u) << "an empty block lies nowhere";
    EXPECT_TRUE(is(copies[0].left, INTER_RECV, 6) && is(copies[0].out, INTER_TEMP, 0) && copies[0].count == 2);
    EXPECT_TRUE(is(copies[1].left, INTER_RECV, 3) && is(copies[1].out, INTER_TEMP, 2) && copies[1].count == 1);
    EXPECT_TRUE(is(sends[0].left, INTER_TEMP, 0) && sends[0].count == 2);
    EXPECT_TRUE(is(sends[2].left, INTER_TEMP, 2) && sends[2].count == 1);
}

// 2 elements a segment; strands that are never under way together use the same temporary memory.
TEST_F(Build, SegmentsAreStrandsWithMemoryForThoseUnderWay) {
    inter_view view = view_of(INTER_REDUCE, 2 * INTER_STRANDS + 5);
    inter_algorithm algorithm = made_of(add);
    algorithm.segment_bytes = 16;
    inter_build(&schedule, &algorithm, &view);
    const size_t segments = INTER_STRANDS + 3;
    EXPECT_EQ(schedule.temp_count, 2u * INTER_STRANDS);
    EXPECT_EQ(schedule.strand, segments - 1);
    auto receives = steps(INTER_STEP_RECV), reduces = steps(INTER_STEP_REDUCE);
    ASSERT_EQ(receives.size(), segments);
    for (size_t s = 0; s < segments; s++) {
        EXPECT_EQ(receives[s].strand, s);
        EXPECT_EQ(receives[s].stage, 0u);
        EXPECT_EQ(reduces[s].stage, 1u);
        EXPECT_EQ(receives[s].count, s + 1 < segments ? 2u : 1u);
        EXPECT_TRUE(is(receives[s].out, INTER_TEMP, s % INTER_STRANDS * 2));
        EXPECT_TRUE(is(reduces[s].left, INTER_SEND, 2 * s) && is(reduces[s].right, INTER_TEMP, s % INTER_STRANDS * 2) &&
                    is(reduces[s].out, INTER_RECV, 2 * s));
    }
}

TEST_F(Build, SegmentsAreOfWholeElementsAndAtLeastOne) {
    const struct {
        size_t bytes, count, segments;
    } cases[] = {{0, 9, 1}, {1, 9, 9}, {15, 9, 9}, {16, 9, 5}, {72, 9, 1}, {1000, 9, 1}, {8, 0, 1}, {8, 1, 1}};
    for (const auto &expected : cases) {
        inter_view view = view_of(INTER_REDUCE, expected.count);
        inter_algorithm algorithm = made_of(add);
        algorithm.segment_bytes = expected.bytes;
        inter_build(&schedule, &algorithm, &view);
        EXPECT_EQ(steps(INTER_STEP_RECV).size(), expected.segments) << expected.bytes << " " << expected.count;
    }
    inter_view blocks = view_of(INTER_GATHER, 9);
    inter_algorithm algorithm = made_of(pass_the_whole);
    algorithm.segment_bytes = 8;
    inter_build(&schedule, &algorithm, &blocks);
    EXPECT_EQ(schedule.strand, 0u) << "a gather is not cut";
}

namespace {

// Receives each block of the others, and sends its own to all.
void exchange_blocks(inter_schedule *schedule, const inter_view *view) {
    for (int peer = 0; peer < view->size; peer++) {
        if (peer != view->rank)
            inter_schedule_recv(schedule, peer, inter_at(INTER_RECV, inter_block_place(view, peer)),
                                inter_block_count(view, peer));
        inter_schedule_send(schedule, peer, inter_at(INTER_SEND, 0), inter_block_count(view, view->rank));
    }
}

} // namespace

// Three segments, as many as the typical block needs; those of a shorter one are shorter.
TEST_F(Build, BlocksAreCutIntoAsManySegmentsEach) {
    const size_t offsets[] = {0, 7, 8, 16};
    inter_view view = view_of(INTER_ALLGATHER, 0);
    view.rank = 2;
    view.offsets = offsets;
    view.typical = 5;
    inter_algorithm algorithm = made_of(exchange_blocks);
    algorithm.segment_bytes = 16;
    algorithm.single_blocks = true;
    inter_build(&schedule, &algorithm, &view);
    EXPECT_EQ(schedule.strand, 2u);
    auto receives = steps(INTER_STEP_RECV), sends = steps(INTER_STEP_SEND);
    ASSERT_EQ(receives.size(), 6u);
    const size_t begins[2][3] = {{0, 3, 5}, {7, 8, 8}}, counts[2][3] = {{3, 2, 2}, {1, 0, 0}};
    for (size_t strand = 0; strand < 3; strand++)
        for (size_t block = 0; block < 2; block++) {
            const inter_step &step = receives[2 * strand + block];
            EXPECT_EQ(step.strand, strand);
            EXPECT_TRUE(is(step.out, INTER_RECV, begins[block][strand]));
            EXPECT_EQ(step.count, counts[block][strand]);
        }
    const size_t own[3] = {0, 3, 6};
    for (size_t strand = 0; strand < 3; strand++)
        EXPECT_TRUE(is(sends[3 * strand].left, INTER_SEND, own[strand]));
}

// Whose length only some ranks may know.
TEST_F(Build, BlocksOfUnknownLengthAreNotCut) {
    const size_t offsets[] = {0, 7, 8, 16};
    inter_view view = view_of(INTER_ALLGATHERV, 0);
    view.offsets = offsets;
    inter_algorithm algorithm = made_of(exchange_blocks);
    algorithm.segment_bytes = 8;
    inter_build(&schedule, &algorithm, &view);
    EXPECT_EQ(schedule.strand, 0u);
}

// An algorithm that needs them packed gets a packed copy of the segment, which those never under way with it use, too.
TEST_F(Build, SegmentsOfBlocksArePackedWhereTheAlgorithmNeedsIt) {
    inter_view view = view_of(INTER_ALLGATHER, 2 * INTER_STRANDS + 2);
    inter_algorithm algorithm = made_of(pass_the_whole);
    algorithm.segment_bytes = 16;
    inter_build(&schedule, &algorithm, &view);
    EXPECT_EQ(schedule.strand, unsigned(INTER_STRANDS));
    EXPECT_EQ(schedule.temp_count, 6u * INTER_STRANDS);
    auto receives = steps(INTER_STEP_RECV), copies = steps(INTER_STEP_COPY);
    ASSERT_EQ(copies.size(), 3u * (INTER_STRANDS + 1));
    EXPECT_TRUE(is(receives[1].out, INTER_TEMP, 6) && receives[1].count == 6);
    EXPECT_TRUE(is(receives[INTER_STRANDS].out, INTER_TEMP, 0));
    EXPECT_TRUE(is(copies[5].left, INTER_TEMP, 10) && is(copies[5].out, INTER_RECV, 2 * (2 * INTER_STRANDS + 2) + 2));
}

// Blocks of 7, 0 and 2 elements, in place: two segments each, and a packed copy for each strand.
TEST_F(Build, AlltoallvInPlaceIsCutLikeOthers) {
    const size_t counts[] = {7, 0, 2}, offsets[] = {20, 1000, 3};
    inter_view view = view_of(INTER_ALLTOALLV, 0);
    view.in_place = true;
    view.typical = 4;
    view.recv_counts = counts;
    view.recv_offsets = offsets;
    inter_algorithm algorithm = made_of(swap_blocks);
    algorithm.segment_bytes = 16;
    algorithm.single_blocks = true;
    inter_build(&schedule, &algorithm, &view);
    auto copies = steps(INTER_STEP_COPY), sends = steps(INTER_STEP_SEND);
    EXPECT_EQ(schedule.strand, 1u);
    EXPECT_EQ(schedule.temp_count, 2u * 5);
    ASSERT_EQ(copies.size(), 4u);
    EXPECT_TRUE(is(copies[0].left, INTER_RECV, 20) && is(copies[0].out, INTER_TEMP, 0) && copies[0].count == 4);
    EXPECT_TRUE(is(copies[1].left, INTER_RECV, 3) && is(copies[1].out, INTER_TEMP, 4) && copies[1].count == 1);
    EXPECT_TRUE(is(copies[2].left, INTER_RECV, 24) && is(copies[2].out, INTER_TEMP, 5) && copies[2].count == 3);
    EXPECT_TRUE(is(copies[3].left, INTER_RECV, 4) && is(copies[3].out, INTER_TEMP, 8) && copies[3].count == 1);
    EXPECT_TRUE(is(sends[5].left, INTER_TEMP, 8) && sends[5].count == 1 && sends[5].strand == 1);
}

// Blocks that travel through others cannot be told apart from parts of blocks.
TEST_F(Build, AlltoallByPackedBlocksIsNotCut) {
    inter_view view = view_of(INTER_ALLTOALL, 9);
    inter_algorithm algorithm = made_of(swap_blocks);
    algorithm.segment_bytes = 8;
    inter_build(&schedule, &algorithm, &view);
    EXPECT_EQ(schedule.strand, 0u);
}

// However long it is, and as many of its elements as there are.
TEST_F(Build, NoMoreSegmentsThanAreOfUse) {
    const size_t long_vector = (size_t(1) << 31) + 5, most = INTER_MOST_SEGMENTS;
    inter_algorithm vectors, blocks;
    ASSERT_TRUE(inter_algorithm_find(INTER_BCAST, "CHAIN:16K", &vectors));
    ASSERT_TRUE(inter_algorithm_find(INTER_ALLGATHER, "nbFT:8K", &blocks));
    const size_t segment = inter_segment(&vectors, INTER_BCAST, long_vector, 8);
    EXPECT_EQ((long_vector + segment - 1) / segment, most);
    EXPECT_EQ(inter_segment(&vectors, INTER_BCAST, most * 2048, 8), 2048u);
    EXPECT_EQ(inter_cuts(&blocks, INTER_ALLGATHER, long_vector, 1), most);
    EXPECT_EQ(inter_cuts(&blocks, INTER_ALLGATHER, 100 * 8192, 1), 100u);
    inter_view view = {};
    view.collective = INTER_BCAST;
    view.element_bytes = 8;
    view.size = 2;
    view.count = long_vector;
    inter_build(&schedule, &vectors, &view);
    size_t sent = 0;
    const std::vector<inter_step> sends = steps(INTER_STEP_SEND);
    for (const inter_step &step : sends)
        sent += step.count;
    EXPECT_EQ(sends.size(), most);
    EXPECT_EQ(sent, long_vector);
}
