// SPDX-License-Identifier: BSD-3-Clause
/*
 * scatter MST: the minimum spanning tree (mst.h) downwards, ranges of blocks halving on the way.
 *
 * The mirror of gather MST: each edge carries the blocks of all ranks below it, sent from where they lie.
 * Cost: ⌈log2 p⌉ stages at most, p−1 messages. Any p, any root, any counts. Memory: at an inner rank its range's
 * blocks.
 *
 *     root → 4…7 → 7
 */
#include <inter/algorithm.h>
#include <inter/mst.h>

void inter_scatter_mst(inter_schedule *schedule, const inter_view *view) {
    inter_mst_edge edges[INTER_MST_MAX_EDGES];
    int count = inter_mst_edges(view->rank, view->size, view->root, edges);
    bool is_root = !count || !edges[0].parent;
    size_t own = inter_blocks_count(view, view->rank, view->rank);
    inter_place mine = inter_at(INTER_RECV, 0);
    if (!is_root && count == 1) { /* a leaf */
        inter_schedule_recv(schedule, edges[0].peer, mine, own);
        return;
    }
    int first = is_root ? 0 : edges[0].other_first, last = is_root ? view->size - 1 : edges[0].other_last;
    size_t range = inter_blocks_count(view, first, last);
    inter_place all = is_root ? inter_at(INTER_SEND, 0) : inter_schedule_temp(schedule, range);
    size_t base = inter_block_offset(view, first);
    if (!is_root) {
        inter_schedule_recv(schedule, edges[0].peer, all, range);
        inter_schedule_next_stage(schedule);
    }
    for (int i = is_root ? 0 : 1; i < count; i++)
        inter_schedule_send(schedule, edges[i].peer,
                            inter_plus(all, inter_block_offset(view, edges[i].other_first) - base),
                            inter_blocks_count(view, edges[i].other_first, edges[i].other_last));
    inter_schedule_copy(schedule, inter_plus(all, inter_block_offset(view, view->rank) - base), mine, own);
}
