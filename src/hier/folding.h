// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the reductions in the fixed bracketing (thread_fold.c) combine: where the operands of a node's ranks stand, in the order of the
 * ranks of the user's communicator, and where the blocks of a reduce_scatter begin.
 */
#ifndef HIER_FOLDING_H
#define HIER_FOLDING_H

#include <hier/thread.h>
#include <inter/leaves.h>

/** Of several nodes. */
static inline const inter_leaves *hier_leaves_of(const hier_call *call) {
    return call->comm->team->leaves;
}

/** The caller's rank in the user's communicator. */
static inline int hier_fold_rank(const hier_call *call) {
    return hier_layout_rank(call->comm->layout, call->comm->rank);
}

static inline bool hier_fold_scatters(const hier_call *call) {
    return inter_is(call->arguments->collective, INTER_REDUCE_SCATTERS);
}

static inline bool hier_fold_in_place(const hier_call *call) {
    return call->arguments->send == call->arguments->recv;
}

/**
 * Combines these elements of the operands of the ranks first … end − 1, which are of this node and a block (or all that there are), into
 * `out`, where the first of the elements goes. The operands are in the cells, or offered.
 */
void hier_fold(hier_call *call, bool in_cells, int first, int end, intra_slice slice, void *out);

/**
 * The prefixes of all ranks of the node, from their offered operands into their offered receive buffers. `gathered`: the vectors of all
 * leaves that are below some rank of the node, leaf i at i vectors; NULL on a single node.
 */
void hier_fold_prefixes(hier_call *call, const char *gathered, intra_slice slice);

/** The elements of an operand. */
static inline size_t hier_fold_whole(const hier_call *call) {
    return call->arguments->bytes / call->arguments->recv_type->size_bytes;
}

/** Of reduce_scatter: the block of a rank of the user's communicator, and where it begins in the operand. */
static inline size_t hier_fold_block(const hier_call *call, int rank) {
    const hier_arguments *arguments = call->arguments;
    return arguments->collective == INTER_REDUCE_SCATTER ? arguments->recv_counts[rank] : arguments->recv_count;
}
size_t hier_fold_begin(const hier_call *call, int rank);

/** The elements of the blocks of the places first … end − 1. */
size_t hier_fold_places(const hier_call *call, size_t first, size_t end);

#endif
