// SPDX-License-Identifier: BSD-3-Clause
/**
 * Bundles: short blocks, of any lengths, that a thread puts into its cell for others of its process instead of showing where they lie. Only
 * who gives them knows how long they are, so the cell says which it is. Nobody has to wait until they have been read.
 *
 *     cell:   flag | how many blocks (an offer has 0 there) | where each ends | the blocks, packed
 */
#ifndef HIER_BUNDLE_H
#define HIER_BUNDLE_H

#include <hier/moves.h>
#include <string.h>

typedef struct hier_bundle {
    size_t blocks;   /* not 0 */
    uint16_t ends[]; /* counted from behind the last of these */
} hier_bundle;

_Static_assert(offsetof(intra_offer, bundled) == 0 && offsetof(hier_bundle, ends) == sizeof(size_t),
               "a cell has either");

/** One that is being filled. What that takes is not read back from the cell: its lines have to come from the other threads first. */
typedef struct hier_bundling {
    hier_bundle *bundle;
    size_t blocks, most, end; /* bytes: of all blocks, and so far */
} hier_bundling;

/**
 * The most that is bundled, of a process alone, of two threads alone, and of several processes: from there on it takes longer to bring that into
 * a cell and out of it than to meet a second time. Two threads that write what they give, as programs do, do not gain from that at all.
 */
#define HIER_BUNDLE_BYTES         256
#define HIER_BUNDLE_BYTES_OF_PAIR INTRA_INLINE_BYTES
#define HIER_BUNDLE_BYTES_BETWEEN 768
#define HIER_BUNDLE_BLOCKS        ((INTRA_ROOM - HIER_BUNDLE_BYTES_BETWEEN - sizeof(hier_bundle)) / sizeof(uint16_t))

_Static_assert(sizeof(hier_bundle) + 2 * sizeof(uint16_t) + HIER_BUNDLE_BYTES_OF_PAIR <= INTRA_ROOM,
               "a block for each");

static inline uint32_t hier_bundle_most(const hier_call *call) {
    if (!hier_single_node(call))
        return HIER_BUNDLE_BYTES_BETWEEN;
    return hier_threads(call) == 2 ? HIER_BUNDLE_BYTES_OF_PAIR : HIER_BUNDLE_BYTES;
}

static inline unsigned char *hier_bundle_data(const hier_bundle *bundle) {
    return (unsigned char *)(uintptr_t)(bundle->ends + bundle->blocks);
}

static inline hier_bundling hier_bundle_begin_at(const hier_call *call, void *place, size_t blocks) {
    hier_bundle *bundle = place;
    bundle->blocks = blocks;
    return (hier_bundling){.bundle = bundle, .blocks = blocks, .most = hier_bundle_most(call)};
}

/**
 * Begins one of so many blocks in the own cell. All of them are put there, in order, before anything is posted; or the cell gets an offer
 * instead.
 */
static inline hier_bundling hier_bundle_begin(hier_call *call, size_t blocks) {
    call->meeting.mine.bundled = blocks;
    return hier_bundle_begin_at(call, call->meeting.own->payload.bytes, blocks);
}

/** Of the own cell: where each block ends, and what else was asked for. */
static inline uint16_t *hier_bundle_ends(const hier_call *call) {
    return ((hier_bundle *)(void *)call->meeting.own->payload.bytes)->ends;
}

/** The bundle of a thread that shows an offer too, for which the cell has no room: on the slot's tray. One thread's at most. */
static inline hier_bundle *hier_bundle_aside(const hier_call *call) {
    return (hier_bundle *)(void *)intra_tray(&call->meeting);
}

static inline hier_bundling hier_bundle_begin_aside(hier_call *call, size_t blocks) {
    INTRA_SHOW(&call->meeting, bundled, blocks);
    return hier_bundle_begin_at(call, hier_bundle_aside(call), blocks);
}

/** What this thread shows is an offer. */
static inline void hier_bundle_nothing(hier_call *call) {
    INTRA_SHOW(&call->meeting, bundled, 0);
}

static inline size_t hier_bundle_begin_of(const hier_bundle *bundle, size_t index) {
    return index ? bundle->ends[index - 1] : 0;
}

/** Block `index`, which is the next; false: it is too long, or there are too many. */
static inline bool hier_bundle_put(hier_bundling *to, size_t index, core_data block) {
    size_t bytes = core_data_bytes(block);
    if (bytes > to->most - to->end || to->blocks > HIER_BUNDLE_BLOCKS)
        return false;
    hier_pack((unsigned char *)(to->bundle->ends + to->blocks) + to->end, block, bytes);
    to->end += bytes;
    to->bundle->ends[index] = (uint16_t)to->end;
    return true;
}

/** Nothing instead of it: nobody takes the own one from there. */
static inline void hier_bundle_skip(hier_bundling *to, size_t index) {
    to->bundle->ends[index] = (uint16_t)to->end;
}

/** All are put into the own cell: true. */
static inline bool hier_bundle_end(const hier_call *call, const hier_bundling *of) {
    (void)intra_fill(&call->meeting, sizeof(hier_bundle) + of->blocks * sizeof(uint16_t) + of->end);
    return true;
}

/** Bundles this thread's only block; false: it is too long, and has to be offered. */
static inline bool hier_bundle_one(hier_call *call, core_data block) {
    hier_bundling to = hier_bundle_begin(call, 1);
    return hier_bundle_put(&to, 0, block) && hier_bundle_end(call, &to);
}

/** Has another thread, which was awaited, bundled its blocks? */
static inline bool hier_has_bundled(const hier_call *call, int thread) {
    return call->meeting.cells[thread].payload.offer.bundled;
}

/** In another thread's cell. */
static inline const hier_bundle *hier_bundle_of(const hier_call *call, int thread) {
    return (const hier_bundle *)(const void *)call->meeting.cells[thread].payload.bytes;
}

static inline size_t hier_bundle_bytes(const hier_bundle *bundle, size_t index) {
    return bundle->ends[index] - hier_bundle_begin_of(bundle, index);
}

/** Where a block of a bundle is. */
static inline const unsigned char *hier_bundle_at(const hier_bundle *bundle, size_t index) {
    return hier_bundle_data(bundle) + hier_bundle_begin_of(bundle, index);
}

/** How long the only block is that a thread has bundled, or has shown how long it is. */
static inline size_t hier_shown_bytes(const hier_call *call, int thread) {
    const intra_offer *offer = intra_offer_of(&call->meeting, thread);
    return offer->bundled ? hier_bundle_bytes(hier_bundle_of(call, thread), 0) : offer->send_size;
}

/** Has any thread made an offer, so that it waits until the others have read? When all were awaited. */
static inline bool hier_any_offers(const hier_call *call) {
    bool any = !call->meeting.mine.bundled;
    for (int thread = 0; thread < hier_threads(call); thread++)
        any |= thread != call->comm->thread && !hier_has_bundled(call, thread);
    return any;
}

/** A block of another thread's bundle, and what is so of it most often. */
typedef struct hier_bundled {
    const hier_bundle *bundle;
    int thread;           /* whose it is */
    size_t index, blocks; /* which, of so many */
    size_t before;        /* so many in front of it are as long as it, and the others empty */
} hier_bundled;

/**
 * Takes it to where this thread expects it, if it is as long; else the call notes that. Where it lies most often follows from what this thread
 * knows already: a processor that goes on before the cell's first line has come, which tells, fetches the block's lines beside it.
 * (Prefetching them does not do: some processors leave that.)
 */
static inline void hier_bundle_take(hier_call *call, hier_bundled block, core_data to) {
    const hier_bundle *bundle = block.bundle;
    const size_t expected = core_data_bytes(to), most = HIER_BUNDLE_BYTES_OF_PAIR;
    const size_t begin = block.before * expected, end = begin + expected;
    if (expected <= most && end <= most) {
        const void *likely = core_as_reckoned((const char *)(bundle->ends + block.blocks) + begin);
        if (bundle->blocks == block.blocks && hier_bundle_begin_of(bundle, block.index) == begin &&
            bundle->ends[block.index] == end) {
            hier_unpack(call, to, likely, (intra_slice){0, expected});
            return;
        }
    }
    const size_t bytes = hier_bundle_bytes(bundle, block.index), source = hier_first_rank(call) + (size_t)block.thread;
    if (hier_same_bytes(call, source, bytes, (size_t)call->comm->rank, expected))
        hier_unpack(call, to, hier_bundle_at(bundle, block.index), (intra_slice){0, bytes});
}

/** The only one of a thread's. */
static inline void hier_bundle_take_one(hier_call *call, int thread, core_data to) {
    hier_bundle_take(call, (hier_bundled){.bundle = hier_bundle_of(call, thread), .thread = thread, .blocks = 1}, to);
}

#endif
