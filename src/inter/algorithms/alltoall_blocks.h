// SPDX-License-Identifier: BSD-3-Clause
/**
 * The blocks of alltoall, alltoallv and alltoallw, each of which goes straight from its sender's buffer to its receiver's.
 */
#ifndef INTER_ALLTOALL_BLOCKS_H
#define INTER_ALLTOALL_BLOCKS_H

#include <inter/algorithm.h>

static inline inter_place inter_alltoall_from(const inter_view *view, int peer) {
    return inter_at(INTER_SEND, view->send_offsets ? view->send_offsets[peer] : (size_t)peer * view->count);
}

static inline inter_place inter_alltoall_to(const inter_view *view, int peer) {
    return inter_at(INTER_RECV, view->recv_offsets ? view->recv_offsets[peer] : (size_t)peer * view->count);
}

/** Sends `peer` its block. */
static inline void inter_alltoall_send(inter_schedule *schedule, const inter_view *view, int peer) {
    size_t count = view->send_counts ? view->send_counts[peer] : view->count;
    if (count || !view->sparse)
        inter_schedule_send(schedule, peer, inter_alltoall_from(view, peer), count);
}

/** Receives the block that `peer` sends. */
static inline void inter_alltoall_recv(inter_schedule *schedule, const inter_view *view, int peer) {
    size_t count = view->recv_counts ? view->recv_counts[peer] : view->count;
    if (count || !view->sparse)
        inter_schedule_recv(schedule, peer, inter_alltoall_to(view, peer), count);
}

/** Copies the block that the rank has for itself. */
static inline void inter_alltoall_copy(inter_schedule *schedule, const inter_view *view) {
    size_t count = view->send_counts ? view->send_counts[view->rank] : view->count;
    inter_schedule_copy(schedule, inter_alltoall_from(view, view->rank), inter_alltoall_to(view, view->rank), count);
}

#endif
