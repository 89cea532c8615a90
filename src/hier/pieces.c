// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/pieces.h>
#include <hier/thread.h>
#include <stdlib.h>
#include <string.h>

/* A thread's share of a piece is a page at least: with less it would be as long at meeting the others as at work. */
#define SHARE_BYTES 4096u

/* Of so many segments. */
static void gather_strands(hier_call *call, size_t segments, size_t segment_bytes) {
    hier_pieces *pieces = &call->pieces;
    size_t least = (size_t)hier_threads(call) * SHARE_BYTES;
    pieces->strands = (least + segment_bytes - 1) / segment_bytes;
    /* The counter tells so many apart. Half of them, lest the last one be taken for the end. */
    while (segments / pieces->strands >= HIER_MAX_PIECES / 2)
        pieces->strands *= 2;
    pieces->gated = false;
}

void hier_cut_vector(hier_call *call, size_t count, size_t segment, size_t segment_bytes) {
    hier_pieces *pieces = &call->pieces;
    gather_strands(call, count / segment, segment_bytes);
    pieces->elements = pieces->strands * segment;
    pieces->number = pieces->elements < count ? (count + pieces->elements - 1) / pieces->elements : 1;
}

void hier_cut_into(hier_call *call, size_t cuts, size_t segment_bytes) {
    hier_pieces *pieces = &call->pieces;
    gather_strands(call, cuts, segment_bytes);
    pieces->cuts = cuts;
    pieces->number = (cuts + pieces->strands - 1) / pieces->strands;
}

int hier_start_blocks(hier_call *call, inter_binding *binding) {
    const hier_layout *layout = call->comm->layout;
    size_t bytes = call->arguments->bytes, entries = (size_t)layout->nodes + 1, *offsets = NULL;
    size_t typical = hier_typical_bytes(call);
    inter_view view = {.collective = call->arguments->collective,
                       .element_bytes = bytes,
                       .rank = call->comm->node,
                       .size = layout->nodes,
                       .root = call->root_node,
                       .offsets = layout->offsets};
    if (inter_cuts(call->choice.process, view.collective, typical, 1) > 1) {
        offsets = hier_more_scratch(call, HIER_ARRAYS, entries * sizeof(*offsets));
        if (!offsets)
            return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for %d nodes", hier_rank_of(call->comm),
                              call->arguments->call, layout->nodes);
        for (size_t node = 0; node < entries; node++)
            offsets[node] = layout->offsets[node] * bytes;
        /* Segments need not end where a rank's block does: then elements are bytes. */
        view.element_bytes = 1;
        view.typical = typical;
        view.offsets = offsets;
    }
    return hier_start(call, &view, binding);
}

void hier_piece_ready(hier_call *call, size_t index) {
    if (call->pieces.number == 1)
        return;
    intra_step(&call->meeting, index + 1);
    hier_drive_once(call, false);
}

void hier_combine_pieces(hier_call *call, void *sum) {
    size_t count = call->arguments->recv_count, size = call->arguments->recv_type->size_bytes;
    for (size_t index = 0; index < call->pieces.number; index++) {
        intra_slice piece = hier_piece(call, count, index);
        intra_slice slice = intra_slice_of(piece.count, size, call->comm->thread, hier_threads(call));
        slice.begin += piece.begin;
        hier_combine(call, false, slice, hier_at(sum, slice.begin, size));
        hier_piece_ready(call, index);
    }
}

void hier_copy_piece(const hier_call *call, int thread, size_t count, size_t element_bytes, size_t index) {
    intra_slice piece = hier_piece(call, count, index);
    memcpy(hier_at(call->arguments->recv, piece.begin, element_bytes),
           hier_at(intra_offer_of(&call->meeting, thread)->recv, piece.begin, element_bytes),
           piece.count * element_bytes);
}

/*
 * The engine's gate: strands whose pieces all threads are ready with. Acquire, in intra_step_of: what they have put into the node's
 * sum is what is sent.
 */
static size_t admit(void *argument) {
    hier_slot *slot = argument;
    size_t ready = slot->pieces;
    if (slot->in_turn && !slot->told) /* after an error it is never told, and nobody waits for what follows */
        return slot->execution.error ? SIZE_MAX : slot->strands;
    bool (*sift)(hier_slot *) = slot->sift;
    slot->sift = NULL;
    if (sift && sift(slot))
        return SIZE_MAX;
    for (int thread = 0; thread < slot->threads; thread++) {
        size_t step = intra_step_of(&slot->cells[thread], slot->base);
        ready = step < ready ? step : ready;
    }
    return ready == slot->pieces ? SIZE_MAX : ready * slot->strands;
}

/* Release: pairs with hier_await_piece. The end tells of the last one. */
static void tell_pieces(void *argument, size_t strands) {
    hier_slot *slot = argument;
    size_t here = strands / slot->strands;
    if (here == slot->told || here >= slot->pieces)
        return;
    slot->told = here;
    core_flag_publish(slot->arrived, slot->base + here, slot->waiting);
}

void hier_pieces_begin(const hier_call *call) {
    hier_slot *slot = call->slot;
    const hier_pieces *pieces = &call->pieces;
    slot->strands = pieces->strands;
    slot->in_turn = pieces->in_turn;
    slot->sift = NULL;
    slot->told = 0;
    atomic_store_explicit(&slot->unread, WEFT_SUCCESS, memory_order_relaxed);
    slot->arrived = intra_counter(&call->meeting, HIER_COUNTER_READY);
    slot->base = intra_count(&call->meeting, 0);
    slot->cells = call->meeting.cells;
    slot->threads = hier_threads(call);
    slot->execution.gate = pieces->gated ? admit : NULL;
    slot->execution.arrived = tell_pieces;
}

void hier_pieces_end(const hier_slot *slot) {
    core_flag_publish(slot->arrived, hier_pieces_over(slot->base), slot->waiting);
}
