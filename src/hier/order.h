// SPDX-License-Identifier: BSD-3-Clause
/**
 * Order: the collectives of communicators whose ranks have places (layout.h). This is the one room where the two meet: roots are
 * mapped, blocks that are equal become blocks with displacements, operands that must meet in rank order are gathered in it and
 * combined one after the other.
 */
#ifndef HIER_ORDER_H
#define HIER_ORDER_H

#include <hier/thread.h>

/** Runs a collective on the handle's `inner` one; blocking. The arguments are those of the ranks. */
hier_runner hier_ordered;

/** Is it one collective of places? */
bool hier_order_is_one(const hier_arguments *arguments);

/**
 * Makes one of ranks one of places, for the `inner` handle; its arrays are the caller's to free when it is over. WEFT_ERR_NOMEM.
 */
int hier_order_map(const weft_comm *comm, hier_arguments *arguments, void *arrays[2]);

#endif
