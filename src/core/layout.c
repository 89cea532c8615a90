// SPDX-License-Identifier: BSD-3-Clause
/*
 * Where both sides are simple they are one grid of blocks. Otherwise two cursors walk them, and as much of their runs as
 * fits together is copied at once.
 */
#include <core/layout.h>
#include <core/layout_cursor.h>
#include <core/layout_kernels.h>
#include <core/stream.h>

static inline size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* How many of at most `count` things of `bytes` fit `room`; with a division only when it is needed. */
static inline size_t fitting(size_t count, size_t bytes, size_t room) {
    return count * bytes <= room ? count : room / bytes;
}

/* What is ahead in a run, seen as rows of equal blocks, whose places are written to `side`. */
typedef struct view {
    core_grid_side *side;
    size_t count, rows;
} view;

/* Blocks as the run has them: the rest of this row, or, at its beginning, all rows. */
static inline void see(view *v, const core_run *r) {
    v->side->at = r->displs ? r->row : core_run_block(r);
    v->side->displs = r->displs ? r->displs + r->index : NULL;
    v->side->stride = r->stride;
    v->side->row = r->to_next;
    v->count = r->items ? 1 : r->count - r->index;
    v->rows = r->index == 0 && !r->items ? r->rows : 1;
}

/* Blocks of `bytes`, at most `most`, that this block is cut into, and as a row each the blocks that follow. */
static inline void see_cut(view *v, const core_run *r, size_t bytes, size_t most) {
    size_t rest = r->bytes - r->offset;
    v->side->at = core_run_block(r) + r->offset;
    v->side->displs = NULL;
    v->side->stride = (ptrdiff_t)bytes;
    v->side->row = r->stride;
    v->count = fitting(most, bytes, rest);
    v->rows = r->items || r->displs || r->offset > 0 || v->count * bytes < rest ? 1 : r->count - r->index;
}

/* Makes the rows as short as those of the other side. */
static inline void narrow(view *v, const view *other) {
    v->rows = other->rows == 1 || v->side->displs ? 1 : v->count / other->count;
    v->side->row = (ptrdiff_t)other->count * v->side->stride;
    v->count = other->count;
}

/* The run goes on by `rows` rows of `count` blocks of `bytes` that a view of it had. */
static void finish_view(core_run *r, size_t rows, size_t count, size_t bytes) {
    size_t blocks = rows * count;
    if (r->bytes != bytes) {
        if (r->offset + blocks * bytes <= r->bytes)
            core_run_finish_bytes(r, blocks * bytes);
        else
            core_run_finish_blocks(r, rows);
    } else if (blocks <= r->count - r->index) {
        core_run_finish_blocks(r, blocks);
    } else {
        core_run_finish_rows(r, rows);
    }
}

/* `around` the cache (stream.h), or as usual. */
static inline void copy_grid(const core_grid *grid, bool around) {
    if (around)
        core_grid_stream(grid);
    else
        core_grid_copy(grid);
}

/* Copies blocks of `bytes`: a side has such blocks, or blocks of which they can be cut. At most `left` bytes. */
static inline size_t copy_blocks(core_run *to, core_run *from, size_t bytes, size_t left, bool around) {
    core_grid grid;
    view t = {&grid.to, 0, 0}, f = {&grid.from, 0, 0};
    if (to->bytes == bytes)
        see(&t, to);
    if (from->bytes == bytes)
        see(&f, from);
    else
        see_cut(&f, from, bytes, t.rows * t.count);
    if (to->bytes != bytes)
        see_cut(&t, to, bytes, f.rows * f.count);
    if (t.count > f.count)
        narrow(&t, &f);
    else if (f.count > t.count)
        narrow(&f, &t);
    grid.count = t.count;
    grid.rows = least(t.rows, f.rows);
    grid.bytes = bytes;
    if (grid.rows * grid.count * bytes > left) {
        grid.count = fitting(grid.count, bytes, left);
        grid.rows = fitting(grid.rows, grid.count * bytes, left);
    }
    copy_grid(&grid, around);
    size_t rows = grid.rows, count = grid.count;
    finish_view(to, rows, count, bytes);
    finish_view(from, rows, count, bytes);
    return rows * count * bytes;
}

/* Items of one side from or to one block of the other, as many as fit that and `left`, at least one. */
static inline __attribute__((always_inline)) size_t copy_items(core_run *items, core_run *block, size_t left,
                                                               bool gathers) {
    char *at = core_run_block(block) + block->offset;
    size_t room = least(left, block->bytes - block->offset), done = 0;
    while (items->rows > 0 && items->bytes <= room - done) {
        char *item = core_run_block(items);
        core_move(gathers ? at + done : item, gathers ? item : at + done, items->bytes);
        done += items->bytes;
        core_run_finish_blocks(items, 1);
    }
    core_run_finish_bytes(block, done);
    return done;
}

static inline bool at_blocks(const core_run *r) {
    return r->offset == 0 && r->count > 1 && !r->items;
}

/* Do the blocks of two runs fit each other so badly that no more than the rest of one can be copied at a time? */
static inline bool misfit(const core_run *to, const core_run *from, size_t left) {
    size_t to_rest = to->bytes - to->offset, from_rest = from->bytes - from->offset;
    size_t bytes = least(to_rest, from_rest);
    if (to_rest == from_rest)
        return bytes > left || !at_blocks(to) || !at_blocks(from);
    return bytes > left || to_rest + from_rest < 3 * bytes || (to_rest < from_rest ? to : from)->offset > 0;
}

static inline size_t copy_piece(core_run *to, core_run *from, size_t left) {
    size_t bytes = least(left, least(to->bytes - to->offset, from->bytes - from->offset));
    core_move(core_run_block(to) + to->offset, core_run_block(from) + from->offset, bytes);
    core_run_finish_bytes(to, bytes);
    core_run_finish_bytes(from, bytes);
    return bytes;
}

/* Copies what is next of two runs, at most `left` bytes, in the largest step that suits them; returns how many. */
static inline size_t copy_next(core_run *to, core_run *from, size_t left, bool around) {
    if (misfit(to, from, left))
        return copy_piece(to, from, left);
    size_t to_rest = to->bytes - to->offset, from_rest = from->bytes - from->offset;
    if (to->items && to_rest < from_rest)
        return copy_items(to, from, left, false);
    if (from->items && from_rest < to_rest)
        return copy_items(from, to, left, true);
    return copy_blocks(to, from, least(to_rest, from_rest), left, around);
}

static void copy(core_cursor *to, core_cursor *from, size_t left, bool around) {
    for (;;) {
        left -= copy_next(&to->run, &from->run, left, around);
        if (left == 0)
            return;
        if (to->run.rows == 0)
            core_cursor_next(to);
        if (from->run.rows == 0)
            core_cursor_next(from);
    }
}

/* A side of a copy: `count` elements, or (type NULL) the packed bytes that are to be copied. */
typedef struct place {
    const void *at;
    const weft_datatype *type;
    size_t count;
} place;

/* All elements of a simple type as rows of blocks of *bytes. False: the type is not simple. */
static inline bool see_all(view *v, size_t *bytes, const place *p) {
    const core_nest *nest = p->type->nest;
    v->side->at = core_offset(p->at, p->type->first_byte);
    v->side->row = p->type->extent;
    v->rows = p->count;
    if (nest && nest->depth == 2 && nest->form == CORE_NEST_LOOP && p->count == 1) {
        v->side->row = nest->stride;
        v->rows = nest->count;
        nest = nest->child.nest;
    }
    if (!nest || nest->depth > 1 || nest->form == CORE_NEST_SEQUENCE)
        return false;
    bool listed = nest->form == CORE_NEST_LIST;
    v->side->displs = listed ? nest->displs : NULL;
    v->side->stride = listed ? 0 : nest->stride;
    v->count = nest->count;
    *bytes = nest->child.bytes;
    return true;
}

/* Packed bytes, as the other side has them. */
static inline void see_packed(view *v, const view *other, size_t bytes, const place *p) {
    *v->side = (core_grid_side){(char *)(uintptr_t)p->at, NULL, (ptrdiff_t)bytes, (ptrdiff_t)(other->count * bytes)};
    v->count = other->count;
    v->rows = other->rows;
}

static inline bool is_all(const place *p, size_t bytes) {
    return !p->type || p->count * p->type->size_bytes == bytes;
}

/* Most messages are a few elements of a simple type, from beginning to end: one grid, no cursor. False: not this one. */
static inline __attribute__((always_inline)) bool copy_simple(const place *to, const place *from, size_t bytes,
                                                              bool around) {
    core_grid grid;
    view t = {&grid.to, 0, 0}, f = {&grid.from, 0, 0};
    size_t to_bytes = 0, from_bytes = 0;
    if (!is_all(to, bytes) || !is_all(from, bytes) || (to->type && !see_all(&t, &to_bytes, to)) ||
        (from->type && !see_all(&f, &from_bytes, from)))
        return false;
    if (!to->type)
        see_packed(&t, &f, to_bytes = from_bytes, to);
    if (!from->type)
        see_packed(&f, &t, from_bytes = to_bytes, from);
    if (to_bytes != from_bytes || t.count != f.count)
        return false;
    grid.bytes = to_bytes;
    grid.count = t.count;
    grid.rows = t.rows;
    copy_grid(&grid, around);
    return true;
}

static void begin(core_cursor *c, const place *p, size_t from, size_t bytes) {
    if (p->type)
        core_cursor_elements(c, p->at, p->type, p->count, from);
    else
        core_cursor_packed(c, p->at, bytes);
}

static inline __attribute__((always_inline)) void copy_places(place to, place from, size_t begins, size_t ends,
                                                              bool around) {
    core_cursor into, out_of;
    if (copy_simple(&to, &from, ends - begins, around))
        return;
    begin(&into, &to, begins, ends - begins);
    begin(&out_of, &from, begins, ends - begins);
    copy(&into, &out_of, ends - begins, around);
}

void core_pack_laid_out(void *packed, const void *buffer, const weft_datatype *type, size_t count, size_t from,
                        size_t to) {
    copy_places((place){packed, NULL, 0}, (place){buffer, type, count}, from, to, false);
}

void core_unpack_laid_out(void *buffer, const void *packed, const weft_datatype *type, size_t count, size_t from,
                          size_t to) {
    copy_places((place){buffer, type, count}, (place){packed, NULL, 0}, from, to, false);
}

void core_copy_laid_out(void *to_buffer, const weft_datatype *to_type, size_t to_count, const void *from_buffer,
                        const weft_datatype *from_type, size_t from_count, size_t from, size_t to) {
    copy_places((place){to_buffer, to_type, to_count}, (place){from_buffer, from_type, from_count}, from, to, false);
}

void core_unpack_around(core_data into, const void *packed, size_t from, size_t to, size_t whole) {
    if (from >= to)
        return;
    if (into.type->contiguous)
        core_stream((char *)into.buffer + from, packed, to - from, whole);
    else
        copy_places((place){into.buffer, into.type, into.count}, (place){packed, NULL, 0}, from, to,
                    core_stream_pays(whole));
}

void core_copy_around(core_data into, core_data out_of, size_t from, size_t to, size_t whole) {
    if (from >= to)
        return;
    if (into.type->contiguous && out_of.type->contiguous)
        core_stream((char *)into.buffer + from, (const char *)out_of.buffer + from, to - from, whole);
    else
        copy_places((place){into.buffer, into.type, into.count}, (place){out_of.buffer, out_of.type, out_of.count},
                    from, to, core_stream_pays(whole));
}
