// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce bBDE, nbBDE: bidirectional exchange (recursive doubling).
 *
 * With q the largest power of two ≤ p and e = p − q: of the first 2e ranks the even ones fold into their right
 * neighbour and wait for the result at the end, so that q ranks are left, each standing for a contiguous range.
 * Neighbours fold rather than the ranks above q so that operands still meet in rank order, which operations that do
 * not commute need. nb: both directions of an exchange at once; b: the lower rank sends first.
 * Cost: log2 q exchanges (+ 2 messages of time when e > 0), a stage each, with b two; q log2 q + 2e messages of n
 * elements. Any p. Memory: n.
 *
 *     p = 5:  0→1 fold    {01} 2 3 4:  {01}⇄2  3⇄4,  {01}⇄3  2⇄4     1→0 unfold
 *
 * Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
 * (2005).
 */
#include <inter/algorithms.h>
#include <inter/operands.h>
#include <inter/peers.h>

void inter_allreduce_bde(inter_schedule *schedule, const inter_view *view) {
    size_t n = view->count;
    int rank = view->rank;
    inter_fold fold = inter_fold_of(view->size);
    inter_place now = inter_at(INTER_SEND, 0), result = inter_at(INTER_RECV, 0);
    if (inter_fold_leaves(fold, rank)) {
        inter_lean_on_neighbour(schedule, view, n, n);
        return;
    }
    if (fold.power == 1)
        inter_schedule_copy(schedule, now, result, n);
    /* The first operand may come to where the sum goes. */
    inter_place temp = inter_schedule_temp(schedule, view->size > 2 || view->in_place ? n : 0);
    inter_place arrived = view->in_place ? temp : result;
    if (inter_fold_takes(fold, rank)) {
        inter_schedule_recv(schedule, rank - 1, arrived, n);
        inter_schedule_next_stage(schedule);
        inter_combine(schedule, view, rank - 1, now, arrived, result, n);
        now = result;
        arrived = temp;
    }
    int position = inter_fold_position(fold, rank);
    for (int distance = 1; distance < fold.power; distance *= 2) {
        int peer = inter_fold_rank(fold, position ^ distance);
        inter_exchange(schedule, view, rank < peer, (inter_message){peer, now, n}, (inter_message){peer, arrived, n});
        inter_combine(schedule, view, peer, now, arrived, result, n);
        now = result;
        arrived = temp;
    }
    if (inter_fold_takes(fold, rank))
        inter_schedule_send(schedule, rank - 1, result, n);
}
