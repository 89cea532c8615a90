// SPDX-License-Identifier: BSD-3-Clause
/**
 * Driving the network while waiting: what the thread-rank collectives and the requests of process ranks have in common.
 */
#ifndef HIER_DRIVE_H
#define HIER_DRIVE_H

#include <hier/world.h>

/** Who holds the funnel looks so often before letting others try; each look takes some tens of nanoseconds. */
#define HIER_LOOKS_IN_FUNNEL 16

/** Gets ready to sleep on the network; false when something can be done now. Under the funnel. */
bool hier_arm(hier_world *world, inter_bed *bed);

/** Sleeps until something happens on the network, for 10 ms at most. Without the funnel. */
void hier_sleep(const inter_bed *bed);

/** Is there what the caller waits for? Called under the funnel. */
typedef bool hier_look(void *argument);

/** Moves the network on until look() says true: then, true. With `once`, after one try, whatever it says. */
bool hier_drive_until(hier_world *world, hier_look *look, void *argument, bool once);

#endif
