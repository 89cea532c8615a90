// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce BT: sums go up a binomial tree to rank 0, the result comes down the same tree.
 *
 * Cost: 2⌈log2 p⌉ stages, 2(p−1) messages of n elements. Any p; operands meet in rank order. Memory: n at a rank with
 * children.
 *
 *     up:  0←1  2←3   then  0←2        down:  0→2   then  0→1  2→3
 */
#include <inter/algorithms.h>
#include <inter/binomial.h>

void inter_allreduce_bt(inter_schedule *schedule, const inter_view *view) {
    int span = inter_binomial_span(view->rank, view->size);
    bool children = inter_binomial_last(view->rank, view->size) > view->rank;
    inter_place arrived = inter_schedule_temp(schedule, children ? view->count : 0);
    inter_place sum = inter_binomial_up(schedule, view, span, arrived);
    if (view->rank)
        inter_binomial_ask(schedule, view, sum);
    else if (view->size == 1)
        inter_schedule_copy(schedule, sum, inter_at(INTER_RECV, 0), view->count);
    inter_binomial_down(schedule, view, span);
}
