// SPDX-License-Identifier: BSD-3-Clause
/*
 * bcast bFaT: four-ary tree, one child after the other.
 *
 * Node v of the tree, rank root + v modulo p, has the children 4v+1 … 4v+4, as in a heap.
 * Cost: p−1 messages of n elements; ⌈log4 (3p+1)⌉ − 1 levels below the root. A rank's four sends follow each other: child i
 * has the data i steps after its parent, so with d full levels it takes 4d steps. Any p, any root. No memory.
 * Parents and children lie far apart: of 128 ranks on 8 nodes, placed node by node, 112 of the 127 messages from root 0
 * cross nodes.
 *
 *     0 ─┬─ 1 ─ 5, 6, 7, 8
 *        ├─ 2 ─ 9, 10, 11, 12
 *        ├─ 3 ─ …
 *        └─ 4
 *
 * Source: the broadcast of MPJ Express; Baker, Carpenter, Shafi, "MPJ Express: towards thread safe Java HPC", IEEE
 * Cluster (2006).
 */
#include <inter/algorithms.h>
#include <inter/peers.h>

enum { CHILDREN = 4 };

void inter_bcast_fat(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, node = inter_ring_rank(view->rank, -view->root, size);
    inter_place data = inter_at(INTER_RECV, 0);
    if (node) {
        inter_schedule_recv(schedule, inter_ring_rank(view->root, (node - 1) / CHILDREN, size), data, view->count);
        inter_schedule_next_stage(schedule);
    }
    for (int child = 1; child <= CHILDREN && child < size - CHILDREN * node; child++) {
        inter_schedule_send(schedule, inter_ring_rank(view->root, CHILDREN * node + child, size), data, view->count);
        inter_schedule_next_stage(schedule);
    }
}
