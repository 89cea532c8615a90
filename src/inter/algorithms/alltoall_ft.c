// SPDX-License-Identifier: BSD-3-Clause
/*
 * alltoall, alltoallv, alltoallw bFT, nbFT, nb1FT, nb2FT: every pair directly.
 *
 *     nb1FT   receives and sends all at once                       1 step
 *     nbFT    the sends at once, the receives one at a time        p−1 steps
 *     nb2FT   the receives at once, the sends one at a time        p−1 steps
 *     bFT     one message at a time                                2(2p−3) steps for p ≥ 2
 *
 * The nb variants take partners in the order r+1, r+2, … (to receive from: r−1, r−2, …) so that not everybody sends to
 * rank 0 first. In bFT a rank goes through its partners in rank order, and the lower rank of a pair sends first. So
 * everybody meets the pairs {i, j} in lexicographic order, which admits no circle of waiting; the pair i < j meets in turn
 * i + j, and the last one is p−2 with p−1.
 * A block of 0 elements is a message too: when the two sides disagree about its count, it is noticed and nobody hangs.
 * Cost: p(p−1) messages of one block. Any p, any counts, blocks may lie anywhere. No memory. What is sent must not be
 * where something is received (build.c sees to that when the call is in place).
 *
 *     r → r+1, r+2, … r+p−1   (modulo p)
 */
#include <inter/algorithms.h>
#include <inter/algorithms/alltoall_blocks.h>
#include <inter/peers.h>

static void one_by_one(inter_schedule *schedule, const inter_view *view) {
    int rank = view->rank, first = rank ? 0 : 1;
    for (int peer = 0; peer < view->size; peer++) {
        if (peer == rank)
            continue;
        if (rank < peer)
            inter_alltoall_send(schedule, view, peer);
        else
            inter_alltoall_recv(schedule, view, peer);
        if (peer == first)
            inter_alltoall_copy(schedule, view);
        inter_schedule_next_stage(schedule);
        if (rank < peer)
            inter_alltoall_recv(schedule, view, peer);
        else
            inter_alltoall_send(schedule, view, peer);
        inter_schedule_next_stage(schedule);
    }
}

/* All receives; one at a time when each is a stage of its own. */
static void receive_all(inter_schedule *schedule, const inter_view *view, bool one_at_a_time) {
    for (int step = 1; step < view->size; step++) {
        inter_alltoall_recv(schedule, view, inter_ring_rank(view->rank, -step, view->size));
        if (one_at_a_time)
            inter_schedule_next_stage(schedule);
    }
}

void inter_alltoall_ft(inter_schedule *schedule, const inter_view *view) {
    enum inter_issue issue = view->algorithm->issue;
    int size = view->size;
    if (size == 1) {
        inter_alltoall_copy(schedule, view);
        return;
    }
    if (issue == INTER_B) {
        one_by_one(schedule, view);
        return;
    }
    bool sends_one_at_a_time = issue == INTER_NB2;
    if (sends_one_at_a_time) {
        receive_all(schedule, view, false);
        inter_schedule_next_stage_independent(schedule);
    }
    for (int step = 1; step < size; step++) {
        inter_alltoall_send(schedule, view, inter_ring_rank(view->rank, step, size));
        if (step == (sends_one_at_a_time ? 1 : size - 1))
            inter_alltoall_copy(schedule, view);
        if (sends_one_at_a_time)
            inter_schedule_next_stage(schedule);
    }
    if (issue == INTER_NB)
        inter_schedule_next_stage_independent(schedule);
    if (!sends_one_at_a_time)
        receive_all(schedule, view, issue == INTER_NB);
}
