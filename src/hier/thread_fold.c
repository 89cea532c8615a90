// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce, allreduce, reduce_scatter(_block), scan, exscan in the fixed bracketing: FOLD/inline, FOLD/slices, SFOLD/slices.
 *
 *     inline:  operands in the cells; on one node each thread that has a result makes its own, on several (reduce and allreduce, of a
 *              node whose ranks are one leaf) who drives the network combines them, and the result comes back in the release cell
 *     slices:  thread t combines slice t of all operands, straight from the users' buffers: on one node to where the results
 *              belong, on several into the values of the node's leaves, in memory of the leader's
 *
 * The process level then goes by leaves (inter/leaves.h), and what comes back is taken as in other reductions; of scans the other nodes'
 * leaves come, and the threads make all prefixes of the node, a slice each.
 *
 * Ranks may have places. Blocks of reduce_scatter go between nodes in the order of the places, so those of a node are together.
 */
#include <core/error.h>
#include <hier/folding.h>
#include <string.h>

/* What passes over several results stays in the first-level cache. */
#define PIECE_BYTES 8192

static intra_slice own_slice(const hier_call *call) {
    return intra_slice_of(hier_fold_whole(call), call->arguments->recv_type->size_bytes, call->comm->thread,
                          hier_threads(call));
}

/*
 * In the cells.
 */

static int start(hier_call *call, inter_view view, const void *send, void *recv) {
    const hier_arguments *arguments = call->arguments;
    inter_binding binding = {.send = send, .recv = recv, .type = arguments->recv_type, .op = arguments->op};
    view.element_bytes = arguments->recv_type->size_bytes;
    view.in_place = send == recv;
    view.rank = call->comm->node;
    view.size = call->comm->layout->nodes;
    view.root = call->root_node;
    view.leaves = hier_leaves_of(call);
    view.stride = hier_fold_whole(call);
    return hier_start(call, &view, &binding);
}

static inter_view vector_view(const hier_call *call) {
    return (inter_view){.collective = call->arguments->collective, .count = call->arguments->recv_count};
}

/* The only leaf of this node. */
static const inter_leaf *own_leaf(const hier_call *call) {
    const inter_leaf *leaf = hier_leaves_of(call)->leaf;
    while (leaf->owner != call->comm->node)
        leaf++;
    return leaf;
}

static int start_inline(hier_call *call) {
    const inter_leaf *leaf = own_leaf(call);
    unsigned char *value = call->meeting.release->payload.bytes;
    hier_fold(call, true, leaf->first, leaf->end, hier_whole(call), value);
    return call->error ? call->error : start(call, vector_view(call), value, value);
}

/* On one node. Nobody's buffers are read, so each result goes where it belongs. */
static void fold_own(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    int rank = hier_fold_rank(call), end = call->comm->size;
    intra_slice slice = {0, hier_fold_whole(call)};
    if (hier_fold_scatters(call))
        slice = (intra_slice){hier_fold_begin(call, rank), hier_fold_block(call, rank)};
    else if (inter_is(arguments->collective, INTER_SCANS))
        end = arguments->collective == INTER_SCAN ? rank + 1 : rank;
    if (end)
        hier_fold(call, true, 0, end, slice, arguments->recv);
}

static bool has_result(const hier_call *call) {
    return call->arguments->collective != INTER_REDUCE || hier_is_root(call);
}

static bool by_inline(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    HIER_RESUME(call);
    hier_offer_inline(call, start_inline);
    if (!hier_single_node(call)) {
        /* As in hier_thread_reduce: who has no result goes on, but somebody has to drive, and stand-ins for types stay. */
        if (has_result(call) || !call->comm->thread || arguments->staging)
            HIER_AWAIT(call, hier_await_network(call));
        if (has_result(call))
            memcpy(arguments->recv, call->meeting.release->payload.bytes, arguments->bytes);
    } else if (arguments->collective != INTER_REDUCE) {
        HIER_AWAIT(call, hier_await_sync(call, HIER_READY));
        fold_own(call);
    } else if (has_result(call)) {
        HIER_AWAIT(call, hier_await_all(call, HIER_READY));
        fold_own(call);
    }
    HIER_OVER;
}

/*
 * In slices, on one node.
 */

/* Puts each piece of the slice where all want it while it is in the cache. */
static void fold_for_all(hier_call *call, intra_slice slice) {
    const size_t size = call->arguments->recv_type->size_bytes, most = size < PIECE_BYTES ? PIECE_BYTES / size : 1;
    const bool backwards = hier_backwards(call, call->arguments->bytes);
    for (intra_slice piece; hier_next_piece(&slice, most, backwards, &piece);) {
        char *out = hier_at(call->arguments->recv, piece.begin, size);
        hier_fold(call, false, 0, call->comm->size, piece, out);
        for (int thread = 0; thread < hier_threads(call); thread++)
            if (thread != call->comm->thread)
                memcpy(hier_at(intra_offer_of(&call->meeting, thread)->recv, piece.begin, size), out,
                       piece.count * size);
    }
}

/* In place the own block is made where it stands in the operand, since nobody else reads it there, and moved when nobody reads any of
 * it. */
static void fold_block(hier_call *call) {
    int rank = hier_fold_rank(call);
    intra_slice block = {hier_fold_begin(call, rank), hier_fold_block(call, rank)};
    size_t at = hier_fold_in_place(call) ? block.begin : 0;
    hier_fold(call, false, 0, call->comm->size, block,
              hier_at(call->arguments->recv, at, call->arguments->recv_type->size_bytes));
}

static void move_block(const hier_call *call) {
    size_t size = call->arguments->recv_type->size_bytes;
    int rank = hier_fold_rank(call);
    if (hier_fold_scatters(call) && hier_fold_in_place(call) && hier_fold_block(call, rank))
        memmove(call->arguments->recv, hier_at(call->arguments->recv, hier_fold_begin(call, rank), size),
                hier_fold_block(call, rank) * size);
}

static void fold_here(hier_call *call) {
    size_t size = call->arguments->recv_type->size_bytes;
    intra_slice slice = own_slice(call);
    if (hier_fold_scatters(call))
        fold_block(call);
    else if (inter_is(call->arguments->collective, INTER_SCANS))
        hier_fold_prefixes(call, NULL, slice);
    else if (call->arguments->collective == INTER_ALLREDUCE)
        fold_for_all(call, slice);
    else
        hier_fold(call, false, 0, call->comm->size, slice,
                  hier_at(intra_offer_of(&call->meeting, call->root_thread)->recv, slice.begin, size));
}

/*
 * In slices, on several.
 */

/* The leader's memory: where its parts begin, and all of it. */
typedef struct memory {
    size_t values;  /* of the node's leaves, a vector each */
    size_t results; /* reduce_scatter: the node's blocks; scans: room for all leaves */
    size_t bytes;
} memory;

/* The thread whose receive buffer takes what reduce and allreduce bring to this node, or -1. */
static int taker(const hier_call *call) {
    enum inter_collective collective = call->arguments->collective;
    if (collective == INTER_REDUCE && hier_on_root_node(call))
        return call->root_thread;
    return collective == INTER_ALLREDUCE ? 0 : -1;
}

static bool add_part(memory *made, size_t count, size_t bytes) {
    size_t part, line = INTRA_LINE;
    return !__builtin_mul_overflow(count, bytes, &part) && part <= PTRDIFF_MAX &&
           !__builtin_add_overflow(made->bytes, (part + line - 1) / line * line, &made->bytes);
}

/* False when it is more than addresses can tell apart. A single value goes to where the result will. */
static bool lay_out(const hier_call *call, memory *made) {
    const hier_arguments *arguments = call->arguments;
    const hier_layout *layout = call->comm->layout;
    const inter_leaves *leaves = hier_leaves_of(call);
    size_t node = (size_t)call->comm->node;
    *made = (memory){0};
    if (leaves->own == 1 && taker(call) >= 0)
        return true;
    if (hier_fold_scatters(call) && !add_part(made, (size_t)layout->nodes + 1, sizeof(size_t)))
        return false;
    made->values = made->bytes;
    bool fits = add_part(made, (size_t)leaves->own, arguments->bytes);
    made->results = made->bytes;
    if (fits && hier_fold_scatters(call))
        return add_part(made, hier_fold_places(call, layout->offsets[node], layout->offsets[node + 1]),
                        arguments->recv_type->size_bytes);
    if (fits && inter_is(arguments->collective, INTER_SCANS))
        return add_part(made, (size_t)leaves->count, arguments->bytes);
    return fits;
}

static char *shared_of(const hier_call *call) {
    return intra_offer_of(&call->meeting, 0)->shared;
}

/* Where the values of the node's leaves are made; NULL: there was no memory. */
static char *values_of(const hier_call *call, const memory *parts) {
    if (!parts->bytes)
        return intra_offer_of(&call->meeting, taker(call))->recv;
    return shared_of(call) ? shared_of(call) + parts->values : NULL;
}

static void offer(hier_call *call, const memory *parts, bool laid_out) {
    const hier_arguments *arguments = call->arguments;
    INTRA_SHOW(&call->meeting, send, arguments->send);
    INTRA_SHOW(&call->meeting, recv, arguments->recv);
    INTRA_SHOW(&call->meeting, shared, NULL);
    if (call->comm->thread == 0 && laid_out && parts->bytes)
        INTRA_SHOW(&call->meeting, shared, hier_scratch(call, parts->bytes));
}

static int start_slices(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    memory parts;
    if (!lay_out(call, &parts) || !values_of(call, &parts))
        return WEFT_ERR_NOMEM;
    char *values = values_of(call, &parts), *shared = shared_of(call);
    if (inter_is(call->arguments->collective, INTER_SCANS))
        return start(call, vector_view(call), values, shared + parts.results);
    if (!hier_fold_scatters(call))
        return start(call, vector_view(call), values,
                     taker(call) < 0 ? NULL : intra_offer_of(&call->meeting, taker(call))->recv);
    size_t *offsets = (size_t *)(void *)shared;
    offsets[0] = 0;
    for (int node = 0; node < layout->nodes; node++)
        offsets[node + 1] = offsets[node] + hier_fold_places(call, layout->offsets[node], layout->offsets[node + 1]);
    return start(call, (inter_view){.collective = INTER_REDUCE_SCATTER, .offsets = offsets}, values,
                 shared + parts.results);
}

/* The blocks of a leaf's value, in the order of the places, a slice of each. */
static void fold_blocks(hier_call *call, const inter_leaf *leaf, char *value) {
    size_t size = call->arguments->recv_type->size_bytes, to = 0;
    for (int place = 0; place < call->comm->size; place++) {
        int rank = hier_layout_rank(call->comm->layout, place);
        size_t count = hier_fold_block(call, rank);
        intra_slice slice = intra_slice_of(count, size, call->comm->thread, hier_threads(call));
        char *out = hier_at(value, to + slice.begin, size);
        slice.begin += hier_fold_begin(call, rank);
        hier_fold(call, false, leaf->first, leaf->end, slice, out);
        to += count;
    }
}

static void fold_leaves(hier_call *call, char *values) {
    const inter_leaves *leaves = hier_leaves_of(call);
    size_t size = call->arguments->recv_type->size_bytes;
    intra_slice slice = own_slice(call);
    bool mixed = hier_fold_scatters(call) && call->comm->layout->places;
    for (int i = 0; i < leaves->count; i++) {
        const inter_leaf *leaf = &leaves->leaf[i];
        if (leaf->owner != call->comm->node)
            continue;
        char *value = hier_at(values, (size_t)leaf->index, call->arguments->bytes);
        if (mixed)
            fold_blocks(call, leaf, value);
        else
            hier_fold(call, false, leaf->first, leaf->end, slice, hier_at(value, slice.begin, size));
    }
}

/* What the thread takes from what has come to the node. */
static void take(hier_call *call, const memory *parts) {
    const hier_arguments *arguments = call->arguments;
    size_t first = hier_first_rank(call), place = (size_t)call->comm->rank, size = arguments->recv_type->size_bytes;
    if (inter_is(arguments->collective, INTER_SCANS)) {
        hier_fold_prefixes(call, shared_of(call) + parts->results, own_slice(call));
    } else if (hier_fold_scatters(call)) {
        size_t count = hier_fold_places(call, place, place + 1);
        if (count)
            memcpy(arguments->recv,
                   hier_at(shared_of(call) + parts->results, hier_fold_places(call, first, place), size), count * size);
    } else if (arguments->collective == INTER_ALLREDUCE && call->comm->thread) {
        memcpy(arguments->recv, intra_offer_of(&call->meeting, 0)->recv, arguments->bytes);
    }
}

static bool by_slices(hier_call *call) {
    memory parts = {0};
    bool laid_out = hier_single_node(call) || lay_out(call, &parts);
    char *values;
    HIER_RESUME(call);
    offer(call, &parts, laid_out);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_slices);
    HIER_SYNC(call, HIER_OFFERED);
    if (hier_single_node(call)) {
        fold_here(call);
        HIER_SYNC(call, HIER_LEFT);
        hier_note_undone(call);
        move_block(call);
        return true;
    }
    values = laid_out ? values_of(call, &parts) : NULL;
    if (!values) {
        call->error = core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for sums of %zu bytes",
                                 hier_rank_of(call->comm), call->arguments->call, call->arguments->bytes);
        return true;
    }
    fold_leaves(call, values);
    intra_post(&call->meeting, HIER_READY);
    HIER_AWAIT(call, hier_await_network(call));
    take(call, &parts);
    if (call->arguments->collective != INTER_REDUCE) /* of which nothing is taken from others */
        HIER_SYNC(call, HIER_LEFT);
    hier_note_undone(call);
    HIER_OVER;
}

bool hier_thread_fold(hier_call *call) {
    bool one_result = inter_is(call->arguments->collective, INTER_BIT(INTER_REDUCE) | INTER_BIT(INTER_ALLREDUCE));
    bool fits = hier_single_node(call) || (one_result && hier_leaves_of(call)->own == 1);
    if (!fits)
        call->choice.thread = HIER_SLICES; /* which is told of */
    return call->choice.thread == HIER_INLINE ? by_inline(call) : by_slices(call);
}
