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
 * A vector that is not cut is one piece, and then all of this does nothing.
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

/**
 * After hier_cut(): the pieces begin one by one, when all threads are ready with them. Then the network part, if there are
 * several, needs no more than `phase`: enough to run its start function, and nobody who has come so far may leave out a
 * hier_piece_ready(), whatever becomes of the call.
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

/**
 * This thread has done its share of pieces 0 … index of several. Moves the network on, if the thread may: others may be still at
 * work, and this was perhaps what a strand waited for.
 */
void hier_piece_ready(hier_call *call, size_t index);

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
