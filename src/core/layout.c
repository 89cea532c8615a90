// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two cursors walk the nests of the two sides in packed order. Each offers a *run*: equal blocks, evenly apart or
 * listed, as the innermost loop has them; as much of both as fits together is copied at once. Packed bytes are a run of
 * one block.
 */
#include <core/layout.h>
#include <core/nest.h>

typedef struct run {
    char *base;              /* block i lies at base + displs[i], or */
    const ptrdiff_t *displs; /* (NULL:) */
    ptrdiff_t stride;        /* at base + i * stride */
    size_t bytes;            /* in a block */
    size_t index, count;     /* the block we are at, and how many there are */
    size_t offset;           /* bytes of that block that are done */
} run;

/* A nest that is gone through, and the child we are at. */
typedef struct frame {
    const core_nest *nest;
    char *base;
    size_t index;
} frame;

typedef struct cursor {
    run run;
    int depth;          /* frames in use */
    core_nest elements; /* the outermost loop: the elements of the message */
    frame frames[CORE_NEST_DEPTH + 1];
} cursor;

static inline core_part child_at(const core_nest *nest, size_t index, char **base) {
    if (nest->form == CORE_NEST_LOOP) {
        *base += (ptrdiff_t)index * nest->stride;
        return nest->child;
    }
    if (nest->form == CORE_NEST_LIST) {
        *base += nest->displs[index];
        return nest->child;
    }
    const core_nest_item *item = &nest->items[index];
    *base += item->displ;
    return (core_part){item->end - (index > 0 ? item[-1].end : 0), item->nest};
}

/* The child of a nest that has packed byte *offset, which then counts from the child's beginning. */
static size_t seek(const core_nest *nest, size_t *offset) {
    if (nest->form != CORE_NEST_SEQUENCE) {
        size_t index = *offset / nest->child.bytes;
        *offset -= index * nest->child.bytes;
        return index;
    }
    size_t low = 0, high = nest->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (nest->items[middle].end > *offset)
            high = middle;
        else
            low = middle + 1;
    }
    *offset -= low > 0 ? nest->items[low - 1].end : 0;
    return low;
}

/* Goes down to the run that has packed byte `offset` of a part at `base`. */
static void enter(cursor *c, core_part part, char *base, size_t offset) {
    while (part.nest) {
        const core_nest *nest = part.nest;
        size_t index = offset > 0 ? seek(nest, &offset) : 0;
        if (nest->form != CORE_NEST_SEQUENCE && !nest->child.nest) {
            bool listed = nest->form == CORE_NEST_LIST;
            c->run = (run){
                base,  listed ? nest->displs : NULL, listed ? 0 : nest->stride, nest->child.bytes, index, nest->count,
                offset};
            return;
        }
        c->frames[c->depth++] = (frame){nest, base, index};
        part = child_at(nest, index, &base);
    }
    c->run = (run){base, NULL, 0, part.bytes, 0, 1, offset};
}

/* Goes on to the next run. There is one: whoever calls knows that there are bytes left. */
static void next_run(cursor *c) {
    frame *top = &c->frames[c->depth - 1];
    while (++top->index == top->nest->count) {
        c->depth--;
        top--;
    }
    char *base = top->base;
    core_part part = child_at(top->nest, top->index, &base);
    enter(c, part, base, 0);
}

static void begin_packed(cursor *c, const void *packed, size_t bytes) {
    c->depth = 0;
    c->run = (run){(char *)(uintptr_t)packed, NULL, 0, bytes, 0, 1, 0};
}

static void begin_elements(cursor *c, const void *buffer, const weft_datatype *type, size_t count, size_t from) {
    char *base = (char *)(uintptr_t)buffer + type->first_byte;
    core_part element = {type->size_bytes, type->nest};
    c->depth = 0;
    if (count == 1) {
        enter(c, element, base, from);
    } else if (type->contiguous) {
        c->run = (run){base, NULL, 0, count * element.bytes, 0, 1, from};
    } else {
        c->elements =
            (core_nest){.form = CORE_NEST_LOOP, .depth = 1, .count = count, .child = element, .stride = type->extent};
        enter(c, (core_part){count * element.bytes, &c->elements}, base, from);
    }
}

static inline char *block_of(const run *r) {
    return r->base + (r->displs ? r->displs[r->index] : (ptrdiff_t)r->index * r->stride);
}

/*
 * Small blocks are copied with one move of `unit` bytes, or with two that meet or overlap (`two`): a call of memcpy
 * would take longer than the copying. Both are constants in the loops below. unit 0: large, or odd; memcpy it is.
 */
static inline __attribute__((always_inline)) void move_block(char *to, const char *from, size_t bytes, size_t unit,
                                                             bool two) {
    memcpy(to, from, unit > 0 ? unit : bytes);
    if (two)
        memcpy(to + (bytes - unit), from + (bytes - unit), unit);
}

/* Calls `loop` with the unit that suits `bytes`. */
#define BY_SIZE(loop, to, from, count, bytes)                                                                          \
    do {                                                                                                               \
        if ((bytes) < 4 || (bytes) > 128)                                                                              \
            loop(to, from, count, bytes, 0, false);                                                                    \
        else if ((bytes) == 4)                                                                                         \
            loop(to, from, count, 4, 4, false);                                                                        \
        else if ((bytes) == 8)                                                                                         \
            loop(to, from, count, 8, 8, false);                                                                        \
        else if ((bytes) == 16)                                                                                        \
            loop(to, from, count, 16, 16, false);                                                                      \
        else if ((bytes) == 32)                                                                                        \
            loop(to, from, count, 32, 32, false);                                                                      \
        else if ((bytes) == 64)                                                                                        \
            loop(to, from, count, 64, 64, false);                                                                      \
        else if ((bytes) < 8)                                                                                          \
            loop(to, from, count, bytes, 4, true);                                                                     \
        else if ((bytes) < 16)                                                                                         \
            loop(to, from, count, bytes, 8, true);                                                                     \
        else if ((bytes) < 32)                                                                                         \
            loop(to, from, count, bytes, 16, true);                                                                    \
        else if ((bytes) < 64)                                                                                         \
            loop(to, from, count, bytes, 32, true);                                                                    \
        else                                                                                                           \
            loop(to, from, count, bytes, 64, true);                                                                    \
    } while (0)

static inline __attribute__((always_inline)) void strided_loop(const run *to, const run *from, size_t count,
                                                               size_t bytes, size_t unit, bool two) {
    char *t = block_of(to), *f = block_of(from);
    ptrdiff_t to_stride = to->stride, from_stride = from->stride;
    for (; count > 1; count--) {
        move_block(t, f, bytes, unit, two);
        t += to_stride;
        f += from_stride;
    }
    move_block(t, f, bytes, unit, two);
}

static inline __attribute__((always_inline)) void listed_loop(const run *to, const run *from, size_t count,
                                                              size_t bytes, size_t unit, bool two) {
    run t = *to, f = *from;
    for (; count > 0; count--, t.index++, f.index++)
        move_block(block_of(&t), block_of(&f), bytes, unit, two);
}

/* `count` blocks, at least one. */
static void copy_blocks(const run *to, const run *from, size_t count, size_t bytes) {
    if (to->displs || from->displs)
        BY_SIZE(listed_loop, to, from, count, bytes);
    else
        BY_SIZE(strided_loop, to, from, count, bytes);
}

static inline __attribute__((always_inline)) void one_block(char *to, const char *from, size_t count, size_t bytes,
                                                            size_t unit, bool two) {
    (void)count;
    move_block(to, from, bytes, unit, two);
}

static inline size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* What is left of the current block, as a run of its own of blocks of `bytes`. */
static inline run rest_as_blocks(const run *r, size_t bytes) {
    return (run){.base = block_of(r) + r->offset, .stride = (ptrdiff_t)bytes};
}

static inline void finish_bytes(run *r, size_t bytes) {
    r->offset += bytes;
    if (r->offset == r->bytes) {
        r->offset = 0;
        r->index++;
    }
}

/* How many of at most `count` blocks fit `room`; with a division only when it is needed. */
static inline size_t fitting(size_t count, size_t bytes, size_t room) {
    return count * bytes <= room ? count : room / bytes;
}

/* Copies what two runs have in common, at most `left` bytes; returns how many. */
static size_t copy_common(run *to, run *from, size_t left) {
    size_t to_rest = to->bytes - to->offset, from_rest = from->bytes - from->offset;
    size_t to_blocks = to->offset == 0 ? to->count - to->index : 1;
    size_t from_blocks = from->offset == 0 ? from->count - from->index : 1;
    size_t bytes = least(left, least(to_rest, from_rest)), count;
    if (from_blocks > 1 && to_blocks > 1 && to_rest == from_rest && bytes == to_rest) {
        count = fitting(least(to_blocks, from_blocks), bytes, left);
        copy_blocks(to, from, count, bytes);
        to->index += count;
        from->index += count;
        return count * bytes;
    }
    if (from_blocks > 1 && to_rest > from_rest && bytes == from_rest) {
        count = fitting(from_blocks, bytes, least(to_rest, left));
        run rest = rest_as_blocks(to, bytes);
        copy_blocks(&rest, from, count, bytes);
        from->index += count;
        finish_bytes(to, count * bytes);
        return count * bytes;
    }
    if (to_blocks > 1 && from_rest > to_rest && bytes == to_rest) {
        count = fitting(to_blocks, bytes, least(from_rest, left));
        run rest = rest_as_blocks(from, bytes);
        copy_blocks(to, &rest, count, bytes);
        to->index += count;
        finish_bytes(from, count * bytes);
        return count * bytes;
    }
    BY_SIZE(one_block, block_of(to) + to->offset, block_of(from) + from->offset, 1, bytes);
    finish_bytes(to, bytes);
    finish_bytes(from, bytes);
    return bytes;
}

static void copy(cursor *to, cursor *from, size_t left) {
    for (;;) {
        left -= copy_common(&to->run, &from->run, left);
        if (left == 0)
            return;
        if (to->run.index == to->run.count)
            next_run(to);
        if (from->run.index == from->run.count)
            next_run(from);
    }
}

void core_pack_laid_out(void *packed, const void *buffer, const weft_datatype *type, size_t count, size_t from,
                        size_t to) {
    cursor at, into;
    begin_packed(&into, packed, to - from);
    begin_elements(&at, buffer, type, count, from);
    copy(&into, &at, to - from);
}

void core_unpack_laid_out(void *buffer, const void *packed, const weft_datatype *type, size_t count, size_t from,
                          size_t to) {
    cursor at, out_of;
    begin_packed(&out_of, packed, to - from);
    begin_elements(&at, buffer, type, count, from);
    copy(&at, &out_of, to - from);
}

void core_copy_laid_out(void *to_buffer, const weft_datatype *to_type, size_t to_count, const void *from_buffer,
                        const weft_datatype *from_type, size_t from_count, size_t from, size_t to) {
    cursor into, out_of;
    begin_elements(&into, to_buffer, to_type, to_count, from);
    begin_elements(&out_of, from_buffer, from_type, from_count, from);
    copy(&into, &out_of, to - from);
}
