// SPDX-License-Identifier: BSD-3-Clause
/**
 * The blocks of gatherv, scatterv and allgatherv: rank by rank as a thread gave them, and node by node as the process level
 * takes them, which has one block a node: those of its ranks, in rank order, one behind the other.
 *
 *     they lie like that:   the process level works in the user's buffer
 *     they do not:          it works in memory of the thread's, and the blocks are copied between the two
 */
#ifndef HIER_BLOCKS_H
#define HIER_BLOCKS_H

#include <hier/sides.h>

struct hier_call;

typedef struct hier_blocks {
    char *buffer; /* the user's */
    const size_t *counts;
    const ptrdiff_t *displs;
    const weft_datatype *type; /* of their elements; it may be strided where they are not joined */
    /* Joined, in bytes: */
    size_t *offsets; /* nodes + 1: where the nodes' blocks begin when they are packed; NULL: not joined, or no memory */
    size_t *places;  /* nodes: where they do begin, from `base` */
    char *base;
    bool apart;    /* `base` is memory of the thread's */
    bool in_order; /* places and offsets are the same */
} hier_blocks;

/** Blocks that are not joined. */
static inline hier_blocks hier_blocks_at(const void *buffer, const size_t *counts, const ptrdiff_t *displs,
                                         const weft_datatype *type) {
    hier_blocks blocks;
    blocks.buffer = (char *)(uintptr_t)buffer;
    blocks.counts = counts;
    blocks.displs = displs;
    blocks.type = type;
    blocks.offsets = blocks.places = NULL;
    blocks.base = NULL;
    blocks.apart = blocks.in_order = false;
    return blocks;
}

/** The blocks that a rank sends (scatterv) or receives. */
static inline hier_blocks hier_sent_blocks(const hier_arguments *own) {
    return hier_blocks_at(own->send, own->send_counts, own->send_displs, own->send_type);
}

static inline hier_blocks hier_received_blocks(const hier_arguments *own) {
    return hier_blocks_at(own->recv, own->recv_counts, own->recv_displs, own->recv_type);
}

/** What was shown, as far as it is not joined. */
static inline hier_blocks hier_shown_blocks(const intra_offer *offer) {
    return hier_blocks_at(offer->send, offer->send_counts, offer->send_displs, offer->send_type);
}

static inline size_t hier_block_bytes(const hier_blocks *blocks, size_t rank) {
    return blocks->counts[rank] * blocks->type->size_bytes;
}

static inline core_data hier_block_of(const hier_blocks *blocks, size_t rank) {
    return hier_elements_at(blocks->buffer, blocks->displs[rank], blocks->type, blocks->counts[rank]);
}

/**
 * Joins the blocks of each node; node `except` (or −1) counts as having nothing. The call owns the memory. Without memory they
 * are not joined.
 */
void hier_blocks_join(struct hier_call *call, hier_blocks *blocks, int except);

/** Shows them to the process level. */
void hier_blocks_view(const hier_blocks *joined, inter_view *view);

/** Where a rank's block lies among the joined ones. */
char *hier_joined_at(const struct hier_call *call, const hier_blocks *joined, int node, size_t rank);

/** Copies from the user's buffer to joined memory that is `apart`. */
void hier_blocks_pack(const struct hier_call *call, const hier_blocks *joined, int except);

/** Copies from joined memory, this thread's or another's, to the user's buffer. Notes it when their counts are not the same. */
void hier_blocks_unpack(struct hier_call *call, const hier_blocks *joined, const hier_blocks *to, int except);

/** Does `source` send as many bytes as `destination` expects? If not the call notes it, and goes on: it will be its error when it is over. */
bool hier_same_bytes(struct hier_call *call, size_t source, size_t sent, size_t destination, size_t expected);

/** Of the ranks of another node than the root's, whose cells say how much each has: the bytes before `thread`, or of all. */
size_t hier_bytes_before(const struct hier_call *call, int thread);

/** Of gatherv and scatterv: only the root knows what the other nodes have. So another algorithm serves, if that of the processes asks for it. */
void hier_choose_without_counts(struct hier_call *call);

#endif
