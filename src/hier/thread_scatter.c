// SPDX-License-Identifier: BSD-3-Clause
/*
 * scatter: MST/flags, the mirror of gather.
 *
 *     root's node:   every thread copies its block straight out of the root's send buffer
 *     other nodes:   one message brings the node's blocks into the leader's memory; every thread copies its own
 */
#include <core/error.h>
#include <hier/thread.h>
#include <string.h>

static int start(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    const intra_offer *host = intra_offer_of(&call->meeting, hier_host_thread(call));
    inter_view view = {.collective = INTER_SCATTER,
                       .rank = call->comm->node,
                       .element_bytes = call->arguments->bytes,
                       .size = layout->nodes,
                       .root = call->root_node,
                       .offsets = layout->offsets};
    inter_binding binding = {.send = host->send, .recv = host->recv};
    if (hier_on_root_node(call)) /* the node's own blocks stay where they are */
        binding.recv = hier_at(host->send, hier_first_rank(call), view.element_bytes);
    else if (!host->recv)
        return core_error(WEFT_ERR_NOMEM, "rank %d: weft_scatter: no memory for the blocks of a node",
                          call->comm->rank);
    return hier_start(call, &view, &binding);
}

/* Shows where the node's blocks are, or will be. */
static void offer(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    intra_offer *mine = &call->meeting.own->payload.offer;
    mine->send = arguments->send;
    mine->recv = arguments->recv;
    if (!hier_on_root_node(call) && hier_threads(call) > 1)
        mine->recv = hier_scratch(call, arguments->bytes * (size_t)hier_threads(call));
    intra_post(&call->meeting, HIER_READY);
}

static void take_block(const hier_call *call, int host) {
    const hier_arguments *arguments = call->arguments;
    const intra_offer *of = intra_offer_of(&call->meeting, host);
    char *block = hier_on_root_node(call) ? hier_at(of->send, (size_t)call->comm->rank, arguments->bytes)
                                          : hier_at(of->recv, (size_t)call->comm->thread, arguments->bytes);
    if (block != arguments->recv)
        memcpy(arguments->recv, block, arguments->bytes);
}

bool hier_thread_scatter(hier_call *call) {
    int host = hier_host_thread(call), thread = call->comm->thread;
    HIER_RESUME(call);
    hier_network(call, host, HIER_READY, start);
    if (thread == host)
        offer(call);
    if (!hier_on_root_node(call))
        HIER_AWAIT(call, hier_await_network(call));
    HIER_AWAIT(call, hier_await(call, host, HIER_READY));
    take_block(call, host);
    intra_post(&call->meeting, HIER_LEFT);
    if (thread == host)
        HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    if (thread == host || thread == 0)
        HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}
