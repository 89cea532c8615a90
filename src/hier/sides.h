// SPDX-License-Identifier: BSD-3-Clause
/**
 * Sides: what a rank sends and what it receives in a collective that moves data, as the user gave it. Data that are not one run go
 * straight from one rank's layout to another's where threads copy them themselves:
 *
 *     threads copy them:                      laid out: from and to where the types say, in one copy
 *     the network, or a cell, takes them:     staged (staging.h): packed into one run before, or unpacked after
 *
 * The network sends from and receives into the buffers of a node's host alone (the root on its node, the leader elsewhere), and in the
 * alltoall family those of no rank. In a gather or scatter the root packs what the network takes, and no more: with the threads of its node
 * it exchanges blocks as they lie. So on one node only short data are packed, which go by cells.
 */
#ifndef HIER_SIDES_H
#define HIER_SIDES_H

#include <core/layout.h>
#include <hier/check.h>

/** Blocks as the caller gave them, all of one count and type or of one each. */
typedef struct hier_side {
    const void *buffer;
    size_t blocks; /* 0: the rank has none on this side */
    size_t count;
    const weft_datatype *type;
    const size_t *counts; /* or NULL */
    const ptrdiff_t *displs;
    const weft_datatype *const *types; /* or NULL; with them displacements are in bytes */
} hier_side;

/** Of checked arguments. What a rank sends in place is a part of what it receives; in a bcast all ranks receive. */
hier_side hier_side_sent(const weft_comm *comm, const hier_arguments *arguments);
hier_side hier_side_received(const weft_comm *comm, const hier_arguments *arguments);

/** To one or to all, with counts or without. */
bool hier_gathers(enum inter_collective collective);
bool hier_scatters(enum inter_collective collective);

/** So many elements, `displ` extents behind a place. Of none it lies anywhere. */
static inline core_data hier_elements_at(const void *buffer, ptrdiff_t displ, const weft_datatype *type, size_t count) {
    size_t extent =
        (size_t)type->extent; /* NOLINT(clang-analyzer-core.NullDereference): who has blocks has their type */
    return (core_data){core_offset(buffer, (ptrdiff_t)((size_t)displ * extent)), type, count};
}

/** One block. That of one without elements lies anywhere. */
static inline core_data hier_side_block(const hier_side *side, size_t block) {
    ptrdiff_t displ = side->counts ? side->displs[block] : (ptrdiff_t)(block * side->count);
    size_t count = side->counts ? side->counts[block] : side->count;
    if (side->types)
        return (core_data){core_offset(side->buffer, displ), side->types[block], count};
    return hier_elements_at(side->buffer, displ, side->type, count);
}

/** Of all blocks, of checked arguments. */
size_t hier_side_bytes(const hier_side *side);

/** What core_stream_pays() is asked of a rank: half of what it gives and gets, all of it where a core carries two. Of checked arguments. */
size_t hier_bytes_moved(const weft_comm *comm, const hier_arguments *arguments);

/**
 * Of checked arguments that are `strided`: do the threads copy all that this rank gives, or gets? Then they become `laid_out`, with what
 * is in place resolved. The types have to stay in use until the call is over.
 */
bool hier_lay_out(weft_comm *comm, hier_arguments *arguments);

/** Keeps the types of checked arguments in use until hier_types_release(), which is given the same; they may be laid out meanwhile. */
void hier_types_retain(const weft_comm *comm, const hier_arguments *arguments);
void hier_types_release(const weft_comm *comm, const hier_arguments *arguments);

#endif
