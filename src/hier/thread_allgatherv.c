// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgatherv: nbBKT/flags, nbBKT/slices; nbFT/direct: thread_allgather_direct.c.
 *
 *     one node:       every thread copies everybody's block, a short one from its owner's cell (bundle.h), else straight from him; of
 *                     two with long blocks, about as long, each gives its own to both
 *     several nodes:  the threads put their blocks where the leader has them, the schedule works there in place, and all
 *                     threads copy the blocks from there; by slices each a part of every block, to all
 *
 *     … short blocks: go by their threads' cells; who drives the network brings them together on the tray, where the schedule works
 *
 * The leader has the blocks in its receive buffer when each node's lie one behind the other there; else in memory of its own
 * (blocks.h), from which it copies too. The ranks may have them at different displacements.
 */
#include <core/error.h>
#include <hier/allgather.h>
#include <hier/brief.h>
#include <hier/bundle.h>
#include <string.h>

static int no_memory(const hier_call *call) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: weft_allgatherv: no memory for the blocks", hier_rank_of(call->comm));
}

static int start(hier_call *call) {
    const hier_blocks *blocks = intra_offer_of(&call->meeting, 0)->shared;
    int node = call->comm->node;
    inter_view view = {
        .collective = INTER_ALLGATHERV, .element_bytes = 1, .rank = node, .size = call->comm->layout->nodes};
    hier_blocks_view(blocks, &view);
    inter_binding binding = {.send = hier_joined_at(call, blocks, node, hier_first_rank(call)), .recv = blocks->base};
    return hier_start(call, &view, &binding);
}

/* Puts the own block to where the leader has it, if it is as long as that expects; false, and the call's error set, without memory. */
static bool put_block(hier_call *call, const hier_blocks *joined) {
    const hier_arguments *arguments = call->arguments;
    size_t self = (size_t)call->comm->rank, bytes = arguments->own_bytes;
    if (!joined->offsets) {
        call->error = no_memory(call);
        return false;
    }
    if (hier_same_bytes(call, self, bytes, hier_first_rank(call), hier_block_bytes(joined, self)))
        hier_move(call, hier_run(hier_joined_at(call, joined, call->comm->node, self), bytes),
                  hier_own_sent(call, 0, bytes), (intra_slice){0, bytes});
    return true;
}

static void offer(hier_call *call) {
    call->blocks = hier_received_blocks(call->arguments);
    INTRA_SHOW(&call->meeting, send, call->arguments->send);
    INTRA_SHOW(&call->meeting, send_size, call->arguments->own_bytes);
    INTRA_SHOW(&call->meeting, shared, &call->blocks);
    hier_show_layout(call);
    if (call->comm->thread == 0 && !hier_single_node(call))
        hier_blocks_join(call, &call->blocks, -1);
}

static const hier_blocks *joined_of(const hier_call *call) {
    return intra_offer_of(&call->meeting, 0)->shared;
}

static core_data place_at(const hier_call *call, int thread) {
    const hier_blocks *expected = intra_offer_of(&call->meeting, thread)->shared;
    return hier_block_of(expected, (size_t)call->comm->thread);
}

/*
 * Of two threads, which see that alike, from what both have shown: the longer block is not twice as long, or one would wait for the other.
 * What this one has shown it knows: its cell's line has moved to the other, and would take its way back.
 */
static bool gives(const hier_call *call) {
    const intra_offer *mine = &call->meeting.mine;
    const int other = 1 - call->comm->thread;
    if (hier_threads(call) != 2 || mine->bundled || hier_has_bundled(call, other))
        return false;
    const size_t own = mine->send_size, others = intra_offer_of(&call->meeting, other)->send_size;
    const size_t least = own < others ? own : others, most = own < others ? others : own;
    return least >= HIER_GIVEN_LEAST && most / 2 < least;
}

static void take(hier_call *call, int thread, core_data to) {
    const size_t bytes = intra_offer_of(&call->meeting, thread)->send_size, expected = core_data_bytes(to);
    if (hier_same_bytes(call, (size_t)thread, bytes, (size_t)call->comm->rank, expected))
        hier_move_of(call, to, hier_sent_by(call, thread, 0, bytes), (intra_slice){0, bytes},
                     hier_gathered_share(call, bytes));
}

static void copy_own(hier_call *call, bool given) {
    if (given)
        hier_give_out(call, hier_own_sent(call, 0, call->arguments->own_bytes), place_at);
    else
        take(call, call->comm->thread, hier_block_of(&call->blocks, (size_t)call->comm->rank));
}

/*
 * On one node; not all from the same one at once. The own block first, while its lines are this cache's alone: when others read it, too, they
 * would have to come back. But in a cell it is another's, and last, since the others' are on their way meanwhile.
 */
static void copy_blocks(hier_call *call) {
    const int threads = hier_threads(call);
    const bool given = gives(call), bundled = call->meeting.mine.bundled;
    if (!bundled)
        copy_own(call, given);
    for (int i = 1, thread = call->comm->thread; i < threads; i++) {
        thread = thread + 1 < threads ? thread + 1 : 0;
        const core_data to = hier_block_of(&call->blocks, (size_t)thread);
        if (hier_has_bundled(call, thread))
            hier_bundle_take_one(call, thread, to);
        else if (!given)
            take(call, thread, to);
    }
    if (bundled)
        copy_own(call, given);
}

/* Bundles the own block; of what it would offer, which it keeps in mind, it copies that to its place. */
static inline bool give(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    if (!hier_bundle_one(call, hier_own_sent(call, 0, arguments->own_bytes)))
        return false;
    call->blocks = hier_received_blocks(arguments);
    call->meeting.mine.send = arguments->send;
    call->meeting.mine.send_size = arguments->own_bytes;
    call->meeting.mine.laid_out = arguments->laid_out ? arguments : NULL;
    intra_post(&call->meeting, HIER_OFFERED);
    return true;
}

static inline bool take_bundles(hier_call *call) {
    if (hier_any_offers(call))
        return false;
    copy_blocks(call);
    return true;
}

HIER_DEFINE_BRIEF(allgatherv, INTRA_TOGETHER, give, hier_brief_offered, take_bundles)

static bool on_one_node(hier_call *call) {
    HIER_RESUME(call);
    if (!give(call)) {
        offer(call);
        hier_bundle_nothing(call);
        intra_post(&call->meeting, HIER_OFFERED);
    }
    HIER_ENTRANCE
    HIER_AWAIT(call, hier_await_sync(call, HIER_OFFERED));
    if (take_bundles(call))
        return true;
    copy_blocks(call);
    HIER_SYNC(call, HIER_LEFT);
    HIER_OVER;
}

/*
 * Several nodes, where all blocks together find room on the tray and those of this node in its cells. All of its threads see that alike, and
 * for other nodes it makes no difference.
 */
static bool goes_by_tray(const hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const size_t size = arguments->recv_type->size_bytes, most = call->meeting.team->tray_bytes;
    size_t all = 0;
    for (size_t rank = 0; rank < (size_t)call->comm->size; rank++) {
        size_t bytes = arguments->recv_counts[rank] * size;
        if (bytes > most - all || (bytes > HIER_BUNDLE_BYTES_BETWEEN && hier_is_of_node(call, rank)))
            return false;
        all += bytes;
    }
    return true;
}

/* The blocks on the tray, in rank order, one behind the other. */
static bool lie_on_tray(const hier_call *call, hier_blocks *made) {
    const hier_layout *layout = call->comm->layout;
    size_t *offsets = hier_more_scratch(call, HIER_PLAN, ((size_t)layout->nodes + 1) * sizeof(*offsets));
    if (!offsets)
        return false;
    *made = hier_received_blocks(call->arguments);
    made->offsets = made->places = offsets;
    made->base = intra_tray(&call->meeting);
    made->in_order = true;
    offsets[0] = 0;
    for (int node = 0; node < layout->nodes; node++) {
        offsets[node + 1] = offsets[node];
        for (size_t rank = layout->offsets[node]; rank < layout->offsets[node + 1]; rank++)
            offsets[node + 1] += hier_block_bytes(made, rank);
    }
    return true;
}

/* By who drives, whose cell its own block is in too. */
static int start_on_tray(hier_call *call) {
    const int node = call->comm->node;
    hier_blocks joined;
    if (!lie_on_tray(call, &joined))
        return no_memory(call);
    char *own = joined.base + joined.offsets[node], *place = own;
    for (int thread = 0; thread < hier_threads(call); thread++) {
        const hier_bundle *bundle = hier_bundle_of(call, thread);
        memcpy(place, hier_bundle_data(bundle), bundle->ends[0]);
        place += hier_block_bytes(&joined, hier_first_rank(call) + (size_t)thread);
    }
    inter_view view = {
        .collective = INTER_ALLGATHERV, .element_bytes = 1, .rank = node, .size = call->comm->layout->nodes};
    hier_blocks_view(&joined, &view);
    return hier_start(call, &view, &(inter_binding){.send = own, .recv = joined.base});
}

static bool by_tray(hier_call *call) {
    hier_blocks joined;
    HIER_RESUME(call);
    (void)hier_bundle_one(call, hier_own_sent(call, 0, call->arguments->own_bytes)); /* as long as its count says */
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_on_tray);
    intra_post(&call->meeting, HIER_READY);
    HIER_AWAIT(call, hier_await_network(call));
    call->blocks = hier_received_blocks(call->arguments);
    if (lie_on_tray(call, &joined))
        hier_blocks_unpack(call, &joined, &call->blocks, -1);
    else
        call->error = no_memory(call);
    HIER_OVER;
}

/* This thread's part of all blocks to a thread's buffer, which says itself what it misses. */
static void copy_slices(const hier_call *call, const hier_blocks *joined, const hier_blocks *to) {
    const hier_layout *layout = call->comm->layout;
    for (int node = 0; node < layout->nodes; node++) {
        const char *place = joined->base + joined->places[node];
        for (size_t rank = layout->offsets[node]; rank < layout->offsets[node + 1]; rank++) {
            const size_t bytes = hier_block_bytes(joined, rank);
            if (hier_block_bytes(to, rank) == bytes)
                hier_move(call, hier_block_of(to, rank), hier_run(place, bytes),
                          hier_share(call, (intra_slice){0, bytes}));
            place += bytes;
        }
    }
}

/* From where the leader has them; he does not copy what is in its place. */
static void copy_out(hier_call *call) {
    const hier_blocks *joined = joined_of(call), *mine = &call->blocks;
    const int threads = hier_threads(call), self = call->comm->thread;
    if (!hier_by_slices(call)) {
        if (self || joined->apart)
            hier_blocks_unpack(call, joined, mine, -1);
        return;
    }
    for (size_t rank = 0; rank < (size_t)call->comm->size; rank++)
        (void)hier_same_bytes(call, rank, hier_block_bytes(joined, rank), (size_t)call->comm->rank,
                              hier_block_bytes(mine, rank));
    for (int i = 0; i < threads; i++) {
        const int to = (self + i) % threads; /* not all to the same one at once */
        if (to || joined->apart)
            copy_slices(call, joined, intra_offer_of(&call->meeting, to)->shared);
    }
}

static bool between_nodes(hier_call *call) {
    HIER_RESUME(call);
    offer(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start);
    HIER_SYNC(call, HIER_OFFERED);
    if (!put_block(call, joined_of(call)))
        return true;
    intra_post(&call->meeting, HIER_READY);
    HIER_AWAIT(call, hier_await_network(call));
    copy_out(call);
    HIER_SYNC(call, HIER_LEFT);
    HIER_OVER;
}

bool hier_thread_allgatherv(hier_call *call) {
    if (hier_single_node(call))
        return on_one_node(call);
    if (hier_is_direct(call)) /* first: all nodes must do that alike */
        return hier_allgather_directly(call);
    return goes_by_tray(call) ? by_tray(call) : between_nodes(call);
}
