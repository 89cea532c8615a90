// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce RAB: Rabenseifner's algorithm, a reduce_scatter by recursive halving and a gather to the root.
 *
 * With q the largest power of two ≤ p and e = p − q, e ranks fold into their neighbours (peers.h); of the root's pair
 * the root stays. The others halve the vector with partners at distance 1, 2, 4 … (halving.h). Then the parts are
 * gathered along the same partners in reverse: of each two, the one whose position differs from the root's in that
 * bit sends.
 * Cost: 2 log2 q stages (+ 1 when e > 0); q log2 q + q − 1 + e messages, (q−1)n + n log2(q)/2 + en elements; the root
 * moves 2(q−1)/q·n. Any p, any root, any n: halves may be uneven or empty. Operands meet in rank order. Memory: at
 * most n/2 at the root, 3n/4 elsewhere; when another rank folds into it n, or 3n/2.
 *
 *     0⇄1 2⇄3 halves   0⇄2 1⇄3 quarters  │  0←2 1←3 quarters   0←1 half          root 0
 *
 * Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; Thakur, Rabenseifner, Gropp,
 * "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005).
 */
#include <inter/algorithms.h>
#include <inter/halving.h>

/* Levels upwards: what the partner has kept is what this rank has given. `differs`: position xor the root's. */
static void gather(inter_schedule *schedule, const inter_sums *sums, const inter_halving *levels, int count,
                   int differs) {
    for (int level = count - 1; level >= 0; level--) {
        const inter_halving *parts = &levels[level];
        if (differs >> level & 1) {
            inter_schedule_send(schedule, parts->peer, inter_part_at(sums->sum, parts->keep), parts->keep_count);
            return;
        }
        inter_schedule_recv(schedule, parts->peer, inter_part_at(sums->sum, parts->give), parts->give_count);
        inter_schedule_next_stage(schedule);
    }
}

void inter_reduce_rab(inter_schedule *schedule, const inter_view *view) {
    size_t n = view->count;
    int rank = view->rank, root = view->root;
    inter_fold fold = inter_fold_of(view->size);
    if (inter_halving_leaves(fold, rank, root)) {
        inter_schedule_send(schedule, rank ^ 1, inter_at(INTER_SEND, 0), n);
        return;
    }
    if (fold.power == 1)
        inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), inter_at(INTER_RECV, 0), n);
    inter_halving levels[INTER_HALVING_MAX_LEVELS];
    bool takes = rank < 2 * fold.extra;
    int position = inter_fold_position(fold, rank);
    int count = inter_halving_of_vector(fold, position, root, n, levels);
    inter_sums sums = inter_sums_begin(schedule, levels, count, n, takes, rank == root);
    if (takes)
        inter_sums_take(schedule, view, &sums, rank ^ 1, n);
    for (int level = 0; level < count; level++)
        inter_sums_halve(schedule, view, &sums, &levels[level]);
    gather(schedule, &sums, levels, count, position ^ inter_fold_position(fold, root));
}
