// SPDX-License-Identifier: BSD-3-Clause
/**
 * A schedule: what one process does in one collective, written down before anything moves.
 *
 * It is an array of steps, cut into strands, and these into stages.
 *
 *     strand 0:  stage 0 │ stage 1 │ stage 2        strands run side by side: a segment each, so that one is
 *     strand 1:  stage 0 │ stage 1 │ stage 2        reduced while the next is on the wire
 *
 * The steps of a stage are issued in their order: sends and receives start and run together, reductions and copies are
 * done on the spot. A stage begins when every send and receive of its strand's stages before it is complete, those of
 * independent stages excepted: they need only be complete when the strand ends. So within a stage a step may use what
 * a local step above it made, but not what is received in the stage. Sends stand before receives: others wait for what
 * is sent, and what is received is not there yet. Strands share nothing that one of them writes, and
 * at most INTER_STRANDS that follow each other are under way: strand s begins when strand s − INTER_STRANDS is done.
 *
 * Steps name places, not addresses: a buffer (the user's send or receive buffer, or the schedule's own temporary one)
 * and an offset in elements. Addresses are bound when it runs (engine.h), so a schedule can be kept, compared, drawn,
 * and run without a network.
 */
#ifndef INTER_SCHEDULE_H
#define INTER_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inter_buffer { INTER_SEND, INTER_RECV, INTER_TEMP, INTER_BUFFERS };

typedef struct inter_place {
    size_t offset : 62; /* elements */
    size_t buffer : 2;  /* enum inter_buffer */
} inter_place;

enum inter_step_kind {
    INTER_STEP_SEND,   /* left → peer */
    INTER_STEP_RECV,   /* peer → out */
    INTER_STEP_REDUCE, /* out = left op right; out may be left or right */
    INTER_STEP_COPY    /* out = left; skipped when they are the same address (in place) */
};

typedef struct inter_step {
    uint8_t kind;     /* enum inter_step_kind */
    bool independent; /* the stages that follow do not wait for it */
    bool forgone;     /* a send: not this time (inter_execution_forgo) */
    int32_t peer;
    uint32_t strand, stage; /* neither goes down; a strand's stages begin at 0 */
    inter_place left, right, out;
    size_t count; /* elements */
} inter_step;

/** So many strands are under way at most. */
#define INTER_STRANDS 8

/** Where the places that a builder names really lie: the parts of a composed algorithm, or the segments of a vector. */
typedef struct inter_frame {
    inter_place origin[INTER_BUFFERS];
} inter_frame;

typedef struct inter_schedule {
    inter_step *steps; /* one allocation, reused by the next schedule built here */
    size_t count, capacity;
    size_t stage_begin; /* the first step of the stage that steps are added to */
    unsigned strand, stage;
    inter_frame frame;
    size_t temp_count; /* elements of the temporary buffer */
    size_t
        most_steps; /* with more it is out of memory (up to twice as many are not noticed); 0: with as many as there are */
    bool out_of_memory;
} inter_schedule;

/** Makes it empty; keeps the memory. A zeroed schedule may be cleared. */
void inter_schedule_clear(inter_schedule *schedule);
void inter_schedule_free(inter_schedule *schedule);

/** Builders add steps with these. Without memory they set out_of_memory, which whoever runs a builder checks at its
 * end. */
void inter_schedule_send(inter_schedule *schedule, int peer, inter_place from, size_t count);
void inter_schedule_recv(inter_schedule *schedule, int peer, inter_place to, size_t count);
void inter_schedule_reduce(inter_schedule *schedule, inter_place left, inter_place right, inter_place out,
                           size_t count);
void inter_schedule_copy(inter_schedule *schedule, inter_place from, inter_place to, size_t count);

/** Ends the stage: what follows waits for its sends and receives. Nothing when the stage is empty. */
void inter_schedule_next_stage(inter_schedule *schedule);

/** Ends the stage: what follows does not wait for it, nor may it use what this stage receives or write what it sends. */
void inter_schedule_next_stage_independent(inter_schedule *schedule);

/** Ends the strand: what follows runs beside it. */
void inter_schedule_next_strand(inter_schedule *schedule);

/** Takes `count` more elements of the temporary buffer. */
inter_place inter_schedule_temp(inter_schedule *schedule, size_t count);

/**
 * From now on the places in `buffer` count from `place` (as named before this call): an algorithm can be part of another
 * one, on other buffers. Returns the frame until now, for inter_schedule_restore().
 */
inter_frame inter_schedule_move(inter_schedule *schedule, enum inter_buffer buffer, inter_place place);

static inline void inter_schedule_restore(inter_schedule *schedule, inter_frame frame) {
    schedule->frame = frame;
}

static inline inter_place inter_at(enum inter_buffer buffer, size_t offset) {
    inter_place place = {.offset = offset, .buffer = buffer};
    return place;
}

static inline inter_place inter_plus(inter_place place, size_t elements) {
    place.offset += elements;
    return place;
}

#endif
