// SPDX-License-Identifier: BSD-3-Clause
#include <core/layout_kernels.h>
#include <core/stream.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))

/* Of these the compiler makes what registers there are. They need no alignment. */
typedef uint64_t eights __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint32_t fours __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t eight __attribute__((aligned(1), may_alias));
typedef uint32_t four __attribute__((aligned(1), may_alias));

/* Longer blocks are left to memcpy. */
#define LONGEST 512

INLINE void move32(char *to, const char *from) {
    *(eights *)to = *(const eights *)from;
}

INLINE void move(char *to, const char *from, size_t unit) {
    if (unit >= 32) {
        move32(to, from);
        if (unit == 64)
            move32(to + 32, from + 32);
    } else {
        memcpy(to, from, unit);
    }
}

/*
 * A block in moves of `unit` bytes, a constant: one, or (`more`) as many as it takes, of which the last meets the end
 * and overlaps the one before. Only units of 64 take more than two. unit 0: by memcpy.
 */
INLINE void move_block(char *to, const char *from, size_t bytes, size_t unit, bool more) {
    if (unit == 0) {
        memcpy(to, from, bytes);
        return;
    }
    move(to, from, unit);
    if (unit == 64)
        for (size_t at = unit; more && at + unit < bytes; at += unit)
            move(to + at, from + at, unit);
    if (more)
        move(to + (bytes - unit), from + (bytes - unit), unit);
}

/* Blocks so small that four at a time are faster: a move each. */
INLINE bool is_small(size_t unit, bool more) {
    return unit > 0 && unit <= 16 && !more;
}

/* Four blocks of 4 or 8 bytes to where they lie one behind the other: stores are what takes time. */
INLINE void join_four(char *to, const char *const from[4], size_t unit) {
    if (unit == 8)
        *(eights *)to = (eights){*(const eight *)from[0], *(const eight *)from[1], *(const eight *)from[2],
                                 *(const eight *)from[3]};
    else
        *(fours *)to =
            (fours){*(const four *)from[0], *(const four *)from[1], *(const four *)from[2], *(const four *)from[3]};
}

/* No pointer goes beyond the last block: what lies there may be beyond all addresses. */
INLINE void even_row(char *to, const char *from, ptrdiff_t to_stride, ptrdiff_t from_stride, size_t count, size_t bytes,
                     size_t unit, bool more) {
    bool joins = !more && (unit == 4 || unit == 8) && to_stride == (ptrdiff_t)unit;
    while (is_small(unit, more) && count >= 4) {
        const char *const four_from[] = {from, from + from_stride, from + 2 * from_stride, from + 3 * from_stride};
        if (joins)
            join_four(to, four_from, unit);
        else
            for (int i = 0; i < 4; i++)
                move(to + i * to_stride, four_from[i], unit);
        count -= 4;
        if (count == 0)
            return;
        to += 4 * to_stride;
        from += 4 * from_stride;
    }
    for (; count > 1; count--) {
        move_block(to, from, bytes, unit, more);
        to += to_stride;
        from += from_stride;
    }
    move_block(to, from, bytes, unit, more);
}

INLINE ptrdiff_t place(const ptrdiff_t *displs, ptrdiff_t stride, size_t i) {
    return displs ? displs[i] : (ptrdiff_t)i * stride;
}

/* A row that is listed (`displs` is not NULL) on one side or on both. */
INLINE void listed_row(char *to, const ptrdiff_t *to_displs, ptrdiff_t to_stride, const char *from,
                       const ptrdiff_t *from_displs, ptrdiff_t from_stride, size_t count, size_t bytes, size_t unit,
                       bool more) {
    bool joins = !more && (unit == 4 || unit == 8) && !to_displs && to_stride == (ptrdiff_t)unit;
    size_t i = 0;
    for (; is_small(unit, more) && i + 4 <= count; i += 4) {
        const char *const four_from[] = {
            from + place(from_displs, from_stride, i), from + place(from_displs, from_stride, i + 1),
            from + place(from_displs, from_stride, i + 2), from + place(from_displs, from_stride, i + 3)};
        if (joins)
            join_four(to + i * unit, four_from, unit);
        else
            for (size_t j = 0; j < 4; j++)
                move(to + place(to_displs, to_stride, i + j), four_from[j], unit);
    }
    for (; i < count; i++)
        move_block(to + place(to_displs, to_stride, i), from + place(from_displs, from_stride, i), bytes, unit, more);
}

INLINE void copy_rows(const core_grid *g, size_t bytes, size_t unit, bool more) {
    const ptrdiff_t *to_displs = g->to.displs, *from_displs = g->from.displs;
    ptrdiff_t to_stride = g->to.stride, from_stride = g->from.stride, unit_stride = (ptrdiff_t)unit;
    /* Loops over small blocks are shorter when a stride is known before they run. */
    bool small = is_small(unit, more), packs = small && !to_displs && to_stride == unit_stride;
    bool unpacks = small && !from_displs && from_stride == unit_stride;
    for (size_t row = 0; row < g->rows; row++) {
        char *to = g->to.at + (ptrdiff_t)row * g->to.row;
        const char *from = g->from.at + (ptrdiff_t)row * g->from.row;
        if (!to_displs && !from_displs && packs)
            even_row(to, from, unit_stride, from_stride, g->count, bytes, unit, more);
        else if (!to_displs && !from_displs)
            even_row(to, from, to_stride, from_stride, g->count, bytes, unit, more);
        else if (packs)
            listed_row(to, NULL, unit_stride, from, from_displs, 0, g->count, bytes, unit, more);
        else if (unpacks)
            listed_row(to, to_displs, 0, from, NULL, unit_stride, g->count, bytes, unit, more);
        else
            listed_row(to, to_displs, to_stride, from, from_displs, from_stride, g->count, bytes, unit, more);
    }
}

/* Constants for what is common; other sizes have the moves that suit them. */
INLINE void copy_by_size(const core_grid *g) {
    size_t bytes = g->bytes;
    if (bytes == 8)
        copy_rows(g, 8, 8, false);
    else if (bytes == 64)
        copy_rows(g, 64, 64, false);
    else if (bytes == 4)
        copy_rows(g, 4, 4, false);
    else if (bytes == 16)
        copy_rows(g, 16, 16, false);
    else if (bytes == 32)
        copy_rows(g, 32, 32, false);
    else if (bytes > LONGEST)
        copy_rows(g, bytes, 0, false);
    else if (bytes > 64)
        copy_rows(g, bytes, 64, true);
    else if (bytes > 32)
        copy_rows(g, bytes, 32, true);
    else if (bytes > 16)
        copy_rows(g, bytes, 16, true);
    else if (bytes > 8)
        copy_rows(g, bytes, 8, true);
    else if (bytes > 4)
        copy_rows(g, bytes, 4, true);
    else if (bytes > 1)
        copy_rows(g, bytes, 2, true);
    else
        copy_rows(g, 1, 1, false);
}

void core_grid_copy_generic(const core_grid *grid) {
    copy_by_size(grid);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void core_grid_copy_avx2(const core_grid *grid) {
    copy_by_size(grid);
}
#endif

static void copy(const core_grid *grid) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        core_grid_copy_avx2(grid);
        return;
    }
#endif
    core_grid_copy_generic(grid);
}

/* Many short rows close to each other: columns are longer. */
static bool better_by_columns(const core_grid *grid) {
    const core_grid_side *to = &grid->to, *from = &grid->from;
    return grid->count < 8 && grid->rows >= 8 && !to->displs && !from->displs && labs(to->row) <= 256 &&
           labs(from->row) <= 256;
}

/* As many rows at a time as stay in the nearest cache. */
static void copy_columns(const core_grid *grid) {
    const size_t most = 64;
    const core_grid_side *to = &grid->to, *from = &grid->from;
    for (size_t row = 0; row < grid->rows; row += most) {
        core_grid columns = {{to->at + (ptrdiff_t)row * to->row, NULL, to->row, to->stride},
                             {from->at + (ptrdiff_t)row * from->row, NULL, from->row, from->stride},
                             grid->count,
                             grid->rows - row < most ? grid->rows - row : most,
                             grid->bytes};
        copy(&columns);
    }
}

void core_grid_copy(const core_grid *grid) {
    if (better_by_columns(grid))
        copy_columns(grid);
    else
        copy(grid);
}

/* Are the blocks, as they are written, lines, or are most of their lines whole? */
static bool has_lines(const core_grid *grid) {
    const core_grid_side *to = &grid->to;
    if (grid->bytes >= 4 * CORE_LINE_BYTES)
        return true;
    return !to->displs &&
           ((uintptr_t)to->at | (uintptr_t)to->stride | (uintptr_t)to->row | grid->bytes) % CORE_LINE_BYTES == 0;
}

void core_grid_stream(const core_grid *grid) {
    if (!has_lines(grid)) {
        core_grid_copy(grid);
        return;
    }
    const size_t blocks = (CORE_STREAM_AHEAD + grid->bytes - 1) / grid->bytes;
    const ptrdiff_t ahead = grid->from.displs ? 0 : (ptrdiff_t)blocks * grid->from.stride;
    for (size_t row = 0; row < grid->rows; row++) {
        char *to = grid->to.at + (ptrdiff_t)row * grid->to.row;
        const char *from = grid->from.at + (ptrdiff_t)row * grid->from.row;
        for (size_t i = 0; i < grid->count; i++)
            core_stream_block(to + place(grid->to.displs, grid->to.stride, i),
                              from + place(grid->from.displs, grid->from.stride, i), grid->bytes, ahead);
    }
    core_stream_end();
}
