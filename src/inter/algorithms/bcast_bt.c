// SPDX-License-Identifier: BSD-3-Clause
/*
 * bcast BT: binomial tree (peers.h) over the ranks counted from the root.
 *
 * Cost: ⌈log2 p⌉ steps, p−1 messages of n elements. Any p, any root. No memory.
 *
 *     0 ─▶ 4 ─▶ 6 ─▶ 7     the largest subtree first: a node of span s gets the data in step log2 (P/s), P the power of
 *     │    └──▶ 5          two ≥ p, and has log2 s children to serve
 *     ├──▶ 2 ─▶ 3
 *     └──▶ 1
 *
 * Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
 * (2005).
 */
#include <inter/algorithms.h>
#include <inter/peers.h>

void inter_bcast_bt(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, node = inter_ring_rank(view->rank, -view->root, size);
    inter_place data = inter_at(INTER_RECV, 0);
    if (node) {
        inter_schedule_recv(schedule, inter_ring_rank(view->root, inter_binomial_parent(node), size), data,
                            view->count);
        inter_schedule_next_stage(schedule);
    }
    for (int distance = inter_binomial_span(node, size) / 2; distance; distance /= 2) {
        if (distance >= size - node)
            continue;
        inter_schedule_send(schedule, inter_ring_rank(view->root, node + distance, size), data, view->count);
        inter_schedule_next_stage(schedule);
    }
}
