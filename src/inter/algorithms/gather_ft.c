// SPDX-License-Identifier: BSD-3-Clause
/*
 * gather, gatherv bFT, nbFT, nb1FT: flat tree; the root receives every rank's block itself.
 *
 * bFT takes one block after the other, in rank order; nbFT all at once, after its own block has been copied; nb1FT asks for
 * all of them first and copies its own block while they arrive.
 * Cost: bFT p−1 steps, the others 1; p−1 messages of one block, all to the root. Any p, any root, any counts; blocks may
 * lie anywhere at the root, and another rank needs to know its own only. No memory.
 *
 *     0, 1, 2, … p−1 ─▶ root
 */
#include <inter/algorithms.h>

void inter_gather_ft(inter_schedule *schedule, const inter_view *view) {
    enum inter_issue issue = view->algorithm->issue;
    inter_place mine = inter_at(INTER_SEND, 0), place = inter_at(INTER_RECV, 0);
    size_t own = inter_block_count(view, view->rank);
    if (view->rank != view->root) {
        inter_schedule_send(schedule, view->root, mine, own);
        return;
    }
    place.offset = inter_block_place(view, view->rank);
    if (issue != INTER_NB1)
        inter_schedule_copy(schedule, mine, place, own);
    for (int peer = 0; peer < view->size; peer++) {
        if (peer == view->root)
            continue;
        inter_schedule_recv(schedule, peer, inter_at(INTER_RECV, inter_block_place(view, peer)),
                            inter_block_count(view, peer));
        if (issue == INTER_B)
            inter_schedule_next_stage(schedule);
    }
    if (issue == INTER_NB1)
        inter_schedule_copy(schedule, mine, place, own);
}
