// SPDX-License-Identifier: BSD-3-Clause
/*
 * scatterv: nbFT/flags, the mirror of gatherv.
 *
 *     one node:      blocks that are short together go by the root's cell (bundle.h), and the root does not wait
 *     root's node:   every thread copies its block straight out of the root's send buffer
 *     other nodes:   every thread shows how much it expects, one message brings all of it into the leader's memory, and every
 *                    thread copies its own
 *
 * A message is sent straight from the root's send buffer when its blocks lie one behind the other there; else the root puts
 * it together (blocks.h).
 */
#include <core/error.h>
#include <hier/bundle.h>
#include <string.h>

static int no_memory(const hier_call *call) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: weft_scatterv: no memory for the blocks of a node", call->comm->rank);
}

static int start(hier_call *call) {
    const intra_offer *host = intra_offer_of(&call->meeting, hier_host_thread(call));
    inter_view view = {.collective = INTER_SCATTERV,
                       .element_bytes = 1,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .root = call->root_node};
    inter_binding binding = {.recv = host->recv};
    if (hier_on_root_node(call)) { /* whose own blocks are taken where they are */
        const hier_blocks *blocks = host->shared;
        if (!blocks->offsets)
            return no_memory(call);
        hier_blocks_view(blocks, &view);
        binding.send = binding.recv = blocks->base;
    } else {
        view.count = hier_bytes_before(call, hier_threads(call));
        if (view.count && !host->recv)
            return no_memory(call);
    }
    return hier_start(call, &view, &binding);
}

/* The threads of the node need not wait for what the root does for the others. */
static void offer(hier_call *call) {
    hier_blocks *blocks = &call->blocks;
    *blocks = hier_sent_blocks(call->arguments);
    INTRA_SHOW(&call->meeting, shared, blocks);
    if (!hier_single_node(call))
        hier_blocks_join(call, blocks, call->comm->node);
    intra_post(&call->meeting, HIER_OFFERED);
    if (blocks->apart && blocks->offsets)
        hier_blocks_pack(call, blocks, call->comm->node);
    intra_post(&call->meeting, HIER_READY);
}

static void take_from_root(hier_call *call, const hier_blocks *from) {
    const hier_arguments *arguments = call->arguments;
    size_t self = (size_t)call->comm->rank, root = (size_t)arguments->root, bytes = hier_block_bytes(from, self);
    if (hier_same_bytes(call, root, bytes, self, arguments->own_bytes))
        hier_move(hier_own_received(call, 0, bytes), hier_block_of(from, self), (intra_slice){0, bytes});
}

/* The leader's memory for the node's blocks, which may be where its own goes. */
static void offer_memory(hier_call *call) {
    int threads = hier_threads(call);
    INTRA_SHOW(&call->meeting, recv,
               threads == 1 ? call->arguments->recv : hier_scratch(call, hier_bytes_before(call, threads)));
    intra_post(&call->meeting, HIER_READY);
}

/* The message begins when the leader's memory is there, so where that is can be read when it has come. */
static void take_from_leader(const hier_call *call) {
    size_t bytes = call->arguments->own_bytes;
    if (hier_threads(call) > 1 && bytes)
        hier_move(
            hier_own_received(call, 0, bytes),
            hier_run((char *)intra_offer_of(&call->meeting, 0)->recv + hier_bytes_before(call, call->comm->thread),
                     bytes),
            (intra_slice){0, bytes});
}

/* Those of the other threads, into the root's cell; false: they are too long. */
static bool bundle(hier_call *call, const hier_blocks *blocks) {
    const size_t threads = (size_t)hier_threads(call), root = (size_t)call->comm->thread;
    hier_bundle *made = hier_bundle_begin(call, threads);
    bool fits = true;
    for (size_t thread = 0; thread < threads && fits; thread++)
        fits = hier_bundle_put(made, thread, thread == root ? hier_run(NULL, 0) : hier_block_of(blocks, thread));
    return fits;
}

static void give(hier_call *call) {
    hier_blocks *blocks = &call->blocks;
    *blocks = hier_sent_blocks(call->arguments);
    if (!bundle(call, blocks)) {
        hier_bundle_nothing(call);
        INTRA_SHOW(&call->meeting, shared, blocks);
    }
    intra_post(&call->meeting, HIER_OFFERED);
}

static bool on_one_node(hier_call *call) {
    const int root = call->root_thread;
    const size_t bytes = call->arguments->own_bytes;
    const bool gives = hier_is_root(call);
    HIER_RESUME(call);
    if (gives)
        give(call);
    HIER_AWAIT(call, hier_await(call, root, HIER_OFFERED));
    if (!gives && hier_has_bundled(call, root)) {
        hier_bundle_take(call, root, (size_t)call->comm->thread, hier_own_received(call, 0, bytes));
        return true;
    }
    take_from_root(call, gives ? &call->blocks : intra_offer_of(&call->meeting, root)->shared);
    if (call->error || (gives && call->meeting.mine.bundled))
        return true;
    intra_post(&call->meeting, HIER_LEFT);
    if (gives)
        HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    HIER_OVER;
}

static bool between_nodes(hier_call *call) {
    int thread = call->comm->thread;
    bool host = thread == hier_host_thread(call);
    HIER_RESUME(call);
    hier_choose_without_counts(call);
    hier_network(call, hier_host_thread(call), HIER_READY, start);
    if (hier_on_root_node(call)) {
        if (host)
            offer(call);
        HIER_AWAIT(call, hier_await(call, call->root_thread, HIER_OFFERED));
        take_from_root(call, intra_offer_of(&call->meeting, call->root_thread)->shared);
    } else {
        INTRA_SHOW(&call->meeting, send_size, call->arguments->own_bytes);
        HIER_SYNC(call, HIER_OFFERED);
        if (thread == 0)
            offer_memory(call);
        HIER_AWAIT(call, hier_await_network(call));
        take_from_leader(call);
    }
    if (call->error)
        return true;
    intra_post(&call->meeting, HIER_LEFT);
    if (host)
        HIER_AWAIT(call, hier_await_all(call, HIER_LEFT));
    if (host || thread == 0)
        HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}

bool hier_thread_scatterv(hier_call *call) {
    return hier_single_node(call) ? on_one_node(call) : between_nodes(call);
}
