// SPDX-License-Identifier: BSD-3-Clause
/**
 * Pieces: overlap within one collective of a long vector. Where the process-level algorithm cuts it into segments, threads and
 * network are at different ones:
 *
 *     threads     reduce 0 │ reduce 1 │ reduce 2 │          copy 0 │ copy 1 │ copy 2
 *     network              │  strand 0 │ strand 1 │ strand 2 │
 *
 * A piece is a few whole segments: so many that each thread's share is worth meeting for. A thread shows in its cell how many
 * it has reduced, and the engine's gate lets the strands of those begin that all threads have; of the pieces that have come
 * the engine tells a counter of the slot, on which threads wait.
 *
 * Where a process has a block for, or of, each process, every block is cut into as many segments, and piece i is the i-th part of
 * each: a thread does its share of that part of all blocks, and a strand is the whole collective with one segment of each.
 *
 * What is not cut is one piece, and then all of this does nothing.
 */
#ifndef HIER_PIECES_H
#define HIER_PIECES_H

#include <hier/network.h>
#include <intra/combine.h>

/** More than any vector has. */
#define HIER_MAX_PIECES ((1u << 20) - 1)

/** The slow part of hier_cut(): into pieces of segments of so many bytes, so many elements. */
void hier_cut_vector(hier_call *call, size_t count, size_t segment, size_t segment_bytes);

/**
 * After hier_network(): the vector has `count` elements, and pieces of it are awaited (hier_await_piece). Every thread of the
 * process calls it, with the same.
 */
static inline void hier_cut(hier_call *call, size_t count, size_t element_bytes) {
    if (hier_single_node(call) || hier_threads(call) == 1)
        return;
    size_t segment = inter_segment(call->choice.process, call->arguments->collective, count, element_bytes);
    if (segment)
        hier_cut_vector(call, count, segment, segment * element_bytes);
}

/** The slow part of hier_cut_blocks(): into so many segments of about so many bytes. */
void hier_cut_into(hier_call *call, size_t cuts, size_t segment_bytes);

/**
 * As hier_cut() for blocks, of one of which each process, by the layout, has so many bytes to send or to receive on an average. What
 * the start function shows the process level has the same `typical`.
 */
static inline void hier_cut_blocks(hier_call *call, size_t typical, size_t element_bytes) {
    if (hier_single_node(call))
        return;
    size_t cuts = inter_cuts(call->choice.process, call->arguments->collective, typical, element_bytes);
    if (cuts > 1)
        hier_cut_into(call, cuts, typical / cuts * element_bytes);
}

/**
 * Every block is cut into exactly so many pieces, a strand each, as the view says, too; the first begins when the network part starts,
 * and a thread is ready with one of the others only when all before it have come.
 */
static inline void hier_cut_in_turn(hier_call *call, size_t cuts) {
    call->pieces.number = call->pieces.cuts = cuts;
    call->pieces.strands = 1;
    call->pieces.in_turn = true;
}

/** A node's block, of as many bytes for each of its ranks, on an average. */
static inline size_t hier_typical_bytes(const hier_call *call) {
    return call->arguments->bytes * (size_t)call->comm->size / (size_t)call->comm->layout->nodes;
}

/**
 * hier_start() of a collective in which each node has a block of all its ranks', cut or not: what was said with
 * hier_cut_blocks(call, hier_typical_bytes(call), 1).
 */
int hier_start_blocks(hier_call *call, inter_binding *binding);

/**
 * After hier_cut(): the pieces begin one by one, when all threads are ready with them. Then the network part, if there are
 * several, needs no more than `phase`: enough to run its start function, and nobody who has come so far may leave out a
 * hier_piece_ready(), whatever becomes of the call, unless the start function fails for the same reason, or the communicator is broken.
 */
static inline void hier_gate(hier_call *call, unsigned phase) {
    if (call->pieces.number == 1)
        return;
    call->pieces.gated = true;
    call->need_phase = phase;
}

/** Piece `index` of a vector of `count` elements. */
static inline intra_slice hier_piece(const hier_call *call, size_t count, size_t index) {
    const hier_pieces *pieces = &call->pieces;
    if (pieces->number == 1)
        return (intra_slice){0, count};
    size_t begin = index * pieces->elements;
    return (intra_slice){begin, index + 1 == pieces->number ? count - begin : pieces->elements};
}

/** Piece `index` of a block of so many elements, or bytes. */
static inline intra_slice hier_block_piece(const hier_call *call, size_t count, size_t index) {
    const hier_pieces *pieces = &call->pieces;
    if (pieces->number == 1)
        return (intra_slice){0, count};
    size_t first = index * pieces->strands, next = first + pieces->strands;
    size_t begin = inter_part_offset(count, pieces->cuts, first);
    size_t end = next < pieces->cuts ? inter_part_offset(count, pieces->cuts, next) : count;
    return (intra_slice){begin, end - begin};
}

/** What two slices have in common. */
static inline intra_slice hier_common(intra_slice a, intra_slice b) {
    size_t begin = a.begin > b.begin ? a.begin : b.begin;
    size_t a_end = a.begin + a.count, b_end = b.begin + b.count, end = a_end < b_end ? a_end : b_end;
    return (intra_slice){begin, begin < end ? end - begin : 0};
}

/**
 * This thread has done its share of pieces 0 … index of several. Moves the network on, if the thread may: others may be still at
 * work, and this was perhaps what a strand waited for.
 */
void hier_piece_ready(hier_call *call, size_t index);

/** As hier_piece_ready(), where it had nothing to do but perhaps in the last one. */
static inline void hier_piece_passed(hier_call *call, size_t index) {
    if (index + 1 == call->pieces.number)
        hier_piece_ready(call, index);
    else
        intra_step(&call->meeting, index + 1);
}

/** Combines this thread's slice of each piece into the node's sum. */
void hier_combine_pieces(hier_call *call, void *sum);

/** Copies piece `index` of a vector of `count` elements from the receive buffer that `thread` has shown into the own one. */
void hier_copy_piece(const hier_call *call, int thread, size_t count, size_t element_bytes, size_t index);

/** What the counter of a slot shows when the network part is over, well or not. */
static inline uint64_t hier_pieces_over(uint64_t base) {
    return base + HIER_MAX_PIECES;
}

/** Before the network part of several pieces starts: what the slot has to know. Under the funnel. */
void hier_pieces_begin(const hier_call *call);

/** The network part is over: all who wait for a piece go on, and look at what became of it. */
void hier_pieces_end(const hier_slot *slot);

#endif
