// SPDX-License-Identifier: BSD-3-Clause
/**
 * The watcher: a thread that answers for the others of its process when the roll is called, and that notices when one of them has
 * waited too long (WEFT_HANG_TIMEOUT). It sleeps unless there is something to do, touches no communication, and takes no signals.
 *
 * A wait that is too long is told to the job's collector, weftrun or process 0 (collect.h), which asks all processes and makes one report. Where it
 * cannot be reached the report is this process's own, and goes to a file (WEFT_HANG_REPORT).
 */
#ifndef HIER_WATCH_H
#define HIER_WATCH_H

#include <hier/world.h>

/** weftrun's session directory, when it has started this process (`launched`: a PMIx launcher has); else NULL. */
const char *hier_watch_session(bool launched);

/**
 * Where no session is there to be told of waits, and a time is set: can reports be made? Before the other processes are met. WEFT_ERR_CONFIG.
 */
int hier_watch_check(const core_config *config, const char *session, int rank);

/**
 * Starts it, and the collector's thread where that is here, when a time is set or there is a session. Before there are handles.
 * Errors: WEFT_ERR_NOMEM (no thread to be had).
 */
int hier_watch_start(hier_world *world, const char *session);

/** Ends it; nothing when there is none. */
void hier_watch_stop(hier_world *world);

#endif
