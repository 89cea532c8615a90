// SPDX-License-Identifier: BSD-3-Clause
/**
 * A tree over the threads of a team that follows the machine: threads are numbered along the cores, so those that share a cache,
 * a NUMA domain or a package have numbers one behind the other, and the first of such a group speaks for it.
 *
 *     groups of 4 (a cache) and 8 (a package):     0 ─┬─ 1, 2, 3
 *                                                     ├─ 4 ── 5, 6, 7
 *                                                     └─ 8 ── 9, 10, 11
 *
 * The threads below one have numbers that follow its own, and those below its children lie in their order: reductions keep the
 * order of the ranks.
 */
#ifndef INTRA_TREE_H
#define INTRA_TREE_H

/** Groups that are larger are made of groups of so many. */
#define INTRA_TREE_ARITY  4
#define INTRA_TREE_LEVELS 16

typedef struct intra_tree {
    int threads, levels;
    int sizes[INTRA_TREE_LEVELS]; /* of groups, each a multiple of the one before; from 1 to `threads` or more */
} intra_tree;

/** `groups`: the sizes of the machine's, rising; sizes that are no multiple of the one before are left out. */
void intra_tree_build(intra_tree *tree, int threads, const int *groups, int count);

/** Of any thread but 0. */
int intra_tree_parent(const intra_tree *tree, int thread);

/** How many children a thread has, and which is the i-th. */
int intra_tree_children(const intra_tree *tree, int thread);
int intra_tree_child(const intra_tree *tree, int thread, int i);

#endif
