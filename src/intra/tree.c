// SPDX-License-Identifier: BSD-3-Clause
#include <intra/tree.h>
#include <stdbool.h>

/* Up to `size`, a multiple of the last one, in steps of the arity where they fit. */
static void add(intra_tree *tree, int size) {
    int last = tree->sizes[tree->levels - 1];
    while (size > last * INTRA_TREE_ARITY && size % (last * INTRA_TREE_ARITY) == 0 &&
           tree->levels < INTRA_TREE_LEVELS) {
        last *= INTRA_TREE_ARITY;
        tree->sizes[tree->levels++] = last;
    }
    if (size > last && tree->levels < INTRA_TREE_LEVELS)
        tree->sizes[tree->levels++] = size;
}

void intra_tree_build(intra_tree *tree, int threads, const int *groups, int count) {
    *tree = (intra_tree){.threads = threads, .levels = 1, .sizes = {1}};
    for (int i = 0; i < count; i++) {
        int last = tree->sizes[tree->levels - 1];
        if (groups[i] > last && groups[i] % last == 0 && last < threads)
            add(tree, groups[i]);
    }
    while (tree->sizes[tree->levels - 1] < threads && tree->levels < INTRA_TREE_LEVELS)
        add(tree, tree->sizes[tree->levels - 1] * INTRA_TREE_ARITY);
}

int intra_tree_parent(const intra_tree *tree, int thread) {
    int level = 1;
    while (thread % tree->sizes[level] == 0)
        level++;
    return thread - thread % tree->sizes[level];
}

/* Those below it in the groups of a level that it speaks for. */
static int at_level(const intra_tree *tree, int thread, int level) {
    int left = tree->threads - thread, group = tree->sizes[level], step = tree->sizes[level - 1];
    return ((left < group ? left : group) - 1) / step;
}

static bool speaks_for(const intra_tree *tree, int thread, int level) {
    return level < tree->levels && thread % tree->sizes[level] == 0;
}

int intra_tree_children(const intra_tree *tree, int thread) {
    int count = 0;
    for (int level = 1; speaks_for(tree, thread, level); level++)
        count += at_level(tree, thread, level);
    return count;
}

int intra_tree_child(const intra_tree *tree, int thread, int i) {
    int level = 1;
    while (i >= at_level(tree, thread, level))
        i -= at_level(tree, thread, level++);
    return thread + (i + 1) * tree->sizes[level - 1];
}
