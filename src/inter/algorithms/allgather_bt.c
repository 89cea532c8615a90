// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather, allgatherv, barrier BT: a binomial tree (peers.h) up to rank 0 and down again.
 *
 * Cost: 2⌈log2 p⌉ steps, 2(p−1) messages. Of N elements in all, with equal blocks and p a power of two: N(log2 p)/2 go up,
 * N(p−1) down. Any p, any counts. No memory but the result. A barrier is this with nothing in it.
 *
 *     7 ─▶ 6 ─▶ 4 ─▶ 0 ─▶ 4 ─▶ 6 ─▶ 7
 *          5 ─▶ 4    ▲    └──▶ 5
 *          3 ─▶ 2 ───┤
 *               1 ───┘ …
 */
#include <inter/algorithms.h>
#include <inter/algorithms/allgather_tree.h>

void inter_allgather_bt(inter_schedule *schedule, const inter_view *view) {
    int rank = view->rank, span = inter_binomial_span(rank, view->size);
    inter_place all = inter_at(INTER_RECV, 0), subtree = inter_tree_collect(schedule, view, span);
    if (rank) {
        inter_schedule_send(schedule, inter_binomial_parent(rank), subtree, inter_tree_count(view, rank, span));
        inter_schedule_next_stage(schedule);
        inter_schedule_recv(schedule, inter_binomial_parent(rank), all, inter_blocks_count(view, 0, view->size - 1));
        inter_schedule_next_stage(schedule);
    } else if (view->size == 1) {
        inter_schedule_copy(schedule, subtree, all, inter_block_count(view, 0));
    }
    inter_tree_spread(schedule, view, span);
}
