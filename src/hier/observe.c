// SPDX-License-Identifier: BSD-3-Clause
#include <hier/observe.h>
#include <hier/sides.h>

/* What all ranks of the others in the list of blocks send to this one, but for those that thread 0 finds in its place already. */
static hier_moved received(const weft_comm *comm, const hier_arguments *a) {
    const hier_layout *layout = comm->layout;
    int first = comm->thread ? 0 : (int)layout->offsets[comm->node];
    int end = comm->thread ? comm->size : (int)layout->offsets[comm->node + 1];
    bool w = a->collective == INTER_ALLTOALLW;
    hier_moved moved = {0, 0};
    for (int place = first; place < end; place++) {
        int rank = hier_layout_rank(layout, place);
        size_t block = a->recv_counts[rank] * (w ? a->recv_types[rank] : a->recv_type)->size_bytes;
        moved.messages += rank != comm->rank && block;
        moved.bytes += rank != comm->rank ? block : 0;
    }
    return moved;
}

/* The rank whose buffers the node's blocks go by: the root, elsewhere the first one. */
static bool is_host(const weft_comm *comm, const hier_arguments *a) {
    int root_node = hier_layout_node(comm->layout, hier_layout_place(comm->layout, a->root));
    return root_node == comm->node ? comm->rank == a->root : comm->thread == 0;
}

/* Blocks that are not empty, and what they are of. */
static hier_moved sum_of(const size_t *counts, size_t ranks, size_t element_bytes) {
    hier_moved sum = {0, 0};
    for (size_t rank = 0; rank < ranks; rank++) {
        sum.messages += counts[rank] > 0;
        sum.bytes += counts[rank] * element_bytes;
    }
    return element_bytes ? sum : (hier_moved){0, 0};
}

/* See weft/counters.h. */
hier_moved hier_moved_otherwise(const weft_comm *comm, const hier_arguments *a) {
    size_t others = (size_t)hier_layout_threads(comm->layout, comm->node) - 1, ranks = (size_t)comm->size;
    uint64_t blocks = 0, bytes = a->bytes; /* of a block */
    if (!others)
        return (hier_moved){0, 0};
    switch (a->collective) {
    case INTER_REDUCE_SCATTER:
    case INTER_REDUCE_SCATTER_BLOCK:
        if (comm->thread)
            bytes = a->recv_type->size_bytes *
                    (a->collective == INTER_REDUCE_SCATTER ? a->recv_counts[comm->rank] : a->recv_count);
        blocks = comm->thread ? 1 : others;
        break;
    case INTER_ALLGATHER:
    case INTER_ALLTOALL:
        blocks = others * ranks;
        break;
    case INTER_GATHERV:
    case INTER_SCATTERV:
        bytes = a->own_bytes;
        blocks = !is_host(comm, a);
        break;
    case INTER_ALLGATHERV: {
        const hier_moved all = sum_of(a->recv_counts, ranks, a->recv_type->size_bytes);
        return (hier_moved){others * all.messages, others * all.bytes};
    }
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW:
        return received(comm, a);
    default: /* hier_moved_inside() */
        break;
    }
    return (hier_moved){bytes ? blocks : 0, blocks * bytes};
}

uint64_t hier_traced_bytes(const weft_comm *comm, const hier_arguments *a) {
    if (!inter_is(a->collective, INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW)))
        return a->bytes ? a->bytes : a->own_bytes;
    const hier_side side = a->in_place ? hier_side_received(comm, a) : hier_side_sent(comm, a);
    return hier_side_bytes(&side);
}

void hier_trace_begin(weft_comm *comm) {
    comm->noted = (hier_noted){.began_ticks = core_ticks(), .thread = -1};
}

/* A process communicator's timeline is under the funnel. */
static void enter(weft_comm *comm) {
    if (!comm->agent)
        hier_funnel_enter(comm->world);
}

static void leave(weft_comm *comm) {
    if (!comm->agent)
        hier_funnel_leave(comm->world);
}

/* The place of the call that ends now, with its times and algorithms; NULL: it is dropped. */
static hier_event *end_call(weft_comm *comm, uint64_t ended_ticks) {
    const hier_noted *noted = &comm->noted;
    hier_event *event = hier_trace_place(hier_observer_of(comm));
    if (event) {
        event->kind = comm->team || hier_is_funneled(comm->world) ? HIER_EVENT_CALL : HIER_EVENT_ASYNC;
        event->began_ticks = noted->began_ticks;
        event->ended_ticks = ended_ticks;
        event->network_ticks[0] = noted->network_ticks[0];
        event->network_ticks[1] = noted->network_ticks[1];
        event->process = noted->process;
        event->thread = (int8_t)noted->thread;
        event->message = false;
    }
    comm->noted.began_ticks = 0;
    return event;
}

void hier_trace_talked(weft_comm *comm, const char *call, uint64_t bytes, int peer, int tag, int code) {
    enter(comm);
    hier_event *event = end_call(comm, core_ticks());
    if (event) {
        event->call = call;
        event->message = true;
        event->bytes = bytes;
        event->root = -1;
        event->peer = peer;
        event->tag = tag;
        event->failed = code != 0;
    }
    leave(comm);
}

static void end_collective(weft_comm *comm, const hier_arguments *a, int code, uint64_t ended_ticks) {
    bool rooted = inter_is(a->collective, INTER_ROOTED);
    enter(comm);
    hier_event *event = end_call(comm, ended_ticks);
    if (event) {
        event->call = a->call;
        event->bytes = hier_traced_bytes(comm, a);
        event->root = rooted ? a->root : -1;
        event->peer = event->tag = -1;
        event->failed = code != 0;
    }
    leave(comm);
}

void hier_trace_call(weft_comm *comm, const hier_arguments *a, int code) {
    end_collective(comm, a, code, core_ticks());
}

/* What was chosen when its like was checked. */
static void observe_chosen(weft_comm *comm, const hier_arguments *a) {
    const hier_choice *choice = &comm->chosen[a->collective].choice;
    hier_observe_choice(comm, choice->process, (int)choice->thread);
}

void hier_trace_brief(weft_comm *comm, const hier_arguments *a, int code) {
    observe_chosen(comm, a);
    end_collective(comm, a, code, core_ticks());
}

void hier_trace_alone(weft_comm *comm, const hier_arguments *a, const uint64_t network_ticks[2], int code) {
    comm->noted.began_ticks = network_ticks[0];
    hier_observe_network(comm, network_ticks);
    observe_chosen(comm, a);
    end_collective(comm, a, code, network_ticks[1]);
}

void hier_trace_async(weft_comm *comm, const hier_event *event) {
    hier_event *ended = hier_trace_place(hier_observer_of(comm));
    if (!ended)
        return;
    *ended = *event;
    ended->kind = HIER_EVENT_ASYNC;
    ended->ended_ticks = core_ticks();
}
