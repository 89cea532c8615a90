// SPDX-License-Identifier: BSD-3-Clause
#include "forge_line.h"

#include <inter/lines_private.h>

void forge_line(inter_lines *lines, int peer, uint32_t place, uint32_t kind, uint32_t bytes, uint32_t filled) {
    inter_neighbour *from = &lines->neighbours[peer];
    inter_line *line = &from->from->lines[inter_line_at(from->taken)];
    from->read = place * INTER_LINE_STEP;
    memset(line->room, 0, sizeof(line->room));
    atomic_store_explicit(&line->controls[place], inter_line_control(kind, bytes), memory_order_relaxed);
    atomic_store_explicit(&line->stamp, inter_line_stamp(from->taken + 1, filled), memory_order_release);
}

uint64_t lines_taken(const inter_lines *lines, int peer) {
    return lines->neighbours[peer].taken;
}

uint64_t lines_opened(const inter_lines *lines, int peer) {
    return lines->neighbours[peer].sent;
}

void lines_set_process(inter_lines *lines, int peer, int process) {
    lines->neighbours[peer].process = process;
}
