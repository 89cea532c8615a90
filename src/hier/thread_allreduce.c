// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce: nbBDE/inline, nbBDE/slices, nbBDE/counter (and Reduce+Bcast/…).
 *
 *     inline:   operands in the cells; on one node each thread combines all of them itself, on several who drives the
 *               network does, and the result comes back in the release cell
 *     slices:   thread t combines slice t of all operands straight from the users' buffers, on one node into everybody's
 *               receive buffer, on several into the leader's; the schedule works there in place, and all copy from it
 *     counter:  the leader combines all when `ready` says so; the others copy when it says so again
 */
#include <hier/thread.h>
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

static void by_inline(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    memcpy(call->meeting.own->payload.bytes, arguments->send, arguments->bytes);
    if (hier_single_node(call)) {
        if (hier_sync(call, HIER_READY))
            hier_combine(call, true, hier_whole(call), arguments->recv);
        return;
    }
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_inline);
    intra_post(&call->meeting, HIER_READY);
    if (hier_await_network(call))
        memcpy(arguments->recv, call->meeting.release->payload.bytes, arguments->bytes);
}

static int start_from_leader(hier_call *call) {
    return start(call, intra_offer_of(&call->meeting, 0)->recv);
}

static void offer(hier_call *call) {
    intra_offer *mine = &call->meeting.own->payload.offer;
    mine->send = call->arguments->send;
    mine->recv = call->arguments->recv;
}

static void copy_from_leader(hier_call *call) {
    if (call->comm->thread && !call->error)
        memcpy(call->arguments->recv, intra_offer_of(&call->meeting, 0)->recv, call->arguments->bytes);
}

static void by_slices(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    size_t size = arguments->recv_type->size_bytes;
    intra_slice slice = intra_slice_of(arguments->recv_count, size, call->comm->thread, hier_threads(call));
    offer(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_from_leader);
    if (!hier_sync(call, HIER_OFFERED))
        return;
    if (hier_single_node(call)) {
        hier_combined(call, intra_combine_for_all(&call->meeting, arguments->send, arguments->recv, arguments->op,
                                                  arguments->recv_type, slice));
    } else {
        hier_combine(call, false, slice, hier_at(intra_offer_of(&call->meeting, 0)->recv, slice.begin, size));
        intra_post(&call->meeting, HIER_READY);
        if (hier_await_network(call))
            copy_from_leader(call);
    }
    hier_sync(call, HIER_LEFT);
}

static void by_counter(hier_call *call) {
    intra_team *team = call->meeting.team;
    uint64_t threads = (uint64_t)hier_threads(call);
    uint64_t combined = ++call->meeting.member->counter_uses, copied = ++call->meeting.member->counter_uses;
    offer(call);
    hier_network(call, 0, HIER_READY, start_from_leader);
    intra_post(&call->meeting, HIER_OFFERED);
    hier_counter_add(call, &team->ready, 1);
    if (call->comm->thread == 0) {
        hier_counter_await(call, &team->ready, combined);
        if (hier_await_all(call, HIER_OFFERED))
            hier_combine(call, false, hier_whole(call), call->arguments->recv);
        intra_post(&call->meeting, HIER_READY);
        hier_await_network(call);
        hier_counter_add(call, &team->ready, threads);
        hier_counter_add(call, &team->done, threads + 1);
        hier_counter_await(call, &team->done, copied);
    } else {
        hier_counter_await(call, &team->ready, copied);
        if (hier_await_network(call) && hier_await(call, 0, HIER_READY))
            copy_from_leader(call);
        hier_counter_add(call, &team->done, 1);
    }
}

int hier_thread_allreduce(weft_comm *comm, const hier_arguments *arguments) {
    hier_call call;
    hier_begin(&call, comm, arguments);
    if (call.choice.thread == HIER_INLINE)
        by_inline(&call);
    else if (call.choice.thread == HIER_COUNTER)
        by_counter(&call);
    else
        by_slices(&call);
    return hier_end(&call);
}
