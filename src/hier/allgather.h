// SPDX-License-Identifier: BSD-3-Clause
/** Allgather and allgatherv between processes of one host that may read each other's memory: thread_allgather_direct.c. */
#ifndef HIER_ALLGATHER_H
#define HIER_ALLGATHER_H

#include <hier/thread.h>

hier_collective hier_allgather_directly;

/** How long a rank's block is: all have counted alike, or are not in the same call. */
static inline size_t hier_gathered_bytes(const hier_call *call, size_t rank) {
    const hier_arguments *own = call->arguments;
    return own->collective == INTER_ALLGATHERV ? own->recv_counts[rank] * own->recv_type->size_bytes : own->bytes;
}

#endif
