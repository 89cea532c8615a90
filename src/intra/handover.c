// SPDX-License-Identifier: BSD-3-Clause
#include <intra/handover.h>

/* Small enough that both ends finish together, large enough that claiming one costs nothing. */
#define LEAST_CHUNK_BYTES ((size_t)16 << 10)
#define MOST_CHUNK_BYTES  ((size_t)128 << 10)
#define CHUNKS            16

void intra_handover_begin(intra_handover *handover, core_data from, core_data to, size_t bytes) {
    size_t chunk = bytes / CHUNKS / 64 * 64;
    if (chunk < LEAST_CHUNK_BYTES)
        chunk = LEAST_CHUNK_BYTES;
    if (chunk > MOST_CHUNK_BYTES)
        chunk = MOST_CHUNK_BYTES;
    handover->from = from;
    handover->to = to;
    handover->bytes = bytes;
    handover->chunk_bytes = chunk;
    handover->chunks = (bytes + chunk - 1) / chunk;
    /* Relaxed: published with the rest by the word that the sender is given. */
    atomic_store_explicit(&handover->claimed, 0, memory_order_relaxed);
    atomic_store_explicit(&handover->done, 0, memory_order_relaxed);
}

bool intra_handover_copy(intra_handover *handover) {
    if (atomic_load_explicit(&handover->claimed, memory_order_relaxed) >= handover->chunks)
        return false;
    size_t chunk = atomic_fetch_add_explicit(&handover->claimed, 1, memory_order_relaxed);
    if (chunk >= handover->chunks)
        return false;
    size_t begin = chunk * handover->chunk_bytes, end = begin + handover->chunk_bytes;
    core_copy(handover->to.buffer, handover->to.type, handover->to.count, handover->from.buffer, handover->from.type,
              handover->from.count, begin, end < handover->bytes ? end : handover->bytes);
    /* Release: pairs with intra_handover_done, publishes the copy; the adds of both ends form one chain. */
    atomic_fetch_add_explicit(&handover->done, 1, memory_order_acq_rel);
    return true;
}
