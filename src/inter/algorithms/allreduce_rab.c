// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce RAB: Rabenseifner's algorithm, a reduce_scatter by recursive halving and an allgather by recursive
 * doubling.
 *
 * With q the largest power of two ≤ p and e = p − q, e ranks fold into their neighbours (peers.h) and get the result
 * at the end. The others halve the vector with partners at distance 1, 2, 4 … (halving.h), then hand the parts back
 * along the same partners in reverse.
 * Cost: 2 log2 q stages (+ 2 when e > 0), 2q log2 q + 2e messages; 2(q−1)/q·n elements for each of the q ranks, and
 * 2n for each of the e. Any p, any n: halves may be uneven or empty. Operands meet in rank order. Memory: n/2, for e
 * of the ranks n.
 *
 *     0⇄1 2⇄3 halves   0⇄2 1⇄3 quarters  │  0⇄2 1⇄3 quarters   0⇄1 2⇄3 halves
 *
 * Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; Thakur, Rabenseifner, Gropp,
 * "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005).
 */
#include <inter/algorithms.h>
#include <inter/halving.h>

void inter_allreduce_rab(inter_schedule *schedule, const inter_view *view) {
    size_t n = view->count;
    int rank = view->rank;
    inter_fold fold = inter_fold_of(view->size);
    inter_place operand = inter_at(INTER_SEND, 0), result = inter_at(INTER_RECV, 0);
    if (inter_fold_leaves(fold, rank)) {
        inter_lean_on_neighbour(schedule, view, n, n);
        return;
    }
    if (fold.power == 1)
        inter_schedule_copy(schedule, operand, result, n);
    inter_halving levels[INTER_HALVING_MAX_LEVELS];
    bool takes = inter_fold_takes(fold, rank);
    int count = inter_halving_of_vector(fold, inter_fold_position(fold, rank), INTER_NO_ROOT, n, levels);
    inter_sums sums = inter_sums_begin(schedule, levels, count, n, takes, true);
    if (takes)
        inter_sums_take(schedule, view, &sums, rank - 1, n);
    for (int level = 0; level < count; level++)
        inter_sums_halve(schedule, view, &sums, &levels[level]);
    for (int level = count - 1; level >= 0; level--) {
        const inter_halving *parts = &levels[level];
        inter_exchange(schedule, view, rank < parts->peer,
                       (inter_message){parts->peer, inter_plus(result, parts->keep), parts->keep_count},
                       (inter_message){parts->peer, inter_plus(result, parts->give), parts->give_count});
    }
    if (takes)
        inter_schedule_send(schedule, rank - 1, result, n);
}
