// SPDX-License-Identifier: BSD-3-Clause
/**
 * Where the ranks of a communicator are: node by node, threads of a node together. Pure.
 */
#ifndef HIER_LAYOUT_H
#define HIER_LAYOUT_H

#include <stddef.h>

typedef struct hier_layout {
    int nodes;
    int threads;           /* of the node that has most: what the selector is asked with, everywhere the same */
    const size_t *offsets; /* nodes + 1 entries: the first rank of each node, then the number of ranks */
} hier_layout;

static inline int hier_layout_size(const hier_layout *layout) {
    return (int)layout->offsets[layout->nodes];
}

static inline int hier_layout_threads(const hier_layout *layout, int node) {
    return (int)(layout->offsets[node + 1] - layout->offsets[node]);
}

static inline hier_layout hier_layout_of(int nodes, const size_t *offsets) {
    hier_layout layout = {.nodes = nodes, .threads = 0, .offsets = offsets};
    for (int node = 0; node < nodes; node++)
        if (layout.threads < hier_layout_threads(&layout, node))
            layout.threads = hier_layout_threads(&layout, node);
    return layout;
}

/** The node of a rank: the last one that begins at or before it. */
static inline int hier_layout_node(const hier_layout *layout, int rank) {
    int low = 0, high = layout->nodes - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (layout->offsets[middle] <= (size_t)rank)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static inline int hier_layout_thread(const hier_layout *layout, int rank) {
    return rank - (int)layout->offsets[hier_layout_node(layout, rank)];
}

#endif
