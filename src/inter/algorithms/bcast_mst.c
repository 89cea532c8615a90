// SPDX-License-Identifier: BSD-3-Clause
/*
 * bcast MST: minimum spanning tree over contiguous ranges of ranks (mst.h).
 *
 * Cost: ⌈log2 p⌉ stages at most, p−1 messages of n elements; with block placement few of them cross nodes. Any p, any
 * root.
 *
 *     root ──────────────▶ root of the other half, then both halves likewise
 */
#include <inter/algorithm.h>
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
