// SPDX-License-Identifier: BSD-3-Clause
/*
 * alltoall: nb1FT/inline, nb1FT/flags, nb1FT/slices, nb1FT/direct.
 *
 * Threads of a node copy straight from each other's send buffers (inline: cells). What goes to another node is packed by all threads
 * into the leader's memory (inline: by who drives the network, onto the tray), so that each pair of nodes exchanges one message:
 *
 *     message n → m:   [thread 0 of n: blocks for the threads of m] [thread 1 of n: …] …
 *
 * By slices thread t copies slice t of each block and of each message, for whomever it is, instead of all that is its own.
 *
 * Directly every thread reads its blocks from the send buffers of other processes' threads, too (direct.h).
 *
 * Where the messages are cut into segments, threads pack and unpack them piece by piece (pieces.h).
 */
#include <core/error.h>
#include <hier/brief.h>
#include <hier/direct.h>
#include <stdlib.h>
#include <string.h>

/* The leader's memory, or the tray: what goes out, then what comes in; threads × ranks blocks each, node by node. */
static size_t stage_blocks(const hier_call *call) {
    return (size_t)hier_threads(call) * (size_t)call->comm->size;
}

static bool is_inline(const hier_call *call) {
    return call->choice.thread == HIER_INLINE;
}

static char *outgoing(const hier_call *call) {
    if (is_inline(call))
        return intra_tray(&call->meeting);
    return intra_offer_of(&call->meeting, 0)->shared;
}

static char *incoming(const hier_call *call) {
    return hier_at(outgoing(call), stage_blocks(call), call->arguments->bytes);
}

/* A message between two nodes of as many threads as they have on an average: what the segments are measured against. */
static size_t typical_bytes(const hier_call *call) {
    size_t threads = (size_t)call->comm->size / (size_t)call->comm->layout->nodes;
    return threads * threads * call->arguments->bytes;
}

/* All that a thread sends, inline from its cell. */
static core_data sends_of(const hier_call *call, int thread) {
    size_t ranks = (size_t)call->comm->size, bytes = call->arguments->bytes;
    if (is_inline(call))
        return hier_run(call->meeting.cells[thread].payload.bytes, ranks * bytes);
    core_data sent = hier_sent_by(call, thread, 0, bytes);
    sent.count *= ranks;
    return sent;
}

static bool all_have_memory(const hier_call *call) {
    bool has = hier_single_node(call) || outgoing(call);
    for (int thread = 0; thread < hier_threads(call); thread++)
        has &= sends_of(call, thread).buffer != NULL;
    return has;
}

/* Segments need not end where a rank's block does: so elements are bytes. */
static int start(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    size_t nodes = (size_t)layout->nodes, row = (size_t)hier_threads(call) * call->arguments->bytes;
    if (!all_have_memory(call))
        return WEFT_ERR_NOMEM; /* all threads see that, and each says so */
    size_t *counts = hier_more_scratch(call, HIER_ARRAYS, 2 * nodes * sizeof(*counts));
    if (!counts)
        return core_error(WEFT_ERR_NOMEM, "rank %d: weft_alltoall: no memory for %zu nodes", hier_rank_of(call->comm),
                          nodes);
    size_t *offsets = counts + nodes;
    for (int node = 0; node < layout->nodes; node++) {
        counts[node] = node == call->comm->node ? 0 : row * (size_t)hier_layout_threads(layout, node);
        offsets[node] = row * layout->offsets[node];
    }
    inter_view view = {.collective = INTER_ALLTOALLV,
                       .rank = call->comm->node,
                       .size = layout->nodes,
                       .element_bytes = 1,
                       .typical = typical_bytes(call),
                       .send_counts = counts,
                       .recv_counts = counts,
                       .send_offsets = offsets,
                       .recv_offsets = offsets};
    inter_binding binding = {.send = outgoing(call), .recv = incoming(call)};
    return hier_start(call, &view, &binding);
}

/* The own block, from where it is. */
static void take_own(const hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const size_t bytes = arguments->bytes, self = (size_t)call->comm->rank;
    if (!arguments->in_place)
        core_copy_short(hier_at(arguments->recv, self, bytes), hier_at(arguments->send, self, bytes), bytes);
}

/* From the other threads of this node. */
static inline bool take_cells(hier_call *call) {
    const size_t bytes = call->arguments->bytes, first = hier_first_rank(call), self = (size_t)call->comm->rank;
    for (int thread = 0; thread < hier_threads(call); thread++) {
        const void *sends = call->meeting.cells[thread].payload.bytes;
        if (thread != call->comm->thread)
            core_copy_short(hier_at(call->arguments->recv, first + (size_t)thread, bytes), hier_at(sends, self, bytes),
                            bytes);
    }
    return true;
}

/* Between the threads of this node, straight; not all from the same one at once. */
static void copy_local(const hier_call *call) {
    size_t bytes = call->arguments->bytes, first = hier_first_rank(call);
    intra_slice share = hier_share(call, (intra_slice){0, bytes});
    const int threads = hier_threads(call);
    const size_t whole = (size_t)threads * bytes;
    const bool backwards = hier_backwards(call, whole);
    for (int to = hier_first_served(call); to < hier_end_served(call); to++)
        for (int i = 0; i < threads; i++) {
            const int from = (call->comm->thread + hier_turn(i, threads, backwards)) % threads;
            hier_move_of(call, hier_received_by(call, to, first + (size_t)from, bytes),
                         hier_sent_by(call, from, first + (size_t)to, bytes), share, whole);
        }
}

/* A thread's blocks for another node lie together in its send buffer, and do in the message: those in this part of it, if any. */
static bool pack_from(const hier_call *call, int thread, int node, intra_slice of_message) {
    const hier_layout *layout = call->comm->layout;
    size_t bytes = call->arguments->bytes, self = (size_t)thread;
    size_t first = layout->offsets[node] * bytes, own = (size_t)hier_layout_threads(layout, node) * bytes;
    intra_slice part = hier_common(of_message, (intra_slice){self * own, own});
    size_t begin = first + (part.begin - self * own);
    core_data sent = sends_of(call, thread);
    core_pack(outgoing(call) + (size_t)hier_threads(call) * first + part.begin, sent.buffer, sent.type, sent.count,
              begin, begin + part.count);
    return part.count;
}

/* Piece `index` of the message to or from a node. */
static intra_slice message_piece(const hier_call *call, int node, size_t index) {
    size_t blocks = (size_t)hier_threads(call) * (size_t)hier_layout_threads(call->comm->layout, node);
    return hier_block_piece(call, blocks * call->arguments->bytes, index);
}

/* True: it has something of this thread's. */
static bool pack_piece(const hier_call *call, size_t index) {
    bool any = false;
    for (int node = 0; node < call->comm->layout->nodes; node++) {
        if (node == call->comm->node)
            continue;
        intra_slice share = hier_share(call, message_piece(call, node, index));
        for (int thread = hier_first_served(call); thread < hier_end_served(call); thread++)
            any |= pack_from(call, thread, node, share);
    }
    return any;
}

static void pack(hier_call *call) {
    for (size_t index = 0; index < call->pieces.number; index++)
        if (pack_piece(call, index))
            hier_piece_ready(call, index);
        else
            hier_piece_passed(call, index);
}

/* Of the message from a node, so much: to a thread of this one, what it has of the block from a rank of that one. */
static void unpack_to(const hier_call *call, int thread, int node, size_t rank, intra_slice of_message) {
    size_t bytes = call->arguments->bytes, row = (size_t)hier_threads(call) * bytes;
    size_t first = call->comm->layout->offsets[node];
    intra_slice block = {rank * row + (size_t)thread * bytes, bytes}, part = hier_common(of_message, block);
    core_data place = thread == call->comm->thread ? hier_own_received(call, first + rank, bytes)
                                                   : hier_received_by(call, thread, first + rank, bytes);
    part.begin -= block.begin;
    hier_unpack(call, place, incoming(call) + first * row + block.begin + part.begin, part);
}

static void unpack_piece(const hier_call *call, size_t index) {
    size_t row = (size_t)hier_threads(call) * call->arguments->bytes;
    for (int node = 0; node < call->comm->layout->nodes; node++) {
        if (node == call->comm->node)
            continue;
        intra_slice share = hier_share(call, message_piece(call, node, index));
        for (size_t rank = share.begin / row; rank * row < share.begin + share.count; rank++)
            for (int thread = hier_first_served(call); thread < hier_end_served(call); thread++)
                unpack_to(call, thread, node, rank, share);
    }
}

/* A copy of what this thread sends, in one run. Without memory for that nobody gets anything. */
static const void *packed(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    core_data own =
        arguments->in_place ? hier_own_received(call, 0, arguments->bytes) : hier_own_sent(call, 0, arguments->bytes);
    own.count *= (size_t)call->comm->size;
    return hier_packed(call, own);
}

/* What the others read from; in place, from a copy. */
static const void *shown(hier_call *call) {
    return call->arguments->in_place ? packed(call) : call->arguments->send;
}

static void offer(hier_call *call) {
    INTRA_SHOW(&call->meeting, send, shown(call));
    INTRA_SHOW(&call->meeting, recv, call->arguments->recv);
    hier_show_layout(call);
    if (call->comm->thread == 0 && !hier_single_node(call))
        INTRA_SHOW(&call->meeting, shared, hier_scratch(call, 2 * stage_blocks(call) * call->arguments->bytes));
}

static bool has_memory(hier_call *call) {
    bool has = all_have_memory(call);
    if (!has && !call->error)
        call->error = core_error(WEFT_ERR_NOMEM,
                                 "rank %d: weft_alltoall: no memory for the messages of a node or the "
                                 "blocks in place",
                                 hier_rank_of(call->comm));
    return has;
}

static int start_inline(hier_call *call) {
    for (int node = 0; node < call->comm->layout->nodes; node++) {
        if (node == call->comm->node)
            continue;
        for (int thread = 0; thread < hier_threads(call); thread++)
            pack_from(call, thread, node, (intra_slice){0, SIZE_MAX});
    }
    return start(call);
}

/* Into the own cell, but for the own block, which nobody takes from there, and which goes to its place while the others' are on their way. */
static inline bool put_cell(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const void *sends = arguments->in_place ? arguments->recv : arguments->send;
    size_t bytes = arguments->bytes, self = (size_t)call->comm->rank, behind = (size_t)call->comm->size - self - 1;
    void *cell = intra_fill(&call->meeting, (size_t)call->comm->size * bytes);
    core_copy_short(cell, sends, self * bytes);
    core_copy_short(hier_at(cell, self + 1, bytes), hier_at(sends, self + 1, bytes), behind * bytes);
    intra_post(&call->meeting, HIER_READY);
    take_own(call);
    return true;
}

static bool by_inline(hier_call *call) {
    HIER_RESUME(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_inline);
    (void)put_cell(call);
    if (hier_single_node(call)) {
        HIER_ENTRANCE
        HIER_AWAIT(call, hier_await_sync(call, HIER_READY));
    } else {
        HIER_AWAIT(call, hier_await_network(call)); /* all were there when it started */
        unpack_piece(call, 0);
    }
    take_cells(call);
    HIER_OVER;
}

HIER_DEFINE_BRIEF(alltoall, INTRA_TOGETHER, put_cell, hier_brief_ready, take_cells)

/* By flags, or by slices. */
static bool by_offers(hier_call *call) {
    size_t *at = &call->pieces.at;
    HIER_RESUME(call);
    offer(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start);
    hier_cut_blocks(call, typical_bytes(call), 1);
    hier_gate(call, HIER_OFFERED);
    HIER_SYNC(call, HIER_OFFERED);
    if (!has_memory(call))
        return true;
    if (hier_single_node(call)) {
        copy_local(call);
    } else {
        pack(call);
        intra_post(&call->meeting, HIER_READY);
        copy_local(call);
        for (; *at < call->pieces.number; (*at)++) {
            HIER_AWAIT(call, hier_await_piece(call, *at));
            unpack_piece(call, *at);
        }
    }
    HIER_SYNC(call, HIER_LEFT);
    HIER_OVER;
}

/* From the ranks of another node. */
static void read_node(hier_call *call, int node) {
    const hier_layout *layout = call->comm->layout;
    size_t bytes = call->arguments->bytes, self = (size_t)call->comm->rank;
    int threads = hier_layout_threads(layout, node);
    hier_reads reads = hier_reads_begin(call, node, (size_t)threads);
    for (int thread = 0; thread < threads; thread++)
        hier_reads_add(call, &reads, hier_direct_address(call, node, thread), self * bytes,
                       hier_own_received(call, layout->offsets[node] + (size_t)thread, bytes));
    hier_reads_end(call, &reads);
}

static void take_local(hier_call *call) {
    size_t bytes = call->arguments->bytes, first = hier_first_rank(call), self = (size_t)call->comm->rank;
    if (!has_memory(call))
        return;
    for (size_t from = 0; from < (size_t)hier_threads(call); from++)
        hier_move(call, hier_own_received(call, first + from, bytes), hier_sent_beside(call, (int)from, self, bytes),
                  (intra_slice){0, bytes});
}

/* Other processes read one run: of a layout a copy of what is theirs. In place all read a copy. */
static void offer_directly(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const void *run = arguments->in_place ? packed(call) : hier_blocks_for_others(call);
    INTRA_SHOW(&call->meeting, recv, (void *)(uintptr_t)(arguments->in_place ? run : arguments->send));
    INTRA_SHOW(&call->meeting, laid_out, arguments->laid_out && !arguments->in_place ? arguments : NULL);
    hier_direct_offer(call, run);
}

static bool by_direct(hier_call *call) {
    const weft_comm *comm = call->comm;
    HIER_RESUME(call);
    offer_directly(call);
    HIER_AWAIT(call, hier_await_sync(call, HIER_OFFERED));
    hier_drive_once(call, false);
    take_local(call);
    HIER_AWAIT_END(call, hier_await_addresses(call)); /* who has no memory has read all that he will, and says so */
    for (int i = 1; i < comm->layout->nodes && !call->error; i++)
        read_node(call, (comm->node + i) % comm->layout->nodes);
    hier_have_read(call);
    HIER_AWAIT(call, hier_await_readers(call));
    HIER_OVER;
}

bool hier_thread_alltoall(hier_call *call) {
    /* Nodes with unequal threads exchange blocks of unequal size. */
    if (!inter_is(INTER_ALLTOALLV, call->choice.process->collectives))
        call->choice.process =
            hier_select(&call->comm->world->selector, hier_key_without_bytes(INTER_ALLTOALLV, call->comm->layout))
                .process;
    switch (call->choice.thread) {
    case HIER_INLINE:
        return by_inline(call);
    case HIER_DIRECT:
        return by_direct(call);
    default:
        return by_offers(call);
    }
}
