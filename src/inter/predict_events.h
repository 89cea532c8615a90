// SPDX-License-Identifier: BSD-3-Clause
/**
 * Events in the order of their times: a radix heap, which asks that no event be earlier than the last one taken, and in
 * return works on few, contiguous pieces of memory.
 *
 * Bucket b > 0 holds the times whose highest bit that differs from the last time taken is bit b − 1; bucket 0 those equal
 * to it. Non-negative doubles compare like the integers with the same bits. Events of equal time come in no order.
 *
 * Source: Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path problem", J. ACM 37 (1990).
 */
#ifndef INTER_PREDICT_EVENTS_H
#define INTER_PREDICT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct inter_event {
    uint64_t time; /* the bits of the double */
    uint32_t kind, what;
} inter_event;

typedef struct inter_bucket {
    inter_event *events;
    size_t count, capacity;
} inter_bucket;

typedef struct inter_events {
    inter_bucket buckets[65];
    uint64_t last;
    bool out_of_memory;
} inter_events;

/** Time ≥ 0, and not before that of the last event taken. Without memory it sets out_of_memory. */
void inter_events_add(inter_events *events, double time, uint32_t kind, uint32_t what);

/** Takes the earliest one; false when there is none, or no memory. */
bool inter_events_take(inter_events *events, double *time, inter_event *event);

void inter_events_free(inter_events *events);

#endif
