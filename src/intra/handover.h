// SPDX-License-Identifier: BSD-3-Clause
/**
 * Handovers: long copies from a buffer of one thread straight into that of another, whatever their layouts.
 *
 * The receiver sets one up in the sender's memory and both claim chunks until none is left. Who has copied the last chunk does not
 * matter: the receiver sees that all are done, and then tells the sender, for whom it is over only then.
 */
#ifndef INTRA_HANDOVER_H
#define INTRA_HANDOVER_H

#include <core/layout.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct intra_handover {
    alignas(64) _Atomic size_t claimed; /* chunks that somebody has taken on; may go beyond `chunks` */
    _Atomic size_t done;                /* chunks that are copied */
    /* Set by the receiver before the sender learns of it: */
    alignas(64) core_data from, to;
    size_t bytes, chunks, chunk_bytes;
} intra_handover;

/** Less than this is not worth sharing. */
#define INTRA_SHARED_BYTES ((size_t)32 << 10)

void intra_handover_begin(intra_handover *handover, core_data from, core_data to, size_t bytes);

/** Copies one chunk, if one is left. */
bool intra_handover_copy(intra_handover *handover);

/** All is copied. Acquire: pairs with the release in intra_handover_copy. */
static inline bool intra_handover_done(const intra_handover *handover) {
    return atomic_load_explicit(&handover->done, memory_order_acquire) == handover->chunks;
}

#endif
