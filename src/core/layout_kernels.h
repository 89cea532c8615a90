// SPDX-License-Identifier: BSD-3-Clause
/**
 * The loops behind core/layout.h: equal blocks in rows, from anywhere to anywhere. Compiled for two instruction sets,
 * since a processor stores 32 bytes at a time as fast as 16.
 */
#ifndef CORE_LAYOUT_KERNELS_H
#define CORE_LAYOUT_KERNELS_H

#include <stddef.h>
#include <string.h>

/** Where the blocks of one side lie. */
typedef struct core_grid_side {
    char *at;                /* block i of row r lies at at + r * row + displs[i], or */
    const ptrdiff_t *displs; /* (NULL:) */
    ptrdiff_t stride;        /* at at + r * row + i * stride */
    ptrdiff_t row;
} core_grid_side;

/** `rows` rows of `count` blocks of `bytes` bytes; none of the three is 0. The sides do not overlap. */
typedef struct core_grid {
    core_grid_side to, from;
    size_t rows, count, bytes;
} core_grid;

/** Copies with the best of the kernels below that the processor has. */
void core_grid_copy(const core_grid *grid);

/** Likewise, and of blocks that are whole lines, or long, no line that is written goes to the cache (stream.h). */
void core_grid_stream(const core_grid *grid);

void core_grid_copy_generic(const core_grid *grid);
#if defined(__x86_64__)
void core_grid_copy_avx2(const core_grid *grid);
#endif

/**
 * One block of any size. Small ones in two moves that meet or overlap: a call of memcpy would take longer than the
 * copying.
 */
static inline void core_move(char *to, const char *from, size_t bytes) {
#define CORE_MOVE_TWICE(unit) (memcpy(to, from, unit), memcpy(to + (bytes - (unit)), from + (bytes - (unit)), unit))
    if (bytes > 64)
        memcpy(to, from, bytes);
    else if (bytes >= 32)
        CORE_MOVE_TWICE(32);
    else if (bytes >= 16)
        CORE_MOVE_TWICE(16);
    else if (bytes >= 8)
        CORE_MOVE_TWICE(8);
    else if (bytes >= 4)
        CORE_MOVE_TWICE(4);
    else if (bytes >= 2)
        CORE_MOVE_TWICE(2);
    else if (bytes == 1)
        *to = *from;
#undef CORE_MOVE_TWICE
}

#endif
