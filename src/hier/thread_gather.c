// SPDX-License-Identifier: BSD-3-Clause
/*
 * gather: MST/flags.
 *
 *     root's node:   every thread copies its block straight into the root's receive buffer
 *     other nodes:   every thread copies its block into the leader's memory, and the node sends all of them as one message
 *
 * The blocks of a node lie together in rank order, so the process-level gather has one block a node.
 */
#include <core/error.h>
#include <hier/thread.h>
#include <string.h>

static int start(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    char *blocks = intra_offer_of(&call->meeting, hier_host_thread(call))->recv;
    bool root_node = hier_on_root_node(call);
    inter_view view = {.collective = INTER_GATHER,
                       .rank = call->comm->node,
                       .element_bytes = call->arguments->bytes,
                       .size = layout->nodes,
                       .root = call->root_node,
                       .offsets = layout->offsets};
    inter_binding binding = {.send = blocks};
    if (root_node) {
        binding.recv = blocks;
        binding.send = hier_at(blocks, hier_first_rank(call), view.element_bytes);
    }
    return hier_start(call, &view, &binding);
}

/* Where the node's blocks go: the root's receive buffer, or memory of the leader's, which may be its own block itself. */
static void *blocks_of_node(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    if (hier_on_root_node(call))
        return arguments->recv;
    if (hier_threads(call) == 1)
        return (void *)(uintptr_t)arguments->send;
    return hier_scratch(call, arguments->bytes * (size_t)hier_threads(call));
}

static void put_block(hier_call *call, char *blocks) {
    const hier_arguments *arguments = call->arguments;
    size_t index = hier_on_root_node(call) ? (size_t)call->comm->rank : (size_t)call->comm->thread;
    char *place = hier_at(blocks, index, arguments->bytes);
    if (!blocks && !call->error)
        call->error =
            core_error(WEFT_ERR_NOMEM, "rank %d: weft_gather: no memory for the blocks of a node", call->comm->rank);
    else if (blocks && place != arguments->send)
        memcpy(place, arguments->send, arguments->bytes);
}

bool hier_thread_gather(hier_call *call) {
    int host = hier_host_thread(call), thread = call->comm->thread;
    HIER_RESUME(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start);
    if (thread == host) {
        call->meeting.own->payload.offer.recv = blocks_of_node(call);
        intra_post(&call->meeting, HIER_OFFERED);
    }
    HIER_AWAIT(call, hier_await(call, host, HIER_OFFERED));
    put_block(call, intra_offer_of(&call->meeting, host)->recv);
    if (call->error)
        return true;
    intra_post(&call->meeting, HIER_READY);
    if (thread == host && hier_single_node(call))
        HIER_AWAIT(call, hier_await_all(call, HIER_READY));
    if (thread == host || thread == 0)
        HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}
