// SPDX-License-Identifier: BSD-3-Clause
#include <hier/layout.h>
#include <stdint.h>
#include <stdlib.h>

bool hier_layout_make(hier_layout *layout, hier_layout_parts *parts, int nodes, int ranks) {
    size_t words = (size_t)nodes + 1, numbers = (size_t)nodes + 2 * (size_t)ranks;
    size_t *memory = calloc(1, words * sizeof(*parts->offsets) + numbers * sizeof(*parts->processes));
    if (!memory)
        return false;
    parts->offsets = memory;
    parts->processes = (int *)(memory + words);
    parts->places = parts->processes + nodes;
    parts->ranks = parts->places + ranks;
    *layout = (hier_layout){.nodes = nodes,
                            .offsets = parts->offsets,
                            .processes = parts->processes,
                            .places = parts->places,
                            .ranks = parts->ranks};
    return true;
}

void hier_layout_free(hier_layout *layout) {
    free((void *)(uintptr_t)layout->offsets);
    *layout = (hier_layout){0};
}
