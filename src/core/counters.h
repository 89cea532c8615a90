// SPDX-License-Identifier: BSD-3-Clause
/**
 * A table of counters with one writer at a time (a thread, or whoever holds the funnel), which anybody may read.
 */
#ifndef CORE_COUNTERS_H
#define CORE_COUNTERS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <weft/counters.h>

/** How far something goes. */
enum core_reach { CORE_INSIDE, CORE_ON_HOST, CORE_BETWEEN_HOSTS, CORE_REACHES };

typedef struct core_traffic {
    _Atomic uint64_t messages, bytes;
} core_traffic;

typedef struct core_counter_row {
    alignas(64) _Atomic uint64_t operations;
    _Atomic uint64_t waited_ticks;
    core_traffic traffic[CORE_REACHES];
} core_counter_row;

_Static_assert(sizeof(core_counter_row) == 64, "a row is a cache line");

typedef struct core_counters {
    core_counter_row rows[WEFT_COUNTED_ROWS];
} core_counters;

/** By the writer; relaxed, and no read-modify-write: readers want numbers, not an order. */
static inline void core_count(_Atomic uint64_t *counter, uint64_t more) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more, memory_order_relaxed);
}

static inline void core_count_traffic(core_counters *counters, unsigned row, enum core_reach reach, uint64_t messages,
                                      uint64_t bytes) {
    core_traffic *traffic = &counters->rows[row].traffic[reach];
    core_count(&traffic->messages, messages);
    core_count(&traffic->bytes, bytes);
}

#endif
