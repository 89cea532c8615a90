// SPDX-License-Identifier: BSD-3-Clause
/*
 * scatter, scatterv nbFT: flat tree; the root sends every rank its block, all at once.
 *
 * Cost: 1 step, p−1 messages of one block, all from the root. Any p, any root, any counts; blocks may lie anywhere at the
 * root, and another rank needs to know its own only. No memory.
 *
 *     root ─▶ 0, 1, 2, … p−1
 */
#include <inter/algorithms.h>

void inter_scatter_ft(inter_schedule *schedule, const inter_view *view) {
    inter_place mine = inter_at(INTER_RECV, 0);
    size_t own = inter_block_count(view, view->rank);
    if (view->rank != view->root) {
        inter_schedule_recv(schedule, view->root, mine, own);
        return;
    }
    for (int peer = 0; peer < view->size; peer++)
        if (peer != view->root)
            inter_schedule_send(schedule, peer, inter_at(INTER_SEND, inter_block_place(view, peer)),
                                inter_block_count(view, peer));
    inter_schedule_copy(schedule, inter_at(INTER_SEND, inter_block_place(view, view->rank)), mine, own);
}
