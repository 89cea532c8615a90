// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce: MST/inline, MST/flags, MST/slices, MST/counter, MST/tree.
 *
 *     inline:   operands in the cells; the root (on other nodes: who drives the network) combines them
 *     slices:   thread t combines slice t of all operands, straight from the users' buffers, into the node's sum; piece by
 *               piece, where the vector is cut into segments (pieces.h)
 *     flags:    the host combines all operands, straight from the users' buffers
 *     counter:  the same, with the slot's counters for the threads' flags
 *     tree:     each thread combines its own with the sums of its children
 *
 * then a process-level reduce of the nodes' sums. The node's sum is the root's receive buffer on its node, memory of the
 * leader's elsewhere; the thread that owns it is the host.
 */
#include <hier/brief.h>
#include <hier/pieces.h>
#include <hier/tree.h>
#include <intra/combine.h>
#include <string.h>

static int start(hier_call *call, void *sum) {
    const hier_arguments *arguments = call->arguments;
    inter_view view = {.collective = INTER_REDUCE,
                       .element_bytes = arguments->recv_type->size_bytes,
                       .in_place = true,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .root = call->root_node,
                       .count = arguments->recv_count};
    inter_binding binding = hier_reduction_of(call, sum);
    return hier_start(call, &view, &binding);
}

static int start_inline(hier_call *call) {
    unsigned char *sum = call->meeting.release->payload.bytes;
    hier_combine(call, true, hier_whole(call), sum);
    return start(call, sum);
}

/*
 * The operands may be of a stand-in for the user's type, which its thread makes (staging.h), and the operation the user's own, who may
 * free it. Who started the network part uses his to its end, whether he waits for that himself or not; so all do.
 */
static bool stays(const hier_call *call) {
    return call->arguments->staging || call->arguments->op->kind == CORE_OP_USER;
}

/* On one node. */
static inline bool take(hier_call *call) {
    if (hier_is_root(call))
        hier_combine(call, true, hier_whole(call), call->arguments->recv);
    return true;
}

HIER_DEFINE_BRIEF(reduce, INTRA_ALONE, hier_give_inline, hier_brief_others, take)

static bool by_inline(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    bool root = hier_is_root(call);
    HIER_RESUME(call);
    hier_offer_inline(call, start_inline);
    if (hier_single_node(call)) {
        HIER_ENTRANCE
        if (root)
            HIER_AWAIT(call, hier_await_all(call, HIER_READY));
        return take(call);
    }
    /* Who does not need the sum goes on, but somebody has to drive. */
    if (root || stays(call) || !hier_may_go(call))
        HIER_AWAIT(call, hier_await_network(call));
    if (root)
        memcpy(arguments->recv, call->meeting.release->payload.bytes, arguments->bytes);
    HIER_OVER;
}

/* The host shows no sum where it has no memory for it, or could not make it. */
static int start_from_host(hier_call *call) {
    void *sum = intra_offer_of(&call->meeting, hier_host_thread(call))->recv;
    return sum ? start(call, sum) : WEFT_ERR_NOMEM; /* all threads see that, and each says so */
}

/* Shows the others this thread's operand, and the host's sum. Without memory for it the host shows NULL. */
static void offer(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    INTRA_SHOW(&call->meeting, send, arguments->send);
    INTRA_SHOW(&call->meeting, recv, NULL);
    if (call->comm->thread == hier_host_thread(call))
        INTRA_SHOW(&call->meeting, recv,
                   hier_on_root_node(call) ? arguments->recv : hier_scratch(call, arguments->bytes));
}

static void *sum_of_host(hier_call *call) {
    void *sum = intra_offer_of(&call->meeting, hier_host_thread(call))->recv;
    if (!sum)
        hier_no_sum(call);
    return sum;
}

static bool by_slices(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    void *sum;
    HIER_RESUME(call);
    offer(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_from_host);
    if (!hier_may_lack_element(call))
        hier_cut(call, arguments->recv_count, arguments->recv_type->size_bytes);
    hier_gate(call, HIER_OFFERED);
    HIER_SYNC(call, HIER_OFFERED);
    sum = sum_of_host(call);
    if (!sum)
        return true;
    hier_combine_pieces(call, sum);
    if (hier_single_node(call)) {
        HIER_SYNC(call, HIER_LEFT);
        hier_note_undone(call);
    } else {
        intra_post(&call->meeting, HIER_READY);
        HIER_AWAIT(call, hier_await_network(call));
    }
    HIER_OVER;
}

static bool await_host(hier_call *call) {
    return hier_counts(call) ? hier_await_count(call, HIER_COUNTER_DONE, 1)
                             : hier_await(call, hier_host_thread(call), HIER_READY);
}

/* By flags, or by counters. */
static bool by_host(hier_call *call) {
    int host = hier_host_thread(call);
    void *sum;
    HIER_RESUME(call);
    offer(call);
    hier_network(call, host, HIER_READY, start_from_host);
    intra_post(&call->meeting, HIER_OFFERED);
    if (hier_counts(call))
        hier_count(call, HIER_COUNTER_READY, 1);
    if (call->comm->thread == host) {
        HIER_AWAIT(call, hier_await_operands(call));
        sum = sum_of_host(call);
        if (sum)
            hier_combine(call, false, hier_whole(call), sum);
        if (call->error)
            INTRA_SHOW(&call->meeting, recv, NULL);
        intra_post(&call->meeting, HIER_READY);
        if (hier_counts(call))
            hier_count(call, HIER_COUNTER_DONE, 1);
    } else {
        HIER_AWAIT(call, await_host(call));
    }
    if (call->comm->thread == host || call->comm->thread == 0 || stays(call))
        HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}

/* Up the tree, whose top is thread 0 whatever the host: that keeps the order of the ranks. */
static bool by_tree(hier_call *call) {
    int thread = call->comm->thread, host = hier_host_thread(call);
    HIER_RESUME(call);
    offer(call);
    hier_network(call, 0, HIER_READY, start_from_host);
    intra_post(&call->meeting, HIER_OFFERED);
    HIER_AWAIT(call, hier_await_children(call, 0, HIER_READY));
    if (thread == 0) {
        HIER_AWAIT(call, hier_await(call, host, HIER_OFFERED));
        hier_tree_combine(call, sum_of_host(call));
    } else {
        hier_tree_combine(call, hier_tree_children(call, 0) ? hier_scratch(call, call->arguments->bytes) : NULL);
    }
    if (call->error)
        return true;
    intra_post(&call->meeting, HIER_READY);
    if (thread)
        HIER_AWAIT(call, hier_await_parent(call, 0, HIER_READY)); /* it has read */
    if (thread == host && thread)
        HIER_AWAIT(call, hier_await_well(call, 0, HIER_READY));
    if (thread == host || thread == 0 || stays(call))
        HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}

bool hier_thread_reduce(hier_call *call) {
    if (call->choice.thread == HIER_TREE)
        return by_tree(call);
    if (call->choice.thread == HIER_INLINE)
        return by_inline(call);
    return hier_by_slices(call) ? by_slices(call) : by_host(call);
}
