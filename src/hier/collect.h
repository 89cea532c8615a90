// SPDX-License-Identifier: BSD-3-Clause
/**
 * Roll-calls of a job that weftrun has not started: with a hang timeout (WEFT_HANG_TIMEOUT) process 0 collects what all processes say, in a
 * thread, and writes one report. The others find it by its card; they connect over TCP, wherever they are.
 */
#ifndef HIER_COLLECT_H
#define HIER_COLLECT_H

#include <hier/world.h>

typedef struct hier_collect hier_collect;

/**
 * Process 0, before the cards go round: listens, and puts into the card where. NULL: without such a place, or without memory; then the
 * processes report for themselves.
 */
hier_collect *hier_collect_open(int processes, hier_card *card);

/** Starts the thread of the world's, if it has one. */
void hier_collect_start(hier_world *world);

/** Ends it and frees all. May be NULL. */
void hier_collect_close(hier_collect *collect);

/** The file of a process's reports. */
#define HIER_REPORT_BYTES (CORE_PATH_BYTES + 16)
void hier_report_name(const core_config *config, int rank, char name[HIER_REPORT_BYTES]);

/** The report of a process, opened to be appended to, with the time written; or NULL: what cannot be written is lost. */
FILE *hier_report_open(const hier_world *world);

/** Starts a thread for which the program's signals are not. */
bool hier_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
