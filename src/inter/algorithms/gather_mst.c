// SPDX-License-Identifier: BSD-3-Clause
/*
 * gather, gatherv MST: the minimum spanning tree (mst.h) upwards, ranges of blocks growing on the way.
 *
 * Every range is contiguous, so what a rank passes on is one message, and the root receives each at its final place. A rank
 * asks for all its children's ranges at once.
 * Cost: ⌈log2 p⌉ steps at most, p−1 messages; with blocks of n elements and p a power of two, n p (log2 p)/2 elements. Any
 * p, any root, any counts, but every rank must know all of them. Memory: at an inner rank its range's blocks.
 *
 *     root ◀── 4…7 ◀── 6 7 ◀── 6      each edge carries the blocks of the ranks below it
 *
 * Source: Chan et al. 2007 (the mirror of its scatter).
 */
#include <inter/algorithms.h>
#include <inter/mst.h>

void inter_gather_mst(inter_schedule *schedule, const inter_view *view) {
    inter_mst_edge edges[INTER_MST_MAX_EDGES];
    int count = inter_mst_edges(view->rank, view->size, view->root, edges);
    int parents = count && edges[0].parent; /* 0 at the root; else edges[0] leads up */
    size_t own = inter_block_count(view, view->rank);
    inter_place mine = inter_at(INTER_SEND, 0);
    if (parents && count == 1) { /* a leaf */
        inter_schedule_send(schedule, edges[0].peer, mine, own);
        return;
    }
    /* The range that this rank collects, and where its first block lies. */
    int first = parents ? edges[0].other_first : 0, last = parents ? edges[0].other_last : view->size - 1;
    size_t range = inter_blocks_count(view, first, last);
    inter_place all = parents ? inter_schedule_temp(schedule, range) : inter_at(INTER_RECV, 0);
    for (int i = count - 1; i >= parents; i--)
        inter_schedule_recv(schedule, edges[i].peer,
                            inter_plus(all, inter_blocks_count(view, first, edges[i].other_first - 1)),
                            inter_blocks_count(view, edges[i].other_first, edges[i].other_last));
    inter_schedule_copy(schedule, mine, inter_plus(all, inter_blocks_count(view, first, view->rank - 1)), own);
    inter_schedule_next_stage(schedule);
    if (parents)
        inter_schedule_send(schedule, edges[0].peer, all, range);
}
