// SPDX-License-Identifier: BSD-3-Clause
/*
 * scan, exscan: BDE/inline, BDE/flags, BDE/slices.
 *
 *     inline:  operands in the cells; each thread combines those of the threads before it, and in a scan its own
 *     flags:   the same, straight from the users' buffers
 *     slices:  thread t makes slice t of all threads' prefixes, straight from the users' buffers into theirs
 *
 * On several nodes then a process-level exscan of the nodes' totals, and each thread puts what comes from the nodes before in
 * front of its own prefix; the first node has nothing before it, and nobody needs the total of the last.
 *
 *     node 0:  a  ab  abc ──total──▶  node 1:  d  de   →   abc·d  abc·de
 */
#include <hier/brief.h>
#include <intra/prefix.h>
#include <string.h>

static bool is_exclusive(const hier_call *call) {
    return call->arguments->collective == INTER_EXSCAN;
}

static bool is_last_node(const hier_call *call) {
    return call->comm->node == call->comm->layout->nodes - 1;
}

static int start(hier_call *call, const void *total, void *before) {
    const hier_arguments *arguments = call->arguments;
    inter_view view = {.collective = INTER_EXSCAN,
                       .element_bytes = arguments->recv_type->size_bytes,
                       .in_place = total == before,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .count = arguments->recv_count};
    inter_binding binding = {.send = total, .recv = before, .type = arguments->recv_type, .op = arguments->op};
    return hier_start(call, &view, &binding);
}

/* What comes from the nodes before, in front of the own prefix. The first thread's own is empty in an exscan. */
static void put_in_front(hier_call *call, const void *before) {
    const hier_arguments *arguments = call->arguments;
    if (call->comm->node == 0)
        return;
    if (call->comm->thread || !is_exclusive(call))
        hier_combined(call, core_reduce(arguments->op, arguments->recv_type, before, arguments->recv, arguments->recv,
                                        arguments->recv_count));
    else if (before != arguments->recv)
        memcpy(arguments->recv, before, arguments->bytes);
}

static int start_inline(hier_call *call) {
    unsigned char *total = call->meeting.release->payload.bytes;
    if (!is_last_node(call))
        hier_combine(call, true, hier_whole(call), total);
    return start(call, total, total);
}

/* The own prefix within the node, from the operands in the cells or offered. */
static void combine_first(hier_call *call, bool in_cells, void *out) {
    const hier_arguments *arguments = call->arguments;
    int threads = call->comm->thread + !is_exclusive(call);
    intra_operands operands = {in_cells, arguments->send, arguments->op, arguments->recv_type};
    if (threads)
        hier_combined(call, intra_combine_first(&call->meeting, threads, &operands, hier_whole(call), out));
}

/* Have the threads before this one come to the phase? */
static bool await_first(hier_call *call, unsigned phase) {
    for (int thread = 0; thread < call->comm->thread; thread++)
        if (!hier_await(call, thread, phase))
            return false;
    return true;
}

/* Those behind it? */
static bool await_last(hier_call *call, unsigned phase) {
    for (int thread = call->comm->thread + 1; thread < hier_threads(call); thread++)
        if (!hier_await(call, thread, phase))
            return false;
    return true;
}

static inline bool first_are_here(hier_call *call) {
    if (call->comm->thread)
        intra_linger_alone(&call->meeting, 0, HIER_READY);
    for (int thread = 0; thread < call->comm->thread; thread++)
        if (!intra_is_here(&call->meeting, thread, HIER_READY))
            return false;
    return true;
}

/* On one node. */
static inline bool take(hier_call *call) {
    combine_first(call, true, call->arguments->recv);
    return true;
}

HIER_DEFINE_BRIEF(scan, INTRA_ALONE, hier_give_inline, first_are_here, take)

static bool by_inline(hier_call *call) {
    HIER_RESUME(call);
    hier_offer_inline(call, start_inline);
    if (hier_single_node(call)) {
        HIER_ENTRANCE
        HIER_AWAIT(call, await_first(call, HIER_READY));
        return take(call);
    }
    /* Who drives reads the own operand where it is, perhaps in the receive buffer: that is written when it has. The release
     * brings what all threads have posted. */
    HIER_AWAIT(call, hier_await_network(call));
    combine_first(call, true, call->arguments->recv);
    put_in_front(call, call->meeting.release->payload.bytes);
    HIER_OVER;
}

/* By flags: in place the own prefix goes elsewhere until everybody has read the operand. */
static bool keeps_prefix(const hier_call *call) {
    return call->arguments->send == call->arguments->recv && (call->comm->thread || !is_exclusive(call));
}

static void *own_prefix(const hier_call *call) {
    size_t bytes = call->arguments->bytes;
    return keeps_prefix(call) ? hier_more_scratch(call, HIER_COPIES, bytes) : call->arguments->recv;
}

/* The leader's memory has the node's total, in place of which comes what is from before. */
static bool has_total(const hier_call *call) {
    return !hier_single_node(call) && call->comm->thread == 0;
}

static void make_total(hier_call *call) {
    void *total = hier_scratch(call, call->arguments->bytes);
    if (!is_last_node(call))
        hier_combine(call, false, hier_whole(call), total);
    INTRA_SHOW(&call->meeting, shared, call->error ? NULL : total);
}

static int start_flags(hier_call *call) {
    void *total = intra_offer_of(&call->meeting, 0)->shared;
    return total ? start(call, total, total) : WEFT_ERR_NOMEM;
}

static bool by_flags(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    HIER_RESUME(call);
    INTRA_SHOW(&call->meeting, send, arguments->send);
    INTRA_SHOW(&call->meeting, shared, NULL);
    hier_network(call, 0, HIER_READY, start_flags);
    if ((keeps_prefix(call) && !own_prefix(call)) || (has_total(call) && !hier_scratch(call, arguments->bytes))) {
        hier_no_sum(call);
        return true;
    }
    intra_post(&call->meeting, HIER_OFFERED);
    HIER_AWAIT(call, await_first(call, HIER_OFFERED));
    combine_first(call, false, own_prefix(call));
    if (has_total(call)) {
        HIER_AWAIT(call, hier_await_all(call, HIER_OFFERED));
        make_total(call);
    }
    intra_post(&call->meeting, HIER_READY);
    /* Then nobody reads the own operand any more: neither the leader nor the threads behind. */
    HIER_AWAIT(call, hier_await_network(call));
    HIER_AWAIT(call, await_last(call, HIER_READY));
    if (keeps_prefix(call))
        memcpy(arguments->recv, own_prefix(call), arguments->bytes);
    if (hier_single_node(call))
        return true;
    put_in_front(call, intra_offer_of(&call->meeting, 0)->shared);
    intra_post(&call->meeting, HIER_LEFT);
    if (call->comm->thread == 0) /* what comes from before is the leader's */
        HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    HIER_OVER;
}

/*
 * Where the node's total stands: a scan's is the last thread's prefix; an exscan's is a lone thread's operand, else in the
 * leader's memory, but on the last node. Where what comes from before goes: in a scan to the leader's memory, but on the
 * first node; in an exscan it is what the first thread receives.
 */
static bool needs_memory(const hier_call *call) {
    if (hier_single_node(call))
        return false;
    return is_exclusive(call) ? hier_threads(call) > 1 && !is_last_node(call) : call->comm->node > 0;
}

static void *before_of(const hier_call *call) {
    const intra_offer *first = intra_offer_of(&call->meeting, 0);
    if (call->comm->node == 0)
        return NULL;
    return is_exclusive(call) ? first->recv : first->shared;
}

static int start_slices(hier_call *call) {
    int last = hier_threads(call) - 1;
    const intra_offer *first = intra_offer_of(&call->meeting, 0);
    if (!is_exclusive(call))
        return start(call, intra_offer_of(&call->meeting, last)->recv, before_of(call));
    return start(call, last ? first->shared : first->send, before_of(call));
}

static void offer(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    INTRA_SHOW(&call->meeting, send, arguments->send);
    INTRA_SHOW(&call->meeting, recv, arguments->recv);
    INTRA_SHOW(&call->meeting, shared, NULL);
    if (call->comm->thread == 0 && needs_memory(call))
        INTRA_SHOW(&call->meeting, shared, hier_scratch(call, arguments->bytes));
}

static bool has_memory(hier_call *call) {
    if (!needs_memory(call) || intra_offer_of(&call->meeting, 0)->shared)
        return true;
    hier_no_sum(call);
    return false;
}

static void make_slice(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const weft_datatype *type = arguments->recv_type;
    intra_slice slice = intra_slice_of(arguments->recv_count, type->size_bytes, call->comm->thread, hier_threads(call));
    const bool backwards = hier_backwards(call, arguments->bytes);
    int code = WEFT_SUCCESS;
    for (intra_slice part; !code && hier_next_part(&slice, type->size_bytes, backwards, &part);)
        code = is_exclusive(call)
                   ? intra_exscan(&call->meeting, arguments->op, type, part, intra_offer_of(&call->meeting, 0)->shared)
                   : intra_scan(&call->meeting, arguments->op, type, part);
    hier_combined(call, code);
}

static bool by_slices(hier_call *call) {
    HIER_RESUME(call);
    offer(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_slices);
    HIER_SYNC(call, HIER_OFFERED);
    if (!has_memory(call))
        return true;
    make_slice(call);
    if (hier_single_node(call)) {
        HIER_SYNC(call, HIER_LEFT);
        hier_note_undone(call);
        return true;
    }
    intra_post(&call->meeting, HIER_READY);
    HIER_AWAIT(call, hier_await_network(call));
    put_in_front(call, before_of(call));
    /* The slices are made when the network part begins; what comes from before is the leader's. */
    intra_post(&call->meeting, HIER_LEFT);
    if (call->comm->thread == 0)
        HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    HIER_OVER;
}

bool hier_thread_scan(hier_call *call) {
    if (call->choice.thread == HIER_FLAGS)
        return by_flags(call);
    return hier_by_slices(call) ? by_slices(call) : by_inline(call);
}
