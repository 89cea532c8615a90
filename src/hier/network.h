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

#include <hier/ledger.h>

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
    uint64_t chain; /* of the calls up to this one: ledger.h */
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

/** Declares the network part; nothing on a single node. Every thread of the process declares the same. */
void hier_network(hier_call *call, int need_thread, unsigned need_phase, hier_start_function *start);

/** Starts the chosen process-level algorithm with this process's buffers; for start functions. */
int hier_start(hier_call *call, const inter_view *view, const inter_binding *binding);

/** Drives or waits until the network part is done; false (and the call's error set) when it failed. True on a single node. */
bool hier_await_network(hier_call *call);

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

/** The idle function of collectives within a process: moves the messages of an agent (the argument) on. */
enum core_idle hier_look_after_mail(void *argument, bool tired);

/** Notes that `thread` is in another call: sets the call's error, writes the sentence. Returns false. */
bool hier_mismatch(hier_call *call, int thread) __attribute__((cold));

/** hier_end() on a communicator that is broken between processes. */
int hier_end_broken(hier_call *call) __attribute__((cold));

/** hier_end() of a call that went wrong. */
int hier_end_failed(hier_call *call) __attribute__((cold));

/*
 * What follows is on the way of every short collective, and inline for that.
 */

/** Takes the next meeting and chooses the algorithms. Field by field: setting the whole struct to 0 would take longer. */
static inline void hier_begin(hier_call *call, weft_comm *comm, const hier_arguments *arguments) {
    const hier_layout *layout = comm->layout;
    bool commutative = !arguments->op || arguments->op->commutative;
    /* The note tells calls apart that do not belong together, and those after such: it is published with the flag, and compared by
     * who meets it. */
    call->chain = comm->member->chain = hier_chain(comm->member->chain, arguments->signature);
    intra_begin(&call->meeting, comm->member, (uint32_t)(call->chain >> 32));
    call->comm = comm;
    call->arguments = arguments;
    call->choice =
        hier_select(&comm->world->selector, arguments->collective, layout->nodes, arguments->bytes, commutative);
    call->start = NULL;
    call->looks = 0;
    call->error = WEFT_SUCCESS;
    call->root_node = 0;
    if (layout->nodes > 1) {
        call->slot = &comm->team->slots[call->meeting.sequence & (call->meeting.team->slots - 1)];
        call->root_node = hier_layout_node(layout, arguments->root);
    }
    call->root_thread = arguments->root - (int)layout->offsets[call->root_node];
    if (comm->talks) { /* others may need this thread's part in a message before they come to the collective */
        call->meeting.idle = hier_look_after_mail;
        call->meeting.idle_argument = comm->agent;
    }
}

/** Ends the call, whatever happened; returns its error. */
static inline int hier_end(hier_call *call) {
    if (call->error)
        return hier_end_failed(call);
    intra_end(&call->meeting);
    return !hier_single_node(call) && hier_ledger_is_broken(call->comm->ledger) ? hier_end_broken(call) : WEFT_SUCCESS;
}

/** Is `thread`, which has posted, in the same call? If not the call's error is set. */
static inline bool hier_same(hier_call *call, int thread) {
    if (thread == call->meeting.member->thread || call->meeting.cells[thread].flag.note == call->meeting.note)
        return true;
    return hier_mismatch(call, thread);
}

static inline bool hier_all_same(hier_call *call) {
    bool same = true;
    for (int thread = 0; thread < hier_threads(call); thread++)
        same &= hier_same(call, thread);
    return same;
}

/** As intra_await/intra_await_all/intra_sync; false (and the call's error set) when a thread is in another collective. */
static inline bool hier_await(hier_call *call, int thread, unsigned phase) {
    if (!intra_await(&call->meeting, thread, phase))
        return hier_mismatch(call, call->meeting.mismatch);
    return hier_same(call, thread);
}

static inline bool hier_await_all(hier_call *call, unsigned phase) {
    if (!intra_await_all(&call->meeting, phase))
        return hier_mismatch(call, call->meeting.mismatch);
    return hier_all_same(call);
}

static inline bool hier_sync(hier_call *call, unsigned phase) {
    if (!intra_sync(&call->meeting, phase))
        return hier_mismatch(call, call->meeting.mismatch);
    return hier_all_same(call);
}

#endif
