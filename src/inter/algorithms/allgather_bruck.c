// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather, allgatherv BRUCK: what a rank has doubles in every step, for any p.
 *
 * A rank keeps the blocks of the ranks r, r+1, … (modulo p) in this order, as the *rotated* whole. In step k it sends those
 * that it has (at the end only as many as are missing) to r − 2^k and gets as many from r + 2^k, behind its own. At the
 * end the whole is turned into rank order.
 * Cost: ⌈log2 p⌉ steps, p⌈log2 p⌉ messages; every rank gets each block once, N(p−1)/p elements of N in all, the least
 * possible. Any p, any counts. Memory: N elements, and a copy of them. It is for short blocks.
 *
 *     rank 1 of 5:   1 │ 2 │ 3 4 │ 0   ──turn──▶   0 1 2 3 4
 *
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport
 * message-passing systems", IEEE Trans. Parallel and Distributed Systems 8 (1997).
 */
#include <inter/algorithms.h>
#include <inter/peers.h>

/* Where the index-th block stands in the rotated whole of `rank` (index = size: where the last ends). */
static size_t rotated_offset(const inter_view *view, int rank, int index) {
    size_t start = inter_block_offset(view, rank);
    if (index <= view->size - rank)
        return inter_block_offset(view, rank + index) - start;
    return inter_block_offset(view, view->size) - start + inter_block_offset(view, index - (view->size - rank));
}

void inter_allgather_bruck(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, rank = view->rank;
    size_t own = inter_block_count(view, rank), total = inter_block_offset(view, size);
    size_t start = inter_block_offset(view, rank);
    inter_place mine = inter_at(INTER_SEND, 0);
    if (size == 1) {
        inter_schedule_copy(schedule, mine, inter_at(INTER_RECV, 0), own);
        return;
    }
    inter_place rotated = inter_schedule_temp(schedule, total);
    for (int have = 1; have < size; have *= 2) {
        int blocks = have < size - have ? have : size - have;
        int from = inter_ring_rank(rank, have, size), to = inter_ring_rank(rank, -have, size);
        inter_schedule_send(schedule, to, have == 1 ? mine : rotated, rotated_offset(view, rank, blocks));
        inter_schedule_recv(schedule, from, inter_plus(rotated, rotated_offset(view, rank, have)),
                            rotated_offset(view, from, blocks));
        if (have == 1)
            inter_schedule_copy(schedule, mine, rotated, own);
        inter_schedule_next_stage(schedule);
    }
    inter_schedule_copy(schedule, rotated, inter_at(INTER_RECV, start), total - start);
    inter_schedule_copy(schedule, inter_plus(rotated, total - start), inter_at(INTER_RECV, 0), start);
}
