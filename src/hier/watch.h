// SPDX-License-Identifier: BSD-3-Clause
/**
 * The watcher: a thread that answers for the others of its process when weftrun calls the roll, and that notices when one of them has
 * waited too long (WEFT_HANG_TIMEOUT). It sleeps unless there is something to do, touches no communication, and takes no signals.
 *
 * A wait that is too long is told to weftrun, which asks all processes and prints one report. Without weftrun the report is this
 * process's own, and goes to a file (WEFT_HANG_REPORT).
 */
#ifndef HIER_WATCH_H
#define HIER_WATCH_H

#include <hier/world.h>

/**
 * Starts it, when a time is set or weftrun has started this process (`launched`: a PMIx launcher has). Before there are handles.
 * Errors: WEFT_ERR_NOMEM (no thread to be had).
 */
int hier_watch_start(hier_world *world, bool launched);

/** Ends it; nothing when there is none. */
void hier_watch_stop(hier_world *world);

#endif
