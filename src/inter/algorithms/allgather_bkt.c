// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather, allgatherv bBKT, nbBKT: bucket (ring).
 *
 * In step k a rank passes on to its right neighbour the block that it got in step k−1, beginning with its own. nbBKT sends
 * and receives at once. In bBKT the even ranks send first and then receive, the odd ones receive first, which breaks the
 * ring of waiting.
 * Cost: nbBKT p−1 steps, bBKT 2(p−1) for even p and 2p for odd p ≥ 3 (where two even ranks are neighbours); p(p−1)
 * messages of one block; every rank sends all blocks but one, the least possible. Any p, any counts, blocks may lie
 * anywhere. No memory but the result.
 *
 *     0 → 1 → 2 → … → p−1 → 0
 *
 * Source: Chan et al. 2007 (bucket).
 */
#include <inter/algorithms.h>
#include <inter/peers.h>

/* Passes block `block` on from where it lies. */
static void pass(inter_schedule *schedule, const inter_view *view, int block) {
    inter_place from = inter_at(INTER_RECV, inter_block_place(view, block));
    if (block == view->rank)
        from = inter_at(INTER_SEND, 0); /* it need not wait for its copy */
    inter_schedule_send(schedule, inter_ring_rank(view->rank, 1, view->size), from, inter_block_count(view, block));
}

static void take(inter_schedule *schedule, const inter_view *view, int block) {
    inter_schedule_recv(schedule, inter_ring_rank(view->rank, -1, view->size),
                        inter_at(INTER_RECV, inter_block_place(view, block)), inter_block_count(view, block));
}

void inter_allgather_bkt(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, rank = view->rank;
    bool one_at_a_time = view->algorithm->issue == INTER_B, send_first = !one_at_a_time || rank % 2 == 0;
    inter_place place = inter_at(INTER_RECV, inter_block_place(view, rank));
    for (int step = 0; step < size - 1; step++) {
        int out = inter_ring_rank(rank, -step, size), in = inter_ring_rank(out, -1, size);
        if (send_first)
            pass(schedule, view, out);
        else
            take(schedule, view, in);
        if (one_at_a_time)
            inter_schedule_next_stage(schedule);
        if (send_first)
            take(schedule, view, in);
        else
            pass(schedule, view, out);
        if (!step)
            inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), place, inter_block_count(view, rank));
        inter_schedule_next_stage(schedule);
    }
    if (size == 1)
        inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), place, inter_block_count(view, rank));
}
