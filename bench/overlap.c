// SPDX-License-Identifier: BSD-3-Clause
/* The three readings of a sample, and what becomes of them. */
#include "overlap.h"
#include "statistics.h"

#include <stdlib.h>

#define TRIALS           9
#define CALIBRATION_US   200.0
#define US_BETWEEN_TESTS 10.0
#define CROWDED_WORK_US  10000.0 /* some turns of the scheduler */
#define LEAST_TESTS      4
#define MOST_TESTS       100
#define READINGS         4 /* of a sample and rank, as in the enum */

enum reading { BLOCKING, COMPUTE, TOTAL, CALLS };

/* The computation: `tests` + 1 slices of `units` each. */
typedef struct overlap_work {
    int tests;
    size_t units;
} overlap_work;

/* Read before and written after each slice, so that the compiler neither leaves the work out nor does it elsewhere. */
static _Thread_local volatile double value_of_work = 1;

/* Each unit needs the one before it, so that they take the same time whatever surrounds them. */
static void compute(size_t units) {
    double value = value_of_work;
    for (size_t i = 0; i < units; i++)
        value = value * 0.999999 + 0.000001;
    value_of_work = value;
}

/* Microseconds of one unit: the best of a few trials of a length that the clock can tell. */
static double unit_us(void) {
    size_t units = 1024;
    double best = 0;
    for (int trial = 0; trial < TRIALS;) {
        double us = bench_now_us();
        compute(units);
        us = bench_now_us() - us;
        if (us < CALIBRATION_US) {
            units *= 2;
            continue;
        }
        if (trial++ == 0 || us / (double)units < best)
            best = us / (double)units;
    }
    return best;
}

/* The time of all slices, with a test of `call` behind each but the last; NULL: with nothing between them. */
static double compute_in_slices(const bench_rank *rank, const overlap_work *work, const bench_call *call) {
    double computed_us = 0;
    for (int slice = 0; slice <= work->tests; slice++) {
        double begin = bench_now_us();
        compute(work->units);
        computed_us += bench_now_us() - begin;
        if (call && slice < work->tests)
            rank->library->test(rank->state, call);
    }
    return computed_us;
}

static double time_blocking(const bench_rank *rank, const bench_call *call) {
    bench_call blocking = *call;
    double begin;
    blocking.mode = BENCH_BLOCKING;
    blocking.then_barrier = false;
    rank->library->driver.barrier(rank->state);
    begin = bench_now_us();
    rank->library->driver.run(rank->state, &blocking, 1);
    return bench_now_us() - begin;
}

static double time_compute(const bench_rank *rank, const overlap_work *work) {
    double begin;
    rank->library->driver.barrier(rank->state);
    begin = bench_now_us();
    compute_in_slices(rank, work, NULL);
    return bench_now_us() - begin;
}

static double time_overlapped(const bench_rank *rank, const overlap_work *work, const bench_call *call,
                              double *calls_us) {
    double begin, total, computed_us;
    rank->library->driver.barrier(rank->state);
    begin = bench_now_us();
    rank->library->start(rank->state, call);
    computed_us = compute_in_slices(rank, work, call);
    rank->library->wait(rank->state, call);
    total = bench_now_us() - begin;
    *calls_us = total - computed_us;
    return total;
}

/* About the blocking time of the slowest rank; the same at all ranks. The first trial only warms up. */
static double estimate_us(const bench_rank *rank, const bench_call *call) {
    double us[TRIALS];
    for (int trial = -1; trial < TRIALS; trial++)
        us[trial < 0 ? 0 : trial] = time_blocking(rank, call);
    rank->library->driver.maximum(rank->state, us, TRIALS);
    return bench_summarise(us, TRIALS).median;
}

static int default_tests(double blocking_us) {
    double tests = blocking_us / US_BETWEEN_TESTS;
    return tests > MOST_TESTS ? MOST_TESTS : tests < LEAST_TESTS ? LEAST_TESTS : (int)tests;
}

static size_t default_samples(double blocking_us) {
    double samples = BENCH_ROW_US / (READINGS * (blocking_us + 1));
    return samples > BENCH_MOST_SAMPLES    ? BENCH_MOST_SAMPLES
           : samples < BENCH_LEAST_SAMPLES ? BENCH_LEAST_SAMPLES
                                           : (size_t)samples;
}

/* Medians first and the slowest rank then, so that a rank's one bad sample does not count as everybody's. */
static bench_overlap_us summarise(const bench_rank *rank, double *readings[READINGS], size_t samples) {
    double medians[READINGS + 1];
    rank->library->driver.maximum(rank->state, readings[BLOCKING], samples);
    for (int reading = 0; reading < READINGS; reading++)
        medians[reading] = bench_summarise(readings[reading], samples).median;
    medians[READINGS] = medians[TOTAL] - medians[COMPUTE];
    /* Where ranks share cores the computation takes turns of the scheduler more or less from one reading to the next. */
    if (bench_is_crowded() && medians[READINGS] > medians[CALLS])
        medians[READINGS] = medians[CALLS];
    rank->library->driver.maximum(rank->state, medians, READINGS + 1);
    return (bench_overlap_us){.blocking = medians[BLOCKING],
                              .compute = medians[COMPUTE],
                              .total = medians[TOTAL],
                              .exposed = medians[READINGS],
                              .calls = medians[CALLS]};
}

int bench_overlap(const bench_rank *rank, const bench_call *call, size_t repeats, int tests,
                  bench_overlap_timing *timing) {
    double blocking_us = estimate_us(rank, call), *values, *readings[READINGS];
    /* Where cores are short a rank with less is through before others have begun, and would wait for their computation. */
    double work_us = bench_is_crowded() && blocking_us < CROWDED_WORK_US ? CROWDED_WORK_US : blocking_us;
    overlap_work work = {.tests = tests ? tests : default_tests(blocking_us)};
    double units = work_us / unit_us() / (work.tests + 1);
    size_t samples = repeats ? repeats : default_samples(work_us);
    work.units = units > 1 ? (size_t)units : 1;
    values = malloc(READINGS * samples * sizeof *values);
    if (!values)
        return -1;
    for (int reading = 0; reading < READINGS; reading++)
        readings[reading] = values + (size_t)reading * samples;
    for (size_t i = 0; i < samples; i++) {
        readings[BLOCKING][i] = time_blocking(rank, call);
        readings[COMPUTE][i] = time_compute(rank, &work);
        readings[TOTAL][i] = time_overlapped(rank, &work, call, &readings[CALLS][i]);
    }
    *timing = (bench_overlap_timing){samples, work.tests, summarise(rank, readings, samples)};
    free(values);
    return 0;
}

double bench_hidden_percent(const bench_overlap_us *us) {
    double percent = us->blocking > 0 ? 100 * (1 - us->exposed / us->blocking) : 0;
    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}
