// SPDX-License-Identifier: BSD-3-Clause
/*
 * barrier DISS: dissemination.
 *
 * In step k rank r signals r + 2^k and waits for r − 2^k; after ⌈log2 p⌉ steps everybody has heard, by way of others,
 * from everybody.
 * Cost: ⌈log2 p⌉ steps, p⌈log2 p⌉ empty messages. Any p. No memory.
 *
 *     k=0: r → r+1    k=1: r → r+2    k=2: r → r+4 …   (modulo p)
 *
 * Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", Int. J. of Parallel Programming 17
 * (1988).
 */
#include <inter/algorithms.h>
#include <inter/peers.h>

void inter_barrier_diss(inter_schedule *schedule, const inter_view *view) {
    for (int distance = 1; distance < view->size; distance *= 2) {
        inter_schedule_send(schedule, inter_ring_rank(view->rank, distance, view->size), inter_at(INTER_TEMP, 0), 0);
        inter_schedule_recv(schedule, inter_ring_rank(view->rank, -distance, view->size), inter_at(INTER_TEMP, 0), 0);
        inter_schedule_next_stage(schedule);
    }
}
