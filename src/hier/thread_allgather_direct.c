// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather, allgatherv between processes of one host that may read each other's memory: nbFT/direct.
 *
 *     threads    show their blocks │ slices of the node's own │              │ slices of all others, for all threads │
 *     network                      │ strand 0: addresses      │              │                                       │ strand 1: all is read
 *
 * As by slices thread t gets slice t of each block, into the receive buffers of all threads of its node, so that each node reads
 * each block of another one once (direct.h). No leader brings anything together.
 */
#include <hier/allgather.h>
#include <hier/direct.h>

/* What is read of a block at once is still in the cache when it is copied to the other threads. */
#define READ_BYTES ((size_t)128 << 10)

/* Where a thread of the node wants it. */
static core_data place_of(const hier_call *call, int thread, size_t rank) {
    const hier_arguments *by = intra_offer_of(&call->meeting, thread)->blocks;
    if (by->collective == INTER_ALLGATHERV) {
        const hier_blocks blocks = hier_received_blocks(by);
        return hier_block_of(&blocks, rank);
    }
    return hier_equal_block(by->recv, rank, by->bytes, by->laid_out, by->recv_type, by->recv_count);
}

static intra_slice slice_of(const hier_call *call, size_t bytes) {
    return intra_slice_of(bytes, 1, call->comm->thread, hier_threads(call));
}

/* A part of a block, which begins at `from`, to all threads of the node but where it is; not all to the same one at once. */
static void hand_out(const hier_call *call, size_t rank, const char *from, intra_slice part) {
    const int threads = hier_threads(call);
    for (int i = 0; i < threads; i++) {
        const core_data place = place_of(call, (call->comm->thread + i) % threads, rank);
        if (!place.type->contiguous || (char *)place.buffer + part.begin != from)
            hier_unpack(call, place, from, part);
    }
}

/* A thread that had no memory for what it shows has shown nothing. */
static bool all_have_shown(hier_call *call) {
    for (int thread = 0; thread < hier_threads(call) && !call->error; thread++)
        if (!intra_offer_of(&call->meeting, thread)->send &&
            hier_gathered_bytes(call, hier_first_rank(call) + (size_t)thread))
            call->error = core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for the block of a thread",
                                     hier_rank_of(call->comm), call->arguments->call);
    return !call->error;
}

static void take_local(hier_call *call) {
    if (!all_have_shown(call))
        return;
    for (int i = 0; i < hier_threads(call); i++) {
        const int from = (call->comm->thread + i) % hier_threads(call);
        const size_t rank = hier_first_rank(call) + (size_t)from;
        const intra_slice slice = slice_of(call, hier_gathered_bytes(call, rank));
        if (slice.count)
            hand_out(call, rank, (const char *)intra_offer_of(&call->meeting, from)->send + slice.begin, slice);
    }
}

/* A part of the block of a rank of another node: read to its place here, or, should that lie in several runs, to memory in between. */
static void take_part(hier_call *call, int node, int thread, size_t rank, intra_slice part) {
    const core_data place = place_of(call, call->comm->thread, rank);
    char *to =
        place.type->contiguous ? (char *)place.buffer + part.begin : hier_more_scratch(call, HIER_PLAN, READ_BYTES);
    hier_reads reads = hier_reads_begin(call, node, 1);
    hier_reads_add(call, &reads, to ? hier_direct_address(call, node, thread) : 0, part.begin,
                   hier_run(to, part.count));
    hier_reads_end(call, &reads);
    if (!call->error)
        hand_out(call, rank, to, part);
}

static void take_node(hier_call *call, int node) {
    const hier_layout *layout = call->comm->layout;
    for (int thread = 0; thread < hier_layout_threads(layout, node); thread++) {
        const size_t rank = layout->offsets[node] + (size_t)thread;
        const intra_slice slice = slice_of(call, hier_gathered_bytes(call, rank));
        for (size_t done = 0; done < slice.count && !call->error; done += READ_BYTES) {
            const size_t left = slice.count - done;
            take_part(call, node, thread, rank,
                      (intra_slice){slice.begin + done, left < READ_BYTES ? left : READ_BYTES});
        }
    }
}

static void offer(hier_call *call) {
    const core_data own = hier_own_sent(call, 0, hier_gathered_bytes(call, (size_t)call->comm->rank));
    INTRA_SHOW(&call->meeting, blocks, call->arguments);
    hier_direct_offer(call, hier_direct_run(call, own));
}

bool hier_allgather_directly(hier_call *call) {
    const weft_comm *comm = call->comm;
    HIER_RESUME(call);
    offer(call);
    HIER_AWAIT(call, hier_await_sync(call, HIER_OFFERED));
    hier_drive_once(call, false);
    take_local(call);
    HIER_AWAIT_END(call, hier_await_addresses(call));
    for (int i = 1; i < comm->layout->nodes && !call->error; i++)
        take_node(call, (comm->node + i) % comm->layout->nodes);
    hier_tell_unread(call);
    hier_have_read(call);
    HIER_AWAIT(call, hier_await_readers(call));
    hier_note_unread(call);
    HIER_OVER;
}
