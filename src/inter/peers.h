// SPDX-License-Identifier: BSD-3-Clause
/**
 * Who talks to whom in rings, binomial trees and exchanges: peer arithmetic only. (Halved ranges are in mst.h.)
 */
#ifndef INTER_PEERS_H
#define INTER_PEERS_H

#include <stdbool.h>

/** The rank `distance` further on in the ring of all, for −size ≤ distance ≤ size. */
static inline int inter_ring_rank(int rank, int distance, int size) {
    int there =
        distance > 0 ? rank - size + distance : rank + distance; /* rank + distance may be too large for an int */
    return there < 0 ? there + size : there;
}

/** The smallest power of two ≥ size, for sizes up to 2^30. */
static inline int inter_power_above(int size) {
    int power = 1;
    while (power < size)
        power *= 2;
    return power;
}

/** The largest power of two ≤ size. */
static inline int inter_power_below(int size) {
    int power = 1;
    while (power <= size / 2)
        power *= 2;
    return power;
}

/**
 * The binomial tree with root 0: the parent of a node is the node without its lowest bit.
 *
 *     0 ───────┬───┬─┐      the subtree of node v is the contiguous range v … v + span − 1 (as far as it exists), with
 *     │        4─┐ 2 1      v's lowest bit as its span; its children are v + span/2, v + span/4, … v + 1
 *     8…       6 5 3
 *
 *     for (int distance = inter_binomial_span(node, size) / 2; distance; distance /= 2)
 *         if (node + distance < size)
 *             … the child node + distance, the largest subtree first
 */
static inline int inter_binomial_span(int node, int size) {
    return node ? node & -node : inter_power_above(size);
}

/** The parent of a node other than 0. */
static inline int inter_binomial_parent(int node) {
    return node & (node - 1);
}

/** The last node of a node's subtree. */
static inline int inter_binomial_last(int node, int size) {
    int span = inter_binomial_span(node, size);
    return span < size - node ? node + span - 1 : size - 1;
}

/**
 * Ranks fold into a power of two of positions: of the first 2 · extra ranks each even one folds into its right neighbour,
 * so that every position stands for a contiguous range of one or two ranks, in order.
 *
 *     p = 6:   0→1  2→3  4  5     the ranks 1, 3, 4, 5 have the positions 0, 1, 2, 3
 */
typedef struct inter_fold {
    int power, extra; /* positions; the ranks beyond so many */
} inter_fold;

static inline inter_fold inter_fold_of(int size) {
    int power = inter_power_below(size);
    return (inter_fold){power, size - power};
}

/** Does the rank fold into rank + 1, and has no position? */
static inline bool inter_fold_leaves(inter_fold fold, int rank) {
    return rank < 2 * fold.extra && rank % 2 == 0;
}

/** Does rank − 1 fold into the rank? */
static inline bool inter_fold_takes(inter_fold fold, int rank) {
    return rank < 2 * fold.extra && rank % 2 == 1;
}

/** The position of a rank, or of the one that it folds into. */
static inline int inter_fold_position(inter_fold fold, int rank) {
    return rank < 2 * fold.extra ? rank / 2 : rank - fold.extra;
}

/** The rank at a position: the last rank of those that the position stands for. */
static inline int inter_fold_rank(inter_fold fold, int position) {
    return position < fold.extra ? 2 * position + 1 : position + fold.extra;
}

/** The first rank of those that a position stands for (position = power: behind the last). */
static inline int inter_fold_first(inter_fold fold, int position) {
    return position < fold.extra ? 2 * position : position + fold.extra;
}

#endif
