// SPDX-License-Identifier: BSD-3-Clause
/*
 * scatterv: nbFT/flags, nbFT/direct, the mirror of gatherv.
 *
 *     root's node:   every thread copies its block straight out of the root's send buffer
 *     other nodes:   every thread shows how much it expects, one message brings all of it into the leader's memory, and every
 *                    thread copies its own
 *     short blocks:  the root puts those of its node into a bundle (bundle.h), in its cell or on the tray where there are other nodes; there,
 *                    if the leader's is short, all come in into the slot's memory: nobody waits until they have been read
 *
 * A message is sent straight from the root's send buffer when its blocks lie one behind the other there; else the root puts
 * it together (blocks.h).
 *
 * Directly it has the short blocks, and says where the others lie (manifest.h): every thread takes its own, and in the root's buffer too.
 */
#include <core/error.h>
#include <hier/brief.h>
#include <hier/bundle.h>
#include <hier/manifest.h>
#include <string.h>

/* Of a block: from here on the memory of all slots, each of which is used in turn, would not stay in the cache. */
#define LONG_BYTES ((size_t)8 << 10)

static int no_memory(const hier_call *call) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: weft_scatterv: no memory for the blocks of a node",
                      hier_rank_of(call->comm));
}

/* Where the blocks of a node come in that is not the root's: where its leader says, or in the slot. */
static char *blocks_of_node(const hier_call *call) {
    char *of_leader = intra_offer_of(&call->meeting, 0)->recv;
    return of_leader ? of_leader : hier_slot_memory(call, hier_bytes_before(call, hier_threads(call)));
}

static int start(hier_call *call) {
    const intra_offer *host = intra_offer_of(&call->meeting, hier_host_thread(call));
    inter_view view = {.collective = INTER_SCATTERV,
                       .element_bytes = 1,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .root = call->root_node};
    inter_binding binding = {0};
    if (hier_on_root_node(call)) { /* whose own blocks are taken where they are */
        const hier_blocks *blocks = host->blocks;
        if (!blocks->offsets)
            return no_memory(call);
        hier_blocks_view(blocks, &view);
        binding.send = binding.recv = blocks->base;
    } else {
        view.count = hier_bytes_before(call, hier_threads(call));
        binding.recv = blocks_of_node(call);
        if (view.count && !binding.recv)
            return no_memory(call);
    }
    return hier_start(call, &view, &binding);
}

/* The blocks of the other threads of the node; false: they are too long. */
static bool bundle(hier_call *call, const hier_blocks *blocks) {
    const size_t threads = (size_t)hier_threads(call), root = (size_t)call->comm->thread;
    hier_bundling made =
        hier_single_node(call) ? hier_bundle_begin(call, threads) : hier_bundle_begin_aside(call, threads);
    for (size_t thread = 0; thread < threads; thread++)
        if (thread == root)
            hier_bundle_skip(&made, thread);
        else if (!hier_bundle_put(&made, thread, hier_block_of(blocks, hier_first_rank(call) + thread)))
            return false;
    return !hier_single_node(call) || hier_bundle_end(call, &made);
}

/* The threads of the node need not wait for what the root does for the others. */
static void give_all(hier_call *call) {
    hier_blocks *blocks = &call->blocks;
    *blocks = hier_sent_blocks(call->arguments);
    const bool several = !hier_single_node(call);
    if (!bundle(call, blocks))
        hier_bundle_nothing(call);
    if (several && !hier_is_direct(call))
        hier_blocks_join(call, blocks, call->comm->node);
    if (several || !call->meeting.mine.bundled)
        hier_show_blocks(call, blocks);
    intra_post(&call->meeting, HIER_OFFERED);
    if (!several)
        return;
    if (blocks->apart && blocks->offsets)
        hier_blocks_pack(call, blocks, call->comm->node);
    intra_post(&call->meeting, HIER_READY);
}

/* Of the root's node. */
static void take_from_root(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const bool gives = hier_is_root(call);
    if (!gives && hier_has_bundled(call, call->root_thread)) {
        const int own = call->comm->thread, root = call->root_thread;
        const hier_bundled block = {.bundle =
                                        hier_single_node(call) ? hier_bundle_of(call, root) : hier_bundle_aside(call),
                                    .thread = root,
                                    .index = (size_t)own,
                                    .blocks = (size_t)hier_threads(call),
                                    .before = (size_t)(own - (own > root))};
        hier_bundle_take(call, block, hier_own_received(call, 0, arguments->own_bytes));
        return;
    }
    const hier_blocks from =
        gives ? call->blocks : hier_shown_blocks(intra_offer_of(&call->meeting, call->root_thread));
    size_t self = (size_t)call->comm->rank, root = (size_t)arguments->root, bytes = hier_block_bytes(&from, self);
    if (hier_same_bytes(call, root, bytes, self, arguments->own_bytes))
        hier_move(call, hier_own_received(call, 0, bytes), hier_block_of(&from, self), (intra_slice){0, bytes});
}

static bool is_long(const hier_call *call) {
    return hier_threads(call) > 1 && call->arguments->own_bytes > LONG_BYTES;
}

/* What comes from another node. The only thread's own is in its place. */
static void take_from_message(const hier_call *call) {
    size_t bytes = call->arguments->own_bytes;
    if (hier_threads(call) > 1 && bytes)
        hier_move(call, hier_own_received(call, 0, bytes),
                  hier_run(blocks_of_node(call) + hier_bytes_before(call, call->comm->thread), bytes),
                  (intra_slice){0, bytes});
}

static core_data given(const hier_call *call, int root, size_t rank) {
    const hier_blocks blocks = hier_shown_blocks(intra_offer_of(&call->meeting, root));
    return hier_block_of(&blocks, rank);
}

static int start_directly(hier_call *call) {
    return hier_manifests_start(call, given, false);
}

/* On one node. */
static inline bool give(hier_call *call) {
    if (!hier_is_root(call))
        return true;
    call->blocks = hier_sent_blocks(call->arguments);
    if (!bundle(call, &call->blocks))
        return false;
    intra_post(&call->meeting, HIER_OFFERED);
    return true;
}

static inline bool take(hier_call *call) {
    if (!hier_is_root(call) && !hier_has_bundled(call, call->root_thread))
        return false;
    take_from_root(call);
    return true;
}

HIER_DEFINE_BRIEF(scatterv, INTRA_ALONE, give, hier_brief_root_offered, take)

static bool on_root_node(hier_call *call) {
    const bool root = hier_is_root(call);
    HIER_RESUME(call);
    if (hier_is_direct(call))
        hier_direct_network(call, call->root_thread, start_directly);
    else
        hier_network(call, call->root_thread, HIER_READY, start);
    if (root) {
        give_all(call);
        if (hier_is_direct(call))
            hier_drive_once(call, false);
    }
    HIER_ENTRANCE
    HIER_AWAIT(call, hier_await(call, call->root_thread, HIER_OFFERED));
    take_from_root(call);
    if (!intra_offer_of(&call->meeting, call->root_thread)->bundled) {
        intra_post(&call->meeting, HIER_LEFT);
        if (root)
            HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    }
    if (root || call->comm->thread == 0)
        HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}

static bool by_flags(hier_call *call) {
    const bool host = call->comm->thread == 0;
    HIER_RESUME(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start);
    hier_bundle_nothing(call);
    INTRA_SHOW(&call->meeting, send_size, call->arguments->own_bytes);
    INTRA_SHOW(&call->meeting, recv, hier_threads(call) == 1 ? call->arguments->recv : NULL);
    if (host && is_long(call)) {
        HIER_AWAIT(call, hier_await_all(call, HIER_READY));
        INTRA_SHOW(&call->meeting, recv, hier_scratch(call, hier_bytes_before(call, hier_threads(call))));
    }
    intra_post(&call->meeting, HIER_READY);
    HIER_AWAIT(call, hier_await_network(call));
    take_from_message(call);
    if (intra_offer_of(&call->meeting, 0)->recv) {
        intra_post(&call->meeting, HIER_LEFT);
        if (host)
            HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    }
    HIER_OVER;
}

/* Takes the own block out of the message from the root's node. Does somebody wait for this thread to have read it? */
static bool take_from_manifest(hier_call *call) {
    const size_t bytes = call->arguments->own_bytes;
    const core_data place = hier_own_received(call, 0, bytes);
    hier_manifest_reader reader = hier_manifest_open(call, call->root_node);
    hier_manifest_block block;
    hier_reads reads = hier_reads_begin(call, call->root_node, 1);
    while (hier_manifest_next(&reader, &block)) {
        if (block.destination != (size_t)call->comm->rank ||
            !hier_same_bytes(call, block.source, block.bytes, block.destination, bytes))
            continue;
        if (block.at_address)
            hier_manifest_read(call, &reads, &block, place);
        else
            hier_unpack(call, place, block.at, (intra_slice){0, bytes});
    }
    hier_reads_end(call, &reads);
    return reader.at_addresses;
}

/* Whoever comes first receives for all. */
static bool by_direct(hier_call *call) {
    HIER_RESUME(call);
    hier_direct_network(call, HIER_NEED_NONE, start_directly);
    intra_post(&call->meeting, HIER_OFFERED);
    HIER_AWAIT_END(call, hier_await_addresses(call));
    if (call->error || take_from_manifest(call))
        hier_have_read(call);
    if (call->comm->thread == 0)
        HIER_AWAIT(call, hier_await_readers(call));
    HIER_OVER;
}

bool hier_thread_scatterv(hier_call *call) {
    if (!call->at)
        hier_choose_without_counts(call);
    if (hier_on_root_node(call))
        return on_root_node(call);
    return hier_is_direct(call) ? by_direct(call) : by_flags(call);
}
