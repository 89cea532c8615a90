// SPDX-License-Identifier: BSD-3-Clause
/**
 * Hand-written loops for two threads: the floors that weft's operations are compared with. Each does nothing but its
 * one operation, knows both threads' buffers beforehand, and checks nothing.
 */
#ifndef BENCH_FLOORS_H
#define BENCH_FLOORS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FLOOR_LINE         128  /* bytes between what different threads write: processors prefetch lines in pairs */
#define FLOOR_INLINE_BYTES 1024 /* up to here values travel beside the flag */

/** A number that only grows. One writer; the other thread reads. */
typedef struct floor_flag {
    alignas(FLOOR_LINE) _Atomic uint64_t epoch;
} floor_flag;

/** A flag with a payload: up to 56 bytes lie in the flag's own line. */
typedef struct floor_cell {
    alignas(FLOOR_LINE) _Atomic uint64_t epoch;
    double payload[FLOOR_INLINE_BYTES / sizeof(double)];
} floor_cell;

/** What the two threads share. */
typedef struct floor_pair {
    floor_flag hop;         /* written by both, in turns */
    floor_flag arrived[2];  /* written by thread 0, 1 */
    floor_cell cells[2][2]; /* [writer][parity of the epoch] */
    const double *send[2];  /* set before the first call */
    double *recv[2];
} floor_pair;

/** One thread's own end. The epochs count its calls. */
typedef struct floor_end {
    alignas(FLOOR_LINE) floor_pair *pair;
    int me; /* 0 or 1 */
    uint64_t hops;
    uint64_t arrivals;
    uint64_t exchanges;
} floor_end;

/** Waits until *epoch ≥ value, and then sees what its writer wrote before. Spins; yields the core now and then. */
void floor_wait(const _Atomic uint64_t *epoch, uint64_t value);

/** A flag goes `hops` times from one thread to the other, alternately; thread 0 begins. */
void floor_hops(floor_end *end, size_t hops);

/** Two flags: each thread stores its own and waits for the other's. */
void floor_barrier(floor_end *end);

/** recv = send of thread 0 + send of thread 1 at both; at most FLOOR_INLINE_BYTES. */
void floor_exchange(floor_end *end, size_t doubles);

/** The same for any length: each thread adds one half and writes it to both receive buffers. */
void floor_slices(floor_end *end, size_t doubles);

#endif
