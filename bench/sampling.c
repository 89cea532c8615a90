// SPDX-License-Identifier: BSD-3-Clause
/* The batches, their length, and the collection of their times. */
#include "sampling.h"

#include <stdlib.h>
#include <time.h>

#define WARM_UP_CALLS 2
#define TRIALS        3 /* the shortest of these counts: a first call that sets something up must not decide the batch */

double bench_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* This rank's time for one batch that all ranks start together. */
static double time_batch(const bench_driver *driver, void *rank, const void *call, size_t calls) {
    double start;
    driver->barrier(rank);
    start = bench_now_us();
    driver->run(rank, call, calls);
    return bench_now_us() - start;
}

/* Doubles the batch until it is long enough. Every rank decides by the same maxima, so all come to the same batch. */
static size_t find_batch(const bench_driver *driver, void *rank, const void *call, double *batch_us) {
    size_t calls = 1;
    driver->run(rank, call, WARM_UP_CALLS);
    for (;;) {
        double shortest = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double us = time_batch(driver, rank, call, calls);
            driver->maximum(rank, &us, 1);
            if (trial == 0 || us < shortest)
                shortest = us;
        }
        *batch_us = shortest;
        if (shortest >= BENCH_SAMPLE_US || calls >= BENCH_MOST_CALLS)
            return calls;
        calls *= 2;
    }
}

int bench_sample(const bench_driver *driver, void *rank, const void *call, size_t repeats, bench_timing *timing) {
    double batch_us, *values;
    size_t calls = find_batch(driver, rank, call, &batch_us), samples = repeats;
    if (samples == 0) {
        double fit = batch_us > 0 ? BENCH_ROW_US / batch_us : BENCH_MOST_SAMPLES;
        samples = fit > BENCH_MOST_SAMPLES ? BENCH_MOST_SAMPLES : (size_t)fit;
        samples = samples < BENCH_LEAST_SAMPLES ? BENCH_LEAST_SAMPLES : samples;
    }
    values = malloc(samples * sizeof *values);
    if (!values)
        return -1;
    for (size_t i = 0; i < samples; i++)
        values[i] = time_batch(driver, rank, call, calls) / (double)calls;
    driver->maximum(rank, values, samples);
    *timing = (bench_timing){calls, samples, bench_summarise(values, samples)};
    free(values);
    return 0;
}
