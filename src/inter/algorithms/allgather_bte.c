// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather, allgatherv, barrier BTe: a binomial tree whose two directions are fused at the top.
 *
 * With L = ⌈log2 p⌉ the ranks 0 and 2^(L−1) are the roots of the two top subtrees. Each collects its own; then they swap
 * what they have, where in BT one sends up and waits for what comes down; then each passes the whole on.
 * Cost: 2L−1 steps (none for p = 1), 2(p−1) messages. Of N elements in all, with equal blocks and p a power of two:
 * N(log2 p − 1)/2 go up, N are swapped, N(p−2) go down. Any p, any counts. No memory but the result. A barrier is this with
 * nothing in it.
 *
 *     3 ─▶ 2 ─▶ 0 ◀──▶ 4 ◀─ 6 ◀─ 7       and back
 *          1 ─▶ 0      4 ◀─ 5
 */
#include <inter/algorithms.h>
#include <inter/algorithms/allgather_tree.h>

void inter_allgather_bte(inter_schedule *schedule, const inter_view *view) {
    int rank = view->rank, half = inter_power_above(view->size) / 2;
    if (view->size == 1 || (rank && rank != half)) {
        inter_allgather_bt(schedule, view); /* below the top all is as there */
        return;
    }
    int peer = half - rank;
    inter_place subtree = inter_tree_collect(schedule, view, half);
    inter_schedule_send(schedule, peer, subtree, inter_tree_count(view, rank, half));
    inter_schedule_recv(schedule, peer, inter_at(INTER_RECV, inter_block_offset(view, peer)),
                        inter_tree_count(view, peer, half));
    if (subtree.buffer == INTER_SEND) /* of one rank: nothing has been copied yet */
        inter_schedule_copy(schedule, subtree, inter_at(INTER_RECV, inter_block_offset(view, rank)),
                            inter_block_count(view, rank));
    inter_schedule_next_stage(schedule);
    inter_tree_spread(schedule, view, half);
}
