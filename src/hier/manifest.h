// SPDX-License-Identifier: BSD-3-Clause
/**
 * Manifests: direct (direct.h) for the collectives with counts, where only who gives a block and who gets it know how long it is, and may not
 * agree. Whoever starts the network part puts one message together for each node that gets something, from cells and from where the
 * blocks lie:
 *
 *     message n → m:   [how long each short block is: of the first of n for the first of m, for the second of m, … of the second of n: …]
 *                      [in the same order: the block, packed, if it is short, else its length and its address]
 *
 * Of a short block two bytes say how long it is: what four threads gather of 8 bytes each then fits into a line (inter/lines.h).
 * Nobody relies on what he expects: a message has room for as much as the other side may put into it, and who has got an address, and
 * no one else, answers when his threads have read what is there.
 */
#ifndef HIER_MANIFEST_H
#define HIER_MANIFEST_H

#include <hier/direct.h>
#include <string.h>

/**
 * Up to so many bytes a block is packed: to read it from another process, and to have its thread wait for that, takes longer than to copy it
 * twice. Of an alltoallv one thread packs what all have for all, of a gatherv a block of each, and who scatters is alone anyway. What
 * is bundled is short: it need not stay where it is.
 */
static inline size_t hier_manifest_short_bytes(const hier_call *call) {
    const enum inter_collective collective = call->arguments->collective;
    const bool gathers = hier_gathers(collective), scatters = hier_scatters(collective);
    if (!call->comm->layout->crowded)
        return gathers || scatters ? 2048 : 1024;
    return gathers ? 4096 : scatters ? 8192 : 2048;
}

/** The same of what a thread shows: of an alltoallv less, where the others read it from a window (window.h), which is soon over. */
static inline size_t hier_manifest_packed_bytes(const hier_call *call) {
    const enum inter_collective collective = call->arguments->collective;
    const bool windows = call->comm->world->window.take && !call->comm->layout->crowded;
    return windows && !hier_gathers(collective) && !hier_scatters(collective) ? 256 : hier_manifest_short_bytes(call);
}

/** Instead of a block's length: what stands for it is hier_manifest_address. */
#define HIER_MANIFEST_AT_ADDRESS UINT16_MAX

typedef struct hier_manifest_address {
    uint64_t bytes, address;
} hier_manifest_address;

/** The lengths in front of so many blocks; whole words, so that those that are whole words too lie like that. */
static inline size_t hier_manifest_head_bytes(size_t blocks) {
    const size_t word = sizeof(uint64_t);
    return (blocks * sizeof(uint16_t) + word - 1) / word * word;
}

/** In the slot's memory, which outlives the call of whoever starts. Behind it are the messages. */
typedef struct hier_manifests {
    const hier_layout *layout;
    int node;
    int only_giver, only_getter; /* the root's node, where the root alone gives, or gets; else -1 */
    size_t short_bytes;          /* a block of up to so many is packed */
    bool shows;                  /* a thread of this node shows where its blocks lie to others of it */
    char *outgoing, *incoming;
} hier_manifests;

/** What a thread of this node gives a rank: it lies there, but for what is short, until all have read. */
typedef core_data hier_manifest_given(const hier_call *call, int thread, size_t rank);

/**
 * For start functions: starts the two strands of hier_direct_network(). `shows`: threads of this node wait for each other to have read, too;
 * else, and when no message either way has an address, the network part ends without any hier_have_read().
 */
int hier_manifests_start(hier_call *call, hier_manifest_given *given, bool shows);

/** A message, while it is taken apart. */
typedef struct hier_manifest_reader {
    size_t blocks, getters, short_bytes;
    size_t left, source, destination, first_getter; /* of the next block */
    const char *entry, *at;
    bool at_addresses; /* some of the blocks so far */
} hier_manifest_reader;

typedef struct hier_manifest_block {
    size_t source, destination; /* ranks */
    size_t bytes;
    bool at_address;
    const char *at;   /* packed; … */
    uint64_t address; /* … or where it is */
} hier_manifest_block;

/** When the addresses are here (hier_await_addresses): what came from another node. */
hier_manifest_reader hier_manifest_open(const hier_call *call, int node);

/** The next block; false: there are no more. The message is not trusted to add up: then blocks are of other lengths than is expected. */
static inline bool hier_manifest_next(hier_manifest_reader *reader, hier_manifest_block *block) {
    if (!reader->left)
        return false;
    uint16_t length;
    memcpy(&length, reader->entry, sizeof(length));
    *block = (hier_manifest_block){.source = reader->source,
                                   .destination = reader->destination,
                                   .bytes = length < reader->short_bytes ? length : reader->short_bytes,
                                   .at_address = length == HIER_MANIFEST_AT_ADDRESS,
                                   .at = reader->at};
    if (block->at_address) {
        hier_manifest_address told;
        memcpy(&told, reader->at, sizeof(told));
        block->bytes = told.bytes;
        block->address = told.address;
        reader->at += sizeof(told);
        reader->at_addresses = true;
    } else {
        reader->at += block->bytes;
    }
    reader->left--;
    if (++reader->destination == reader->first_getter + reader->getters) {
        reader->destination = reader->first_getter;
        reader->source++;
    }
    reader->entry += sizeof(length);
    return true;
}

/** Reads a block that is at its address, between hier_reads_begin() and _end() of that node. `to` is as long. */
static inline void hier_manifest_read(hier_call *call, hier_reads *reads, const hier_manifest_block *block,
                                      core_data to) {
    hier_reads_add(call, reads, block->address, 0, to);
}

#endif
