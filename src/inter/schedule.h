// SPDX-License-Identifier: BSD-3-Clause
/**
 * A schedule: what one process does in one collective, written down before anything moves.
 *
 * It is an array of steps, cut into stages. The steps of a stage are issued in their order: sends and receives start
 * and run together, reductions and copies are done on the spot. A stage begins when every send and receive of the
 * stages before it is complete. So within a stage a step may use what a local step above it made, but not what is
 * received in the stage.
 *
 * Steps name places, not addresses: a buffer (the user's send or receive buffer, or the schedule's own temporary one)
 * and an offset in elements. Addresses and the size of an element are bound when it runs (engine.h), so a schedule can
 * be kept, compared, drawn, and run without a network.
 */
#ifndef INTER_SCHEDULE_H
#define INTER_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inter_buffer { INTER_SEND, INTER_RECV, INTER_TEMP, INTER_BUFFERS };

typedef struct inter_place {
    enum inter_buffer buffer;
    size_t offset; /* elements */
} inter_place;

enum inter_step_kind {
    INTER_STEP_SEND,   /* left → peer */
    INTER_STEP_RECV,   /* peer → out */
    INTER_STEP_REDUCE, /* out = left op right; out may be left or right */
    INTER_STEP_COPY    /* out = left; skipped when they are the same address (in place) */
};

typedef struct inter_step {
    enum inter_step_kind kind;
    int peer;
    unsigned stage; /* never goes down */
    inter_place left, right, out;
    size_t count; /* elements */
} inter_step;

typedef struct inter_schedule {
    inter_step *steps; /* one allocation, reused by the next schedule built here */
    size_t count, capacity;
    unsigned stage;    /* the stage that steps are added to */
    size_t temp_count; /* elements of the temporary buffer */
    bool out_of_memory;
} inter_schedule;

/** Makes it empty; keeps the memory. A zeroed schedule is empty. */
void inter_schedule_clear(inter_schedule *schedule);
void inter_schedule_free(inter_schedule *schedule);

/** Builders add steps with these. Without memory they set out_of_memory, which whoever runs a builder checks at its
 * end. */
void inter_schedule_send(inter_schedule *schedule, int peer, inter_place from, size_t count);
void inter_schedule_recv(inter_schedule *schedule, int peer, inter_place to, size_t count);
void inter_schedule_reduce(inter_schedule *schedule, inter_place left, inter_place right, inter_place out,
                           size_t count);
void inter_schedule_copy(inter_schedule *schedule, inter_place from, inter_place to, size_t count);

/** Ends the stage: what follows waits for the sends and receives so far. */
void inter_schedule_next_stage(inter_schedule *schedule);

/** Takes `count` more elements of the temporary buffer. */
inter_place inter_schedule_temp(inter_schedule *schedule, size_t count);

static inline inter_place inter_at(enum inter_buffer buffer, size_t offset) {
    return (inter_place){buffer, offset};
}

static inline inter_place inter_plus(inter_place place, size_t elements) {
    place.offset += elements;
    return place;
}

#endif
