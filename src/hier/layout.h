// SPDX-License-Identifier: BSD-3-Clause
/**
 * Where the ranks of a communicator are: node by node, threads of a node together. Pure.
 *
 * Ranks that a split has mixed have *places*, numbers in that order, which everything within hier counts in but for what
 * users see: the ranks of messages, roots, and the order of blocks and operands (order.h). Else a rank is its place.
 *
 *     ranks 0 … 3:   node 0, node 1, node 0, node 1        places:  0, 2, 1, 3
 */
#ifndef HIER_LAYOUT_H
#define HIER_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hier_layout {
    int nodes;
    int threads;   /* of the node that has most … */
    bool one_host; /* … are all nodes of one host, … */
    bool reads;    /* … several that may read each other's memory? For the selector (hier_world_survey), as is … */
    bool crowded;  /* … this: does a core have to carry several threads? All have agreed on it */
    const size_t *offsets; /* nodes + 1 entries: the first place of each node, then the number of ranks */
    const int *processes;  /* by node; NULL: node n is process n of the job */
    const int *places;     /* by rank; NULL: a rank is its place */
    const int *ranks;      /* by place; NULL likewise */
} hier_layout;

/** What hier_layout_make() has allocated, to be filled in. */
typedef struct hier_layout_parts {
    size_t *offsets;
    int *processes, *places, *ranks;
} hier_layout_parts;

/**
 * Takes memory, zeroed, for a layout of so many nodes and ranks, which is shown by *layout and filled in by *parts; false
 * without memory. The caller frees. A caller whose ranks are their places sets places and ranks of the layout to NULL.
 */
bool hier_layout_make(hier_layout *layout, hier_layout_parts *parts, int nodes, int ranks);
void hier_layout_free(hier_layout *layout);

static inline int hier_layout_size(const hier_layout *layout) {
    return (int)layout->offsets[layout->nodes];
}

static inline int hier_layout_threads(const hier_layout *layout, int node) {
    return (int)(layout->offsets[node + 1] - layout->offsets[node]);
}

/** The node of a place: the last one that begins at or before it. */
static inline int hier_layout_node(const hier_layout *layout, int place) {
    int low = 0, high = layout->nodes - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (layout->offsets[middle] <= (size_t)place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static inline int hier_layout_thread(const hier_layout *layout, int place) {
    return place - (int)layout->offsets[hier_layout_node(layout, place)];
}

static inline int hier_layout_place(const hier_layout *layout, int rank) {
    return layout->places ? layout->places[rank] : rank;
}

static inline int hier_layout_rank(const hier_layout *layout, int place) {
    return layout->ranks ? layout->ranks[place] : place;
}

static inline int hier_layout_process(const hier_layout *layout, int node) {
    return layout->processes ? layout->processes[node] : node;
}

#endif
