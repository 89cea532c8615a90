// SPDX-License-Identifier: BSD-3-Clause
#include <core/layout_cursor.h>

static inline core_part child_at(const core_nest *nest, size_t index, char **base) {
    if (nest->form == CORE_NEST_LOOP) {
        *base += (ptrdiff_t)index * nest->stride;
        return nest->child;
    }
    if (nest->form == CORE_NEST_LIST) {
        *base += nest->displs[index];
        return nest->child;
    }
    *base += nest->items[index].displ;
    return (core_part){core_item_bytes(nest->items, index), nest->items[index].nest};
}

/* The child of a nest that has packed byte *offset, which then counts from the child's beginning. */
static size_t seek(const core_nest *nest, size_t *offset) {
    if (*offset == 0)
        return 0;
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

/* The run at packed byte `offset` of `rows` nests, the first at `base`, whose children are blocks. */
static void begin_rows(core_run *r, const core_nest *nest, char *base, size_t rows, ptrdiff_t to_next, size_t offset) {
    bool even = nest->form == CORE_NEST_LOOP, listed = nest->form == CORE_NEST_LIST;
    r->row = base;
    r->displs = listed ? nest->displs : NULL;
    r->items = even || listed ? NULL : nest->items;
    r->stride = even ? nest->stride : 0;
    r->to_next = to_next;
    r->index = seek(nest, &offset);
    r->bytes = r->items ? core_item_bytes(r->items, r->index) : nest->child.bytes;
    r->count = nest->count;
    r->offset = offset;
    r->rows = rows;
}

static void begin_block(core_run *r, char *block, size_t bytes, size_t offset) {
    *r = (core_run){.bytes = bytes, .count = 1, .offset = offset, .rows = 1};
    r->row = block;
}

/* Goes down to the run that has packed byte `offset` of a part at `base`. */
static void enter(core_cursor *c, core_part part, char *base, size_t offset) {
    while (part.nest) {
        const core_nest *nest = part.nest;
        if (nest->depth == 1) {
            begin_rows(&c->run, nest, base, 1, 0, offset);
            return;
        }
        core_frame here = {nest, base, seek(nest, &offset)};
        part = child_at(nest, here.index, &base);
        if (nest->depth == 2 && nest->form == CORE_NEST_LOOP) {
            begin_rows(&c->run, part.nest, base, nest->count - here.index, nest->stride, offset);
            return;
        }
        c->frames[c->depth++] = here;
    }
    begin_block(&c->run, base, part.bytes, offset);
}

void core_cursor_next(core_cursor *c) {
    core_frame *top = &c->frames[c->depth - 1];
    while (++top->index == top->nest->count) {
        c->depth--;
        top--;
    }
    char *base = top->base;
    core_part part = child_at(top->nest, top->index, &base);
    enter(c, part, base, 0);
}

void core_cursor_packed(core_cursor *c, const void *packed, size_t bytes) {
    c->depth = 0;
    begin_block(&c->run, (char *)(uintptr_t)packed, bytes, 0);
}

void core_cursor_elements(core_cursor *c, const void *buffer, const weft_datatype *type, size_t count, size_t from) {
    char *base = (char *)((uintptr_t)buffer + (uintptr_t)type->first_byte); /* absolute where the buffer is NULL */
    core_part element = {type->size_bytes, type->nest};
    c->depth = 0;
    if (count == 1) {
        enter(c, element, base, from);
    } else if (type->contiguous) {
        begin_block(&c->run, base, count * element.bytes, from);
    } else {
        c->elements = (core_nest){.form = CORE_NEST_LOOP,
                                  .depth = element.nest ? element.nest->depth + 1 : 1,
                                  .count = count,
                                  .child = element,
                                  .stride = type->extent};
        enter(c, (core_part){count * element.bytes, &c->elements}, base, from);
    }
}
