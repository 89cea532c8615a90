// SPDX-License-Identifier: BSD-3-Clause
/**
 * One row of results, as a line of a table or as one JSON object a line.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "sampling.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bench_format { BENCH_TABLE, BENCH_JSON };

/** What is the same in all rows of a run. The strings contain nothing that JSON would have to escape. */
typedef struct bench_setting {
    const char *library; /**< "weft", "openmpi", "mpich", "limits" */
    const char *version; /**< of that library */
    const char *level;   /**< "thread": a rank is a thread; "process" */
    int processes;
    int threads; /**< of a process */
    enum bench_format format;
    bool checked; /**< a row is printed only after its check has passed */
} bench_setting;

/** The table's head; nothing for JSON. */
void bench_report_head(const bench_setting *setting);

/** A row, flushed. `bytes`: what one rank contributes. */
void bench_report_row(const bench_setting *setting, const char *operation, size_t bytes, const bench_timing *timing);

#ifdef __cplusplus
}
#endif
#endif
