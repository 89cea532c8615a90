// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce BTe: a binomial tree without the turn-around at its root.
 *
 * The tree's root and its largest child, h = 2^(⌈log2 p⌉−1), root halves of the ranks. They swap their sums, both
 * know the result, and each sends it down its own half.
 * Cost: 2⌈log2 p⌉ − 1 stages, 2(p−1) messages of n elements. Any p; operands meet in rank order. Memory: n at a rank
 * with children, and at 0 and h.
 *
 *     0←1  2←3  4←5  6←7      0←2  4←6      0⇄4      0→2  4→6      0→1  2→3  4→5  6→7
 */
#include <inter/algorithms.h>
#include <inter/binomial.h>
#include <inter/operands.h>

void inter_allreduce_bte(inter_schedule *schedule, const inter_view *view) {
    size_t n = view->count;
    int rank = view->rank, half = inter_power_above(view->size) / 2;
    inter_place result = inter_at(INTER_RECV, 0);
    if (!half) {
        inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), result, n);
        return;
    }
    bool top = rank % half == 0, children = inter_binomial_last(rank, view->size) > rank;
    int span = top ? half : inter_binomial_span(rank, view->size);
    inter_place arrived = inter_schedule_temp(schedule, top || children ? n : 0);
    inter_place sum = inter_binomial_up(schedule, view, span, arrived);
    if (top) { /* both at once: to swap one after the other would be to turn around */
        inter_schedule_send(schedule, rank ^ half, sum, n);
        inter_schedule_recv(schedule, rank ^ half, arrived, n);
        inter_schedule_next_stage(schedule);
        inter_combine(schedule, view, rank ^ half, sum, arrived, result, n);
    } else {
        inter_binomial_ask(schedule, view, sum);
    }
    inter_binomial_down(schedule, view, span);
}
