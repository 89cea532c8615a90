// SPDX-License-Identifier: BSD-3-Clause
/* From an algorithm and a view to a schedule: what all algorithms have in common. */
#include <inter/algorithm.h>
#include <stdlib.h>

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
    bool scatters = inter_is(view->collective, INTER_SCATTERS | INTER_REDUCE_SCATTERS);
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

/* Copies what is to be sent, packed to `copy`, and says where each block then is. */
static void copy_sent(inter_schedule *schedule, const inter_view *view, inter_place copy, size_t *offsets) {
    size_t end = 0;
    for (int rank = 0; rank < view->size; rank++) {
        offsets[rank] = end;
        if (view->recv_counts[rank])
            inter_schedule_copy(schedule, inter_at(INTER_RECV, view->recv_offsets[rank]), inter_plus(copy, end),
                                view->recv_counts[rank]);
        end += view->recv_counts[rank];
    }
    inter_schedule_temp(schedule, end);
}

/* Alltoall in place: what is sent must survive what arrives, so it is sent from a copy. */
static void build_in_place(inter_schedule *schedule, const inter_view *view) {
    inter_view copied = *view;
    size_t equal = view->recv_counts ? 0 : view->count * (size_t)view->size, *offsets = NULL;
    inter_place copy = inter_schedule_temp(schedule, equal);
    copied.in_place = false;
    if (view->recv_counts) {
        offsets = malloc((size_t)view->size * sizeof(*offsets));
        schedule->out_of_memory |= !offsets;
        if (!offsets)
            return;
        copy_sent(schedule, view, copy, offsets);
        copied.send_counts = view->recv_counts;
        copied.send_offsets = offsets;
    } else if (equal) {
        inter_schedule_copy(schedule, inter_at(INTER_RECV, 0), copy, equal);
    }
    inter_schedule_next_stage(schedule);
    inter_frame frame = inter_schedule_move(schedule, INTER_SEND, copy);
    view->algorithm->build(schedule, &copied);
    inter_schedule_restore(schedule, frame);
    free(offsets);
}

static void build_uncut(inter_schedule *schedule, const inter_view *view) {
    if (view->in_place && inter_is(view->collective, INTER_ALLTOALLS))
        build_in_place(schedule, view);
    else if (view->displs && !view->algorithm->single_blocks)
        build_packed(schedule, view);
    else
        view->algorithm->build(schedule, view);
}

/* How a view is cut into strands that each do the collective with a part of the data. */
typedef struct cutting {
    size_t strands;
    size_t segment; /* elements of a vector's segments, but perhaps of the last one */
    size_t *arrays; /* of blocks: the counts and places of their parts; NULL: a vector */
} cutting;

/* The index-th segment of the vector. */
static void cut_vector(inter_schedule *schedule, const cutting *how, size_t index, inter_view *part) {
    size_t begin = index * how->segment, rest = part->count - begin;
    part->count = rest < how->segment ? rest : how->segment;
    inter_schedule_move(schedule, INTER_SEND, inter_at(INTER_SEND, begin));
    inter_schedule_move(schedule, INTER_RECV, inter_at(INTER_RECV, begin));
}

/* The index-th part of every block of the whole: they lie apart. */
static void cut_whole(inter_schedule *schedule, const cutting *how, size_t index, inter_view *part) {
    const inter_view view = *part;
    const unsigned spread = INTER_BIT(INTER_SCATTER) | INTER_REDUCE_SCATTERS;
    enum inter_buffer alone = inter_is(view.collective, spread) ? INTER_RECV : INTER_SEND;
    size_t *offsets = how->arrays, *displs = offsets + view.size + 1;
    offsets[0] = 0;
    for (int rank = 0; rank < view.size; rank++) {
        size_t count = inter_block_count(&view, rank), begin = inter_part_offset(count, how->strands, index);
        offsets[rank + 1] = offsets[rank] + inter_part_offset(count, how->strands, index + 1) - begin;
        displs[rank] = inter_block_place(&view, rank) + begin;
        if (rank == view.rank) /* the own block stands alone there */
            inter_schedule_move(schedule, alone, inter_at(alone, begin));
    }
    part->offsets = offsets;
    part->displs = displs;
}

/* Of one side of an alltoall: `counts`, `offsets` are the user's, or NULL where all blocks are equal. */
static void cut_side(const cutting *how, size_t index, const inter_view *view, const size_t *counts,
                     const size_t *offsets, size_t *to_counts, size_t *to_offsets) {
    for (size_t rank = 0; rank < (size_t)view->size; rank++) {
        size_t count = counts ? counts[rank] : view->count;
        size_t begin = inter_part_offset(count, how->strands, index);
        to_counts[rank] = inter_part_offset(count, how->strands, index + 1) - begin;
        to_offsets[rank] = (offsets ? offsets[rank] : rank * view->count) + begin;
    }
}

/* The index-th part of every block that is sent or received. */
static void cut_exchanged(const cutting *how, size_t index, inter_view *part) {
    const inter_view view = *part;
    size_t ranks = (size_t)view.size, *arrays = how->arrays;
    cut_side(how, index, &view, view.recv_counts, view.recv_offsets, arrays, arrays + ranks);
    part->recv_counts = arrays;
    part->recv_offsets = arrays + ranks;
    if (view.in_place)
        return;
    cut_side(how, index, &view, view.send_counts, view.send_offsets, arrays + 2 * ranks, arrays + 3 * ranks);
    part->send_counts = arrays + 2 * ranks;
    part->send_offsets = arrays + 3 * ranks;
}

static void cut(inter_schedule *schedule, const cutting *how, size_t index, inter_view *part) {
    if (!how->arrays)
        cut_vector(schedule, how, index, part);
    else if (inter_is(part->collective, INTER_ALLTOALLS))
        cut_exchanged(how, index, part);
    else
        cut_whole(schedule, how, index, part);
}

/* A strand for each part. Strands that are never under way together share temporary memory. */
static void build_strands(inter_schedule *schedule, const inter_view *view, const cutting *how) {
    size_t temp = 0;
    for (size_t index = 0; index < how->strands && !schedule->out_of_memory; index++) {
        inter_view part = *view;
        if (index)
            inter_schedule_next_strand(schedule);
        schedule->temp_count = 0;
        inter_frame frame =
            inter_schedule_move(schedule, INTER_TEMP, inter_at(INTER_TEMP, index % INTER_STRANDS * temp));
        cut(schedule, how, index, &part);
        build_uncut(schedule, &part);
        inter_schedule_restore(schedule, frame);
        if (!index)
            temp = schedule->temp_count; /* the first part is the longest, of every block */
    }
    schedule->temp_count = temp * (how->strands < INTER_STRANDS ? how->strands : INTER_STRANDS);
}

/* How many segments each block is cut into. */
static size_t cuts_of(const inter_view *view) {
    bool equal = !view->offsets && !view->send_counts && !view->recv_counts;
    return inter_cuts(view->algorithm, view->collective, equal ? view->count : view->typical, view->element_bytes);
}

static void build_cut_blocks(inter_schedule *schedule, const inter_view *view, size_t cuts) {
    size_t entries = 4 * (size_t)view->size; /* two a rank and one are enough for a whole */
    cutting how = {.strands = cuts, .arrays = malloc(entries * sizeof(size_t))};
    if (how.arrays)
        build_strands(schedule, view, &how);
    else
        schedule->out_of_memory = true;
    free(how.arrays);
}

void inter_build(inter_schedule *schedule, const inter_algorithm *algorithm, const inter_view *user_view) {
    inter_view copy = *user_view, *view = &copy;
    view->algorithm = algorithm;
    size_t segment = inter_segment(algorithm, view->collective, view->count, view->element_bytes);
    size_t cuts = cuts_of(view);
    inter_schedule_clear(schedule);
    if (segment)
        build_strands(schedule, view,
                      &(cutting){.strands = view->count / segment + (view->count % segment > 0), .segment = segment});
    else if (cuts > 1)
        build_cut_blocks(schedule, view, cuts);
    else
        build_uncut(schedule, view);
    for (const inter_view *next = view->next; next; next = next->next) {
        inter_view following = *next;
        following.algorithm = algorithm;
        inter_schedule_next_strand(schedule);
        build_uncut(schedule, &following);
    }
}
