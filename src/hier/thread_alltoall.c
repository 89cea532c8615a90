// SPDX-License-Identifier: BSD-3-Clause
/*
 * alltoall: nb1FT/flags.
 *
 * Threads of a node copy straight from each other's send buffers. What goes to another node is packed by all threads into
 * the leader's memory, so that each pair of nodes exchanges one message:
 *
 *     message n → m:   [thread 0 of n: blocks for the threads of m] [thread 1 of n: …] …
 */
#include <core/error.h>
#include <hier/thread.h>
#include <stdlib.h>
#include <string.h>

/* The leader's memory: what goes out, then what comes in; threads × ranks blocks each, node by node. */
static size_t stage_blocks(const hier_call *call) {
    return (size_t)hier_threads(call) * (size_t)call->comm->size;
}

static char *outgoing(const hier_call *call) {
    return intra_offer_of(&call->meeting, 0)->shared;
}

static char *incoming(const hier_call *call) {
    return hier_at(outgoing(call), stage_blocks(call), call->arguments->bytes);
}

static int start(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    size_t nodes = (size_t)layout->nodes, threads = (size_t)hier_threads(call);
    size_t *counts = malloc(2 * nodes * sizeof(*counts));
    if (!counts)
        return core_error(WEFT_ERR_NOMEM, "rank %d: weft_alltoall: no memory for %zu nodes", call->comm->rank, nodes);
    size_t *offsets = counts + nodes;
    for (size_t node = 0; node < nodes; node++) {
        size_t ranks = layout->offsets[node + 1] - layout->offsets[node];
        counts[node] = (int)node == call->comm->node ? 0 : threads * ranks;
        offsets[node] = threads * layout->offsets[node];
    }
    inter_view view = {.collective = INTER_ALLTOALLV,
                       .rank = call->comm->node,
                       .size = layout->nodes,
                       .element_bytes = call->arguments->bytes,
                       .send_counts = counts,
                       .recv_counts = counts,
                       .send_offsets = offsets,
                       .recv_offsets = offsets};
    inter_binding binding = {.send = outgoing(call), .recv = incoming(call)};
    int code = hier_start(call, &view, &binding);
    free(counts);
    return code;
}

/* From the threads of this node, straight; not all from the same one at once. */
static void copy_local(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    size_t bytes = arguments->bytes, first = hier_first_rank(call);
    int threads = hier_threads(call);
    for (int i = 0; i < threads; i++) {
        int thread = (call->comm->thread + i) % threads;
        memcpy(hier_at(arguments->recv, first + (size_t)thread, bytes),
               hier_at(intra_offer_of(&call->meeting, thread)->send, (size_t)call->comm->rank, bytes), bytes);
    }
}

/* This thread's blocks for each other node lie together in its send buffer, and do in the message. */
static void pack(hier_call *call, const void *send) {
    const hier_layout *layout = call->comm->layout;
    size_t bytes = call->arguments->bytes, threads = (size_t)hier_threads(call), self = (size_t)call->comm->thread;
    for (int node = 0; node < layout->nodes; node++) {
        size_t first = layout->offsets[node], ranks = layout->offsets[node + 1] - first;
        if (node != call->comm->node)
            memcpy(hier_at(outgoing(call), threads * first + self * ranks, bytes), hier_at(send, first, bytes),
                   ranks * bytes);
    }
}

static void unpack(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    size_t bytes = call->arguments->bytes, threads = (size_t)hier_threads(call), self = (size_t)call->comm->thread;
    for (int node = 0; node < layout->nodes; node++) {
        if (node == call->comm->node)
            continue;
        for (size_t rank = layout->offsets[node]; rank < layout->offsets[node + 1]; rank++)
            memcpy(hier_at(call->arguments->recv, rank, bytes), hier_at(incoming(call), threads * rank + self, bytes),
                   bytes);
    }
}

static void between_nodes(hier_call *call, const void *send) {
    if (!outgoing(call)) {
        call->error = core_error(WEFT_ERR_NOMEM, "rank %d: weft_alltoall: no memory for the messages of a node",
                                 call->comm->rank);
        return;
    }
    pack(call, send);
    intra_post(&call->meeting, HIER_READY);
    copy_local(call);
    if (hier_await_network(call))
        unpack(call);
}

static void exchange(hier_call *call, const void *send) {
    const hier_arguments *arguments = call->arguments;
    intra_offer *mine = &call->meeting.own->payload.offer;
    mine->send = send;
    if (call->comm->thread == 0 && !hier_single_node(call))
        mine->shared = intra_scratch(call->meeting.member, 2 * stage_blocks(call) * arguments->bytes);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start);
    if (!hier_sync(call, HIER_OFFERED))
        return;
    if (hier_single_node(call))
        copy_local(call);
    else
        between_nodes(call, send);
    if (!call->error)
        hier_sync(call, HIER_LEFT);
}

int hier_thread_alltoall(weft_comm *comm, const hier_arguments *arguments) {
    void *copy = NULL;
    const void *send = arguments->send;
    if (arguments->in_place) { /* the others read what is being overwritten: from a copy */
        size_t all = arguments->bytes * (size_t)comm->size;
        copy = malloc(all);
        if (!copy)
            return core_error(WEFT_ERR_NOMEM, "rank %d: weft_alltoall: no memory for %zu bytes in place", comm->rank,
                              all);
        memcpy(copy, arguments->recv, all);
        send = copy;
    }
    hier_call call;
    hier_begin(&call, comm, arguments);
    /* Nodes with unequal threads exchange blocks of unequal size. */
    if (!inter_is(INTER_ALLTOALLV, call.choice.process->collectives))
        call.choice = hier_select(&comm->world->selector, hier_key_without_bytes(INTER_ALLTOALLV, comm->layout));
    exchange(&call, send);
    int code = hier_end(&call);
    free(copy);
    return code;
}
