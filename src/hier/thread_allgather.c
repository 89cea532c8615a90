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

static void on_several_nodes(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    void *all = intra_offer_of(&call->meeting, 0)->recv;
    copy_block(arguments->send, hier_at(all, (size_t)call->comm->rank, arguments->bytes), arguments->bytes);
    intra_post(&call->meeting, HIER_READY);
    if (hier_await_network(call) && call->comm->thread)
        memcpy(arguments->recv, all, arguments->bytes * (size_t)call->comm->size);
}

int hier_thread_allgather(weft_comm *comm, const hier_arguments *arguments) {
    hier_call call;
    hier_begin(&call, comm, arguments);
    call.meeting.own->payload.offer.send = arguments->send;
    call.meeting.own->payload.offer.recv = arguments->recv;
    hier_network(&call, HIER_NEED_ALL, HIER_READY, start);
    if (hier_sync(&call, HIER_OFFERED)) {
        if (hier_single_node(&call))
            on_one_node(&call);
        else
            on_several_nodes(&call);
        hier_sync(&call, HIER_LEFT);
    }
    return hier_end(&call);
}
