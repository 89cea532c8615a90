// SPDX-License-Identifier: BSD-3-Clause
/**
 * Pulls: long copies from a buffer of one process to that of another one of the same host, with one copy and no memory in
 * between (process_vm_readv, process_vm_writev).
 *
 * The sender offers a buffer. When the receiver has a buffer for it, it sets up a pull, cut in chunks, and copies them one by
 * one; a sender that waits takes chunks too, so that both cores work. Who has taken the last chunk does not matter: each sees
 * that all are done.
 *
 *     receiver: fields, then its bit in `active` ──▶ both: claim a chunk, copy, done + 1 ──▶ all done: the sender clears the bit
 *
 * An offer can be taken back as long as no pull of it is seen: first its name is left for the receiver, then `active` is looked at
 * again. The receiver looks for the name when its pull is done. Both are sequentially consistent on either side, so one of them sees
 * the other: nobody uses what was copied from memory that its owner has back.
 */
#ifndef INTER_PULL_H
#define INTER_PULL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTER_PULLS     8   /* under way at once from one process to another; more wait */
#define INTER_WITHDRAWN 128 /* offers that were taken back, of which the names are kept */

/** What a sender has. */
typedef struct inter_offer {
    uint64_t from; /* the address in the sender's memory */
    uint64_t bytes;
    uint64_t name; /* the sender's own, to find its request again */
} inter_offer;

/** One pull, in memory that both have mapped. The receiver writes the plain fields before it sets the bit in `active`. */
typedef struct inter_pull {
    _Alignas(128) uint64_t from, to; /* addresses in the sender's and in the receiver's memory */
    uint64_t bytes, chunk_bytes;
    uint64_t offered_bytes, name; /* of the offer */
    uint32_t chunks, alone;
    _Atomic uint32_t claimed; /* chunks that somebody has taken on; may go beyond `chunks` */
    _Atomic uint32_t done;    /* chunks that are copied */
    _Atomic int32_t error;    /* of a copy that failed; WEFT_SUCCESS */
} inter_pull;

typedef struct inter_pulls {
    _Alignas(128) _Atomic uint32_t
        active;                 /* a bit for each pull: set by the receiver, cleared by the sender when all is done */
    _Atomic uint32_t withdrawn; /* so many offers were taken back */
    inter_pull pulls[INTER_PULLS];
    _Atomic uint64_t withdrawn_names[INTER_WITHDRAWN]; /* of the last of them … */
    _Atomic uint64_t withdrawn_below;                  /* … and no name below this one is good any more */
} inter_pulls;

/**
 * The receiver sets up a pull of the first `bytes` bytes of an offer into `to`. `alone`: the sender does not help, because it
 * is receiving itself, or because the bytes are wanted in the receiver's cache; then the chunks are larger. `mine`: those that the receiver is not done with, a bit each.
 * Returns which pull it is, −1 when all are in use.
 */
int inter_pull_begin(inter_pulls *pulls, unsigned mine, const inter_offer *offer, void *to, size_t bytes, bool alone);

/** Copies one chunk, if one is left: `receiver` says which end the caller is, `peer` is the other one's process id. */
bool inter_pull_copy(inter_pull *pull, bool receiver, int peer);

/** All chunks are copied. Acquire: pairs with the release in inter_pull_copy. */
static inline bool inter_pull_done(const inter_pull *pull) {
    return atomic_load_explicit(&pull->done, memory_order_acquire) == pull->chunks;
}

/** The sender takes an offer back, unless a pull of it can be seen afterwards. */
void inter_pull_withdraw(inter_pulls *pulls, uint64_t name);

/** Was the offer of that name taken back? For the receiver, when its pull is done. */
bool inter_pull_is_withdrawn(const inter_pulls *pulls, uint64_t name);

/** Reads `bytes` bytes at `from` in the memory of a process. Returns a weft error code. */
int inter_pull_read(int process, uint64_t from, void *to, size_t bytes);

#endif
