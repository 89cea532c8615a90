// SPDX-License-Identifier: BSD-3-Clause
/**
 * Sums up and results down the binomial tree of peers.h: what allreduce BT and BTe share.
 *
 * A subtree is a contiguous range of ranks, and its children follow each other in rank order, so operands do too.
 */
#ifndef INTER_BINOMIAL_H
#define INTER_BINOMIAL_H

#include <inter/algorithm.h>
#include <inter/peers.h>

/** Combines the sums of the children below `span` with the own operand. Returns where the sum is: INTER_SEND without
 * children, else INTER_RECV. */
static inline inter_place inter_binomial_up(inter_schedule *schedule, const inter_view *view, int span,
                                            inter_place arrived) {
    inter_place sum = inter_at(INTER_SEND, 0);
    for (int distance = 1; distance < span && view->rank < view->size - distance; distance *= 2) {
        inter_schedule_recv(schedule, view->rank + distance, arrived, view->count);
        inter_schedule_next_stage(schedule);
        inter_schedule_reduce(schedule, sum, arrived, inter_at(INTER_RECV, 0), view->count);
        sum = inter_at(INTER_RECV, 0);
    }
    return sum;
}

/** Sends the result in INTER_RECV to the children below `span`, the largest subtree first. */
static inline void inter_binomial_down(inter_schedule *schedule, const inter_view *view, int span) {
    for (int distance = span / 2; distance; distance /= 2) {
        if (view->rank < view->size - distance)
            inter_schedule_send(schedule, view->rank + distance, inter_at(INTER_RECV, 0), view->count);
        inter_schedule_next_stage(schedule);
    }
}

/** Sends a subtree's sum to the parent and gets the result. */
static inline void inter_binomial_ask(inter_schedule *schedule, const inter_view *view, inter_place sum) {
    int parent = inter_binomial_parent(view->rank);
    inter_schedule_send(schedule, parent, sum, view->count);
    inter_schedule_next_stage(schedule);
    inter_schedule_recv(schedule, parent, inter_at(INTER_RECV, 0), view->count);
    inter_schedule_next_stage(schedule);
}

#endif
