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

/* What the others read from; in place, from a copy. Without memory for that nobody gets anything. */
static const void *shown(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    if (!arguments->in_place)
        return arguments->send;
    size_t all = arguments->bytes * (size_t)call->comm->size;
    call->memory[0] = malloc(all);
    if (call->memory[0])
        memcpy(call->memory[0], arguments->recv, all);
    return call->memory[0];
}

static void offer(hier_call *call) {
    intra_offer *mine = &call->meeting.own->payload.offer;
    mine->send = shown(call);
    if (call->comm->thread == 0 && !hier_single_node(call))
        mine->shared = hier_scratch(call, 2 * stage_blocks(call) * call->arguments->bytes);
}

static bool has_memory(hier_call *call) {
    bool has = hier_single_node(call) || outgoing(call);
    for (int thread = 0; thread < hier_threads(call); thread++)
        has &= intra_offer_of(&call->meeting, thread)->send != NULL;
    if (!has && !call->error)
        call->error = core_error(WEFT_ERR_NOMEM,
                                 "rank %d: weft_alltoall: no memory for the messages of a node or the "
                                 "blocks in place",
                                 call->comm->rank);
    return has;
}

static bool exchange(hier_call *call) {
    const intra_offer *mine = &call->meeting.own->payload.offer;
    HIER_RESUME(call);
    offer(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start);
    HIER_SYNC(call, HIER_OFFERED);
    if (!has_memory(call))
        return true;
    if (hier_single_node(call)) {
        copy_local(call);
    } else {
        pack(call, mine->send);
        intra_post(&call->meeting, HIER_READY);
        copy_local(call);
        HIER_AWAIT(call, hier_await_network(call));
        unpack(call);
    }
    HIER_SYNC(call, HIER_LEFT);
    HIER_OVER;
}

bool hier_thread_alltoall(hier_call *call) {
    /* Nodes with unequal threads exchange blocks of unequal size. */
    if (!inter_is(INTER_ALLTOALLV, call->choice.process->collectives))
        call->choice =
            hier_select(&call->comm->world->selector, hier_key_without_bytes(INTER_ALLTOALLV, call->comm->layout));
    return exchange(call);
}
