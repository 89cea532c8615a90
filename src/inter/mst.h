// SPDX-License-Identifier: BSD-3-Clause
/**
 * The minimum spanning tree over ranks first … last: peer arithmetic only.
 *
 *     0 1 2 3 4 5 6 7      root 0: the far end of the other half becomes its root
 *     └─────────────┐
 *     0 1 2 3   4 5 6 7
 *     └─────┐   ┌─────┘
 *
 * Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience",
 * Concurrency and Computation 19 (2007), section 3.
 */
#ifndef INTER_MST_H
#define INTER_MST_H

#include <stdbool.h>

/** One level of the tree as a rank sees it: what it exchanges with `peer` concerns the ranks other_first … other_last.
 */
typedef struct inter_mst_edge {
    int peer;
    bool parent;                 /* the rank is the root of the other half: `peer` is its parent */
    int other_first, other_last; /* the half below this edge, which does not hold the range's root */
} inter_mst_edge;

#define INTER_MST_MAX_EDGES 32

/**
 * The rank's edges from the root's level down to its own; at most one, the first, leads to a parent.
 * Returns how many there are, ≤ ⌈log2 p⌉.
 */
static inline int inter_mst_edges(int rank, int size, int root, inter_mst_edge edges[INTER_MST_MAX_EDGES]) {
    int first = 0, last = size - 1, count = 0;
    while (first < last) {
        int middle = first + (last - first) / 2;
        bool root_low = root <= middle;
        int other_first = root_low ? middle + 1 : first, other_last = root_low ? last : middle;
        int other_root = root_low ? last : first;
        if (rank == root)
            edges[count++] = (inter_mst_edge){other_root, false, other_first, other_last};
        else if (rank == other_root)
            edges[count++] = (inter_mst_edge){root, true, other_first, other_last};
        bool in_other = rank >= other_first && rank <= other_last;
        if (in_other) {
            first = other_first, last = other_last, root = other_root;
        } else if (root_low) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    return count;
}

#endif
