// SPDX-License-Identifier: BSD-3-Clause
/* From an algorithm and a view to a schedule: what all algorithms have in common. */
#include <inter/algorithm.h>

/* Copies the blocks of the whole, or back: between where they lie in `buffer` and packed temporary memory. */
static void copy_blocks(inter_schedule *schedule, const inter_view *view, enum inter_buffer buffer, inter_place packed,
                        bool to_packed) {
    for (int rank = 0; rank < view->size; rank++) {
        inter_place there = inter_at(buffer, view->displs[rank]);
        inter_place here = inter_plus(packed, inter_block_offset(view, rank));
        size_t count = inter_block_count(view, rank);
        if (count)
            inter_schedule_copy(schedule, to_packed ? there : here, to_packed ? here : there, count);
    }
}

/* The blocks do not lie packed, and the algorithm moves several at once: it works on a packed copy of the whole. */
static void build_packed(inter_schedule *schedule, const inter_view *view) {
    bool scatters = inter_is(view->collective, INTER_SCATTERS);
    enum inter_buffer whole = scatters ? INTER_SEND : INTER_RECV;
    inter_view packed_view = *view;
    packed_view.displs = NULL;
    inter_place packed = inter_schedule_temp(schedule, inter_blocks_count(view, 0, view->size - 1));
    if (scatters)
        copy_blocks(schedule, view, whole, packed, true);
    inter_frame frame = inter_schedule_move(schedule, whole, packed);
    view->algorithm->build(schedule, &packed_view);
    inter_schedule_restore(schedule, frame);
    if (scatters)
        return;
    inter_schedule_next_stage(schedule);
    copy_blocks(schedule, view, whole, packed, false);
}

/* Alltoall in place: what is sent must survive what arrives, so it is sent from a copy. */
static void build_in_place(inter_schedule *schedule, const inter_view *view) {
    inter_view copied = *view;
    copied.in_place = false;
    copied.send_counts = view->recv_counts;
    copied.send_offsets = view->recv_offsets;
    size_t end = view->recv_counts ? 0 : view->count * (size_t)view->size;
    for (int rank = 0; view->recv_counts && rank < view->size; rank++)
        if (view->recv_counts[rank] && view->recv_offsets[rank] + view->recv_counts[rank] > end)
            end = view->recv_offsets[rank] + view->recv_counts[rank];
    inter_place copy = inter_schedule_temp(schedule, end);
    for (int rank = 0; view->recv_counts && rank < view->size; rank++)
        if (view->recv_counts[rank])
            inter_schedule_copy(schedule, inter_at(INTER_RECV, view->recv_offsets[rank]),
                                inter_plus(copy, view->recv_offsets[rank]), view->recv_counts[rank]);
    if (!view->recv_counts && end)
        inter_schedule_copy(schedule, inter_at(INTER_RECV, 0), copy, end);
    inter_schedule_next_stage(schedule);
    inter_frame frame = inter_schedule_move(schedule, INTER_SEND, copy);
    view->algorithm->build(schedule, &copied);
    inter_schedule_restore(schedule, frame);
}

/* A strand for each segment of the vector. Strands that are never under way together share temporary memory. */
static void build_segments(inter_schedule *schedule, const inter_view *view, size_t segment) {
    inter_view part = *view;
    size_t temp = 0, strands = 0;
    for (size_t begin = 0; begin < view->count; begin += segment, strands++) {
        if (strands)
            inter_schedule_next_strand(schedule);
        part.count = view->count - begin < segment ? view->count - begin : segment;
        schedule->temp_count = 0;
        inter_frame frame = inter_schedule_move(schedule, INTER_SEND, inter_at(INTER_SEND, begin));
        inter_schedule_move(schedule, INTER_RECV, inter_at(INTER_RECV, begin));
        inter_schedule_move(schedule, INTER_TEMP, inter_at(INTER_TEMP, strands % INTER_STRANDS * temp));
        view->algorithm->build(schedule, &part);
        inter_schedule_restore(schedule, frame);
        if (!strands)
            temp = schedule->temp_count; /* the first segment is the longest */
    }
    schedule->temp_count = temp * (strands < INTER_STRANDS ? strands : INTER_STRANDS);
}

void inter_build(inter_schedule *schedule, const inter_algorithm *algorithm, const inter_view *user_view) {
    inter_view copy = *user_view, *view = &copy;
    view->algorithm = algorithm;
    size_t segment = inter_segment(algorithm, view->collective, view->count, view->element_bytes);
    inter_schedule_clear(schedule);
    if (segment)
        build_segments(schedule, view, segment);
    else if (view->in_place && inter_is(view->collective, INTER_ALLTOALLS))
        build_in_place(schedule, view);
    else if (view->displs && !algorithm->single_blocks)
        build_packed(schedule, view);
    else
        algorithm->build(schedule, view);
}
