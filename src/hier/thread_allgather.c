// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather: nbFT/inline, nbBKT/flags, nbBKT/slices; nbFT/direct: thread_allgather_direct.c.
 *
 *     inline, one node:       the blocks in the cells; every thread copies all of them
 *     inline, several nodes:  who drives the network brings them together on the tray, the schedule works there in place, and
 *                             all threads copy the whole from it
 *     flags, one node:        every thread copies everybody's block straight from its owner; of two, each gives a long one to both
 *     flags, several nodes:   as inline, with the leader's receive buffer for the tray, into which each thread copies its block;
 *                             piece by piece, where the nodes' blocks are cut into segments (pieces.h)
 *     slices:                 as flags, but thread t copies slice t of everything, into everybody's receive buffer
 */
#include <hier/allgather.h>
#include <hier/brief.h>
#include <hier/moves.h>
#include <hier/pieces.h>
#include <string.h>

/* Where the leader has all blocks. */
static char *leaders(const hier_call *call) {
    return intra_offer_of(&call->meeting, 0)->recv;
}

static int start(hier_call *call, char *all) {
    inter_binding binding = {.send = hier_at(all, hier_first_rank(call), call->arguments->bytes), .recv = all};
    return hier_start_blocks(call, &binding);
}

static int start_from_leader(hier_call *call) {
    return start(call, leaders(call));
}

static int start_inline(hier_call *call) {
    char *all = intra_tray(&call->meeting);
    hier_take_cells(call, hier_at(all, hier_first_rank(call), call->arguments->bytes), -1);
    return start(call, all);
}

static void take_own(const hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    char *place = hier_at(arguments->recv, (size_t)call->comm->thread, arguments->bytes);
    if (arguments->send != place)
        core_copy_short(place, arguments->send, arguments->bytes);
}

/* On one node; the own block goes to its place while the others' are on their way. */
static inline bool give(hier_call *call) {
    (void)hier_give_inline(call);
    take_own(call);
    return true;
}

static inline bool take(hier_call *call) {
    hier_take_cells(call, call->arguments->recv, call->comm->thread);
    return true;
}

static bool by_inline(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    HIER_RESUME(call);
    hier_offer_inline(call, start_inline);
    if (hier_single_node(call)) {
        take_own(call);
        HIER_ENTRANCE
        HIER_AWAIT(call, hier_await_sync(call, HIER_READY));
        take(call);
    } else {
        HIER_AWAIT(call, hier_await_network(call));
        memcpy(arguments->recv, intra_tray(&call->meeting), arguments->bytes * (size_t)call->comm->size);
    }
    HIER_OVER;
}

HIER_DEFINE_BRIEF(allgather, INTRA_TOGETHER, give, hier_brief_ready, take)

static core_data place_at(const hier_call *call, int thread) {
    return hier_received_by(call, thread, (size_t)call->comm->thread, call->arguments->bytes);
}

static void on_one_node(const hier_call *call) {
    size_t bytes = call->arguments->bytes;
    if (hier_threads(call) == 2 && bytes >= HIER_GIVEN_LEAST && !hier_by_slices(call)) {
        hier_give_out(call, hier_own_sent(call, 0, bytes), place_at);
        return;
    }
    intra_slice share = hier_share(call, (intra_slice){0, bytes});
    const int threads = hier_threads(call);
    const size_t whole = hier_gathered_share(call, bytes);
    const bool backwards = hier_backwards(call, whole);
    for (int i = 0; i < threads; i++) {
        /* Not all from the same one at once. */
        const int from = (call->comm->thread + hier_turn(i, threads, backwards)) % threads;
        core_data block = hier_sent_by(call, from, 0, bytes);
        for (int to = hier_first_served(call); to < hier_end_served(call); to++)
            hier_move_of(call, hier_received_by(call, to, (size_t)from, bytes), block, share, whole);
    }
}

/* Puts the own block to where the leader has it, so far as it is in the pieces one by one. */
static void put_block(hier_call *call) {
    size_t bytes = call->arguments->bytes, threads = (size_t)hier_threads(call);
    intra_slice own = {(size_t)call->comm->thread * bytes, bytes};
    core_data block = hier_received_by(call, 0, (size_t)call->comm->rank, bytes);
    for (size_t index = 0; index < call->pieces.number; index++) {
        intra_slice part = hier_common(hier_block_piece(call, threads * bytes, index), own);
        if (!part.count) {
            hier_piece_passed(call, index);
            continue;
        }
        part.begin -= own.begin;
        hier_move(call, block, hier_own_sent(call, 0, bytes), part);
        hier_piece_ready(call, index);
    }
}

/* From the leader's buffer to those of others: a part of all blocks, one behind the other. */
static void copy_out(const hier_call *call, intra_slice part) {
    intra_slice share = hier_share(call, part);
    size_t ranks = (size_t)call->comm->size;
    for (int to = hier_first_served(call); to < hier_end_served(call); to++) {
        core_data all = hier_received_by(call, to, 0, call->arguments->bytes);
        all.count *= ranks;
        if (to)
            hier_move(call, all, hier_run(leaders(call), part.begin + part.count), share);
    }
}

/* That piece of every node's block. */
static void copy_piece(const hier_call *call, size_t index) {
    const hier_layout *layout = call->comm->layout;
    size_t bytes = call->arguments->bytes;
    if (call->pieces.number == 1) {
        copy_out(call, (intra_slice){0, bytes * (size_t)call->comm->size});
        return;
    }
    for (int node = 0; node < layout->nodes; node++) {
        size_t begin = layout->offsets[node] * bytes;
        intra_slice part = hier_block_piece(call, layout->offsets[node + 1] * bytes - begin, index);
        copy_out(call, (intra_slice){begin + part.begin, part.count});
    }
}

/* By flags, or by slices. */
static bool by_offers(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    size_t *at = &call->pieces.at;
    HIER_RESUME(call);
    INTRA_SHOW(&call->meeting, send, arguments->send);
    INTRA_SHOW(&call->meeting, recv, arguments->recv);
    hier_show_layout(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_from_leader);
    hier_cut_blocks(call, hier_typical_bytes(call), 1);
    hier_gate(call, HIER_OFFERED);
    HIER_SYNC(call, HIER_OFFERED);
    if (hier_single_node(call)) {
        on_one_node(call);
    } else {
        put_block(call);
        intra_post(&call->meeting, HIER_READY);
        for (; *at < call->pieces.number; (*at)++) {
            HIER_AWAIT(call, hier_await_piece(call, *at));
            copy_piece(call, *at);
        }
    }
    HIER_SYNC(call, HIER_LEFT);
    HIER_OVER;
}

bool hier_thread_allgather(hier_call *call) {
    if (hier_is_direct(call))
        return hier_allgather_directly(call);
    return call->choice.thread == HIER_INLINE ? by_inline(call) : by_offers(call);
}
