// SPDX-License-Identifier: BSD-3-Clause
/*
 * bcast MST: minimum spanning tree over contiguous ranges of ranks (mst.h).
 *
 * Cost: ⌈log2 p⌉ steps, p−1 messages of n elements. With ranks placed node by node few of them cross nodes: 7 of 127 for
 * 128 ranks on 8 nodes, from any root. Any p, any root. No memory. Long vectors travel ⌈log2 p⌉ times as a whole.
 *
 *     0 1 2 3 4 5 6 7       the root sends to the far end of the other half, which is the root there; then both
 *     └─────────────┘       halves likewise
 *     0 1 2 3   4 5 6 7
 *     └─────┘   └─────┘
 *
 * Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience",
 * Concurrency and Computation 19 (2007).
 */
#include <inter/algorithms.h>
#include <inter/mst.h>

void inter_bcast_mst(inter_schedule *schedule, const inter_view *view) {
    inter_mst_edge edges[INTER_MST_MAX_EDGES];
    int count = inter_mst_edges(view->rank, view->size, view->root, edges);
    inter_place data = inter_at(INTER_RECV, 0);
    for (int i = 0; i < count; i++) {
        if (edges[i].parent)
            inter_schedule_recv(schedule, edges[i].peer, data, view->count);
        else
            inter_schedule_send(schedule, edges[i].peer, data, view->count);
        inter_schedule_next_stage(schedule);
    }
}
