// SPDX-License-Identifier: BSD-3-Clause
/*
 * scatterv: nbFT/flags, the mirror of gatherv.
 *
 *     root's node:   every thread copies its block straight out of the root's send buffer
 *     other nodes:   every thread shows how much it expects, one message brings all of it into the leader's memory, and every
 *                    thread copies its own
 *
 * A message is sent straight from the root's send buffer when its blocks lie one behind the other there; else the root puts
 * it together (blocks.h).
 */
#include <core/error.h>
#include <hier/blocks.h>
#include <string.h>

/* The bytes that the threads before `thread` of another node than the root's expect, or all of them. */
static size_t bytes_before(const hier_call *call, int thread) {
    size_t bytes = 0;
    for (int before = 0; before < thread; before++)
        bytes += intra_offer_of(&call->meeting, before)->recv_size;
    return bytes;
}

static int no_memory(const hier_call *call) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: weft_scatterv: no memory for the blocks of a node", call->comm->rank);
}

static int start(hier_call *call) {
    const intra_offer *host = intra_offer_of(&call->meeting, hier_host_thread(call));
    inter_view view = {.collective = INTER_SCATTERV,
                       .element_bytes = 1,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .root = call->root_node};
    inter_binding binding = {.recv = host->recv};
    if (hier_on_root_node(call)) { /* whose own blocks are taken where they are */
        const hier_blocks *blocks = host->shared;
        if (!blocks->offsets)
            return no_memory(call);
        hier_blocks_view(blocks, &view);
        binding.send = binding.recv = blocks->base;
    } else {
        view.count = bytes_before(call, hier_threads(call));
        if (view.count && !host->recv)
            return no_memory(call);
    }
    return hier_start(call, &view, &binding);
}

/* The threads of the node need not wait for what the root does for the others. */
static void offer(hier_call *call, hier_blocks *blocks) {
    *blocks = hier_sent_blocks(call->arguments);
    call->meeting.own->payload.offer.shared = blocks;
    if (!hier_single_node(call))
        hier_blocks_join(call, blocks, call->comm->node);
    intra_post(&call->meeting, HIER_OFFERED);
    if (blocks->apart && blocks->offsets)
        hier_blocks_pack(call, blocks, call->comm->node);
    intra_post(&call->meeting, HIER_READY);
}

static void on_root_node(hier_call *call, hier_blocks *blocks) {
    const hier_arguments *arguments = call->arguments;
    size_t self = (size_t)call->comm->rank, root = (size_t)arguments->root;
    if (hier_is_root(call))
        offer(call, blocks);
    if (!hier_await(call, call->root_thread, HIER_OFFERED))
        return;
    const hier_blocks *from = intra_offer_of(&call->meeting, call->root_thread)->shared;
    size_t bytes = hier_block_bytes(from, self);
    if (hier_same_bytes(call, root, bytes, self, arguments->own_bytes) && bytes &&
        hier_block_at(from, self) != arguments->recv)
        memcpy(arguments->recv, hier_block_at(from, self), bytes);
}

static void elsewhere(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    intra_offer *mine = &call->meeting.own->payload.offer;
    int threads = hier_threads(call);
    mine->recv_size = arguments->own_bytes;
    if (!hier_sync(call, HIER_OFFERED))
        return;
    if (call->comm->thread == 0) {
        mine->recv = threads == 1 ? arguments->recv : intra_scratch(call->meeting.member, bytes_before(call, threads));
        intra_post(&call->meeting, HIER_READY);
    }
    /* The message begins when the leader's memory is there, so where that is can be read when it has come. */
    if (hier_await_network(call) && threads > 1 && arguments->own_bytes)
        memcpy(arguments->recv,
               (char *)intra_offer_of(&call->meeting, 0)->recv + bytes_before(call, call->comm->thread),
               arguments->own_bytes);
}

int hier_thread_scatterv(weft_comm *comm, const hier_arguments *arguments) {
    hier_call call;
    hier_blocks blocks = {.offsets = NULL};
    hier_begin(&call, comm, arguments);
    hier_choose_without_counts(&call);
    hier_network(&call, hier_host_thread(&call), HIER_READY, start);
    if (hier_on_root_node(&call))
        on_root_node(&call, &blocks);
    else
        elsewhere(&call);
    if (!call.error) {
        bool host = comm->thread == hier_host_thread(&call);
        intra_post(&call.meeting, HIER_LEFT);
        if (host)
            hier_await_all(&call, HIER_LEFT);
        if (host || comm->thread == 0)
            hier_await_network(&call);
    }
    int code = hier_end(&call);
    hier_blocks_free(&blocks); /* all have left */
    return code;
}
