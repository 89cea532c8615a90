// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce CHAIN: two pipelined chains that meet at the root.
 *
 * A rank adds its operand to what its outer neighbour sends and passes the sum on inwards. One vector takes long; cut
 * into s segments, each a strand of the schedule (build.c), all links carry segments at the same time.
 * Cost: max(root, p−1−root) stages, p−1 messages of n elements a segment; s segments take s − 1 messages more of time.
 * Any p, any root; operands meet in rank order. Memory: n, at the root 2n.
 *
 *     0 ─▶ 1 ─▶ … ─▶ root ◀─ … ◀─ p−2 ◀─ p−1
 */
#include <inter/algorithms.h>
#include <inter/operands.h>

static void meet(inter_schedule *schedule, const inter_view *view) {
    bool left = view->rank > 0, right = view->rank < view->size - 1;
    inter_place operand = inter_at(INTER_SEND, 0), result = inter_at(INTER_RECV, 0);
    inter_place from_left = inter_schedule_temp(schedule, left ? view->count : 0);
    inter_place from_right = inter_schedule_temp(schedule, right ? view->count : 0);
    if (left)
        inter_schedule_recv(schedule, view->rank - 1, from_left, view->count);
    if (right)
        inter_schedule_recv(schedule, view->rank + 1, from_right, view->count);
    inter_schedule_next_stage(schedule);
    if (left)
        inter_schedule_reduce(schedule, from_left, operand, result, view->count);
    if (right)
        inter_schedule_reduce(schedule, left ? result : operand, from_right, result, view->count);
    if (!left && !right)
        inter_schedule_copy(schedule, operand, result, view->count);
}

void inter_reduce_chain(inter_schedule *schedule, const inter_view *view) {
    int rank = view->rank;
    if (rank == view->root) {
        meet(schedule, view);
        return;
    }
    int inner = rank < view->root ? rank + 1 : rank - 1, outer = 2 * rank - inner;
    inter_place sum = inter_at(INTER_SEND, 0);
    if (outer >= 0 && outer < view->size) {
        sum = inter_schedule_temp(schedule, view->count);
        inter_schedule_recv(schedule, outer, sum, view->count);
        inter_schedule_next_stage(schedule);
        inter_combine(schedule, view, outer, inter_at(INTER_SEND, 0), sum, sum, view->count);
    }
    inter_schedule_send(schedule, inner, sum, view->count);
}
