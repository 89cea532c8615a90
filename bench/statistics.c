// SPDX-License-Identifier: BSD-3-Clause
/* Order statistics over an array of samples. */
#include "statistics.h"

#include <stdlib.h>

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void bench_sort(double *values, size_t count) {
    qsort(values, count, sizeof *values, ascending);
}

double bench_median(const double *sorted, size_t count) {
    size_t middle = count / 2;
    return count % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double bench_percentile(const double *sorted, size_t count, double percent) {
    double exact = percent * (double)count / 100;
    size_t rank = (size_t)exact;
    if ((double)rank < exact)
        rank++;
    if (rank < 1)
        rank = 1;
    return sorted[rank > count ? count - 1 : rank - 1];
}

bench_summary bench_summarise(double *values, size_t count) {
    bench_sort(values, count);
    return (bench_summary){values[0], bench_median(values, count), bench_percentile(values, count, 99)};
}
