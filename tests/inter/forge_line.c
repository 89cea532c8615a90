// SPDX-License-Identifier: BSD-3-Clause
#include "forge_line.h"

#include <inter/lines_private.h>

void forge_line(inter_lines *lines, int peer, uint32_t kind, uint32_t bytes) {
    inter_neighbour *from = &lines->neighbours[peer];
    inter_line *at = &from->from->lines[from->taken % INTER_LANE_LINES];
    at->kind = kind;
    at->bytes = bytes;
    at->tag = at->am.word = 0;
    at->am.offer = (inter_offer){.bytes = bytes};
    atomic_store_explicit(&at->stamp, from->taken + 1, memory_order_release);
}
