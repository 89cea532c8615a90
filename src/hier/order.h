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
hier_collective hier_ordered;

#endif
