// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce BKT: buckets around a ring, once to collect the sums and once to hand them out.
 *
 * The vector is cut into p blocks. First round (reduce_scatter): in step k a rank adds its operand to the block that
 * its left neighbour passed on in step k, and passes it on in step k+1; after p−1 steps block r is complete at rank
 * r. Second round (allgather): the complete blocks go around.
 * Cost: 2(p−1) stages, 2p(p−1) messages, 2(p−1)/p·n elements a rank: the least possible. Any p, any n; fewer than p
 * elements are blocks of one or none. Commutative operations only: block r's operands meet in the order r+1, r+2, …
 * r. Memory: a block.
 *
 *     0 → 1 → 2 → … → p−1 → 0
 *
 * Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience",
 * Concurrency and Computation 19 (2007), section 3 (bucket); Patarasuk, Yuan, "Bandwidth optimal all-reduce
 * algorithms for clusters of workstations", J. of Parallel and Distributed Computing 69 (2009).
 */
#include <inter/algorithms.h>
#include <inter/operands.h>
#include <inter/peers.h>

/* Block r − distance, of a buffer that holds the whole. */
static inter_message block(const inter_view *view, int peer, int distance, enum inter_buffer buffer) {
    int index = inter_ring_rank(view->rank, -distance, view->size);
    return (inter_message){peer, inter_at(buffer, inter_block_offset(view, index)), inter_block_count(view, index)};
}

void inter_allreduce_bkt(inter_schedule *schedule, const inter_view *whole) {
    inter_view cut = *whole, *view = &cut;
    view->cut = true;
    int size = view->size, rank = view->rank;
    int left = inter_ring_rank(rank, -1, size), right = inter_ring_rank(rank, 1, size);
    if (size == 1)
        inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), inter_at(INTER_RECV, 0), view->count);
    inter_place arrived = inter_schedule_temp(schedule, size > 1 ? inter_block_count(view, 0) : 0);
    for (int step = 0; step < size - 1; step++) {
        inter_message out = block(view, right, step + 1, step ? INTER_RECV : INTER_SEND);
        inter_message sum = block(view, left, step + 2, INTER_RECV), in = sum;
        in.place = arrived;
        inter_exchange(schedule, view, rank % 2 == 0, out, in);
        inter_place operand = block(view, left, step + 2, INTER_SEND).place;
        inter_schedule_reduce(schedule, arrived, operand, sum.place, sum.count);
    }
    for (int step = 0; step < size - 1; step++)
        inter_exchange(schedule, view, rank % 2 == 0, block(view, right, step, INTER_RECV),
                       block(view, left, step + 1, INTER_RECV));
}
