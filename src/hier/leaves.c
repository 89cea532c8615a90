// SPDX-License-Identifier: BSD-3-Clause
#include <hier/leaves.h>
#include <stdlib.h>

static int owner_of(const hier_layout *layout, int rank) {
    return hier_layout_node(layout, hier_layout_place(layout, rank));
}

/* Are the ranks all of one node? */
static bool is_leaf(const hier_layout *layout, int first, int end) {
    int owner = owner_of(layout, first);
    for (int rank = first + 1; rank < end; rank++)
        if (owner_of(layout, rank) != owner)
            return false;
    return true;
}

/* The block of 2^level ranks from `first` on: a leaf, or its halves. As deep as a number of ranks has bits. */
static void cover(inter_leaves *made, const hier_layout *layout, int *indices, int first, int level) {
    int end = made->ranks - first > 1L << level ? first + (1 << level) : made->ranks;
    if (level == 0 || is_leaf(layout, first, end)) {
        int owner = owner_of(layout, first);
        made->leaf[made->count++] =
            (inter_leaf){.first = first, .end = end, .level = level, .owner = owner, .index = indices[owner]++};
        return;
    }
    int middle = first + (1 << (level - 1));
    cover(made, layout, indices, first, level - 1);
    if (middle < made->ranks)
        cover(made, layout, indices, middle, level - 1);
}

inter_leaves *hier_leaves_make(const hier_layout *layout, int node) {
    int ranks = hier_layout_size(layout), level = 0;
    inter_leaves *made = malloc(sizeof(*made) + (size_t)ranks * sizeof(made->leaf[0]));
    int *indices = calloc((size_t)layout->nodes, sizeof(*indices));
    if (made && indices) {
        made->ranks = ranks;
        made->count = 0;
        while (1L << level < ranks)
            level++;
        cover(made, layout, indices, 0, level);
        made->own = indices[node];
    } else {
        free(made);
        made = NULL;
    }
    free(indices);
    return made;
}
