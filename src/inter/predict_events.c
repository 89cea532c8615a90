// SPDX-License-Identifier: BSD-3-Clause
#include <inter/predict_events.h>
#include <stdlib.h>
#include <string.h>

static void insert(inter_events *events, inter_event event) {
    uint64_t difference = event.time ^ events->last;
    inter_bucket *bucket = &events->buckets[difference ? 64 - __builtin_clzll(difference) : 0];
    if (bucket->count == bucket->capacity) {
        size_t capacity = bucket->capacity ? 2 * bucket->capacity : 64;
        inter_event *grown = realloc(bucket->events, capacity * sizeof(*grown));
        if (!grown) {
            events->out_of_memory = true;
            return;
        }
        bucket->events = grown;
        bucket->capacity = capacity;
    }
    bucket->events[bucket->count++] = event;
}

void inter_events_add(inter_events *events, double time, uint32_t kind, uint32_t what) {
    inter_event event = {.kind = kind, .what = what};
    memcpy(&event.time, &time, sizeof(time));
    insert(events, event);
}

bool inter_events_take(inter_events *events, double *time, inter_event *event) {
    int b = 0;
    while (b < 65 && !events->buckets[b].count)
        b++;
    if (b == 65)
        return false;
    inter_bucket *bucket = &events->buckets[b];
    if (b) { /* the earliest of the bucket becomes the last time; then all of them belong to lower buckets */
        events->last = bucket->events[0].time;
        for (size_t i = 1; i < bucket->count; i++)
            if (bucket->events[i].time < events->last)
                events->last = bucket->events[i].time;
        for (size_t i = 0; i < bucket->count; i++)
            insert(events, bucket->events[i]);
        bucket->count = 0;
        bucket = &events->buckets[0];
        if (events->out_of_memory)
            return false;
    }
    *event = bucket->events[--bucket->count];
    memcpy(time, &event->time, sizeof(*time));
    return true;
}

void inter_events_free(inter_events *events) {
    for (int b = 0; b < 65; b++)
        free(events->buckets[b].events);
}
