// SPDX-License-Identifier: BSD-3-Clause
/**
 * Minimum, median and percentiles of a set of samples. Uses no communication library: weft-bench, the limits and the
 * peers' measurements share it.
 */
#ifndef BENCH_STATISTICS_H
#define BENCH_STATISTICS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_summary {
    double min;
    double median;
    double p99;
} bench_summary;

/** Sorts in ascending order. */
void bench_sort(double *values, size_t count);

/** The middle of `count` ≥ 1 ascending values; of an even number of values, the mean of the two in the middle. */
double bench_median(const double *sorted, size_t count);

/**
 * The nearest-rank percentile of `count` ≥ 1 ascending values: the least value with at least `percent` % (above 0, at
 * most 100) of the values at or below it. It is always one of the values.
 */
double bench_percentile(const double *sorted, size_t count, double percent);

/** All of it for `count` ≥ 1 values, which are sorted in place. */
bench_summary bench_summarise(double *values, size_t count);

#ifdef __cplusplus
}
#endif
#endif
