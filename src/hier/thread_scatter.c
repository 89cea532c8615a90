// SPDX-License-Identifier: BSD-3-Clause
/*
 * scatter: nbFT/inline, MST/flags, nbFT/direct, the mirror of gather.
 *
 *     flags, root's node:   every thread copies its block straight out of the root's send buffer, as it lies; what the network sends the
 *                           root packs meanwhile, if it is not one run
 *     flags, other nodes:   one message brings the node's blocks into the leader's memory; every thread copies its own, piece by
 *                           piece where the message is cut into segments (pieces.h): they are still in a cache then
 *     direct:               every thread copies its block out of the root's send buffer, on other nodes too (direct.h)
 *     inline:               likewise from the tray, where the root has put its node's blocks and the network the others'; so
 *                           nobody waits for those who copy. On one node from the root's cell, if that holds those of
 *                           all others
 */
#include <core/error.h>
#include <hier/brief.h>
#include <hier/direct.h>
#include <string.h>

static int start(hier_call *call, const void *send, void *recv) {
    inter_binding binding = {.send = send, .recv = recv};
    if (hier_on_root_node(call) ? !send : !recv)
        return core_error(WEFT_ERR_NOMEM, "rank %d: weft_scatter: no memory for the blocks of a node",
                          hier_rank_of(call->comm));
    if (hier_on_root_node(call)) /* the node's own blocks stay where they are */
        binding.recv = hier_at(send, hier_first_rank(call), call->arguments->bytes);
    return hier_start_blocks(call, &binding);
}

static int start_from_host(hier_call *call) {
    const intra_offer *host = intra_offer_of(&call->meeting, hier_host_thread(call));
    return start(call, host->send, host->recv);
}

static int start_inline(hier_call *call) {
    if (hier_on_root_node(call))
        return start(call, intra_offer_of(&call->meeting, call->root_thread)->send, NULL);
    return start(call, NULL, intra_tray(&call->meeting));
}

/* On one node: all blocks but the root's own go into its cell, if it holds them. Else the node's go onto the tray. */
static inline bool in_cell(const hier_call *call) {
    return hier_single_node(call) && call->arguments->bytes * (size_t)(hier_threads(call) - 1) <= INTRA_INLINE_BYTES;
}

static inline void put_blocks(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const size_t bytes = arguments->bytes, self = (size_t)call->comm->thread, threads = (size_t)hier_threads(call);
    if (in_cell(call)) {
        void *cell = intra_fill(&call->meeting, (threads - 1) * bytes);
        core_copy_short(cell, arguments->send, self * bytes);
        core_copy_short(hier_at(cell, self, bytes), hier_at(arguments->send, self + 1, bytes),
                        (threads - 1 - self) * bytes);
    } else {
        INTRA_SHOW(&call->meeting, send, arguments->send);
        memcpy(intra_tray(&call->meeting), hier_at(arguments->send, hier_first_rank(call), bytes), threads * bytes);
    }
}

/* The root's share. Its own block goes to its place while the others' are on their way. */
static inline bool give(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    if (!hier_is_root(call))
        return true;
    put_blocks(call);
    intra_post(&call->meeting, HIER_READY);
    const void *own = hier_at(arguments->send, (size_t)call->comm->rank, arguments->bytes);
    if (own != arguments->recv)
        core_copy_short(arguments->recv, own, arguments->bytes);
    return true;
}

static inline bool take(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const int self = call->comm->thread, root = call->root_thread;
    if (hier_is_root(call))
        return true;
    const void *blocks = intra_tray(&call->meeting);
    int place = self;
    if (in_cell(call)) {
        blocks = call->meeting.cells[root].payload.bytes;
        place -= self > root;
    }
    core_copy_short(arguments->recv, hier_at(blocks, (size_t)place, arguments->bytes), arguments->bytes);
    return true;
}

HIER_DEFINE_BRIEF(scatter, INTRA_ALONE, give, hier_brief_root_ready, take)

static bool by_inline(hier_call *call) {
    bool root = hier_is_root(call), root_node = hier_on_root_node(call);
    HIER_RESUME(call);
    hier_network(call, root_node ? call->root_thread : HIER_NEED_NONE, HIER_READY, start_inline);
    (void)give(call);
    if (root_node) {
        HIER_ENTRANCE
        if (!root)
            HIER_AWAIT(call, hier_await(call, call->root_thread, HIER_READY));
    }
    /* On the root's node only the root, whose buffer is sent from, and those who may drive stay to the end. */
    if (!root_node || root || call->comm->thread == 0)
        HIER_AWAIT(call, hier_await_network(call));
    (void)take(call);
    HIER_OVER;
}

/* The root shows the threads of its node its blocks as they lie. */
static void show_blocks(hier_call *call) {
    INTRA_SHOW(&call->meeting, recv, (void *)(uintptr_t)call->arguments->send);
    hier_show_layout(call);
}

/* What the root has for this thread, of its node. Acquire: it was awaited. */
static core_data block_of_root(const hier_call *call) {
    return hier_sent_beside(call, call->root_thread, (size_t)call->comm->rank, call->arguments->bytes);
}

/*
 * Shows where the node's blocks are, or will be. The threads of the root's node begin while it packs those of others: `send` is shown only
 * with HIER_READY, for who starts the network part.
 */
static void offer(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    if (hier_on_root_node(call)) {
        show_blocks(call);
        if (arguments->laid_out)
            intra_post(&call->meeting, HIER_OFFERED);
        INTRA_SHOW(&call->meeting, send, hier_single_node(call) ? NULL : hier_blocks_for_others(call));
    } else {
        const bool in_place = hier_threads(call) == 1 && hier_own_received(call, 0, arguments->bytes).type->contiguous;
        INTRA_SHOW(&call->meeting, laid_out, NULL);
        INTRA_SHOW(&call->meeting, recv,
                   in_place ? arguments->recv : hier_scratch(call, arguments->bytes * (size_t)hier_threads(call)));
    }
    intra_post(&call->meeting, HIER_READY);
}

/* The own block, as far as it is in the piece. */
static void take_piece(const hier_call *call, int host, size_t index) {
    size_t bytes = call->arguments->bytes, block = (size_t)call->comm->thread;
    intra_slice own = {block * bytes, bytes};
    intra_slice part = hier_common(hier_block_piece(call, (size_t)hier_threads(call) * bytes, index), own);
    if (!part.count)
        return;
    part.begin -= own.begin;
    hier_move(call, hier_own_received(call, 0, bytes),
              hier_on_root_node(call) ? block_of_root(call) : hier_received_by(call, host, block, bytes), part);
}

static bool by_flags(hier_call *call) {
    int host = hier_host_thread(call), thread = call->comm->thread;
    size_t *at = &call->pieces.at;
    HIER_RESUME(call);
    hier_network(call, host, HIER_READY, start_from_host);
    if (!hier_on_root_node(call))
        hier_cut_blocks(call, hier_typical_bytes(call), 1);
    if (thread == host)
        offer(call);
    for (; *at < call->pieces.number; (*at)++) {
        if (!hier_on_root_node(call))
            HIER_AWAIT(call, hier_await_piece(call, *at));
        HIER_AWAIT(call, hier_await(call, host, hier_on_root_node(call) ? HIER_OFFERED : HIER_READY));
        take_piece(call, host, *at);
    }
    intra_post(&call->meeting, HIER_LEFT);
    if (thread == host)
        HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    if (thread == host || thread == 0)
        HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}

static bool by_direct(hier_call *call) {
    size_t bytes = call->arguments->bytes, rank = (size_t)call->comm->rank;
    bool root = hier_is_root(call);
    HIER_RESUME(call);
    if (root)
        show_blocks(call);
    hier_direct_offer(call, root ? hier_blocks_for_others(call) : NULL);
    if (hier_on_root_node(call)) {
        HIER_AWAIT(call, hier_await(call, call->root_thread, HIER_OFFERED));
        hier_drive_once(call, false);
        hier_move(call, hier_own_received(call, 0, bytes), block_of_root(call), (intra_slice){0, bytes});
    } else {
        HIER_AWAIT(call, hier_await_addresses(call));
        HIER_AWAIT(call, hier_await(call, hier_host_thread(call), HIER_OFFERED)); /* and it is in this call, too */
        hier_reads reads = hier_reads_begin(call, call->root_node, 1);
        hier_reads_add(call, &reads, hier_direct_address(call, call->root_node, call->root_thread), rank * bytes,
                       hier_own_received(call, 0, bytes));
        hier_reads_end(call, &reads);
    }
    hier_have_read(call);
    if (root || call->comm->thread == 0)
        HIER_AWAIT(call, hier_await_readers(call));
    if (root && !call->meeting.mine.send && !call->error)
        call->error =
            core_error(WEFT_ERR_NOMEM, "rank %d: weft_scatter: no memory to pack the blocks of other processes",
                       hier_rank_of(call->comm));
    HIER_OVER;
}

bool hier_thread_scatter(hier_call *call) {
    switch (call->choice.thread) {
    case HIER_INLINE:
        return by_inline(call);
    case HIER_DIRECT:
        return by_direct(call);
    default:
        return by_flags(call);
    }
}
