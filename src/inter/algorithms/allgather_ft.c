// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather, allgatherv, barrier nbFT: everybody sends its block (of a barrier: nothing) to everybody, all at once.
 *
 * Peers are taken in the order r+1, r+2, … so that not everybody sends to rank 0 first. The own block is sent from where
 * the caller has it and copied while messages are under way.
 * Cost: 1 step, p(p−1) messages of one block. Any p, any counts, blocks may lie anywhere. No memory but the result. It is
 * for few ranks: p−1 messages leave each of them at once.
 *
 *     r → r+1, r+2, … r+p−1   (modulo p)
 */
#include <inter/algorithms.h>
#include <inter/peers.h>

void inter_allgather_ft(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, rank = view->rank;
    size_t own = inter_block_count(view, rank);
    for (int step = 1; step < size; step++)
        inter_schedule_send(schedule, inter_ring_rank(rank, step, size), inter_at(INTER_SEND, 0), own);
    for (int step = 1; step < size; step++) {
        int from = inter_ring_rank(rank, -step, size);
        inter_schedule_recv(schedule, from, inter_at(INTER_RECV, inter_block_place(view, from)),
                            inter_block_count(view, from));
    }
    inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), inter_at(INTER_RECV, inter_block_place(view, rank)), own);
}
