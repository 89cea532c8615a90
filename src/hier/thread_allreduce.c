// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce: nbBDE/inline, nbBDE/flags, nbBDE/slices, nbBDE/counter, nbBDE/tree (and Reduce+Bcast/…).
 *
 *     inline:   operands in the cells; on one node each thread combines all of them itself, on several who drives the
 *               network does, and the result comes back in the release cell
 *     flags:    on one node each thread combines all operands itself, straight from the users' buffers; on several the leader
 *               does, and all copy from it
 *     slices:   thread t combines slice t of all operands straight from the users' buffers, on one node into everybody's
 *               receive buffer, on several into the leader's; the schedule works there in place, and all copy from it;
 *               all of that piece by piece, where the vector is cut into segments (pieces.h)
 *     counter:  the leader combines all when `ready` says so; the others copy when it says so again
 *     tree:     each thread combines its own with the sums of its children; then each copies from its parent
 */
#include <hier/brief.h>
#include <hier/pieces.h>
#include <hier/tree.h>
#include <intra/combine.h>
#include <string.h>

static int start(hier_call *call, void *sum) {
    const hier_arguments *arguments = call->arguments;
    inter_view view = {.collective = INTER_ALLREDUCE,
                       .element_bytes = arguments->recv_type->size_bytes,
                       .in_place = true,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .count = arguments->recv_count};
    inter_binding binding = hier_reduction_of(call, sum);
    return hier_start(call, &view, &binding);
}

static int start_inline(hier_call *call) {
    unsigned char *sum = call->meeting.release->payload.bytes;
    hier_combine(call, true, hier_whole(call), sum);
    return start(call, sum);
}

/* On one node. */
static inline bool take(hier_call *call) {
    hier_combine(call, true, hier_whole(call), call->arguments->recv);
    return true;
}

static bool by_inline(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    HIER_RESUME(call);
    hier_offer_inline(call, start_inline);
    if (hier_single_node(call)) {
        HIER_ENTRANCE
        HIER_AWAIT(call, hier_await_sync(call, HIER_READY));
        take(call);
    } else {
        HIER_AWAIT(call, hier_await_network(call));
        memcpy(arguments->recv, call->meeting.release->payload.bytes, arguments->bytes);
    }
    HIER_OVER;
}

HIER_DEFINE_BRIEF(allreduce, INTRA_TOGETHER, hier_give_inline, hier_brief_ready, take)

/* The leader shows no sum where it could not make it. */
static int start_from_leader(hier_call *call) {
    void *sum = intra_offer_of(&call->meeting, 0)->recv;
    return sum ? start(call, sum) : WEFT_ERR_NOMEM;
}

static void offer(hier_call *call) {
    INTRA_SHOW(&call->meeting, send, call->arguments->send);
    INTRA_SHOW(&call->meeting, recv, call->arguments->recv);
}

static void copy_from_leader(hier_call *call) {
    const void *sum = intra_offer_of(&call->meeting, 0)->recv;
    if (!sum)
        hier_no_element(call);
    else if (call->comm->thread)
        memcpy(call->arguments->recv, sum, call->arguments->bytes);
}

static bool by_slices(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    size_t size = arguments->recv_type->size_bytes, *at = &call->pieces.at;
    HIER_RESUME(call);
    offer(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_from_leader);
    if (!hier_may_lack_element(call))
        hier_cut(call, arguments->recv_count, size);
    hier_gate(call, HIER_OFFERED);
    HIER_SYNC(call, HIER_OFFERED);
    if (hier_single_node(call)) {
        intra_slice slice = intra_slice_of(arguments->recv_count, size, call->comm->thread, hier_threads(call));
        const intra_operands operands = {false, arguments->send, arguments->op, arguments->recv_type};
        const bool backwards = hier_backwards(call, arguments->bytes);
        int code = WEFT_SUCCESS;
        for (intra_slice part; !code && hier_next_part(&slice, size, backwards, &part);)
            code = intra_combine_for_all(&call->meeting, &operands, part, arguments->recv);
        hier_combined(call, code);
    } else {
        hier_combine_pieces(call, intra_offer_of(&call->meeting, 0)->recv);
        intra_post(&call->meeting, HIER_READY);
        for (; *at < call->pieces.number; (*at)++) {
            HIER_AWAIT(call, hier_await_piece(call, *at));
            if (call->comm->thread)
                hier_copy_piece(call, 0, arguments->recv_count, size, *at);
        }
    }
    HIER_SYNC(call, HIER_LEFT);
    hier_note_undone(call);
    HIER_OVER;
}

/* In place the sum goes elsewhere until everybody has read the operand. */
static void *sum_of(const hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    return arguments->send == arguments->recv ? hier_scratch(call, arguments->bytes) : arguments->recv;
}

static bool all_have_sums(hier_call *call) {
    for (int thread = 0; thread < hier_threads(call); thread++)
        if (!intra_offer_of(&call->meeting, thread)->recv)
            hier_no_sum(call);
    return !call->error;
}

static bool by_flags_alone(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    HIER_RESUME(call);
    INTRA_SHOW(&call->meeting, send, arguments->send);
    INTRA_SHOW(&call->meeting, recv, sum_of(call));
    HIER_SYNC(call, HIER_OFFERED);
    if (!all_have_sums(call))
        return true;
    hier_combine(call, false, hier_whole(call), sum_of(call));
    HIER_SYNC(call, HIER_LEFT);
    if (arguments->send == arguments->recv)
        memcpy(arguments->recv, sum_of(call), arguments->bytes);
    HIER_OVER;
}

/* Have all threads copied the leader's sum? */
static bool await_copies(hier_call *call) {
    return hier_counts(call) ? hier_await_count(call, HIER_COUNTER_DONE, hier_threads(call) - 1)
                             : hier_await_all(call, HIER_LEFT);
}

/*
 * By flags on several nodes, or by counters: the leader has the sum when it has posted READY, and the network part is over. The counters
 * are raised whatever becomes of that: the others learn it from there.
 */
static bool by_leader(hier_call *call) {
    HIER_RESUME(call);
    offer(call);
    hier_network(call, 0, HIER_READY, start_from_leader);
    intra_post(&call->meeting, HIER_OFFERED);
    if (hier_counts(call))
        hier_count(call, HIER_COUNTER_READY, 1);
    if (call->comm->thread == 0) {
        HIER_AWAIT(call, hier_await_operands(call));
        hier_combine(call, false, hier_whole(call), call->arguments->recv);
        if (call->error)
            INTRA_SHOW(&call->meeting, recv, NULL);
        intra_post(&call->meeting, HIER_READY);
        HIER_AWAIT_END(call, hier_await_network(call));
        if (hier_counts(call))
            hier_count(call, HIER_COUNTER_READY, 1);
        if (call->error)
            return true; /* nobody copies: the others learn it from the network part, or see no sum */
        HIER_AWAIT(call, await_copies(call));
    } else {
        if (hier_counts(call))
            HIER_AWAIT(call, hier_await_count(call, HIER_COUNTER_READY, hier_threads(call) + 1));
        HIER_AWAIT(call, hier_await_network(call));
        HIER_AWAIT(call, hier_await(call, 0, HIER_READY)); /* is it in the same call? */
        copy_from_leader(call);
        if (hier_counts(call))
            hier_count(call, HIER_COUNTER_DONE, 1);
        else
            intra_post(&call->meeting, HIER_LEFT);
    }
    HIER_OVER;
}

static void copy_from_parent(hier_call *call) {
    const void *sum = intra_offer_of(&call->meeting, hier_tree_parent(call, 0))->recv;
    if (sum)
        memcpy(call->arguments->recv, sum, call->arguments->bytes);
    else
        call->error = core_error(WEFT_ERR_NOMEM, "rank %d: weft_allreduce: another rank has no memory for a sum",
                                 hier_rank_of(call->comm));
}

/* Up the tree, into each thread's receive buffer, and down again. */
static bool by_tree(hier_call *call) {
    HIER_RESUME(call);
    offer(call);
    hier_network(call, 0, HIER_READY, start_from_leader);
    HIER_AWAIT(call, hier_await_children(call, 0, HIER_READY));
    hier_tree_combine(call, call->arguments->recv);
    if (call->error) {
        INTRA_SHOW(&call->meeting, recv, NULL);
        return true;
    }
    intra_post(&call->meeting, HIER_READY);
    if (call->comm->thread)
        HIER_AWAIT(call, hier_await_parent(call, 0, HIER_RELEASED));
    HIER_AWAIT(call, hier_await_network(call));
    if (call->comm->thread)
        copy_from_parent(call);
    if (call->error) {
        INTRA_SHOW(&call->meeting, recv, NULL);
        return true;
    }
    intra_post(&call->meeting, HIER_RELEASED);
    HIER_AWAIT(call, hier_await_children(call, 0, HIER_LEFT));
    intra_post(&call->meeting, HIER_LEFT);
    HIER_OVER;
}

bool hier_thread_allreduce(hier_call *call) {
    if (call->choice.thread == HIER_TREE)
        return by_tree(call);
    if (call->choice.thread == HIER_INLINE)
        return by_inline(call);
    if (hier_by_slices(call))
        return by_slices(call);
    return hier_single_node(call) && !hier_counts(call) ? by_flags_alone(call) : by_leader(call);
}
