// SPDX-License-Identifier: BSD-3-Clause
/* Printing. A row is flushed at once, so that a run that is stopped has shown what it measured. */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool print_setting(const bench_setting *setting) {
    if (setting->format == BENCH_TABLE)
        printf("# %s %s, %s level, processes %d, %s %d%s%s%s%s\n", setting->library, setting->version, setting->level,
               setting->processes, setting->threads ? "threads of each" : "ranks",
               setting->threads ? setting->threads : setting->ranks, setting->pair ? ", pairs " : "",
               setting->pair ? setting->pair : "", setting->checked ? ", every result checked" : "",
               setting->touched ? ", data touched" : "");
    return setting->format == BENCH_TABLE;
}

void bench_report_head(const bench_setting *setting) {
    if (print_setting(setting))
        printf("# %-20s %-11s %12s %12s %12s %12s %12s\n", "operation", "mode", "bytes", "iterations", "min us",
               "median us", "p99 us");
    fflush(stdout);
}

void bench_report_messages_head(const bench_setting *setting) {
    if (print_setting(setting))
        printf("# %-20s %-11s %12s %12s %12s %12s %12s %12s %12s\n", "operation", "mode", "bytes", "messages", "min us",
               "median us", "p99 us", "MB/s", "messages/s");
    fflush(stdout);
}

void bench_report_overlap_head(const bench_setting *setting) {
    if (print_setting(setting))
        printf("# %-20s %-11s %12s %7s %5s %11s %11s %11s %11s %11s %8s %8s\n", "operation", "mode", "bytes", "samples",
               "tests", "blocking us", "compute us", "total us", "exposed us", "calls us", "hidden %", "calls %");
    fflush(stdout);
}

/* Without the closing brace. */
static void print_json_subject(const bench_setting *setting, const bench_subject *subject) {
    printf("{\"library\": \"%s\", \"version\": \"%s\", \"operation\": \"%s\", \"mode\": \"%s\", \"level\": \"%s\", "
           "\"processes\": %d, \"%s\": %d, \"bytes\": %zu, \"check\": \"%s\"",
           setting->library, setting->version, subject->operation, bench_mode_name(subject->mode), setting->level,
           setting->processes, setting->threads ? "threads" : "ranks",
           setting->threads ? setting->threads : setting->ranks, subject->bytes, setting->checked ? "passed" : "off");
    if (setting->touched)
        printf(", \"touch\": true");
    if (setting->pair)
        printf(", \"pair\": \"%s\"", setting->pair);
}

void bench_report_row(const bench_setting *setting, const bench_subject *subject, const bench_timing *timing) {
    size_t iterations = timing->calls * timing->samples;
    if (setting->format == BENCH_JSON) {
        print_json_subject(setting, subject);
        printf(", \"iterations\": %zu, \"samples\": %zu, \"min_us\": %.4f, \"median_us\": %.4f, \"p99_us\": %.4f}\n",
               iterations, timing->samples, timing->us.min, timing->us.median, timing->us.p99);
    } else {
        printf("  %-20s %-11s %12zu %12zu %12.3f %12.3f %12.3f\n", subject->operation, bench_mode_name(subject->mode),
               subject->bytes, iterations, timing->us.min, timing->us.median, timing->us.p99);
    }
    fflush(stdout);
}

void bench_report_messages(const bench_setting *setting, const bench_subject *subject, const bench_timing *timing,
                           int pairs) {
    size_t messages = timing->calls * timing->samples;
    double per_us = timing->us.median > 0 ? pairs / timing->us.median : 0;
    if (setting->format == BENCH_JSON) {
        print_json_subject(setting, subject);
        printf(", \"pairs\": %d, \"messages\": %zu, \"samples\": %zu, \"min_us\": %.4f, \"median_us\": %.4f, "
               "\"p99_us\": %.4f, \"mb_per_s\": %.2f, \"messages_per_s\": %.0f}\n",
               pairs, messages, timing->samples, timing->us.min, timing->us.median, timing->us.p99,
               per_us * (double)subject->bytes, per_us * 1e6);
    } else {
        printf("  %-20s %-11s %12zu %12zu %12.3f %12.3f %12.3f %12.1f %12.0f\n", subject->operation,
               bench_mode_name(subject->mode), subject->bytes, messages, timing->us.min, timing->us.median,
               timing->us.p99, per_us * (double)subject->bytes, per_us * 1e6);
    }
    fflush(stdout);
}

void bench_report_overlap(const bench_setting *setting, const bench_subject *subject,
                          const bench_overlap_timing *timing) {
    const bench_overlap_us *us = &timing->us;
    double hidden = bench_hidden_percent(us), calls = us->blocking > 0 ? 100 * us->calls / us->blocking : 0;
    if (setting->format == BENCH_JSON) {
        print_json_subject(setting, subject);
        printf(", \"samples\": %zu, \"tests\": %d, \"blocking_us\": %.4f, \"compute_us\": %.4f, \"total_us\": %.4f, "
               "\"exposed_us\": %.4f, \"calls_us\": %.4f, \"hidden_percent\": %.2f, \"calls_percent\": %.2f}\n",
               timing->samples, timing->tests, us->blocking, us->compute, us->total, us->exposed, us->calls, hidden,
               calls);
    } else {
        printf("  %-20s %-11s %12zu %7zu %5d %11.3f %11.3f %11.3f %11.3f %11.3f %8.1f %8.1f\n", subject->operation,
               bench_mode_name(subject->mode), subject->bytes, timing->samples, timing->tests, us->blocking,
               us->compute, us->total, us->exposed, us->calls, hidden, calls);
    }
    fflush(stdout);
}

void bench_fail(const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _Exit(1);
}
