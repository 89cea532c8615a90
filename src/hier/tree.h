// SPDX-License-Identifier: BSD-3-Clause
/**
 * What collectives do along the tree of a team's threads (intra/tree.h). Its top is thread 0; where another thread, the host, has
 * to be there, the two change places.
 */
#ifndef HIER_TREE_H
#define HIER_TREE_H

#include <hier/thread.h>

/** From a thread to its place, and back. */
static inline int hier_tree_place(int host, int thread) {
    return thread == host ? 0 : thread == 0 ? host : thread;
}

static inline int hier_tree_parent(const hier_call *call, int host) {
    int place = hier_tree_place(host, call->comm->thread);
    return hier_tree_place(host, intra_tree_parent(&call->comm->team->tree, place));
}

static inline int hier_tree_children(const hier_call *call, int host) {
    return intra_tree_children(&call->comm->team->tree, hier_tree_place(host, call->comm->thread));
}

static inline int hier_tree_child(const hier_call *call, int host, int i) {
    int place = hier_tree_place(host, call->comm->thread);
    return hier_tree_place(host, intra_tree_child(&call->comm->team->tree, place, i));
}

/** Has a thread posted `phase`, and not because it left without having done what that says? False as hier_await. */
bool hier_await_well(hier_call *call, int thread, unsigned phase);

/** Has the thread's parent, of any but the host, posted `phase`? False as hier_await. */
bool hier_await_parent(hier_call *call, int host, unsigned phase);

/** Have its children? */
bool hier_await_children(hier_call *call, int host, unsigned phase);

/**
 * Combines the thread's operand with its children's sums, which they offer as `send`, in the order of the threads, into `out`, and
 * offers that; a thread without children its operand. `out` may be the place of an operand; NULL, or a child without memory: the
 * call's error is set, and nothing is offered. For thread 0 the host.
 */
void hier_tree_combine(hier_call *call, void *out);

#endif
