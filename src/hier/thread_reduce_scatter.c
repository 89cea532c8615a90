// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce_scatter, reduce_scatter_block: nbBDE/inline, nbBKT/flags, nbBKT/slices.
 *
 *     inline:  operands in the cells; on one node each thread combines its own block of all of them, on several who drives
 *              the network combines all, and the node's blocks come back in the release cell
 *     flags:   straight from the users' buffers on one node each thread combines its own block, on several the leader all
 *     slices:  thread t combines slice t of all operands, straight from the users' buffers; on one node to where each block
 *              belongs, on several into the leader's memory
 *
 * On several nodes then a process-level reduce_scatter of the nodes' sums with a block a node, all of its ranks' together, of
 * which each thread copies its own; by slices piece by piece, where the nodes' blocks are cut into segments (pieces.h).
 */
#include <core/error.h>
#include <hier/brief.h>
#include <hier/pieces.h>
#include <hier/thread.h>
#include <string.h>

/* In elements. A block's number is its rank. */
typedef struct blocks {
    size_t whole, node, own;      /* how many: of all ranks, of the node's, of this one */
    size_t node_begin, own_begin; /* in the whole */
} blocks;

static size_t count_of(const hier_arguments *arguments, size_t rank) {
    return arguments->collective == INTER_REDUCE_SCATTER ? arguments->recv_counts[rank] : arguments->recv_count;
}

/* The elements of the ranks from `first` up to, not including, `end`. */
static size_t sum_of(const hier_arguments *arguments, size_t first, size_t end) {
    size_t sum = 0;
    if (arguments->collective != INTER_REDUCE_SCATTER)
        return (end - first) * arguments->recv_count;
    while (first < end)
        sum += arguments->recv_counts[first++];
    return sum;
}

static blocks blocks_of(const hier_call *call) {
    size_t first = hier_first_rank(call), rank = (size_t)call->comm->rank;
    blocks made = {.own = count_of(call->arguments, rank),
                   .node = sum_of(call->arguments, first, first + (size_t)hier_threads(call)),
                   .node_begin = sum_of(call->arguments, 0, first)};
    made.own_begin = made.node_begin + sum_of(call->arguments, first, rank);
    made.whole = call->arguments->bytes / call->arguments->recv_type->size_bytes;
    return made;
}

static size_t *node_offsets(const hier_call *call, size_t *to) {
    const hier_layout *layout = call->comm->layout;
    to[0] = 0;
    for (int node = 0; node < layout->nodes; node++)
        to[node + 1] = to[node] + sum_of(call->arguments, layout->offsets[node], layout->offsets[node + 1]);
    return to;
}

static size_t offsets_bytes(const hier_call *call) {
    return ((size_t)call->comm->layout->nodes + 1) * sizeof(size_t);
}

static int no_memory(const hier_call *call) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for a sum of %zu bytes", hier_rank_of(call->comm),
                      call->arguments->call, call->arguments->bytes);
}

/* A node's block on an average: what the segments are measured against. */
static size_t typical_of(const hier_call *call, const blocks *of) {
    return of->whole / (size_t)call->comm->layout->nodes;
}

static int start(hier_call *call, const size_t *offsets, size_t typical, const void *sum, void *result) {
    const hier_arguments *arguments = call->arguments;
    inter_view view = {.collective = INTER_REDUCE_SCATTER,
                       .element_bytes = arguments->recv_type->size_bytes,
                       .in_place = sum == result,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .typical = typical,
                       .offsets = offsets};
    inter_binding binding = {.send = sum, .recv = result, .type = arguments->recv_type, .op = arguments->op};
    return hier_start(call, &view, &binding);
}

static void copy_own(hier_call *call, const blocks *of, const void *node_blocks) {
    size_t size = call->arguments->recv_type->size_bytes;
    if (of->own)
        memcpy(call->arguments->recv, hier_at(node_blocks, of->own_begin - of->node_begin, size), of->own * size);
}

static int start_inline(hier_call *call) {
    size_t whole = call->arguments->bytes / call->arguments->recv_type->size_bytes;
    size_t *offsets = hier_scratch(call, offsets_bytes(call)); /* of who starts */
    unsigned char *sum = call->meeting.release->payload.bytes;
    if (!offsets)
        return no_memory(call);
    hier_combine(call, true, (intra_slice){0, whole}, sum);
    return start(call, node_offsets(call, offsets), 0, sum, sum);
}

/* On one node. In place the block goes to where other elements of the own operand stand: then that in the cell is read. */
static inline bool take(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const unsigned char *cell = call->meeting.own->payload.bytes;
    const blocks of = blocks_of(call);
    intra_operands operands = {true, arguments->send == arguments->recv ? cell : arguments->send, arguments->op,
                               arguments->recv_type};
    hier_combined(call, intra_combine(&call->meeting, &operands, (intra_slice){of.own_begin, of.own}, arguments->recv));
    return true;
}

HIER_DEFINE_BRIEF(reduce_scatter, INTRA_TOGETHER, hier_give_inline, hier_brief_ready, take)

static bool by_inline(hier_call *call) {
    blocks of;
    HIER_RESUME(call);
    hier_offer_inline(call, start_inline);
    if (hier_single_node(call)) {
        HIER_ENTRANCE
        HIER_AWAIT(call, hier_await_sync(call, HIER_READY));
        take(call);
    } else {
        HIER_AWAIT(call, hier_await_network(call));
        of = blocks_of(call);
        copy_own(call, &of, call->meeting.release->payload.bytes);
    }
    HIER_OVER;
}

/*
 * Does the result go straight to the receive buffer? A lone thread's does. But in place a segment of it would go to where other segments
 * of the operand stand.
 */
static bool is_direct(const hier_call *call, const blocks *of) {
    const hier_arguments *arguments = call->arguments;
    size_t size = arguments->recv_type->size_bytes;
    return hier_threads(call) == 1 &&
           (arguments->send != arguments->recv ||
            inter_cuts(call->choice.process, arguments->collective, typical_of(call, of), size) == 1);
}

/* The leader's memory: the offsets of the nodes' blocks, for several threads their sum, and then, unless that goes straight to where it
 * belongs, the node's blocks of the result. A lone thread's operand is the sum. */
typedef struct memory {
    size_t sum, result, bytes; /* where they begin; of all */
} memory;

static bool lay_out(const hier_call *call, const blocks *of, memory *made) {
    size_t size = call->arguments->recv_type->size_bytes, line = INTRA_LINE;
    size_t sum = hier_threads(call) > 1 ? of->whole * size : 0;
    *made = (memory){.bytes = offsets_bytes(call)};
    if (is_direct(call, of))
        return true;
    made->sum = (offsets_bytes(call) + line - 1) / line * line;
    return !__builtin_add_overflow(made->sum, (sum + line - 1) / line * line, &made->result) &&
           !__builtin_add_overflow(made->result, of->node * size, &made->bytes);
}

static void offer(hier_call *call, const memory *parts, bool laid_out) {
    INTRA_SHOW(&call->meeting, send, call->arguments->send);
    INTRA_SHOW(&call->meeting, recv, call->arguments->recv);
    INTRA_SHOW(&call->meeting, shared, NULL);
    if (call->comm->thread == 0 && !hier_single_node(call) && laid_out)
        INTRA_SHOW(&call->meeting, shared, hier_scratch(call, parts->bytes));
    if (call->meeting.mine.shared)
        node_offsets(call, call->meeting.mine.shared);
}

static int start_slices(hier_call *call) {
    const intra_offer *leader = intra_offer_of(&call->meeting, 0);
    blocks of = blocks_of(call);
    memory parts;
    lay_out(call, &of, &parts);
    if (!leader->shared)
        return WEFT_ERR_NOMEM; /* all threads see that, and each says so */
    const void *sum = hier_threads(call) == 1 ? leader->send : hier_at(leader->shared, parts.sum, 1);
    void *result = is_direct(call, &of) ? leader->recv : hier_at(leader->shared, parts.result, 1);
    return start(call, leader->shared, typical_of(call, &of), sum, result);
}

static bool is_in_place(const intra_offer *offer) {
    return offer->send == offer->recv;
}

/*
 * The parts of a slice go to the blocks' owners. Where one works in place its block goes to where its operand's stands: only who
 * combines that part reads it there. The owner moves it when nobody reads its operand any more.
 */
static void combine_blocks(hier_call *call, intra_slice slice) {
    const hier_arguments *arguments = call->arguments;
    size_t begin = 0, end, slice_end = slice.begin + slice.count;
    for (int thread = 0; thread < hier_threads(call); thread++, begin = end) {
        const intra_offer *owner = intra_offer_of(&call->meeting, thread);
        end = begin + count_of(arguments, (size_t)thread);
        size_t from = begin > slice.begin ? begin : slice.begin, to = end < slice_end ? end : slice_end;
        if (from < to)
            hier_combine(
                call, false, (intra_slice){from, to - from},
                hier_at(owner->recv, is_in_place(owner) ? from : from - begin, arguments->recv_type->size_bytes));
    }
}

/* In place, when nobody reads the own operand any more. */
static void move_own(const hier_call *call, const blocks *of) {
    const hier_arguments *arguments = call->arguments;
    size_t size = arguments->recv_type->size_bytes;
    if (arguments->send == arguments->recv && of->own)
        memmove(arguments->recv, hier_at(arguments->recv, of->own_begin, size), of->own * size);
}

static char *shared_of(const hier_call *call) {
    return intra_offer_of(&call->meeting, 0)->shared;
}

/* This thread's slice of that piece of every node's block. */
static void combine_piece(hier_call *call, char *sum, size_t index) {
    const size_t *offsets = (const size_t *)(const void *)shared_of(call);
    size_t size = call->arguments->recv_type->size_bytes;
    for (int node = 0; node < call->comm->layout->nodes; node++) {
        intra_slice piece = hier_block_piece(call, offsets[node + 1] - offsets[node], index);
        intra_slice slice = intra_slice_of(piece.count, size, call->comm->thread, hier_threads(call));
        slice.begin += offsets[node] + piece.begin;
        if (slice.count)
            hier_combine(call, false, slice, hier_at(sum, slice.begin, size));
    }
}

/* Makes the node's sum of several threads' operands. */
static void combine_sum(hier_call *call, char *sum, intra_slice slice) {
    if (call->pieces.number == 1)
        hier_combine(call, false, slice, hier_at(sum, slice.begin, call->arguments->recv_type->size_bytes));
    for (size_t index = 0; call->pieces.number > 1 && index < call->pieces.number; index++) {
        combine_piece(call, sum, index);
        hier_piece_ready(call, index);
    }
}

/* What a piece of the node's block of the result has of this thread's own. */
static void copy_own_piece(hier_call *call, const blocks *of, const char *result, size_t index) {
    size_t size = call->arguments->recv_type->size_bytes;
    intra_slice own = {of->own_begin - of->node_begin, of->own};
    intra_slice part = hier_common(hier_block_piece(call, of->node, index), own);
    if (part.count)
        memcpy(hier_at(call->arguments->recv, part.begin - own.begin, size), hier_at(result, part.begin, size),
               part.count * size);
}

/* Others may still read the own operand, in place of which a piece of the result goes. */
static bool must_wait_for_readers(const hier_call *call) {
    return call->pieces.number > 1 && call->arguments->send == call->arguments->recv;
}

/* What this thread combines of the node's sum. */
static intra_slice share_of(const hier_call *call, const blocks *of) {
    int thread = call->comm->thread;
    if (hier_by_slices(call))
        return intra_slice_of(of->whole, call->arguments->recv_type->size_bytes, thread, hier_threads(call));
    if (hier_single_node(call))
        return (intra_slice){of->own_begin, of->own};
    return (intra_slice){0, thread ? 0 : of->whole};
}

/* By flags, or by slices. */
static bool by_offers(hier_call *call) {
    size_t size = call->arguments->recv_type->size_bytes, *at = &call->pieces.at;
    bool alone = hier_threads(call) == 1;
    blocks of = blocks_of(call);
    intra_slice slice = share_of(call, &of);
    memory parts;
    bool laid_out = lay_out(call, &of, &parts);
    HIER_RESUME(call);
    offer(call, &parts, laid_out);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_slices);
    if (!alone && hier_by_slices(call) &&
        !hier_may_lack_element(call)) /* else there is nothing to do beside the network */
        hier_cut_blocks(call, typical_of(call, &of), size);
    hier_gate(call, HIER_OFFERED);
    HIER_SYNC(call, HIER_OFFERED);
    if (hier_single_node(call)) {
        combine_blocks(call, slice);
        HIER_SYNC(call, HIER_LEFT);
        hier_note_undone(call);
        move_own(call, &of);
        return true;
    }
    if (!shared_of(call)) {
        call->error = no_memory(call);
        return true;
    }
    if (!alone)
        combine_sum(call, shared_of(call) + parts.sum, slice);
    intra_post(&call->meeting, HIER_READY);
    if (must_wait_for_readers(call))
        HIER_AWAIT(call, hier_await_all(call, HIER_READY));
    for (; *at < call->pieces.number; (*at)++) {
        HIER_AWAIT(call, hier_await_piece(call, *at));
        if (!is_direct(call, &of))
            copy_own_piece(call, &of, shared_of(call) + parts.result, *at);
    }
    intra_post(&call->meeting, HIER_LEFT);
    if (call->comm->thread == 0)
        HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    HIER_OVER;
}

bool hier_thread_reduce_scatter(hier_call *call) {
    return call->choice.thread == HIER_INLINE ? by_inline(call) : by_offers(call);
}
