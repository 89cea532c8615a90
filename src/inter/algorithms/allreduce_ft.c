// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce nbFT: everybody sends its operand to everybody, all at once, and combines all of them for itself.
 *
 * Partners are taken in the order r+1, r+2, … so that not everybody sends to rank 0 first.
 * Cost: 1 stage, p(p−1) messages of n elements. Any p; operands meet in rank order, everywhere in the same way. The
 * least latency for few ranks; for two it is a single swap. Memory: (p−1)n.
 *
 *     0 ⇄ 1
 *     ⇅ ╳ ⇅      then 0 op 1 op 2 op 3 everywhere
 *     2 ⇄ 3
 */
#include <inter/algorithms.h>
#include <inter/operands.h>
#include <inter/peers.h>

void inter_allreduce_ft(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, rank = view->rank;
    inter_place operand = inter_at(INTER_SEND, 0);
    if (size == 1) {
        inter_schedule_copy(schedule, operand, inter_at(INTER_RECV, 0), view->count);
        return;
    }
    inter_place others = inter_schedule_temp(schedule, (size_t)(size - 1) * view->count);
    for (int step = 1; step < size; step++) {
        int to = inter_ring_rank(rank, step, size);
        inter_schedule_send(schedule, to, operand, view->count);
    }
    for (int step = 1; step < size; step++) {
        int from = inter_ring_rank(rank, -step, size);
        inter_schedule_recv(schedule, from, inter_operand_of(view, from, others), view->count);
    }
    inter_schedule_next_stage(schedule);
    inter_combine_all(schedule, view, others, size - 1);
}
