// SPDX-License-Identifier: BSD-3-Clause
/*
 * bcast: MST/inline, MST/flags, MST/slices, MST/counter, MST/tree (and nbFT/…).
 *
 *     root's node:   root's buffer ──▶ network, and every thread copies from it
 *     other nodes:   network ──▶ leader's buffer (inline: the release cell) ──▶ every thread copies from it
 *
 * One copy a thread, none for the root and the leaders; data crosses the network once a process. What is cut into segments is
 * copied piece by piece, while the next ones are on their way (flags).
 */
#include <hier/brief.h>
#include <hier/moves.h>
#include <hier/pieces.h>
#include <hier/tree.h>
#include <string.h>

static int start(hier_call *call, void *buffer) {
    const hier_arguments *arguments = call->arguments;
    inter_view view = {.collective = INTER_BCAST,
                       .element_bytes = 1,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .root = call->root_node,
                       .count = arguments->bytes};
    return hier_start(call, &view, &(inter_binding){.send = buffer, .recv = buffer});
}

static int start_inline(hier_call *call) {
    intra_cell *cell = hier_on_root_node(call) ? &call->meeting.cells[call->root_thread] : call->meeting.release;
    return start(call, cell->payload.bytes);
}

static inline bool give(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    if (hier_is_root(call)) {
        core_copy_short(intra_fill(&call->meeting, arguments->bytes), arguments->recv, arguments->bytes);
        intra_post(&call->meeting, HIER_READY);
    }
    return true;
}

/* On the root's node. */
static inline bool take(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    if (!hier_is_root(call))
        core_copy_short(arguments->recv, call->meeting.cells[call->root_thread].payload.bytes, arguments->bytes);
    return true;
}

HIER_DEFINE_BRIEF(bcast, INTRA_ALONE, give, hier_brief_root_ready, take)

static bool by_inline(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    intra_meeting *meeting = &call->meeting;
    bool root = hier_is_root(call), root_node = hier_on_root_node(call);
    HIER_RESUME(call);
    hier_network(call, root_node ? call->root_thread : HIER_NEED_NONE, HIER_READY, start_inline);
    (void)give(call);
    if (root_node) {
        HIER_ENTRANCE
        if (!root)
            HIER_AWAIT(call, hier_await(call, call->root_thread, HIER_READY));
        (void)take(call);
    }
    /* On the root's node only those who may drive stay to the end. */
    if (!root_node || root || call->comm->thread == 0)
        HIER_AWAIT(call, hier_await_network(call));
    if (!root_node)
        memcpy(arguments->recv, meeting->release->payload.bytes, arguments->bytes);
    HIER_OVER;
}

static int start_from_host(hier_call *call) {
    return start(call, intra_offer_of(&call->meeting, hier_host_thread(call))->recv);
}

static void show(hier_call *call) {
    INTRA_SHOW(&call->meeting, recv, call->arguments->recv);
    hier_show_layout(call);
}

/* The host's part begins: its buffer is known, and on the root's node it holds the data. */
static void offer(hier_call *call) {
    show(call);
    intra_post(&call->meeting, HIER_READY);
}

static void copy_from(const hier_call *call, int thread, intra_slice part) {
    size_t bytes = call->arguments->bytes;
    hier_move_of(call, hier_own_received(call, 0, bytes), hier_received_by(call, thread, 0, bytes), part, bytes / 2);
}

static intra_slice all(const hier_call *call) {
    return (intra_slice){0, call->arguments->bytes};
}

/*
 * By slices, of two threads on one node: the host copies the second half, unless the other one is done with the first before the host comes,
 * and takes that too. So nobody waits for a host that is elsewhere, as after a nonblocking start.
 */
static bool shares(const hier_call *call) {
    return hier_by_slices(call) && hier_single_node(call) && hier_threads(call) == 2;
}

static intra_slice half(const hier_call *call, int which) {
    return intra_slice_of(call->arguments->bytes, 1, which, 2);
}

static void copy_for(const hier_call *call, int receiver, int host, intra_slice part) {
    const size_t bytes = call->arguments->bytes;
    hier_move_of(call, hier_received_by(call, receiver, 0, bytes), hier_received_by(call, host, 0, bytes), part,
                 bytes / 2);
}

/*
 * Before it knows that the receiver is here, a host that waits, on a core of its own, claims its half. Else both come to it at about the same
 * time, and lines of the receiver's that now one and now the other has written cross each time. Of less than this, the receiver
 * has most often copied all before the claim is there.
 */
enum { CLAIMED_EARLY = 8192 };

static bool await_both(hier_call *call, int receiver) {
    if (call->meeting.hot && call->comm->thread != receiver && call->arguments->bytes >= CLAIMED_EARLY)
        (void)intra_claims(&call->meeting, receiver);
    return hier_await_all(call, HIER_READY);
}

static bool by_halves(hier_call *call) {
    const int host = call->root_thread, receiver = 1 - host;
    HIER_RESUME(call);
    show(call);
    intra_post(&call->meeting, HIER_READY);
    HIER_AWAIT(call, await_both(call, receiver));
    if (call->comm->thread == host) {
        if (intra_claims(&call->meeting, receiver))
            copy_for(call, receiver, host, half(call, 1));
        intra_post(&call->meeting, HIER_RELEASED);
        HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    } else {
        copy_for(call, receiver, host, half(call, 0));
        if (intra_claims(&call->meeting, receiver))
            copy_for(call, receiver, host, half(call, 1));
        else
            HIER_AWAIT(call, hier_await(call, host, HIER_RELEASED));
        intra_post(&call->meeting, HIER_LEFT);
    }
    HIER_OVER;
}

static bool by_flags(hier_call *call) {
    int host = hier_host_thread(call);
    size_t *at = &call->pieces.at;
    HIER_RESUME(call);
    hier_network(call, host, HIER_READY, start_from_host);
    if (!hier_on_root_node(call))
        hier_cut(call, call->arguments->bytes, 1);
    if (call->comm->thread == host) {
        offer(call);
        HIER_AWAIT(call, hier_await_network(call));
        HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    } else {
        for (; *at < call->pieces.number; (*at)++) {
            if (!hier_on_root_node(call))
                HIER_AWAIT(call, hier_await_piece(call, *at));
            HIER_AWAIT(call, hier_await(call, host, HIER_READY));
            copy_from(call, host, hier_piece(call, call->arguments->bytes, *at));
        }
        intra_post(&call->meeting, HIER_LEFT);
        if (call->comm->thread == 0)
            HIER_AWAIT(call, hier_await_network(call));
    }
    HIER_OVER;
}

/* The two-counter scheme. Its counters are raised whatever becomes of the network part: the others learn it from there. */
static bool by_counter(hier_call *call) {
    int host = hier_host_thread(call), threads = hier_threads(call);
    bool root_node = hier_on_root_node(call);
    HIER_RESUME(call);
    hier_network(call, host, HIER_READY, start_from_host);
    if (call->comm->thread == host) {
        offer(call);
        if (!root_node)
            HIER_AWAIT_END(call, hier_await_network(call));
        hier_count(call, HIER_COUNTER_READY, 1);
        if (call->error)
            return true; /* nobody copies */
        HIER_AWAIT(call, hier_await_count(call, HIER_COUNTER_DONE, threads - 1));
        HIER_AWAIT(call, hier_await_network(call));
    } else {
        HIER_AWAIT(call, hier_await_count(call, HIER_COUNTER_READY, 1));
        if (!root_node)
            HIER_AWAIT(call, hier_await_network(call));
        HIER_AWAIT(call, hier_await(call, host, HIER_READY));
        copy_from(call, host, all(call));
        hier_count(call, HIER_COUNTER_DONE, 1);
        if (call->comm->thread == 0)
            HIER_AWAIT(call, hier_await_network(call));
    }
    HIER_OVER;
}

/* Down the tree: every thread copies from its parent's buffer, which is most likely in a cache that they share. */
static bool by_tree(hier_call *call) {
    int host = hier_host_thread(call), thread = call->comm->thread;
    HIER_RESUME(call);
    hier_network(call, host, HIER_READY, start_from_host);
    if (thread == host) {
        offer(call);
        if (!hier_on_root_node(call))
            HIER_AWAIT(call, hier_await_network(call));
    } else {
        show(call);
        HIER_AWAIT(call, hier_await_parent(call, host, HIER_RELEASED));
        if (!hier_on_root_node(call))
            HIER_AWAIT(call, hier_await_network(call));
        copy_from(call, hier_tree_parent(call, host), all(call));
    }
    intra_post(&call->meeting, HIER_RELEASED);
    HIER_AWAIT(call, hier_await_children(call, host, HIER_LEFT));
    intra_post(&call->meeting, HIER_LEFT);
    if (thread == host || thread == 0)
        HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}

bool hier_thread_bcast(hier_call *call) {
    if (shares(call))
        return by_halves(call);
    if (call->choice.thread == HIER_TREE)
        return by_tree(call);
    if (call->choice.thread == HIER_INLINE)
        return by_inline(call);
    return call->choice.thread == HIER_COUNTER ? by_counter(call) : by_flags(call);
}
