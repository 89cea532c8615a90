// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgatherv: nbBKT/flags.
 *
 *     one node:       every thread copies everybody's block straight from its owner
 *     several nodes:  the threads put their blocks where the leader has them, the schedule works there in place, and all
 *                     threads copy the blocks from there
 *
 * The leader has the blocks in its receive buffer when each node's lie one behind the other there; else in memory of its own
 * (blocks.h), from which it copies too. The ranks may have them at different displacements.
 */
#include <core/error.h>
#include <hier/blocks.h>
#include <string.h>

static int start(hier_call *call) {
    const hier_blocks *blocks = intra_offer_of(&call->meeting, 0)->shared;
    int node = call->comm->node;
    inter_view view = {
        .collective = INTER_ALLGATHERV, .element_bytes = 1, .rank = node, .size = call->comm->layout->nodes};
    hier_blocks_view(blocks, &view);
    inter_binding binding = {.send = hier_joined_at(call, blocks, node, hier_first_rank(call)), .recv = blocks->base};
    return hier_start(call, &view, &binding);
}

static void on_one_node(hier_call *call, const hier_blocks *mine) {
    size_t self = (size_t)call->comm->rank;
    int threads = hier_threads(call);
    for (int i = 0; i < threads; i++) {
        int thread = (call->comm->thread + i) % threads; /* not all from the same one at once */
        const intra_offer *from = intra_offer_of(&call->meeting, thread);
        size_t rank = (size_t)thread, bytes = hier_block_bytes(mine, rank);
        if (hier_same_bytes(call, rank, from->send_size, self, bytes) && bytes &&
            hier_block_at(mine, rank) != from->send)
            memcpy(hier_block_at(mine, rank), from->send, bytes);
    }
}

static void on_several_nodes(hier_call *call, const hier_blocks *mine) {
    const hier_blocks *joined = intra_offer_of(&call->meeting, 0)->shared;
    const hier_arguments *arguments = call->arguments;
    size_t self = (size_t)call->comm->rank, bytes = arguments->own_bytes;
    if (!joined->offsets) {
        call->error =
            core_error(WEFT_ERR_NOMEM, "rank %d: weft_allgatherv: no memory for the blocks", call->comm->rank);
        return;
    }
    if (!hier_same_bytes(call, self, bytes, hier_first_rank(call), hier_block_bytes(joined, self)))
        return;
    char *place = hier_joined_at(call, joined, call->comm->node, self);
    if (bytes && place != arguments->send)
        memcpy(place, arguments->send, bytes);
    intra_post(&call->meeting, HIER_READY);
    if (hier_await_network(call) && (call->comm->thread || joined->apart))
        hier_blocks_unpack(call, joined, mine, -1);
}

int hier_thread_allgatherv(weft_comm *comm, const hier_arguments *arguments) {
    hier_call call;
    hier_blocks blocks = hier_received_blocks(arguments);
    hier_begin(&call, comm, arguments);
    intra_offer *mine = &call.meeting.own->payload.offer;
    mine->send = arguments->send;
    mine->send_size = arguments->own_bytes;
    mine->shared = &blocks;
    if (comm->thread == 0 && !hier_single_node(&call))
        hier_blocks_join(&call, &blocks, -1);
    hier_network(&call, HIER_NEED_ALL, HIER_READY, start);
    if (hier_sync(&call, HIER_OFFERED)) {
        if (hier_single_node(&call))
            on_one_node(&call, &blocks);
        else
            on_several_nodes(&call, &blocks);
        if (!call.error)
            hier_sync(&call, HIER_LEFT);
    }
    int code = hier_end(&call);
    hier_blocks_free(&blocks); /* the leader's; all have left */
    return code;
}
