// SPDX-License-Identifier: BSD-3-Clause
/**
 * A call: one thread's part in a collective of a team, with the part between processes.
 *
 * A thread-rank collective is: thread phase in → process-level schedule → thread phase out. The thread phases are made of
 * the primitives of intra/meeting.h. The part in the middle is declared with hier_network(): what it needs of this process's
 * threads before it may start, and how it is started. Whoever holds the funnel starts and drives it: under FUNNELED the
 * leader, under SERIALIZED any thread that waits. When it is done the slot's release cell is published.
 */
#ifndef HIER_NETWORK_H
#define HIER_NETWORK_H

#include <hier/arguments.h>

/** Phases: 1 to 5 come before the network part's end, the last when all is done. */
enum { HIER_OFFERED = 1, HIER_PLANNED = 2, HIER_READY = 3, HIER_RELEASED = 6, HIER_LEFT = 7 };
_Static_assert(HIER_LEFT < INTRA_PHASES, "flags can tell all phases apart");

typedef struct hier_call hier_call;

/** Fills in what the process brings and starts its schedule with hier_start(); under the funnel, all that is needed is there. */
typedef int hier_start_function(hier_call *call);

struct hier_call {
    intra_meeting meeting;
    weft_comm *comm;
    const hier_arguments *arguments;
    hier_choice choice;
    int root_node, root_thread; /* of the root, where there is one */
    hier_slot *slot;
    hier_start_function *start; /* NULL: no network part */
    int need_thread;            /* a thread number, HIER_NEED_ALL or HIER_NEED_NONE … */
    unsigned need_phase;        /* … has posted this */
    unsigned looks;             /* how often this thread thought of driving */
    int error;                  /* the first one that this thread noticed */
};

#define HIER_NEED_ALL  (-1)
#define HIER_NEED_NONE (-2)

/** Takes the next meeting and chooses the algorithms. */
hier_call hier_begin(weft_comm *comm, const hier_arguments *arguments);

/** Ends the call, whatever happened; returns its error. */
int hier_end(hier_call *call);

/** Declares the network part; nothing on a single node. Every thread of the process declares the same. */
void hier_network(hier_call *call, int need_thread, unsigned need_phase, hier_start_function *start);

/** Starts the chosen process-level algorithm with this process's buffers; for start functions. */
int hier_start(hier_call *call, const inter_view *view, const inter_binding *binding);

/** Drives or waits until the network part is done; false (and the call's error set) when it failed. True on a single node. */
bool hier_await_network(hier_call *call);

/** As intra_await/intra_await_all/intra_sync; false (and the call's error set) when a thread is in another collective. */
bool hier_await(hier_call *call, int thread, unsigned phase);
bool hier_await_all(hier_call *call, unsigned phase);
bool hier_sync(hier_call *call, unsigned phase);

/** Runs a process-level collective on a process communicator to its end. */
int hier_run(weft_comm *comm, const inter_algorithm *algorithm, const inter_view *view, const inter_binding *binding);

static inline bool hier_single_node(const hier_call *call) {
    return call->comm->layout->nodes == 1;
}

static inline bool hier_is_root(const hier_call *call) {
    return call->comm->rank == call->arguments->root;
}

static inline bool hier_on_root_node(const hier_call *call) {
    return call->comm->node == call->root_node;
}

static inline int hier_threads(const hier_call *call) {
    return call->meeting.team->threads;
}

/** The first rank of this node. */
static inline size_t hier_first_rank(const hier_call *call) {
    return call->comm->layout->offsets[call->comm->node];
}

#endif
