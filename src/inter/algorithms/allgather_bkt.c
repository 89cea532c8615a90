// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather nbBKT: bucket (ring), sending and receiving at once.
 *
 * In step k a rank passes on to its right neighbour the block that it got in step k−1, beginning with its own.
 * Cost: p−1 stages, each a message of one block; every rank sends all blocks but one: bandwidth-optimal. Any p, any
 * counts. No memory but the result.
 *
 *     0 → 1 → 2 → … → p−1 → 0
 *
 * Source: Chan et al. 2007, section 3 (bucket).
 */
#include <inter/algorithm.h>

void inter_allgather_nbbkt(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, rank = view->rank;
    int left = (rank - 1 + size) % size, right = (rank + 1) % size;
    inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), inter_at(INTER_RECV, inter_block_offset(view, rank)),
                        inter_blocks_count(view, rank, rank));
    for (int step = 0; step < size - 1; step++) {
        int out = (rank - step + size) % size, in = (out - 1 + size) % size;
        inter_schedule_recv(schedule, left, inter_at(INTER_RECV, inter_block_offset(view, in)),
                            inter_blocks_count(view, in, in));
        inter_schedule_send(schedule, right, inter_at(INTER_RECV, inter_block_offset(view, out)),
                            inter_blocks_count(view, out, out));
        inter_schedule_next_stage(schedule);
    }
}
