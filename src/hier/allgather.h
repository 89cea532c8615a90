// SPDX-License-Identifier: BSD-3-Clause
/** What allgather and allgatherv have in common. */
#ifndef HIER_ALLGATHER_H
#define HIER_ALLGATHER_H

#include <hier/moves.h>

/** Between processes of one host that may read each other's memory: thread_allgather_direct.c. */
hier_collective hier_allgather_directly;

/** How long a rank's block is: all have counted alike, or are not in the same call. */
static inline size_t hier_gathered_bytes(const hier_call *call, size_t rank) {
    const hier_arguments *own = call->arguments;
    return own->collective == INTER_ALLGATHERV ? own->recv_counts[rank] * own->recv_type->size_bytes : own->bytes;
}

/** So much of a block is still in the nearest cache when it is copied once more. */
#define HIER_GIVEN_BYTES ((size_t)16 << 10)

/** Of two threads, from so long a block on: what is shorter is in both caches anyway, or gets there faster than it is written from afar. */
#define HIER_GIVEN_LEAST ((size_t)96 << 10)

/** Where a thread of this node wants this one's block. */
typedef core_data hier_given_place(const hier_call *call, int thread);

/** Of blocks that all threads of this node get: a thread's part of them (hier_move_of). */
static inline size_t hier_gathered_share(const hier_call *call, size_t block) {
    return block / 2 * (1 + (size_t)hier_threads(call));
}

/**
 * Copies the own block to where all threads of this node want it, those who expect as many bytes, part by part: so each is fetched once, by
 * whose cache it is most likely in. Where every thread takes all blocks, all of them are fetched by each.
 */
static inline void hier_give_out(const hier_call *call, core_data block, hier_given_place *place) {
    const size_t bytes = core_data_bytes(block), whole = hier_gathered_share(call, bytes);
    const int threads = hier_threads(call);
    const bool backwards = hier_backwards(call, whole);
    for (intra_slice left = {0, bytes}, part; hier_next_piece(&left, HIER_GIVEN_BYTES, backwards, &part);)
        for (int i = 0; i < threads; i++) {
            const core_data to = place(call, (call->comm->thread + i) % threads);
            if (core_data_bytes(to) == bytes)
                hier_move_of(call, to, block, part, whole);
        }
}

#endif
