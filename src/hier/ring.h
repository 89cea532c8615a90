// SPDX-License-Identifier: BSD-3-Clause
/**
 * Rings: a persistent collective is started in any order by its ranks, so each has slots of its own, which a team's threads find
 * by its number; and how a thread says that it comes to no collective of a team any more, on none of them.
 */
#ifndef HIER_RING_H
#define HIER_RING_H

#include <hier/comm.h>

/** The ring of a persistent collective, made by whoever of the process's threads comes first; NULL without memory. */
hier_ring *hier_ring_join(weft_team *team, uint64_t number);

/** Others may still read what this thread has shown there: it goes when all have left. */
void hier_ring_leave(weft_team *team, hier_ring *ring);

/** Frees what persistent collectives have left: some thread never came to free its own. */
void hier_rings_free(weft_team *team);

/**
 * The thread comes to no collective of the team any more: from now on those that it takes fail at once. When it has none under way
 * it tells the others, who wait for it no longer; until then they need it, and it is called again at the end of each.
 */
void hier_retire(weft_comm *comm) __attribute__((cold));

#endif
