// SPDX-License-Identifier: BSD-3-Clause
/* The batches, their length, and the collection of their times. */
#include "sampling.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP_BARRIERS 10
/* Calls of one kind: as many slots as a library may take in turn, each made ready at its first use; unless that takes longer than this. */
#define WARM_UP_CALLS    32
#define WARM_UP_US       3000.0
#define TRIALS           3 /* the shortest of these counts: what disturbs one must not decide the batch */

double bench_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static atomic_bool crowded; /* there are more ranks than processors for them; all say so alike */

/* How many processors some rank may use. One that is bound has its own alone: only together they tell how many there are. */
static int count_processors(const bench_driver *driver, void *rank) {
    double usable[CPU_SETSIZE];
    cpu_set_t mine;
    const bool known = sched_getaffinity(0, sizeof mine, &mine) == 0; /* not of more than a set has room for */
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    int count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        usable[cpu] = known ? CPU_ISSET(cpu, &mine) : cpu < online;
    driver->maximum(rank, usable, CPU_SETSIZE);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        count += usable[cpu] > 0;
    return count;
}

void bench_warm_up(const bench_driver *driver, void *rank, int ranks) {
    atomic_store_explicit(&crowded, ranks > count_processors(driver, rank), memory_order_relaxed);
    double begin = bench_now_us(), longest = 0;
    while (longest < BENCH_WARM_UP_US) {
        for (int i = 0; i < WARM_UP_BARRIERS; i++)
            driver->barrier(rank);
        longest = bench_now_us() - begin;
        driver->maximum(rank, &longest, 1);
    }
}

bool bench_is_crowded(void) {
    return atomic_load_explicit(&crowded, memory_order_relaxed);
}

/* This rank's time for one batch that all ranks start together. */
static double time_batch(const bench_driver *driver, void *rank, const void *call, size_t calls) {
    double start;
    driver->barrier(rank);
    start = bench_now_us();
    driver->run(rank, call, calls);
    return bench_now_us() - start;
}

/* What is set up at first calls must decide neither the batch nor the samples. */
static void warm_up_call(const bench_driver *driver, void *rank, const void *call) {
    double us = 0;
    for (size_t calls = 1; calls <= WARM_UP_CALLS && us < WARM_UP_US; calls *= 2) {
        us = time_batch(driver, rank, call, calls);
        driver->maximum(rank, &us, 1);
    }
}

/* Doubles the batch until it is long enough. Every rank decides by the same maxima, so all come to the same batch. */
static size_t find_batch(const bench_driver *driver, void *rank, const void *call, double *batch_us) {
    const double least_us = bench_is_crowded() ? BENCH_CROWDED_US : BENCH_SAMPLE_US;
    size_t calls = 1;
    warm_up_call(driver, rank, call);
    for (;;) {
        double shortest = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double us = time_batch(driver, rank, call, calls);
            driver->maximum(rank, &us, 1);
            if (trial == 0 || us < shortest)
                shortest = us;
        }
        *batch_us = shortest;
        if (shortest >= least_us || calls >= BENCH_MOST_CALLS)
            return calls;
        calls *= 2;
    }
}

/* As many samples of each call as fit into the time of as many rows. */
static size_t fitting_samples(double round_us, int count) {
    double fit = round_us > 0 ? count * BENCH_ROW_US / round_us : BENCH_MOST_SAMPLES;
    return fit > BENCH_MOST_SAMPLES    ? BENCH_MOST_SAMPLES
           : fit < BENCH_LEAST_SAMPLES ? BENCH_LEAST_SAMPLES
                                       : (size_t)fit;
}

int bench_sample_in_turn(const bench_driver *driver, void *rank, const void *const calls[], int count, size_t repeats,
                         bench_timing timings[]) {
    double round_us = 0, *values;
    size_t samples;
    for (int turn = 0; turn < count; turn++) {
        double batch_us;
        timings[turn].calls = find_batch(driver, rank, calls[turn], &batch_us);
        round_us += batch_us;
    }
    samples = repeats ? repeats : fitting_samples(round_us, count);
    values = malloc((size_t)count * samples * sizeof *values);
    if (!values)
        return -1;
    for (size_t i = 0; i < samples; i++)
        for (int turn = 0; turn < count; turn++)
            values[(size_t)turn * samples + i] =
                time_batch(driver, rank, calls[turn], timings[turn].calls) / (double)timings[turn].calls;
    driver->maximum(rank, values, (size_t)count * samples);
    for (int turn = 0; turn < count; turn++) {
        timings[turn].samples = samples;
        timings[turn].us = bench_summarise(values + (size_t)turn * samples, samples);
    }
    free(values);
    return 0;
}

int bench_sample(const bench_driver *driver, void *rank, const void *call, size_t repeats, bench_timing *timing) {
    return bench_sample_in_turn(driver, rank, &call, 1, repeats, timing);
}
