// SPDX-License-Identifier: BSD-3-Clause
/** The leaves of a communicator: which blocks of its ranks are all of one node (inter/leaves.h). Pure. */
#ifndef HIER_LEAVES_H
#define HIER_LEAVES_H

#include <hier/layout.h>
#include <inter/leaves.h>

/** Those of a layout, as `node` sees them; the caller frees. NULL without memory. */
inter_leaves *hier_leaves_make(const hier_layout *layout, int node);

#endif
