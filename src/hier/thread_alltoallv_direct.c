// SPDX-License-Identifier: BSD-3-Clause
/*
 * alltoallv, alltoallw between processes of one host that may read each other's memory: nb1FT/direct, by manifests (manifest.h).
 *
 *     threads    show their blocks │                                        │ unpack, read │
 *     network                      │ strand 0: short blocks, and addresses  │              │ strand 1: all is read
 *
 * Where no thread has shown an address, nor got one, nobody waits.
 */
#include <hier/alltoallv.h>
#include <hier/manifest.h>

_Static_assert(HIER_BUNDLE_BYTES_BETWEEN <= 1024, "what is bundled is short");

static int start(hier_call *call) {
    if (!hier_alltoallv_has_memory(call))
        return call->error;
    return hier_manifests_start(call, hier_alltoallv_given, hier_any_offers(call));
}

/* A block for this thread. */
static void take_block(hier_call *call, hier_reads *reads, const hier_manifest_block *block) {
    if (!block->at_address) {
        hier_alltoallv_unpack(call, block->source, block->at, block->bytes);
        return;
    }
    core_data place = hier_alltoallv_place(call, block->source);
    if (hier_same_bytes(call, block->source, block->bytes, (size_t)call->comm->rank, core_data_bytes(place)))
        hier_manifest_read(call, reads, block, place);
}

/* Out of the message from a node. True: it tells addresses. */
static bool take_from(hier_call *call, int node) {
    hier_manifest_reader reader = hier_manifest_open(call, node);
    hier_manifest_block block;
    hier_reads reads = hier_reads_begin(call, node, reader.blocks / reader.getters);
    while (hier_manifest_next(&reader, &block))
        if (block.destination == (size_t)call->comm->rank && !call->error)
            take_block(call, &reads, &block);
    hier_reads_end(call, &reads);
    return reader.at_addresses;
}

/* All that comes from other nodes. Does somebody wait for this one to have read it? */
static bool take(hier_call *call) {
    const int nodes = call->comm->layout->nodes, own = call->comm->node;
    bool awaited = hier_any_offers(call);
    for (int i = 1; i < nodes; i++) /* not all from the same one at once */
        awaited |= take_from(call, (own + i) % nodes);
    return awaited;
}

/* Are the long blocks for other nodes read from copies: since one lies in several runs, or since it pays? */
static bool are_copied(const hier_call *call, const intra_offer *mine) {
    const size_t short_bytes = hier_manifest_packed_bytes(call);
    size_t all = 0;
    bool any = false, apart = false;
    for (size_t rank = 0; rank < (size_t)call->comm->size; rank++) {
        core_data block = hier_alltoallv_block(mine, rank);
        const size_t bytes = core_data_bytes(block);
        all += bytes;
        if (hier_is_of_node(call, rank) || bytes <= short_bytes)
            continue;
        any = true;
        apart |= !block.type->contiguous;
    }
    return apart || (any && hier_shows_copies(call, all));
}

static void show(hier_call *call) {
    intra_offer *mine = hier_alltoallv_mine(call);
    if (!hier_alltoallv_bundle(call, mine, 0))
        hier_alltoallv_offer(call, mine, call->arguments->in_place || are_copied(call, mine));
}

bool hier_alltoallv_directly(hier_call *call) {
    HIER_RESUME(call);
    show(call);
    hier_direct_network(call, HIER_NEED_ALL, start);
    HIER_SYNC(call, HIER_OFFERED);
    if (hier_any_offers(call))
        hier_drive_once(call, false);
    if (hier_alltoallv_has_memory(call))
        hier_alltoallv_copy_local(call);
    HIER_AWAIT_END(call, hier_await_addresses(call));
    if (call->error || take(call))
        hier_have_read(call);
    HIER_AWAIT(call, hier_await_readers(call));
    HIER_OVER;
}
