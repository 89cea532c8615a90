// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce bFT, nbFT: flat tree, every operand straight to the root.
 *
 * nbFT: the root receives all at once, then combines from rank 0 upwards. Cost: 1 stage; memory: (p−1)n.
 * bFT: one at a time, the neighbours first, then outwards: whatever arrives is combined with the result so far on the
 * left or on the right, and nothing waits in memory. Cost: p−1 stages; memory: n.
 * Both: p−1 messages of n elements, all to the root. Any p, any root; operands meet in rank order.
 *
 *     0 ─▶ ┐                            bFT, root 2 of 5:
 *     1 ─▶ root ◀─ 3                    0 op (1 op 2)      first 1, then 0
 *          └ ◀──── 4                    (… op 3) op 4      then 3 and 4
 */
#include <inter/algorithms.h>
#include <inter/operands.h>

static void one_at_a_time(inter_schedule *schedule, const inter_view *view) {
    int root = view->root;
    inter_place arrived = inter_schedule_temp(schedule, view->count);
    inter_place result = inter_at(INTER_SEND, 0);
    for (int i = 0; i < view->size - 1; i++) {
        int peer = i < root ? root - 1 - i : i + 1;
        inter_schedule_recv(schedule, peer, arrived, view->count);
        inter_schedule_next_stage(schedule);
        inter_combine(schedule, view, peer, result, arrived, inter_at(INTER_RECV, 0), view->count);
        result = inter_at(INTER_RECV, 0);
    }
}

static void all_at_once(inter_schedule *schedule, const inter_view *view) {
    inter_place others = inter_schedule_temp(schedule, (size_t)(view->size - 1) * view->count);
    for (int peer = 0; peer < view->size; peer++)
        if (peer != view->root)
            inter_schedule_recv(schedule, peer, inter_operand_of(view, peer, others), view->count);
    inter_schedule_next_stage(schedule);
    inter_combine_all(schedule, view, others, view->size - 1);
}

void inter_reduce_ft(inter_schedule *schedule, const inter_view *view) {
    if (view->rank != view->root)
        inter_schedule_send(schedule, view->root, inter_at(INTER_SEND, 0), view->count);
    else if (view->size == 1)
        inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), inter_at(INTER_RECV, 0), view->count);
    else if (view->algorithm->issue == INTER_B)
        one_at_a_time(schedule, view);
    else
        all_at_once(schedule, view);
}
