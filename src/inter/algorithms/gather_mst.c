// SPDX-License-Identifier: BSD-3-Clause
/*
 * gather MST: the minimum spanning tree (mst.h) upwards, ranges of blocks growing on the way.
 *
 * Every range is contiguous, so what a rank passes on is one message, and the root receives each at its final place.
 * Cost: ⌈log2 p⌉ stages at most, p−1 messages, n⌈log2 p⌉/2 elements of n in all travelling on average. Any p, any root,
 * any counts. Memory: at an inner rank its range's blocks.
 *
 *     7 → 6…4 → root      each edge carries the blocks of the ranks below it
 */
#include <inter/algorithm.h>
#include <inter/mst.h>

void inter_gather_mst(inter_schedule *schedule, const inter_view *view) {
    inter_mst_edge edges[INTER_MST_MAX_EDGES];
    int count = inter_mst_edges(view->rank, view->size, view->root, edges);
    bool is_root = !count || !edges[0].parent;
    int parent = !is_root; /* then edges[0] leads up */
    size_t own = inter_blocks_count(view, view->rank, view->rank);
    inter_place mine = inter_at(INTER_SEND, 0);
    if (!is_root && count == 1) { /* a leaf */
        inter_schedule_send(schedule, edges[0].peer, mine, own);
        return;
    }
    /* Where block `first` of the range that this rank collects lies. */
    int first = is_root ? 0 : edges[0].other_first, last = is_root ? view->size - 1 : edges[0].other_last;
    size_t range = inter_blocks_count(view, first, last);
    inter_place all = is_root ? inter_at(INTER_RECV, 0) : inter_schedule_temp(schedule, range);
    size_t base = inter_block_offset(view, first);
    inter_schedule_copy(schedule, mine, inter_plus(all, inter_block_offset(view, view->rank) - base), own);
    for (int i = count - 1; i >= parent; i--)
        inter_schedule_recv(schedule, edges[i].peer,
                            inter_plus(all, inter_block_offset(view, edges[i].other_first) - base),
                            inter_blocks_count(view, edges[i].other_first, edges[i].other_last));
    inter_schedule_next_stage(schedule);
    if (!is_root)
        inter_schedule_send(schedule, edges[0].peer, all, range);
}
