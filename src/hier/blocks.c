// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/bundle.h>
#include <stdlib.h>
#include <string.h>

/* Of a block with something in it; of others the displacement means nothing. */
static ptrdiff_t displ_bytes(const hier_blocks *blocks, size_t rank) {
    return blocks->displs[rank] * blocks->type->extent;
}

static ptrdiff_t lowest(const hier_layout *layout, const hier_blocks *blocks, int except) {
    ptrdiff_t low = 0;
    bool any = false;
    for (int node = 0; node < layout->nodes; node++) {
        if (node == except)
            continue;
        for (size_t rank = layout->offsets[node]; rank < layout->offsets[node + 1]; rank++) {
            if (hier_block_bytes(blocks, rank) && (!any || displ_bytes(blocks, rank) < low)) {
                low = displ_bytes(blocks, rank);
                any = true;
            }
        }
    }
    return low;
}

/* Sets a node's place, from the lowest block; its bytes are added to *end, where packed blocks end. True: its blocks lie one
 * behind the other. */
static bool join_node(const hier_layout *layout, hier_blocks *blocks, int node, ptrdiff_t low, size_t *end) {
    bool any = false, adjacent = true;
    size_t next = 0;
    blocks->places[node] = 0;
    for (size_t rank = layout->offsets[node]; rank < layout->offsets[node + 1]; rank++) {
        size_t bytes = hier_block_bytes(blocks, rank);
        if (!bytes)
            continue;
        size_t place = (size_t)(displ_bytes(blocks, rank) - low);
        if (!any)
            blocks->places[node] = place;
        adjacent &= !any || place == next;
        next = place + bytes;
        *end += bytes;
        any = true;
    }
    return adjacent;
}

void hier_blocks_join(hier_call *call, hier_blocks *blocks, int except) {
    const hier_layout *layout = call->comm->layout;
    size_t nodes = (size_t)layout->nodes, end = 0;
    size_t *arrays = hier_more_scratch(call, HIER_PLAN, (2 * nodes + 1) * sizeof(*arrays));
    if (!arrays)
        return;
    blocks->offsets = arrays;
    blocks->places = arrays + nodes + 1;
    blocks->in_order = true;
    ptrdiff_t low = lowest(layout, blocks, except);
    for (int node = 0; node < layout->nodes; node++) {
        blocks->offsets[node] = end;
        blocks->places[node] = 0;
        if (node != except)
            blocks->apart |= !join_node(layout, blocks, node, low, &end);
        blocks->in_order &= end == blocks->offsets[node] || blocks->places[node] == blocks->offsets[node];
    }
    blocks->offsets[nodes] = end;
    blocks->base = blocks->buffer ? blocks->buffer + low : (char *)arrays; /* nothing is there */
    if (!blocks->apart)
        return;
    memcpy(blocks->places, blocks->offsets, nodes * sizeof(*arrays));
    blocks->in_order = true;
    blocks->base = hier_scratch(call, end);
    if (!blocks->base)
        blocks->offsets = NULL;
}

void hier_blocks_view(const hier_blocks *joined, inter_view *view) {
    view->offsets = joined->offsets;
    view->displs = joined->in_order ? NULL : joined->places;
}

char *hier_joined_at(const hier_call *call, const hier_blocks *joined, int node, size_t rank) {
    char *place = joined->base + joined->places[node];
    for (size_t before = call->comm->layout->offsets[node]; before < rank; before++)
        place += hier_block_bytes(joined, before);
    return place;
}

void hier_blocks_pack(const hier_call *call, const hier_blocks *joined, int except) {
    const hier_layout *layout = call->comm->layout;
    for (int node = 0; node < layout->nodes; node++) {
        char *place = joined->base + joined->places[node];
        for (size_t rank = layout->offsets[node]; node != except && rank < layout->offsets[node + 1]; rank++) {
            size_t bytes = hier_block_bytes(joined, rank);
            if (bytes)
                memcpy(place, hier_block_of(joined, rank).buffer, bytes);
            place += bytes;
        }
    }
}

void hier_blocks_unpack(hier_call *call, const hier_blocks *joined, const hier_blocks *to, int except) {
    const hier_layout *layout = call->comm->layout;
    for (int node = 0; node < layout->nodes; node++) {
        const char *place = joined->base + joined->places[node];
        for (size_t rank = layout->offsets[node]; node != except && rank < layout->offsets[node + 1]; rank++) {
            size_t bytes = hier_block_bytes(joined, rank);
            core_data own = hier_block_of(to, rank);
            if (hier_same_bytes(call, rank, bytes, (size_t)call->comm->rank, core_data_bytes(own)))
                hier_unpack(call, own, place, (intra_slice){0, bytes});
            place += bytes;
        }
    }
}

bool hier_same_bytes(hier_call *call, size_t source, size_t sent, size_t destination, size_t expected) {
    if (sent == expected)
        return true;
    if (!call->lengths_differ)
        call->lengths = (hier_lengths){source, sent, destination, expected};
    call->lengths_differ = true;
    return false;
}

size_t hier_bytes_before(const hier_call *call, int thread) {
    size_t bytes = 0;
    for (int before = 0; before < thread; before++)
        bytes += hier_shown_bytes(call, before);
    return bytes;
}

void hier_choose_without_counts(hier_call *call) {
    if (call->choice.process->needs_counts && !hier_is_direct(call))
        call->choice.process =
            hier_select_unfixed(&call->comm->world->selector, hier_key_of(call->arguments, call->comm->layout)).process;
}
