// SPDX-License-Identifier: BSD-3-Clause
/**
 * Pulls: long messages between processes of one host, from a buffer of one to a buffer of the other.
 *
 * The sender offers its data. When the receiver has a buffer for them it sets up a pull, cut in chunks, and then each side does what
 * it can. The sender, whenever it is in weft, packs the next chunk into a *part* of shared memory, as long as one is free; the receiver
 * unpacks what is in the parts. Both copy at once, what they copy stays in the cache, and data may lie in any layout on either side.
 * When no part comes, since the sender computes or has no core, or where that is quicker (ways.h), the receiver copies chunks itself,
 * straight from the sender's memory (process_vm_readv), unless the sender's data do not lie in one run.
 *
 *     receiver: fields, then its bit in `active` ──▶ both: claim a chunk      (unless it reads all by itself: then when it has)
 *     sender: packs it into a part, put + 1 ──▶ receiver: unpacks it, taken + 1 ──▶ sender: the part is free again
 *     receiver: all done ──▶ the sender clears the bit
 *
 * An offer can be taken back as long as no pull of it is seen: first its name is left for the receiver, then `active` is looked at
 * again. The receiver looks for the name when its pull is done. Both are sequentially consistent on either side, so one of them sees
 * the other: nobody uses what was copied from memory that its owner has back. Both may see each other, and of names that were left long
 * ago only the highest is known: when it may have been taken back, the sender says whether it was.
 */
#ifndef INTER_PULL_H
#define INTER_PULL_H

#include <core/layout.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define INTER_PULLS      8   /* under way at once from one process to another; more wait */
#define INTER_WITHDRAWN  128 /* offers that were taken back, of which the names are kept */
#define INTER_PARTS      4   /* of all pulls from one process to another */
#define INTER_PART_BYTES ((size_t)32 << 10)

/** Data from one of their packed bytes on, a part of so many that pass through the cache (stream.h). */
typedef struct inter_span {
    core_data data;
    size_t from, whole;
} inter_span;

/** What a sender has. */
typedef struct inter_offer {
    uint64_t from; /* the address in the sender's memory; 0: the data do not lie in one run */
    uint64_t bytes;
    uint64_t name; /* the sender's own, to find its request again */
} inter_offer;

/** One pull, in memory that both have mapped. */
typedef struct inter_pull {
    /* The receiver writes these before it sets the bit in `active`: */
    alignas(128) uint64_t chunk_bytes, chunks;
    uint64_t name;         /* of the offer */
    _Atomic uint64_t done; /* chunks that the receiver has */
    /* Both write: */
    alignas(64) _Atomic uint64_t claimed; /* chunks that somebody has taken on; may go beyond `chunks` */
    _Atomic int32_t error;                /* of a copy that failed; WEFT_SUCCESS */
    _Atomic uint32_t gone;                /* by the sender: the offer was taken back */
} inter_pull;

/** What is in a part. */
typedef struct inter_part {
    uint64_t pull, chunk;
} inter_part;

typedef struct inter_pulls {
    alignas(128) _Atomic uint32_t
        active;                 /* a bit for each pull: set by the receiver, cleared by the sender when all is done */
    _Atomic uint32_t withdrawn; /* so many offers were taken back */
    inter_pull pulls[INTER_PULLS];
    _Atomic uint64_t withdrawn_names[INTER_WITHDRAWN]; /* of the last of them … */
    _Atomic uint64_t withdrawn_below;                  /* … and those before them, all below this one */
    alignas(64) _Atomic uint64_t taken;                /* parts, in turn, that the receiver is done with */
    alignas(64) _Atomic uint64_t put;                  /* parts that the sender has filled, and with what */
    inter_part contents[INTER_PARTS];
    alignas(64) unsigned char parts[INTER_PARTS][INTER_PART_BYTES];
} inter_pulls;

/** The receiver: a pull that is free, −1 when all are in use. `mine`: those that it is not done with, a bit each. */
int inter_pull_reserve(const inter_pulls *pulls, unsigned mine);

/** The receiver sets a pull up, of the first `bytes` bytes of an offer. */
void inter_pull_announce(inter_pulls *pulls, int index, const inter_offer *offer, size_t bytes);

/** The receiver, which has read all that it wants of an offer, or found an error, tells the sender so: it need not put anything. */
void inter_pull_announce_done(inter_pulls *pulls, int index, const inter_offer *offer, int error);

/** The sender: packs the next of `bytes` bytes of data for a pull. False: there is no free part, or nothing to be put. */
bool inter_pull_put(inter_pulls *pulls, int index, const inter_span *from, size_t bytes);

/** The receiver: what is in the next part? False: none has come. What it says is looked up, not trusted. */
bool inter_pull_comes(const inter_pulls *pulls, inter_part *part);

/** The receiver: unpacks that part to `bytes` bytes of data. */
void inter_pull_take(inter_pulls *pulls, inter_part part, const inter_span *to, size_t bytes);

/** The receiver: throws that part away. */
void inter_pull_skip(inter_pulls *pulls);

/**
 * The receiver: copies up to `most_bytes`, but no less than a chunk, of `bytes` bytes from address `from` of the sender, whose memory is that of
 * `process`. `scratch`: INTER_PART_BYTES bytes of its own. False: all chunks are taken on.
 */
bool inter_pull_read_chunks(inter_pull *pull, uint64_t from, size_t most_bytes, const inter_span *to, size_t bytes,
                            int process, void *scratch);

/** The bytes of a pull, whole chunks, that nobody has taken on. */
size_t inter_pull_rest(const inter_pull *pull);

/** The receiver: nothing more is to be put. Done when what is being put has been taken. */
void inter_pull_abandon(inter_pull *pull);

/** The receiver: the sender is gone, whatever it had taken on. The pull is done, with an error. */
void inter_pull_bury(inter_pull *pull);

/** All chunks are copied. Acquire: pairs with have_done. */
static inline bool inter_pull_done(const inter_pull *pull) {
    return atomic_load_explicit(&pull->done, memory_order_acquire) >= pull->chunks;
}

/** The sender takes an offer back, unless a pull of it can be seen afterwards. */
void inter_pull_withdraw(inter_pulls *pulls, uint64_t name);

/** The sender has found that the offer of a pull was taken back. Before it clears the bit. */
void inter_pull_disown(inter_pull *pull);

/** May the offer of that name have been taken back? For the receiver, when its pull is done. */
bool inter_pull_is_in_doubt(const inter_pulls *pulls, uint64_t name);

/** Then: was it? Asked again until the sender has `told` it. */
bool inter_pull_is_withdrawn(const inter_pulls *pulls, int index, bool *told);

/** Reads runs in the memory of a process to as many that are as long; the arrays are changed. Returns a weft error code. */
int inter_pull_read_runs(int process, struct iovec *from, struct iovec *to, size_t runs);

/** One of them, at address `from`. */
int inter_pull_read(int process, uint64_t from, void *to, size_t bytes);

#endif
