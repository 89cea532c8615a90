// SPDX-License-Identifier: BSD-3-Clause
/*
 * bcast bFT, nbFT: flat tree; the root sends to every rank itself, one after the other or to all at once.
 *
 * Cost: bFT p−1 steps, nbFT 1; p−1 messages of n elements, all from the root. Any p, any root. No memory.
 * It is for few ranks: the root's time grows with p.
 *
 *     root ─▶ 0, 1, 2, … p−1
 */
#include <inter/algorithms.h>

void inter_bcast_ft(inter_schedule *schedule, const inter_view *view) {
    inter_place data = inter_at(INTER_RECV, 0);
    if (view->rank != view->root) {
        inter_schedule_recv(schedule, view->root, data, view->count);
        return;
    }
    for (int peer = 0; peer < view->size; peer++) {
        if (peer == view->root)
            continue;
        inter_schedule_send(schedule, peer, data, view->count);
        if (view->algorithm->issue == INTER_B)
            inter_schedule_next_stage(schedule);
    }
}
