// SPDX-License-Identifier: BSD-3-Clause
/*
 * alltoall, alltoallv, alltoallw PAIR: pairwise exchange, one partner at a time.
 *
 * In step k = 1 … p−1 a rank swaps blocks with r xor k when p is a power of two; else it sends to r + k and receives from
 * r − k. Each step is a permutation: no rank is sent to by two at once.
 * Cost: p−1 steps, p(p−1) messages of one block. Any p, any counts, blocks may lie anywhere. No memory. It is for long
 * blocks. What is sent must not be where something is received.
 *
 *     p = 4, rank 1:   ⇄ 0   ⇄ 3   ⇄ 2           p = 5, rank 1:   → 2 ← 0   → 3 ← 4   → 4 ← 3   → 0 ← 2
 *
 * Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
 * (2005).
 */
#include <inter/algorithms.h>
#include <inter/algorithms/alltoall_blocks.h>
#include <inter/peers.h>

void inter_alltoall_pair(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, rank = view->rank;
    bool swaps = inter_power_below(size) == size;
    for (int step = 1; step < size; step++) {
        inter_alltoall_send(schedule, view, swaps ? rank ^ step : inter_ring_rank(rank, step, size));
        inter_alltoall_recv(schedule, view, swaps ? rank ^ step : inter_ring_rank(rank, -step, size));
        if (step == 1)
            inter_alltoall_copy(schedule, view);
        inter_schedule_next_stage(schedule);
    }
    if (size == 1)
        inter_alltoall_copy(schedule, view);
}
