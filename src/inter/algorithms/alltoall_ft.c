// SPDX-License-Identifier: BSD-3-Clause
/*
 * alltoall, alltoallv nb1FT: every pair directly, all receives and sends issued at once.
 *
 * Partners are taken in the order r+1, r+2, … so that not everybody sends to rank 0 first. A block of 0 elements is a
 * message too: when the two sides disagree about its count, it is noticed and nobody hangs.
 * Cost: 1 stage, p(p−1) messages. Any p, any counts. No memory.
 *
 *     r → r+1, r+2, … r+p−1   (modulo p)
 */
#include <inter/algorithm.h>

static inter_place block(enum inter_buffer buffer, const inter_view *view, const size_t *offsets, int peer) {
    return inter_at(buffer, offsets ? offsets[peer] : (size_t)peer * view->count);
}

void inter_alltoall_nb1ft(inter_schedule *schedule, const inter_view *view) {
    const size_t *send_counts = view->send_counts, *recv_counts = view->recv_counts;
    for (int step = 1; step < view->size; step++) {
        int from = (view->rank - step + view->size) % view->size;
        size_t count = recv_counts ? recv_counts[from] : view->count;
        inter_schedule_recv(schedule, from, block(INTER_RECV, view, view->recv_offsets, from), count);
    }
    for (int step = 1; step < view->size; step++) {
        int to = (int)(((long long)view->rank + step) % view->size);
        size_t count = send_counts ? send_counts[to] : view->count;
        inter_schedule_send(schedule, to, block(INTER_SEND, view, view->send_offsets, to), count);
    }
    inter_schedule_copy(schedule, block(INTER_SEND, view, view->send_offsets, view->rank),
                        block(INTER_RECV, view, view->recv_offsets, view->rank),
                        send_counts ? send_counts[view->rank] : view->count);
}
