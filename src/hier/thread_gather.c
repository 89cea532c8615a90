// SPDX-License-Identifier: BSD-3-Clause
/*
 * gather: nb1FT/inline, MST/flags, nb1FT/direct.
 *
 *     flags, root's node:   every thread copies its block straight into the root's receive buffer, as it lies there; what has come by the
 *                           network the root unpacks, if it is not one run there
 *     flags, other nodes:   every thread copies its block into the leader's memory, and the node sends all of them as one message
 *     direct:               the threads of the root's node read what those of other nodes have straight from their buffers (direct.h)
 *     inline:               the blocks in the cells; who drives the network brings them together, in the root's receive buffer
 *                           or on the tray, and nobody waits but for what he needs
 *
 * The blocks of a node lie together in rank order, so the process-level gather has one block a node.
 */
#include <core/error.h>
#include <hier/brief.h>
#include <hier/direct.h>
#include <string.h>

static int start(hier_call *call, char *blocks) {
    inter_binding binding = {.send = blocks};
    if (!blocks)
        return core_error(WEFT_ERR_NOMEM, "rank %d: weft_gather: no memory for the blocks of other nodes",
                          hier_rank_of(call->comm));
    if (hier_on_root_node(call)) {
        binding.recv = blocks;
        binding.send = hier_at(blocks, hier_first_rank(call), call->arguments->bytes);
    }
    return hier_start_blocks(call, &binding);
}

static void *hosts(const hier_call *call) {
    return intra_offer_of(&call->meeting, hier_host_thread(call))->recv;
}

/* To the root they come where it has shown that the network's come. */
static int start_from_host(hier_call *call) {
    const intra_offer *host = intra_offer_of(&call->meeting, hier_host_thread(call));
    return start(call, hier_on_root_node(call) ? (char *)(uintptr_t)host->send : host->recv);
}

/* The root has put its own block there itself. */
static int start_inline(hier_call *call) {
    char *blocks = hier_on_root_node(call) ? hosts(call) : intra_tray(&call->meeting);
    if (hier_on_root_node(call))
        hier_take_cells(call, hier_at(blocks, hier_first_rank(call), call->arguments->bytes), call->root_thread);
    else
        hier_take_cells(call, blocks, -1);
    return start(call, blocks);
}

/* Where the node's blocks go: the root's receive buffer, or memory of the leader's, which may be its own block itself. */
static void *blocks_of_node(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    if (hier_on_root_node(call))
        return arguments->recv;
    if (hier_threads(call) == 1 && hier_own_sent(call, 0, arguments->bytes).type->contiguous)
        return (void *)(uintptr_t)arguments->send;
    return hier_scratch(call, arguments->bytes * (size_t)hier_threads(call));
}

/* Where those of other nodes come to the root in one run, each in its place; NULL without memory. */
static void *blocks_of_others(const hier_call *call) {
    const size_t bytes = call->arguments->bytes;
    if (hier_own_received(call, 0, bytes).type->contiguous)
        return call->arguments->recv;
    return hier_more_scratch(call, HIER_COPIES, bytes * (size_t)call->comm->size);
}

/* The host's. */
static void offer(hier_call *call) {
    INTRA_SHOW(&call->meeting, recv, blocks_of_node(call));
    if (hier_on_root_node(call)) {
        INTRA_SHOW(&call->meeting, send, hier_single_node(call) ? NULL : blocks_of_others(call));
        hier_show_layout(call);
    } else {
        INTRA_SHOW(&call->meeting, laid_out, NULL);
    }
    intra_post(&call->meeting, HIER_OFFERED);
}

/* Of the root, when all have come: to where they belong. */
static void place_others(const hier_call *call) {
    const size_t bytes = call->arguments->bytes;
    const void *from = call->meeting.mine.send;
    if (hier_own_received(call, 0, bytes).type->contiguous)
        return;
    for (size_t rank = 0; rank < (size_t)call->comm->size; rank++) {
        const core_data place = hier_own_received(call, rank, bytes);
        if (!hier_is_of_node(call, rank))
            hier_unpack(call, place, hier_at(from, rank, bytes), (intra_slice){0, bytes});
    }
}

/* The own block, to where the host has shown. */
static void put_block(hier_call *call) {
    size_t bytes = call->arguments->bytes;
    size_t index = hier_on_root_node(call) ? (size_t)call->comm->rank : (size_t)call->comm->thread;
    bool nowhere = !hier_on_root_node(call) && !hosts(call);
    if (!nowhere)
        hier_move(call, hier_received_by(call, hier_host_thread(call), index, bytes), hier_own_sent(call, 0, bytes),
                  (intra_slice){0, bytes});
    else if (!call->error)
        call->error = core_error(WEFT_ERR_NOMEM, "rank %d: weft_gather: no memory for the blocks of a node",
                                 hier_rank_of(call->comm));
}

static void put_own(const hier_arguments *arguments, size_t rank) {
    char *place = hier_at(arguments->recv, rank, arguments->bytes);
    if (place != arguments->send)
        core_copy_short(place, arguments->send, arguments->bytes);
}

static inline bool give(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    if (!hier_is_root(call))
        return hier_give_inline(call);
    INTRA_SHOW(&call->meeting, recv, arguments->recv);
    put_own(arguments, (size_t)call->comm->rank);
    intra_post(&call->meeting, HIER_READY);
    return true;
}

/* On one node. */
static inline bool take(hier_call *call) {
    if (hier_is_root(call))
        hier_take_cells(call, call->arguments->recv, call->root_thread);
    return true;
}

HIER_DEFINE_BRIEF(gather, INTRA_ALONE, give, hier_brief_others, take)

static bool by_inline(hier_call *call) {
    bool root = hier_is_root(call);
    HIER_RESUME(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_inline);
    (void)give(call);
    if (hier_single_node(call)) {
        HIER_ENTRANCE
        if (root)
            HIER_AWAIT(call, hier_await_all(call, HIER_READY));
        return take(call);
    }
    if (root || !hier_may_go(call))
        HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}

static bool by_flags(hier_call *call) {
    int host = hier_host_thread(call), thread = call->comm->thread;
    HIER_RESUME(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_from_host);
    if (thread == host)
        offer(call);
    HIER_AWAIT(call, hier_await(call, host, HIER_OFFERED));
    put_block(call);
    if (call->error)
        return true;
    intra_post(&call->meeting, HIER_READY);
    if (thread == host && hier_single_node(call))
        HIER_AWAIT(call, hier_await_all(call, HIER_READY));
    if (thread == host || thread == 0)
        HIER_AWAIT(call, hier_await_network(call));
    if (hier_is_root(call) && !hier_single_node(call))
        place_others(call);
    HIER_OVER;
}

/* For the root: this thread's share of the blocks of another node. */
static void read_share(hier_call *call, int node) {
    const hier_layout *layout = call->comm->layout;
    const size_t bytes = call->arguments->bytes, first = layout->offsets[node];
    const int threads = hier_layout_threads(layout, node);
    hier_reads reads = hier_reads_begin(call, node, (size_t)threads);
    for (int thread = 0; thread < threads; thread++) {
        size_t rank = first + (size_t)thread;
        if (rank % (size_t)hier_threads(call) == (size_t)call->comm->thread)
            hier_reads_add(call, &reads, hier_direct_address(call, node, thread), 0,
                           hier_received_by(call, call->root_thread, rank, bytes));
    }
    hier_reads_end(call, &reads);
}

static bool by_direct(hier_call *call) {
    const bool root = hier_is_root(call), root_node = hier_on_root_node(call);
    const weft_comm *comm = call->comm;
    HIER_RESUME(call);
    INTRA_SHOW(&call->meeting, recv, call->arguments->recv);
    hier_show_layout(call);
    hier_direct_offer(call, root_node ? NULL : hier_direct_run(call, hier_own_sent(call, 0, call->arguments->bytes)));
    if (root_node) {
        HIER_AWAIT(call, hier_await(call, call->root_thread, HIER_OFFERED));
        hier_drive_once(call, false);
        put_block(call);
        HIER_AWAIT_END(call, hier_await_addresses(call));
        for (int i = 1; i < comm->layout->nodes && !call->error; i++)
            read_share(call, (comm->node + i) % comm->layout->nodes);
        hier_tell_unread(call);
    }
    hier_have_read(call);
    if (root || !root_node || comm->thread == 0)
        HIER_AWAIT(call, hier_await_readers(call));
    if (root) {
        HIER_AWAIT(call, hier_await_all(call, HIER_READY)); /* as they have, or this one would not have been told */
        hier_note_unread(call);
    }
    HIER_OVER;
}

bool hier_thread_gather(hier_call *call) {
    switch (call->choice.thread) {
    case HIER_INLINE:
        return by_inline(call);
    case HIER_DIRECT:
        return by_direct(call);
    default:
        return by_flags(call);
    }
}
