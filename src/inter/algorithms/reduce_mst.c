// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce MST: the minimum spanning tree (mst.h) upwards.
 *
 * A rank combines what its children bring, the smallest range first, and sends the result to its parent. Each range is
 * contiguous, so operands meet in rank order: right for operations that do not commute.
 * Cost: ⌈log2 p⌉ steps at most, p−1 messages of n elements. Any p, any root. Memory: 2n at an inner rank, n at the root.
 *
 *     [0 1 2 3] op [4 5 6 7]     the half with the root combines its own result, as left or right operand, with the
 *                                other half's
 *
 * Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience",
 * Concurrency and Computation 19 (2007), section 3.
 */
#include <inter/algorithms.h>
#include <inter/mst.h>
#include <inter/operands.h>

void inter_reduce_mst(inter_schedule *schedule, const inter_view *view) {
    inter_mst_edge edges[INTER_MST_MAX_EDGES];
    int count = inter_mst_edges(view->rank, view->size, view->root, edges);
    size_t n = view->count;
    bool is_root = !count || !edges[0].parent;
    int children = count - !is_root;
    inter_place result = inter_at(INTER_SEND, 0); /* a leaf sends its operand as it is */
    if (children) {
        inter_place sum = is_root ? inter_at(INTER_RECV, 0) : inter_schedule_temp(schedule, n);
        bool has_room = is_root && !view->in_place; /* the first operand may come to where the sum goes */
        inter_place arrived = has_room ? sum : inter_schedule_temp(schedule, n);
        for (int i = count - 1; i >= count - children; i--) {
            if (has_room && i == count - 2)
                arrived = inter_schedule_temp(schedule, n);
            inter_schedule_recv(schedule, edges[i].peer, arrived, n);
            inter_schedule_next_stage(schedule);
            inter_combine(schedule, view, edges[i].peer, result, arrived, sum, n);
            result = sum;
        }
    }
    if (!is_root)
        inter_schedule_send(schedule, edges[0].peer, result, n);
    else if (!children)
        inter_schedule_copy(schedule, result, inter_at(INTER_RECV, 0), n);
    inter_schedule_next_stage(schedule);
}
