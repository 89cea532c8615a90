// SPDX-License-Identifier: BSD-3-Clause
/**
 * The progress thread (WEFT_PROGRESS=thread): drives the network, and what threads have lent it (lending.h), while they compute.
 */
#ifndef HIER_PROGRESS_H
#define HIER_PROGRESS_H

#include <hier/world.h>

/** Starts it. Errors: WEFT_ERR_NOMEM (no thread to be had). */
int hier_progress_start(hier_world *world);

/** Something was lent: it is to look. By any thread. */
void hier_progress_wake(hier_world *world);

/** Ends it; nothing when there is none. Not under the funnel. */
void hier_progress_stop(hier_world *world);

#endif
