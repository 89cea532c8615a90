// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather: nbBKT/flags.
 *
 *     one node:       every thread copies everybody's block straight from its owner
 *     several nodes:  the threads put their blocks into the leader's receive buffer, the schedule works there in place, and
 *                     all threads copy the whole from it
 */
#include <hier/thread.h>
#include <string.h>

static int start(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    size_t bytes = call->arguments->bytes;
    void *all = intra_offer_of(&call->meeting, 0)->recv;
    inter_view view = {.collective = INTER_ALLGATHER,
                       .element_bytes = bytes,
                       .rank = call->comm->node,
                       .size = layout->nodes,
                       .offsets = layout->offsets};
    inter_binding binding = {.send = hier_at(all, hier_first_rank(call), bytes), .recv = all};
    return hier_start(call, &view, &binding);
}

/* Where the leader has all blocks. */
static void *leaders(const hier_call *call) {
    return intra_offer_of(&call->meeting, 0)->recv;
}

static void copy_block(const void *from, void *to, size_t bytes) {
    if (from != to)
        memcpy(to, from, bytes);
}

static void on_one_node(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    size_t bytes = arguments->bytes;
    int threads = hier_threads(call);
    for (int i = 0; i < threads; i++) {
        int thread = (call->comm->thread + i) % threads; /* not all from the same one at once */
        copy_block(intra_offer_of(&call->meeting, thread)->send, hier_at(arguments->recv, (size_t)thread, bytes),
                   bytes);
    }
}

bool hier_thread_allgather(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    intra_offer *mine = &call->meeting.own->payload.offer;
    size_t bytes = arguments->bytes;
    HIER_RESUME(call);
    mine->send = arguments->send;
    mine->recv = arguments->recv;
    hier_network(call, HIER_NEED_ALL, HIER_READY, start);
    HIER_SYNC(call, HIER_OFFERED);
    if (hier_single_node(call)) {
        on_one_node(call);
    } else {
        copy_block(arguments->send, hier_at(leaders(call), (size_t)call->comm->rank, bytes), bytes);
        intra_post(&call->meeting, HIER_READY);
        HIER_AWAIT(call, hier_await_network(call));
        if (call->comm->thread)
            memcpy(arguments->recv, leaders(call), bytes * (size_t)call->comm->size);
    }
    HIER_SYNC(call, HIER_LEFT);
    HIER_OVER;
}
