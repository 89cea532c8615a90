// SPDX-License-Identifier: BSD-3-Clause
/*
 * scatter, scatterv MST: the minimum spanning tree (mst.h) downwards, ranges of blocks halving on the way.
 *
 * The mirror of gather MST: each edge carries the blocks of all ranks below it, sent from where they lie; a rank sends to
 * all its children at once.
 * Cost: ⌈log2 p⌉ steps at most, p−1 messages; with blocks of n elements and p a power of two, n p (log2 p)/2 elements. Any
 * p, any root, any counts, but every rank must know all of them. Memory: at an inner rank its range's blocks.
 *
 *     root ──▶ 4…7 ──▶ 6 7 ──▶ 6
 *
 * Source: Chan et al. 2007.
 */
#include <inter/algorithms.h>
#include <inter/mst.h>

void inter_scatter_mst(inter_schedule *schedule, const inter_view *view) {
    inter_mst_edge edges[INTER_MST_MAX_EDGES];
    int count = inter_mst_edges(view->rank, view->size, view->root, edges);
    int parents = count && edges[0].parent; /* 0 at the root; else edges[0] leads up */
    size_t own = inter_block_count(view, view->rank);
    inter_place mine = inter_at(INTER_RECV, 0);
    if (parents && count == 1) { /* a leaf */
        inter_schedule_recv(schedule, edges[0].peer, mine, own);
        return;
    }
    /* The range that this rank hands out, and where its first block lies. */
    int first = parents ? edges[0].other_first : 0, last = parents ? edges[0].other_last : view->size - 1;
    size_t range = inter_blocks_count(view, first, last);
    inter_place all = parents ? inter_schedule_temp(schedule, range) : inter_at(INTER_SEND, 0);
    if (parents) {
        inter_schedule_recv(schedule, edges[0].peer, all, range);
        inter_schedule_next_stage(schedule);
    }
    for (int i = parents; i < count; i++)
        inter_schedule_send(schedule, edges[i].peer,
                            inter_plus(all, inter_blocks_count(view, first, edges[i].other_first - 1)),
                            inter_blocks_count(view, edges[i].other_first, edges[i].other_last));
    inter_schedule_copy(schedule, inter_plus(all, inter_blocks_count(view, first, view->rank - 1)), mine, own);
}
