// SPDX-License-Identifier: BSD-3-Clause
/*
 * bcast CHAIN: every rank passes the vector on to the next, beginning at the root.
 *
 * Long vectors are cut into segments that flow along the chain behind each other (build.c makes a strand of each).
 * Cost: p−1 messages of n elements; p−1 steps for one segment, p−2+m for m segments. Any p, any root. No memory. It is for
 * vectors of many more segments than ranks: then each link carries n elements, once.
 *
 *     root ─▶ root+1 ─▶ root+2 ─▶ …   (modulo p)
 *              s2        s1
 */
#include <inter/algorithms.h>
#include <inter/peers.h>

void inter_bcast_chain(inter_schedule *schedule, const inter_view *view) {
    int size = view->size;
    int next = inter_ring_rank(view->rank, 1, size), previous = inter_ring_rank(view->rank, -1, size);
    inter_place data = inter_at(INTER_RECV, 0);
    if (view->rank != view->root) {
        inter_schedule_recv(schedule, previous, data, view->count);
        inter_schedule_next_stage(schedule);
    }
    if (next != view->root)
        inter_schedule_send(schedule, next, data, view->count);
}
