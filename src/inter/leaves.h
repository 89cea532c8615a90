// SPDX-License-Identifier: BSD-3-Clause
/**
 * Leaves: of reductions in the fixed bracketing (core/bracket.h) over the ranks of several threads a process, the largest blocks of
 * ranks that are all of one process. It combines them by itself; the rest is between processes.
 *
 *     processes of 3 + 1 + 4 threads:   leaves 0–1, 2 │ 3 │ 4–7
 */
#ifndef INTER_LEAVES_H
#define INTER_LEAVES_H

typedef struct inter_leaf {
    int first, end; /* its ranks: first … end − 1 */
    int level;
    int owner; /* its process */
    int index; /* among those of its owner */
} inter_leaf;

typedef struct inter_leaves {
    int ranks, count;
    int own;           /* of this process */
    inter_leaf leaf[]; /* in the order of the ranks */
} inter_leaves;

#endif
