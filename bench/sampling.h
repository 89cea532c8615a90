// SPDX-License-Identifier: BSD-3-Clause
/**
 * How a time is taken, the same for weft, for every peer and for the floors.
 *
 * A sample is a batch of calls, as many as last about BENCH_SAMPLE_US (BENCH_CROWDED_US), between two readings of CLOCK_MONOTONIC; the
 * ranks start it together. Its value is the longest time that a rank needed, divided by the calls. Minimum, median and
 * 99th percentile are taken over the samples.
 */
#ifndef BENCH_SAMPLING_H
#define BENCH_SAMPLING_H

#include "statistics.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_SAMPLE_US 20.0 /* a batch lasts at least this long, so that reading the clock does not count … */
#define BENCH_CROWDED_US                                                                                               \
    1000.0 /* … and with more ranks than processors for them this long: they start it a turn of the scheduler apart */
#define BENCH_ROW_US        300000.0 /* the samples of a row together last about this long at most … */
#define BENCH_LEAST_SAMPLES 10       /* … but there are this many at least */
#define BENCH_MOST_SAMPLES  1000
#define BENCH_MOST_CALLS    (1u << 20) /* of a batch */
#define BENCH_MOST_TURNS    5
#define BENCH_WARM_UP_US                                                                                               \
    50000.0 /* the first milliseconds of a program show where the system happened to put its processes */

/** What the sampling knows of the library, or the hand-written loop, that it times. Each function ends the program with
 * a message when it fails. `rank` is the caller's own state. */
typedef struct bench_driver {
    /** Does the operation `calls` times, one after the other. */
    void (*run)(void *rank, const void *call, size_t calls);
    /** Returns after every rank has called it. */
    void (*barrier)(void *rank);
    /** Replaces values[i] by its maximum over the ranks, at every rank. */
    void (*maximum)(void *rank, double *values, size_t count);
} bench_driver;

typedef struct bench_timing {
    size_t calls;   /* of one batch */
    size_t samples; /* how many batches */
    bench_summary us;
} bench_timing;

/** CLOCK_MONOTONIC. */
double bench_now_us(void);

/** Barriers of so many ranks for BENCH_WARM_UP_US: collective, before the first sample that a program takes. */
void bench_warm_up(const bench_driver *driver, void *rank, int ranks);

/** Are there more ranks than processors that they may use, those of a host? After the warm-up; all ranks say so alike. */
bool bench_is_crowded(void);

/**
 * Times `call`. Collective over the ranks, which all get the same answer. `repeats`: how many samples, 0 for as many as
 * BENCH_ROW_US allows. Returns 0, or -1 when there is no memory (at this rank: the caller ends the program).
 */
int bench_sample(const bench_driver *driver, void *rank, const void *call, size_t repeats, bench_timing *timing);

/**
 * Times `count` calls, from 1 to BENCH_MOST_TURNS, whose samples take turns, so that whatever else the machine does
 * meets all of them alike: the fair way to compare two that hardly differ.
 */
int bench_sample_in_turn(const bench_driver *driver, void *rank, const void *const calls[], int count, size_t repeats,
                         bench_timing timings[]);

#ifdef __cplusplus
}
#endif
#endif
