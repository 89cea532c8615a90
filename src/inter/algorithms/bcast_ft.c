// SPDX-License-Identifier: BSD-3-Clause
/*
 * bcast nbFT: flat tree, all sends at once.
 *
 * Cost: 1 stage, p−1 messages of n elements, all from the root. Any p, any root.
 *
 *     root ─▶ 0, 1, 2, … p−1
 */
#include <inter/algorithm.h>

void inter_bcast_nbft(inter_schedule *schedule, const inter_view *view) {
    inter_place data = inter_at(INTER_RECV, 0);
    if (view->rank != view->root) {
        inter_schedule_recv(schedule, view->root, data, view->count);
        return;
    }
    for (int peer = 0; peer < view->size; peer++)
        if (peer != view->root)
            inter_schedule_send(schedule, peer, data, view->count);
}
