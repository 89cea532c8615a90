// SPDX-License-Identifier: BSD-3-Clause
/**
 * One row of results, as a line of a table or as one JSON object a line; and the last words of a program that fails.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "operations.h"
#include "overlap.h"
#include "sampling.h"

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
    int threads; /**< of a process; 0: they have different numbers, and `ranks` in all */
    int ranks;
    enum bench_format format;
    bool checked;     /**< a row is printed only after its check has passed */
    bool touched;     /**< each rank writes what it gives before each call, and reads what it got after it */
    const char *pair; /**< of messages: "same-node" or "other-node"; else NULL */
} bench_setting;

/** What a row is about. */
typedef struct bench_subject {
    const char *operation; /**< or the name of a limit */
    enum bench_mode mode;
    size_t bytes; /**< what one rank contributes */
} bench_subject;

/** The table's head; nothing for JSON. */
void bench_report_head(const bench_setting *setting);
void bench_report_messages_head(const bench_setting *setting);
void bench_report_overlap_head(const bench_setting *setting);

/** A row, flushed. */
void bench_report_row(const bench_setting *setting, const bench_subject *subject, const bench_timing *timing);
/** A row of messages: `timing` is that of one message of each of `pairs` pairs; MB/s and messages/s are of all, by the median. */
void bench_report_messages(const bench_setting *setting, const bench_subject *subject, const bench_timing *timing,
                           int pairs);
void bench_report_overlap(const bench_setting *setting, const bench_subject *subject,
                          const bench_overlap_timing *timing);

/** Prints "program: sentence" on stderr and ends the process with status 1 at once: other threads may be inside a call.
 */
__attribute__((noreturn, format(printf, 1, 2))) void bench_fail(const char *format, ...);

#ifdef __cplusplus
}
#endif
#endif
