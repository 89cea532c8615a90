// SPDX-License-Identifier: BSD-3-Clause
/**
 * Order: the collectives of communicators whose ranks have places (layout.h). This is the one room where the two meet: roots are
 * mapped, blocks that are equal become blocks with displacements, reductions that go by the order of the ranks are combined in the
 * fixed bracketing, which knows ranks and places (thread_fold.c).
 */
#ifndef HIER_ORDER_H
#define HIER_ORDER_H

#include <hier/thread.h>

/** Is it one of them? One of nothing is a barrier, to which all come alike. */
static inline bool hier_is_ordered(const weft_comm *comm, const hier_arguments *arguments) {
    return comm->inner && hier_thread_collective(comm, arguments) != hier_thread_barrier;
}

/** Runs a collective on the handle's `inner` one; blocking. The arguments are those of the ranks. */
hier_runner hier_ordered;

/**
 * Makes one of ranks one of places, for the `inner` handle; its arrays are the caller's to free when it is over. WEFT_ERR_NOMEM.
 */
int hier_order_map(const weft_comm *comm, hier_arguments *arguments, void *arrays[2]);

#endif
