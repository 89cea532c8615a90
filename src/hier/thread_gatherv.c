// SPDX-License-Identifier: BSD-3-Clause
/*
 * gatherv: nb1FT/flags, nb1FT/direct. As gather, but only the root knows all counts; other nodes add up those of their threads.
 *
 *     root's node:   every thread copies its block straight to its place in the root's receive buffer
 *     other nodes:   every thread shows how much it has, the leader finds memory for it, every thread copies its block
 *                    there, and the node sends all of them as one message
 *     short blocks:  go by their threads' cells (bundle.h), from which the root takes them, and nobody else waits; on other nodes whoever
 *                    starts the network part, if the leader's is short, and then takes those that are not from where they are
 *
 * Such a message goes straight to its place in the root's receive buffer when its blocks lie one behind the other there;
 * else the root takes it apart (blocks.h).
 *
 * Directly such a message has the short blocks, and says where the others lie (manifest.h); those of the root's node whose own blocks are
 * long read them, straight to their places, while who has a short one, there or elsewhere, waits for nothing.
 */
#include <core/error.h>
#include <hier/brief.h>
#include <hier/bundle.h>
#include <hier/manifest.h>
#include <string.h>

static int no_memory(const hier_call *call) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: weft_gatherv: no memory for the blocks of a node",
                      hier_rank_of(call->comm));
}

/* On another node: does whoever starts the network part put its message together? */
static bool goes_by_cells(const hier_call *call) {
    return hier_has_bundled(call, 0);
}

/* What a thread of this node has, in its cell or where it has shown it. */
static core_data given(const hier_call *call, int thread, size_t root) {
    const size_t bytes = hier_shown_bytes(call, thread);
    (void)root;
    if (intra_offer_of(&call->meeting, thread)->bundled)
        return hier_run(hier_bundle_at(hier_bundle_of(call, thread), 0), bytes);
    return hier_sent_by(call, thread, 0, bytes);
}

/* In the slot; NULL without memory. */
static const void *put_together(const hier_call *call, size_t bytes) {
    char *blocks = hier_slot_memory(call, bytes);
    char *next = blocks;
    for (int thread = 0; blocks && thread < hier_threads(call); thread++) {
        const core_data block = given(call, thread, (size_t)call->arguments->root);
        const size_t own = core_data_bytes(block);
        hier_pack(next, block, own); /* perhaps for another thread: not hier_move(), which turns it */
        next += own;
    }
    return blocks;
}

static int start(hier_call *call) {
    const intra_offer *host = intra_offer_of(&call->meeting, hier_host_thread(call));
    inter_view view = {.collective = INTER_GATHERV,
                       .element_bytes = 1,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .root = call->root_node};
    inter_binding binding = {.send = host->recv};
    if (hier_on_root_node(call)) { /* whose own blocks are in their places */
        const hier_blocks *blocks = host->blocks;
        if (!blocks->offsets)
            return core_error(WEFT_ERR_NOMEM, "rank %d: weft_gatherv: no memory for the blocks of other nodes",
                              hier_rank_of(call->comm));
        hier_blocks_view(blocks, &view);
        binding.send = binding.recv = blocks->base;
    } else {
        view.count = hier_bytes_before(call, hier_threads(call));
        if (goes_by_cells(call))
            binding.send = put_together(call, view.count);
        if (view.count && !binding.send)
            return no_memory(call);
    }
    return hier_start(call, &view, &binding);
}

/* On the root's node. */
static void put_at_root(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const hier_blocks blocks = hier_shown_blocks(intra_offer_of(&call->meeting, call->root_thread));
    size_t self = (size_t)call->comm->rank, expected = hier_block_bytes(&blocks, self);
    if (hier_same_bytes(call, self, arguments->own_bytes, (size_t)arguments->root, expected))
        hier_move(call, hier_block_of(&blocks, self), hier_own_sent(call, 0, expected), (intra_slice){0, expected});
}

static void show_places(hier_call *call) {
    hier_bundle_nothing(call);
    hier_show_blocks(call, &call->blocks);
    intra_post(&call->meeting, HIER_OFFERED);
}

static void offer_places(hier_call *call) {
    call->blocks = hier_received_blocks(call->arguments);
    if (!hier_single_node(call) && !hier_is_direct(call))
        hier_blocks_join(call, &call->blocks, call->comm->node);
    show_places(call);
}

/* The leader's memory for the node's blocks, which may be its own block itself. What was bundled it puts there for its thread. */
static void offer_memory(hier_call *call) {
    int threads = hier_threads(call);
    char *blocks =
        threads == 1 ? (char *)(uintptr_t)call->arguments->send : hier_scratch(call, hier_bytes_before(call, threads));
    INTRA_SHOW(&call->meeting, recv, blocks);
    intra_post(&call->meeting, HIER_PLANNED);
    for (int thread = 1; blocks && thread < threads; thread++) {
        blocks += hier_shown_bytes(call, thread - 1);
        if (hier_has_bundled(call, thread))
            hier_bundle_take_one(call, thread, hier_run(blocks, hier_shown_bytes(call, thread)));
    }
}

/* On another node. What the threads before have was seen when all had shown it. */
static void put_beside(hier_call *call) {
    size_t own_bytes = call->arguments->own_bytes;
    char *blocks = intra_offer_of(&call->meeting, 0)->recv;
    if (blocks && own_bytes && hier_threads(call) > 1)
        hier_move(call, hier_run(blocks + hier_bytes_before(call, call->comm->thread), own_bytes),
                  hier_own_sent(call, 0, own_bytes), (intra_slice){0, own_bytes});
    else if (!blocks && hier_bytes_before(call, hier_threads(call)))
        call->error = no_memory(call);
}

/* The root's, when all is there: takes what is in its node's cells, and notices who had another block than expected. */
static void receive_local(hier_call *call, const hier_blocks *blocks) {
    size_t first = hier_first_rank(call), root = (size_t)call->comm->rank;
    for (int thread = 0; thread < hier_threads(call); thread++) {
        size_t rank = first + (size_t)thread;
        if (rank == root)
            continue;
        if (hier_has_bundled(call, thread))
            hier_bundle_take_one(call, thread, hier_block_of(blocks, rank));
        else
            hier_same_bytes(call, rank, intra_offer_of(&call->meeting, thread)->send_size, root,
                            hier_block_bytes(blocks, rank));
    }
}

/* And takes messages apart. */
static void receive(hier_call *call, const hier_blocks *blocks) {
    if (blocks->apart)
        hier_blocks_unpack(call, blocks, blocks, call->comm->node);
    receive_local(call, blocks);
}

/* The root's block does not go by its cell: there it shows what the others need to know. */
static void bundle_or_offer(hier_call *call) {
    const size_t bytes = call->arguments->own_bytes;
    const bool root = hier_is_root(call);
    if (!root && hier_bundle_one(call, hier_own_sent(call, 0, bytes)))
        return;
    if (root) {
        offer_places(call);
        return;
    }
    hier_bundle_nothing(call);
    INTRA_SHOW(&call->meeting, send_size, bytes);
    INTRA_SHOW(&call->meeting, send, call->arguments->send);
    hier_show_layout(call);
    if (hier_is_direct(call) && !hier_on_root_node(call) && bytes > hier_manifest_short_bytes(call)) {
        INTRA_SHOW(&call->meeting, send, hier_direct_run(call, hier_own_sent(call, 0, bytes)));
        INTRA_SHOW(&call->meeting, laid_out, NULL);
    }
}

/* Of the root, and of a leader whose memory the node's blocks are in. */
static bool host_stays(const hier_call *call) {
    return call->comm->thread == hier_host_thread(call) && (hier_on_root_node(call) || !goes_by_cells(call));
}

/* Is the own block taken from where it is when the network part starts? */
static bool is_read_late(const hier_call *call) {
    return !call->meeting.mine.bundled && !hier_on_root_node(call) && goes_by_cells(call);
}

/* On one node; what a thread has too much of for its cell it puts straight into the root's memory. */
static inline bool give(hier_call *call) {
    if (!hier_is_root(call)) {
        if (!hier_bundle_one(call, hier_own_sent(call, 0, call->arguments->own_bytes)))
            return false;
    } else {
        call->blocks = hier_received_blocks(call->arguments);
        show_places(call);
        put_at_root(call);
    }
    intra_post(&call->meeting, HIER_READY);
    return true;
}

static inline bool take_bundles(hier_call *call) {
    if (hier_is_root(call))
        receive(call, &call->blocks);
    return true;
}

HIER_DEFINE_BRIEF(gatherv, INTRA_ALONE, give, hier_brief_others, take_bundles)

static bool by_flags(hier_call *call) {
    const int thread = call->comm->thread;
    const bool host = thread == hier_host_thread(call);
    HIER_RESUME(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start);
    bundle_or_offer(call);
    if (!call->meeting.mine.bundled && hier_on_root_node(call)) {
        HIER_AWAIT(call, hier_await(call, call->root_thread, HIER_OFFERED));
        put_at_root(call);
    } else if (!call->meeting.mine.bundled) {
        intra_post(&call->meeting, HIER_OFFERED);
        HIER_AWAIT(call, hier_await(call, 0, HIER_OFFERED));
        if (!goes_by_cells(call)) {
            HIER_AWAIT(call, hier_await_sync(call, HIER_OFFERED));
            if (host)
                offer_memory(call);
            HIER_AWAIT(call, hier_await(call, 0, HIER_PLANNED));
            put_beside(call);
        }
    }
    if (call->error)
        return true;
    intra_post(&call->meeting, HIER_READY);
    HIER_ENTRANCE
    if (host && hier_single_node(call))
        HIER_AWAIT(call, hier_await_all(call, HIER_READY));
    if (host_stays(call) || is_read_late(call) || !hier_may_go(call))
        HIER_AWAIT(call, hier_await_network(call));
    if (hier_is_root(call))
        receive(call, &call->blocks);
    HIER_OVER;
}

static int start_directly(hier_call *call) {
    return hier_manifests_start(call, given, false);
}

/*
 * On the root's node those who share in reading are the root, and who has a block there that does not fit into its cell, as far as the root
 * expects: `index`, and how many there are.
 */
typedef struct share {
    size_t index, of;
} share;

static bool reads(const hier_call *call, const hier_blocks *blocks, int thread) {
    return thread == call->root_thread ||
           hier_block_bytes(blocks, hier_first_rank(call) + (size_t)thread) > hier_bundle_most(call);
}

static share own_share(const hier_call *call, const hier_blocks *blocks) {
    share own = {SIZE_MAX, 0};
    for (int thread = 0; thread < hier_threads(call); thread++) {
        if (!reads(call, blocks, thread))
            continue;
        if (thread == call->comm->thread)
            own.index = own.of;
        own.of++;
    }
    return own;
}

/* Out of the message from a node. The root takes the short blocks, and is who says that one is of another length than expected. */
static bool take_from(hier_call *call, const hier_blocks *blocks, share own, int node) {
    const bool root = hier_is_root(call);
    hier_manifest_reader reader = hier_manifest_open(call, node);
    hier_manifest_block block;
    hier_reads reads = hier_reads_begin(call, node, reader.blocks);
    for (size_t index = 0, next = own.index; hier_manifest_next(&reader, &block); index++) {
        const bool mine = index == next;
        next += mine ? own.of : 0;
        const core_data place = hier_block_of(blocks, block.source);
        const bool same =
            root ? hier_same_bytes(call, block.source, block.bytes, block.destination, core_data_bytes(place))
                 : block.bytes == core_data_bytes(place);
        if (same && block.at_address && mine)
            hier_manifest_read(call, &reads, &block, place);
        else if (same && !block.at_address && root)
            hier_unpack(call, place, block.at, (intra_slice){0, block.bytes});
    }
    hier_reads_end(call, &reads);
    return reader.at_addresses;
}

/* All that comes from other nodes. Does somebody wait for this one to have read it? */
static bool take(hier_call *call) {
    const int nodes = call->comm->layout->nodes, node = call->comm->node;
    const hier_blocks blocks =
        hier_is_root(call) ? call->blocks : hier_shown_blocks(intra_offer_of(&call->meeting, call->root_thread));
    const share own = own_share(call, &blocks);
    bool awaited = false;
    for (int i = 1; i < nodes; i++)
        awaited |= take_from(call, &blocks, own, (node + i) % nodes);
    hier_tell_unread(call);
    return awaited;
}

static bool by_direct(hier_call *call) {
    const bool root = hier_is_root(call), on_root_node = hier_on_root_node(call);
    HIER_RESUME(call);
    hier_direct_network(call, HIER_NEED_ALL, start_directly);
    bundle_or_offer(call);
    if (call->meeting.mine.bundled || !on_root_node) {
        hier_read_nothing(call);
    } else {
        intra_post(&call->meeting, HIER_OFFERED);
        HIER_AWAIT(call, hier_await(call, call->root_thread, HIER_OFFERED));
        put_at_root(call);
        hier_drive_once(call, false);
        HIER_AWAIT_END(call, hier_await_addresses(call));
        if (call->error || take(call))
            hier_have_read(call);
        else
            intra_post(&call->meeting, HIER_READY);
    }
    if (root || !(call->meeting.mine.bundled || on_root_node) || !hier_may_go(call))
        HIER_AWAIT(call, hier_await_readers(call));
    if (root) {
        HIER_AWAIT(call, hier_await_all(call, HIER_READY));
        receive_local(call, &call->blocks);
        hier_note_unread(call);
    }
    HIER_OVER;
}

bool hier_thread_gatherv(hier_call *call) {
    if (!call->at)
        hier_choose_without_counts(call);
    return hier_is_direct(call) ? by_direct(call) : by_flags(call);
}
