// SPDX-License-Identifier: BSD-3-Clause
/*
 * alltoallv, alltoallw between processes of one host that may read each other's memory: nb1FT/direct.
 *
 *     threads    show their blocks │                                        │ unpack, read │
 *     network                      │ strand 0: short blocks, and addresses  │              │ strand 1: all is read
 *
 * Whoever starts the network part puts the messages together, from cells and from where the threads' blocks lie:
 *
 *     message n → m:   [how long each block is: thread 0 of n for thread 0 of m, for thread 1 of m, … thread 1 of n: …]
 *                      [in the same order: the block, packed, if it is short, else its address]
 *
 * Nobody relies on what he expects: a message has room for as much as the other side may put into it, and who has got an address, and
 * no one else, answers when his threads have read what is there. Where no thread has shown an address, nor got one, nobody waits.
 */
#include <core/error.h>
#include <hier/alltoallv.h>
#include <hier/direct.h>
#include <string.h>

/* Up to so many bytes it takes longer to read a block of another process than to copy it twice. */
#define SHORT_BYTES ((size_t)2048)

/* In front of a block's length: what stands for it is its address. */
#define AT_ADDRESS ((uint64_t)1 << 63)

/* In the slot's memory, which outlives the call of whoever starts. Behind it `outgoing`, `incoming`, and room for an answer of each node. */
typedef struct mail {
    const hier_layout *layout;
    int node;
    bool shows; /* a thread shows where its blocks lie, to those of this node or of others */
    char *outgoing, *incoming;
} mail;

static const mail *mail_of(const hier_slot *slot) {
    return slot->scratch.memory;
}

static size_t blocks_with(const hier_layout *layout, int node, int other) {
    return (size_t)hier_layout_threads(layout, node) * (size_t)hier_layout_threads(layout, other);
}

/* The most that a message between two nodes can have. The same either way, so it begins at the same place in `outgoing` and `incoming`. */
static size_t most_bytes(const hier_layout *layout, int node, int other) {
    return blocks_with(layout, node, other) * (sizeof(uint64_t) + SHORT_BYTES);
}

static size_t place_of(const hier_layout *layout, int node, int other) {
    return layout->offsets[other] * (size_t)hier_layout_threads(layout, node) * (sizeof(uint64_t) + SHORT_BYTES);
}

/* All messages; behind them is a byte to answer with, and room for the answers. */
static size_t all_bytes(const hier_layout *layout, int node) {
    return place_of(layout, node, layout->nodes);
}

/* NULL without memory. By who drives. */
static const mail *prepare(hier_call *call, bool shows) {
    const hier_layout *layout = call->comm->layout;
    const int node = call->comm->node;
    const size_t all = all_bytes(layout, node);
    mail *made = intra_scratch_take(&call->slot->scratch, sizeof(*made) + 2 * all + 1 + (size_t)layout->nodes);
    if (!made)
        return NULL;
    *made = (mail){.layout = layout, .node = node, .shows = shows, .outgoing = (char *)(made + 1)};
    made->incoming = made->outgoing + all + 1;
    made->outgoing[all] = 0;
    return made;
}

/* What is in a message. */
typedef struct content {
    size_t bytes;    /* of the message … */
    size_t told;     /* … and of the blocks */
    bool at_address; /* some of them */
} content;

static content write_message(const hier_call *call, int node, char *message) {
    const hier_layout *layout = call->comm->layout;
    const size_t first = layout->offsets[node], end = layout->offsets[node + 1];
    char *entry = message, *at = message + blocks_with(layout, call->comm->node, node) * sizeof(uint64_t);
    content made = {0};
    for (int thread = 0; thread < hier_threads(call); thread++)
        for (size_t rank = first; rank < end; rank++, entry += sizeof(uint64_t)) {
            const core_data block = hier_alltoallv_given(call, thread, rank);
            const size_t bytes = core_data_bytes(block);
            const bool at_address = bytes > SHORT_BYTES;
            const uint64_t length = bytes | (at_address ? AT_ADDRESS : 0);
            memcpy(entry, &length, sizeof(length));
            made.told += bytes;
            made.at_address |= at_address;
            if (at_address) {
                uint64_t address = (uintptr_t)block.buffer;
                memcpy(at, &address, sizeof(address));
                at += sizeof(address);
            } else {
                core_pack(at, block.buffer, block.type, block.count, 0, bytes);
                at += bytes;
            }
        }
    made.bytes = (size_t)(at - message);
    return made;
}

/* Does a message tell where a block lies? */
static bool tells_addresses(const char *message, size_t blocks) {
    uint64_t any = 0, length;
    for (size_t i = 0; i < blocks; i++, any |= length)
        memcpy(&length, message + i * sizeof(length), sizeof(length));
    return any & AT_ADDRESS;
}

/* When all messages are here: those who have told no address get no answer. True: no thread of this node is awaited. */
static bool sift(hier_slot *slot) {
    const mail *of = mail_of(slot);
    bool any = of->shows;
    for (int node = 0; node < of->layout->nodes; node++) {
        if (node == of->node)
            continue;
        if (tells_addresses(of->incoming + place_of(of->layout, of->node, node),
                            blocks_with(of->layout, of->node, node)))
            any = true;
        else
            inter_execution_forgo(&slot->execution, node);
    }
    return !any;
}

static int start(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    const size_t all = all_bytes(layout, call->comm->node);
    const mail *of = hier_alltoallv_has_memory(call) ? prepare(call, hier_any_offers(call)) : NULL;
    hier_telling telling;
    if (!of || !hier_telling_take(call, &telling, all, all))
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for the messages of a node", call->comm->rank,
                          call->arguments->call);
    for (int node = 0; node < layout->nodes; node++) {
        if (node == call->comm->node)
            continue;
        const size_t place = place_of(layout, call->comm->node, node);
        content made = write_message(call, node, of->outgoing + place);
        telling.sent[node] = made.bytes;
        telling.received[node] = most_bytes(layout, call->comm->node, node);
        telling.send_offsets[node] = telling.recv_offsets[node] = place;
        telling.answers[node] = 1; /* but see sift() */
        telling.answered[node] = made.at_address;
        hier_count_sent(call, node, made.told);
    }
    call->slot->sift = sift;
    return hier_telling_start(call, &telling, 1,
                              &(inter_binding){.send = of->outgoing, .recv = of->incoming, .at_most = true});
}

/* A block for this thread: what stands for it in the message is at `at`. */
static void take_block(hier_call *call, hier_reads *reads, size_t source, uint64_t length, const char *at) {
    const size_t bytes = length & ~AT_ADDRESS;
    if (!(length & AT_ADDRESS)) {
        hier_alltoallv_unpack(call, source, at, bytes);
        return;
    }
    core_data place = hier_alltoallv_place(call, source);
    uint64_t address;
    memcpy(&address, at, sizeof(address));
    if (hier_same_bytes(call, source, bytes, (size_t)call->comm->rank, core_data_bytes(place)))
        hier_reads_add(call, reads, address, 0, place);
}

/* Out of the message from a node, which is not trusted to add up. True: it tells addresses. */
static bool take_from(hier_call *call, int node) {
    const hier_layout *layout = call->comm->layout;
    const mail *of = mail_of(call->slot);
    const size_t threads = (size_t)hier_threads(call), blocks = blocks_with(layout, call->comm->node, node);
    const char *entry = of->incoming + place_of(layout, call->comm->node, node),
               *at = entry + blocks * sizeof(uint64_t);
    uint64_t any = 0;
    hier_reads reads;
    hier_reads_begin(call, &reads, node, blocks / threads);
    for (size_t i = 0; i < blocks; i++, entry += sizeof(uint64_t)) {
        uint64_t length;
        memcpy(&length, entry, sizeof(length));
        if (length > SHORT_BYTES && !(length & AT_ADDRESS))
            length = SHORT_BYTES; /* and so of another length than is expected */
        if (i % threads == (size_t)call->comm->thread && !call->error)
            take_block(call, &reads, layout->offsets[node] + i / threads, length, at);
        at += length & AT_ADDRESS ? sizeof(uint64_t) : length;
        any |= length;
    }
    hier_reads_end(call, &reads);
    return any & AT_ADDRESS;
}

/* All that comes from other nodes. Does somebody wait for this one to have read it? */
static bool take(hier_call *call) {
    const int nodes = call->comm->layout->nodes, own = call->comm->node;
    bool awaited = hier_any_offers(call);
    for (int i = 1; i < nodes; i++) /* not all from the same one at once */
        awaited |= take_from(call, (own + i) % nodes);
    return awaited;
}

/* Does a long block for another node lie in several runs? */
static bool lies_apart(const hier_call *call, const intra_offer *mine) {
    const size_t first = hier_first_rank(call), end = first + (size_t)hier_threads(call);
    for (size_t rank = 0; rank < (size_t)call->comm->size; rank++) {
        core_data block = hier_alltoallv_block(mine, rank);
        if ((rank < first || rank >= end) && !block.type->contiguous && core_data_bytes(block) > SHORT_BYTES)
            return true;
    }
    return false;
}

static void show(hier_call *call) {
    intra_offer *mine = hier_alltoallv_mine(call);
    if (!hier_alltoallv_bundle(call, mine, 0))
        hier_alltoallv_offer(call, mine, call->arguments->in_place || lies_apart(call, mine));
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
