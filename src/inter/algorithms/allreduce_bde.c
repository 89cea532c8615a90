// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce nbBDE: bidirectional exchange (recursive doubling), both directions at once.
 *
 * With q the largest power of two ≤ p and e = p − q: of the first 2e ranks the even ones fold into their right
 * neighbour and wait for the result at the end, so that q ranks are left, each standing for a contiguous range.
 * Neighbours fold rather than the ranks above q so that operands still meet in rank order, which operations that do not
 * commute need. Cost: log2 q stages (+ 2 when e > 0), n elements a message. Any p. Memory: n.
 *
 *     p = 5:  0→1 fold    {01} 2 3 4:  {01}⇄2  3⇄4,  {01}⇄3  2⇄4     1→0 unfold
 *
 * Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
 * (2005).
 */
#include <inter/algorithm.h>

/* Receives a peer's operand and combines it, on its side in rank order, with the result so far. */
static void exchange(inter_schedule *schedule, int rank, int peer, inter_place arrived, size_t n, bool send) {
    inter_place result = inter_at(INTER_RECV, 0);
    inter_schedule_recv(schedule, peer, arrived, n);
    if (send)
        inter_schedule_send(schedule, peer, result, n);
    inter_schedule_next_stage(schedule);
    if (peer > rank)
        inter_schedule_reduce(schedule, result, arrived, result, n);
    else
        inter_schedule_reduce(schedule, arrived, result, result, n);
}

void inter_allreduce_nbbde(inter_schedule *schedule, const inter_view *view) {
    size_t n = view->count;
    int rank = view->rank, power = 1;
    while (power <= view->size / 2)
        power *= 2;
    int extra = view->size - power;
    bool folded = rank < 2 * extra;
    inter_place result = inter_at(INTER_RECV, 0);
    if (folded && rank % 2 == 0) {
        inter_schedule_send(schedule, rank + 1, inter_at(INTER_SEND, 0), n);
        inter_schedule_next_stage(schedule);
        inter_schedule_recv(schedule, rank + 1, result, n);
        return;
    }
    inter_place arrived = inter_schedule_temp(schedule, n);
    inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), result, n);
    if (folded)
        exchange(schedule, rank, rank - 1, arrived, n, false);
    int position = folded ? rank / 2 : rank - extra;
    for (int distance = 1; distance < power; distance *= 2) {
        int partner = position ^ distance;
        int peer = partner < extra ? 2 * partner + 1 : partner + extra;
        exchange(schedule, rank, peer, arrived, n, true);
    }
    if (folded)
        inter_schedule_send(schedule, rank - 1, result, n);
}
