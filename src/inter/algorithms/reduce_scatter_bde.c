// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce_scatter, reduce_scatter_block bBDE, nbBDE: bidirectional exchange (recursive halving).
 *
 * With q the largest power of two ≤ p and e = p − q, e ranks fold into their neighbours (peers.h) and get their block
 * at the end. The others swap halves with partners at distance q/2, q/4 … 1 (halving.h), so that each ends with its
 * own block (and that of the rank folded into it). nb: both directions of a swap at once; b: the lower rank sends
 * first.
 * Cost: log2 q swaps (+ 2 messages of time when e > 0), a stage each, with b two; q log2 q + 2e messages; (q−1)/q·n
 * elements for each of the q ranks when blocks are equal and p = q, n the whole. Any p, any counts. Commutative
 * operations only. Memory: 3n/4 for equal blocks and p = q; at most 2n.
 *
 *     0⇄2  1⇄3   blocks {0 1} {2 3}       0⇄1  2⇄3   blocks 0 1 2 3
 *
 * Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
 * (2005).
 */
#include <inter/algorithms.h>
#include <inter/halving.h>

/* The last level: the sum can go straight to where the result belongs. */
static void finish(inter_schedule *schedule, const inter_view *view, inter_sums *sums, const inter_halving *level) {
    bool direct = sums->now.place.buffer != INTER_SEND || inter_own_block_is_apart(view);
    inter_place arrived = inter_sums_swap(schedule, view, sums, level);
    inter_place result = inter_at(INTER_RECV, 0), out = direct ? result : arrived;
    inter_combine(schedule, view, level->peer, inter_part_at(sums->now, level->keep), arrived, out, level->keep_count);
    if (!direct)
        inter_schedule_copy(schedule, out, result, level->keep_count);
}

/* Two blocks are complete: the one goes to the rank folded into this one. */
static void unfold(inter_schedule *schedule, const inter_view *view, const inter_sums *sums) {
    int rank = view->rank;
    inter_schedule_send(schedule, rank - 1, inter_part_at(sums->sum, inter_block_offset(view, rank - 1)),
                        inter_block_count(view, rank - 1));
    inter_schedule_copy(schedule, inter_part_at(sums->sum, inter_block_offset(view, rank)), inter_at(INTER_RECV, 0),
                        inter_block_count(view, rank));
}

void inter_reduce_scatter_bde(inter_schedule *schedule, const inter_view *view) {
    size_t whole = inter_blocks_count(view, 0, view->size - 1);
    int rank = view->rank;
    inter_fold fold = inter_fold_of(view->size);
    if (inter_fold_leaves(fold, rank)) {
        inter_lean_on_neighbour(schedule, view, whole, inter_block_count(view, rank));
        return;
    }
    if (fold.power == 1) {
        inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), inter_at(INTER_RECV, 0), whole);
        return;
    }
    inter_halving levels[INTER_HALVING_MAX_LEVELS];
    bool takes = inter_fold_takes(fold, rank);
    int count = inter_halving_of_blocks(fold, inter_fold_position(fold, rank), view, levels);
    inter_sums sums = inter_sums_begin(schedule, levels, count, whole, takes, false);
    if (takes)
        inter_sums_take(schedule, view, &sums, rank - 1, whole);
    for (int level = 0; level < count - !takes; level++)
        inter_sums_halve(schedule, view, &sums, &levels[level]);
    if (takes)
        unfold(schedule, view, &sums);
    else
        finish(schedule, view, &sums, &levels[count - 1]);
}
