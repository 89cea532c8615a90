// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce_scatter, reduce_scatter_block bBKT, nbBKT: buckets around a ring.
 *
 * Block b starts at rank b+1 and travels to rank b; everyone it passes adds its operand.
 * nb: sends and receives at once; b: even ranks send first, odd ones receive first.
 * Cost: p−1 stages; with b each is two messages of time, and with an odd p two more in all (ranks 0 and p−1 both send
 * first). p(p−1) messages of a block: (p−1)/p·n elements a rank for equal blocks, n the whole: the least possible. Any p,
 * any counts, blocks may lie anywhere. Commutative operations only: block b's operands meet in the order b+1, b+2, … b. Memory: two blocks of the
 * longest.
 *
 *     0 → 1 → 2 → … → p−1 → 0
 *
 * Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience",
 * Concurrency and Computation 19 (2007), section 3 (bucket).
 */
#include <inter/algorithms.h>
#include <inter/operands.h>
#include <inter/peers.h>

static size_t longest_block(const inter_view *view) {
    size_t longest = 0;
    for (int rank = 0; rank < view->size; rank++)
        if (inter_block_count(view, rank) > longest)
            longest = inter_block_count(view, rank);
    return longest;
}

void inter_reduce_scatter_bkt(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, rank = view->rank, left = inter_ring_rank(rank, -1, size);
    inter_place result = inter_at(INTER_RECV, 0);
    if (size == 1) {
        inter_schedule_copy(schedule, inter_at(INTER_SEND, inter_block_place(view, 0)), result,
                            inter_block_count(view, 0));
        return;
    }
    size_t longest = longest_block(view);
    inter_place arrived = inter_schedule_temp(schedule, longest);
    inter_place sent = inter_schedule_temp(schedule, size > 2 ? longest : 0); /* while another block arrives */
    inter_message out = {inter_ring_rank(rank, 1, size), inter_at(INTER_SEND, inter_block_place(view, left)),
                         inter_block_count(view, left)};
    for (int step = 2; step <= size; step++) {
        int block = inter_ring_rank(rank, -step, size);
        size_t count = inter_block_count(view, block);
        inter_exchange(schedule, view, rank % 2 == 0, out, (inter_message){left, arrived, count});
        bool direct = step == size && inter_own_block_is_apart(view);
        out.place = direct ? result : arrived;
        out.count = count;
        inter_schedule_reduce(schedule, arrived, inter_at(INTER_SEND, inter_block_place(view, block)), out.place,
                              count);
        arrived = sent;
        sent = out.place;
    }
    if (out.place.buffer != INTER_RECV)
        inter_schedule_copy(schedule, out.place, result, out.count);
}
