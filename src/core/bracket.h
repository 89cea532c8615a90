// SPDX-License-Identifier: BSD-3-Clause
/**
 * The fixed bracketing: in which pairs the operands of the ranks 0 … p−1 are combined, whoever holds them.
 *
 * Ranks form blocks of 2^level, each beginning at a multiple of its length, the last ones cut off at p. The value of a block is
 * (left half) op (right half), or that of its left half when p cuts the right one off: pairwise summation (Higham 1993), whose
 * rounding errors also grow with log p only.
 *
 *     p = 6:   ((0 1) (2 3)) (4 5)             p = 7:   ((0 1) (2 3)) ((4 5) 6)
 *
 * Blocks whose values are known come in rank order, as the digits of a binary counter: two of one level are halves of one block, and
 * are combined at once; what is left when all have come is combined from the right. Values stand on a stack; this is its
 * arithmetic.
 */
#ifndef CORE_BRACKET_H
#define CORE_BRACKET_H

#include <stdbool.h>

/** Blocks on the stack have different levels, but for the top two for a moment; ranks are ints. */
#define CORE_BRACKET_DEPTH 33

typedef struct core_bracket {
    int depth;
    unsigned char levels[CORE_BRACKET_DEPTH];
} core_bracket;

/** A block of this level is on top now. */
static inline void core_bracket_push(core_bracket *bracket, int level) {
    bracket->levels[bracket->depth++] = (unsigned char)level;
}

/** Must the top two be combined, into the place of the lower one? Then they count as one. `all`: all blocks have come. */
static inline bool core_bracket_merges(core_bracket *bracket, bool all) {
    int top = bracket->depth - 1;
    if (top < 1 || (!all && bracket->levels[top] != bracket->levels[top - 1]))
        return false;
    bracket->levels[top - 1]++;
    bracket->depth = top;
    return true;
}

/** How many values are on the stack at most, of so many ranks. */
static inline int core_bracket_most(int ranks) {
    int depth = 1;
    while (ranks > 1) {
        ranks = ranks / 2 + ranks % 2;
        depth++;
    }
    return depth;
}

#endif
