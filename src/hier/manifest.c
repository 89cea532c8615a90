// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/manifest.h>

static hier_manifests *manifests_of(const hier_slot *slot) {
    return slot->scratch.memory;
}

/* The ranks of a node that give, or get: all, or the root alone (`only`: its node). */
static size_t ranks_on(const hier_layout *layout, int node, int only) {
    return only < 0 ? (size_t)hier_layout_threads(layout, node) : node == only;
}

static size_t ranks_before(const hier_layout *layout, int node, int only) {
    return only < 0 ? layout->offsets[node] : node > only;
}

/* A message from one node to another: how many blocks it is about, how many bytes it has at most, and where it lies behind others. */
static size_t blocks_between(const hier_manifests *of, int giver, int getter) {
    return ranks_on(of->layout, giver, of->only_giver) * ranks_on(of->layout, getter, of->only_getter);
}

/* As much for each block, lest messages that lie one behind the other overlap: a word for its part of the head, and an address is short, too. */
static size_t room_for(const hier_manifests *of, size_t blocks) {
    return blocks * (sizeof(uint64_t) + of->short_bytes);
}

static size_t place_for(const hier_manifests *of, int node) {
    return room_for(of,
                    ranks_on(of->layout, of->node, of->only_giver) * ranks_before(of->layout, node, of->only_getter));
}

static size_t place_from(const hier_manifests *of, int node) {
    return room_for(of,
                    ranks_on(of->layout, of->node, of->only_getter) * ranks_before(of->layout, node, of->only_giver));
}

/* NULL without memory. Behind the messages that go out is a byte to answer with, behind those that come in room for an answer of each node. */
static hier_manifests *prepare(hier_call *call, bool shows) {
    const enum inter_collective collective = call->arguments->collective;
    const int nodes = call->comm->layout->nodes;
    const hier_manifests of = {.layout = call->comm->layout,
                               .node = call->comm->node,
                               .only_giver = hier_scatters(collective) ? call->root_node : -1,
                               .only_getter = hier_gathers(collective) ? call->root_node : -1,
                               .short_bytes = hier_manifest_short_bytes(call),
                               .shows = shows};
    const size_t out = place_for(&of, nodes), in = place_from(&of, nodes);
    hier_manifests *made = intra_scratch_take(&call->slot->scratch, sizeof(*made) + out + 1 + in + (size_t)nodes);
    if (!made)
        return NULL;
    *made = of;
    made->outgoing = (char *)(made + 1);
    made->incoming = made->outgoing + out + 1;
    made->outgoing[out] = 0;
    return made;
}

/* What is in a message. */
typedef struct content {
    size_t bytes;    /* of the message … */
    size_t told;     /* … and of the blocks */
    bool at_address; /* some of them */
} content;

/* Puts a block into a message, or where it is, if it has more than so many bytes. */
static void write_block(content *made, core_data block, size_t packed_bytes, char *message, size_t entry) {
    const size_t bytes = core_data_bytes(block);
    const bool at_address = bytes > packed_bytes;
    const uint16_t length = at_address ? HIER_MANIFEST_AT_ADDRESS : (uint16_t)bytes;
    memcpy(message + entry * sizeof(length), &length, sizeof(length));
    if (at_address) {
        const hier_manifest_address told = {bytes, (uintptr_t)block.buffer};
        memcpy(message + made->bytes, &told, sizeof(told));
        made->bytes += sizeof(told);
    } else {
        hier_pack(message + made->bytes, block, bytes);
        made->bytes += bytes;
    }
    made->told += bytes;
    made->at_address |= at_address;
}

static content write_message(const hier_call *call, const hier_manifests *of, int node, hier_manifest_given *given) {
    const hier_layout *layout = of->layout;
    const size_t first = of->only_getter < 0 ? layout->offsets[node] : (size_t)call->arguments->root;
    const size_t getters = ranks_on(layout, node, of->only_getter), blocks = blocks_between(of, of->node, node);
    const size_t first_thread = of->only_giver < 0 ? 0 : (size_t)call->root_thread;
    char *message = of->outgoing + place_for(of, node);
    content made = {.bytes = hier_manifest_head_bytes(blocks)};
    for (size_t entry = 0, thread = first_thread; entry < blocks; thread++) {
        const bool bundled = intra_offer_of(&call->meeting, (int)thread)->bundled;
        const size_t packed_bytes = bundled ? of->short_bytes : hier_manifest_packed_bytes(call);
        for (size_t i = 0; i < getters; i++, entry++)
            write_block(&made, given(call, (int)thread, first + i), packed_bytes, message, entry);
    }
    return made;
}

/* Does a message tell where a block lies? */
static bool tells_addresses(const char *message, size_t blocks) {
    uint16_t length;
    for (size_t i = 0; i < blocks; i++) {
        memcpy(&length, message + i * sizeof(length), sizeof(length));
        if (length == HIER_MANIFEST_AT_ADDRESS)
            return true;
    }
    return false;
}

static bool node_tells_addresses(const hier_manifests *of, int node) {
    return node != of->node && tells_addresses(of->incoming + place_from(of, node), blocks_between(of, node, of->node));
}

/* When all messages are here: those who have told no address get no answer. True: no thread of this node is awaited. */
static bool sift(hier_slot *slot) {
    const hier_manifests *of = manifests_of(slot);
    bool any = false;
    for (int node = 0; node < of->layout->nodes && !any; node++)
        any = node_tells_addresses(of, node);
    if (!any) {
        inter_execution_forgo_all(&slot->execution);
        return !of->shows;
    }
    for (int node = 0; node < of->layout->nodes; node++)
        if (node != of->node && !node_tells_addresses(of, node))
            inter_execution_forgo(&slot->execution, node);
    return false;
}

/* What stays as it is from call to call: where the messages lie, and how long they may be. */
static void tell_places(hier_telling *telling, const hier_manifests *of, int node) {
    const size_t room = room_for(of, blocks_between(of, node, of->node));
    telling->received[node] = room;
    telling->send_offsets[node] = place_for(of, node);
    telling->recv_offsets[node] = place_from(of, node);
    telling->answers[node] = room != 0; /* but see sift() */
}

int hier_manifests_start(hier_call *call, hier_manifest_given *given, bool shows) {
    const int nodes = call->comm->layout->nodes;
    const hier_manifests *of = prepare(call, shows);
    hier_telling telling;
    if (!of || !hier_telling_take(call, &telling, place_for(of, nodes), place_from(of, nodes)))
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for the messages of a node", hier_rank_of(call->comm),
                          call->arguments->call);
    for (int node = 0; node < nodes && telling.changed; node++)
        if (node != of->node)
            tell_places(&telling, of, node);
    for (int node = 0; node < nodes; node++) {
        if (node == of->node || !blocks_between(of, of->node, node))
            continue;
        const content made = write_message(call, of, node, given);
        hier_tell(&telling, &telling.sent[node], made.bytes);
        hier_tell(&telling, &telling.answered[node], made.at_address);
        hier_count_sent(call, node, made.told);
    }
    call->slot->sift = sift;
    return hier_telling_start(call, &telling, 1,
                              &(inter_binding){.send = of->outgoing, .recv = of->incoming, .at_most = true});
}

hier_manifest_reader hier_manifest_open(const hier_call *call, int node) {
    const hier_manifests *of = manifests_of(call->slot);
    const size_t blocks = blocks_between(of, node, of->node), root = (size_t)call->arguments->root;
    const char *message = of->incoming + place_from(of, node);
    const size_t first_getter = of->only_getter < 0 ? of->layout->offsets[of->node] : root;
    return (hier_manifest_reader){.blocks = blocks,
                                  .getters = ranks_on(of->layout, of->node, of->only_getter),
                                  .short_bytes = of->short_bytes,
                                  .left = blocks,
                                  .source = of->only_giver < 0 ? of->layout->offsets[node] : root,
                                  .destination = first_getter,
                                  .first_getter = first_getter,
                                  .entry = message,
                                  .at = message + hier_manifest_head_bytes(blocks)};
}
