// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather, allgatherv nbBDE: bidirectional exchange (recursive doubling), both directions at once.
 *
 * With q the largest power of two ≤ p and e = p − q: of the first 2e ranks the even ones give their block to their right
 * neighbour and get the whole at the end (inter_fold in peers.h), so that q ranks are left, each with a contiguous range.
 * In step k each swaps its range with the partner at distance 2^k; the two ranges make a range again.
 * Cost: log2 q steps (+ 2 when e > 0), q log2 q + 2e messages; with p a power of two and N elements in all every rank
 * sends N(p−1)/p, the least possible; else e ranks also send N. Any p, any counts. No memory but the result.
 *
 *     p = 5:  0→1    {01}⇄2  3⇄4    {012}: 1⇄3  2⇄4 :{34}    1→0
 *
 * Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
 * (2005).
 */
#include <inter/algorithms.h>
#include <inter/peers.h>

/* The blocks of `length` positions: where they begin in the whole, and their elements. */
static size_t range_begin(const inter_view *view, inter_fold fold, int position) {
    return inter_block_offset(view, inter_fold_first(fold, position));
}

static size_t range_count(const inter_view *view, inter_fold fold, int position, int length) {
    return range_begin(view, fold, position + length) - range_begin(view, fold, position);
}

/* The rank has no position: its neighbour stands for it. */
static void lean(inter_schedule *schedule, const inter_view *view) {
    int neighbour = view->rank + 1;
    inter_schedule_send(schedule, neighbour, inter_at(INTER_SEND, 0), inter_block_count(view, view->rank));
    inter_schedule_next_stage(schedule);
    inter_schedule_recv(schedule, neighbour, inter_at(INTER_RECV, 0), inter_blocks_count(view, 0, view->size - 1));
}

void inter_allgather_bde(inter_schedule *schedule, const inter_view *view) {
    inter_fold fold = inter_fold_of(view->size);
    int rank = view->rank, position = inter_fold_position(fold, rank);
    if (inter_fold_leaves(fold, rank)) {
        lean(schedule, view);
        return;
    }
    inter_place mine = inter_at(INTER_SEND, 0), place = inter_at(INTER_RECV, inter_block_offset(view, rank));
    bool copied = false;
    if (inter_fold_takes(fold, rank)) {
        inter_schedule_recv(schedule, rank - 1, inter_at(INTER_RECV, inter_block_offset(view, rank - 1)),
                            inter_block_count(view, rank - 1));
        inter_schedule_copy(schedule, mine, place, inter_block_count(view, rank));
        inter_schedule_next_stage(schedule);
        copied = true;
    }
    for (int length = 1; length < fold.power; length *= 2) {
        int own = position & ~(length - 1), other = own ^ length;
        int peer = inter_fold_rank(fold, position ^ length);
        inter_schedule_send(schedule, peer, copied ? inter_at(INTER_RECV, range_begin(view, fold, own)) : mine,
                            range_count(view, fold, own, length));
        inter_schedule_recv(schedule, peer, inter_at(INTER_RECV, range_begin(view, fold, other)),
                            range_count(view, fold, other, length));
        if (!copied)
            inter_schedule_copy(schedule, mine, place, inter_block_count(view, rank));
        inter_schedule_next_stage(schedule);
        copied = true;
    }
    if (!copied)
        inter_schedule_copy(schedule, mine, place, inter_block_count(view, rank));
    if (inter_fold_takes(fold, rank))
        inter_schedule_send(schedule, rank - 1, inter_at(INTER_RECV, 0), inter_blocks_count(view, 0, view->size - 1));
}
