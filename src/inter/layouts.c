// SPDX-License-Identifier: BSD-3-Clause
#include <inter/layouts.h>

static size_t bytes_of(const core_data *block) {
    return block->type ? core_data_bytes(*block) : 0;
}

/* The block that has the packed byte `begin`: the last one that begins no later and is not empty. */
static const core_data *block_at(const inter_layout *layout, size_t begin, size_t *from) {
    size_t low = 0, high = layout->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if ((size_t)layout->begins[middle] <= begin)
            low = middle;
        else
            high = middle;
    }
    *from = begin - (size_t)layout->begins[low];
    return &layout->blocks[low];
}

static bool is_within(const core_data *block, size_t from, size_t bytes) {
    return from + bytes <= bytes_of(block);
}

const core_data *inter_layout_find(const inter_layout *layout, size_t begin, size_t bytes, size_t *from) {
    *from = begin;
    if (layout->all.type)
        return is_within(&layout->all, begin, bytes) ? &layout->all : NULL;
    const core_data *block = block_at(layout, begin, from);
    return is_within(block, *from, bytes) ? block : NULL;
}

/* Is a side's part in one block? `behind` its beginning, or 0 in a run. */
static bool is_in_block(inter_laid side, size_t bytes, size_t *behind) {
    *behind = 0;
    if (!side.layout)
        return true;
    const core_data *block = block_at(side.layout, side.begin, behind);
    return is_within(block, *behind, bytes);
}

bool inter_laid_match(inter_laid to, inter_laid from, size_t bytes) {
    size_t to_behind, from_behind;
    if (!bytes)
        return true;
    if (!is_in_block(to, bytes, &to_behind) || !is_in_block(from, bytes, &from_behind))
        return false;
    return !to.layout || !from.layout || to_behind == from_behind;
}

void inter_laid_copy(inter_laid to, inter_laid from, size_t bytes) {
    size_t begin;
    if (!bytes)
        return;
    if (!to.layout) {
        const core_data *block = block_at(from.layout, from.begin, &begin);
        core_pack(to.run, block->buffer, block->type, block->count, begin, begin + bytes);
        return;
    }
    const core_data *into = block_at(to.layout, to.begin, &begin);
    if (!from.layout) {
        core_unpack_around(*into, from.run, begin, begin + bytes, to.layout->whole);
        return;
    }
    const core_data *block = block_at(from.layout, from.begin, &begin);
    if (into->buffer != block->buffer || into->type != block->type)
        core_copy_around(*into, *block, begin, begin + bytes, to.layout->whole);
}
