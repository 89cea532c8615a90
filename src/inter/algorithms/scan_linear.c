// SPDX-License-Identifier: BSD-3-Clause
/*
 * scan, exscan linear: a chain.
 *
 * What rank r gets from its left neighbour is the operands of all lower ranks combined: the result of exscan. With
 * its own operand behind it, it is the result of scan, and what it passes on.
 * Cost: p−1 stages, p−1 messages of n elements. Any p; operands meet in rank order. The least traffic; a vector cut
 * into segments flows as in a pipeline. Memory: n, exscan 2n.
 *
 *     0 ─ 0 ─▶ 1 ─ 0·1 ─▶ 2 ─ 0·1·2 ─▶ 3 …
 */
#include <inter/algorithms.h>

void inter_scan_linear(inter_schedule *schedule, const inter_view *view) {
    size_t n = view->count;
    bool exclusive = view->collective == INTER_EXSCAN, first = view->rank == 0, last = view->rank == view->size - 1;
    inter_place operand = inter_at(INTER_SEND, 0), result = inter_at(INTER_RECV, 0), sum = operand, before = result;
    if (!first) {
        /* The last rank's operand is of no use to an exscan, so the result may arrive where it stands. */
        if (!exclusive || !last)
            before = inter_schedule_temp(schedule, n);
        inter_schedule_recv(schedule, view->rank - 1, before, n);
        inter_schedule_next_stage(schedule);
        if (!exclusive || !last) {
            sum = exclusive ? inter_schedule_temp(schedule, n) : result;
            inter_schedule_reduce(schedule, before, operand, sum, n);
        }
    }
    if (!last)
        inter_schedule_send(schedule, view->rank + 1, sum, n);
    if (!exclusive && first)
        inter_schedule_copy(schedule, operand, result, n);
    if (exclusive && !first && !last)
        inter_schedule_copy(schedule, before, result, n);
}
