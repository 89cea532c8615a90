// SPDX-License-Identifier: BSD-3-Clause
/*
 * scan, exscan nbFT: every rank sends its operand to all higher ranks at once, and combines what it gets for itself.
 *
 * Cost: 1 stage, p(p−1)/2 messages of n elements. Any p; operands meet in rank order, everywhere in the same way. The
 * least latency for few ranks. Memory: n for each lower rank.
 *
 *     0 ─▶ 1, 2, 3    1 ─▶ 2, 3    2 ─▶ 3
 */
#include <inter/algorithms.h>
#include <inter/operands.h>

void inter_scan_ft(inter_schedule *schedule, const inter_view *view) {
    int rank = view->rank;
    bool exclusive = view->collective == INTER_EXSCAN;
    inter_place operand = inter_at(INTER_SEND, 0), result = inter_at(INTER_RECV, 0);
    inter_place others = inter_schedule_temp(schedule, (size_t)rank * view->count);
    for (int to = rank + 1; to < view->size; to++)
        inter_schedule_send(schedule, to, operand, view->count);
    for (int from = rank - 1; from >= 0; from--)
        inter_schedule_recv(schedule, from, inter_operand_of(view, from, others), view->count);
    inter_schedule_next_stage(schedule);
    int last = exclusive ? rank - 1 : rank;
    if (last == 0) /* rank 0 of a scan, rank 1 of an exscan */
        inter_schedule_copy(schedule, exclusive ? others : operand, result, view->count);
    inter_combine_all(schedule, view, others, last);
}
