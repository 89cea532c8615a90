// SPDX-License-Identifier: BSD-3-Clause
/* Printing. A row is flushed at once, so that a run that is stopped has shown what it measured. */
#include "report.h"

#include <stdio.h>

void bench_report_head(const bench_setting *setting) {
    if (setting->format == BENCH_JSON)
        return;
    printf("# %s %s, %s level, processes %d, threads of each %d%s\n", setting->library, setting->version,
           setting->level, setting->processes, setting->threads, setting->checked ? ", every result checked" : "");
    printf("# %-18s %12s %12s %12s %12s %12s\n", "operation", "bytes", "iterations", "min us", "median us", "p99 us");
    fflush(stdout);
}

void bench_report_row(const bench_setting *setting, const char *operation, size_t bytes, const bench_timing *timing) {
    size_t iterations = timing->calls * timing->samples;
    if (setting->format == BENCH_JSON)
        printf(
            "{\"library\": \"%s\", \"version\": \"%s\", \"operation\": \"%s\", \"level\": \"%s\", \"processes\": %d, "
            "\"threads\": %d, \"bytes\": %zu, \"iterations\": %zu, \"samples\": %zu, \"min_us\": %.4f, "
            "\"median_us\": %.4f, \"p99_us\": %.4f, \"check\": \"%s\"}\n",
            setting->library, setting->version, operation, setting->level, setting->processes, setting->threads, bytes,
            iterations, timing->samples, timing->us.min, timing->us.median, timing->us.p99,
            setting->checked ? "passed" : "off");
    else
        printf("  %-18s %12zu %12zu %12.3f %12.3f %12.3f\n", operation, bytes, iterations, timing->us.min,
               timing->us.median, timing->us.p99);
    fflush(stdout);
}
