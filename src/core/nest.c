// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <core/nest.h>
#include <stdbool.h>
#include <stdlib.h>

core_part core_part_keep(core_part part) {
    /* Relaxed: whoever makes a new use has one. */
    if (part.nest)
        atomic_fetch_add_explicit(&part.nest->uses, 1, memory_order_relaxed);
    return part;
}

// NOLINTNEXTLINE(misc-no-recursion): no deeper than CORE_NEST_DEPTH
void core_part_drop(core_part part) {
    core_nest *nest = part.nest;
    /* Release: what was read through this use was read before; acquire: pairs with it before the memory goes. */
    if (!nest || atomic_fetch_sub_explicit(&nest->uses, 1, memory_order_acq_rel) > 1)
        return;
    if (nest->form == CORE_NEST_SEQUENCE)
        for (size_t i = 0; i < nest->count; i++)
            core_part_drop((core_part){0, nest->items[i].nest});
    else
        core_part_drop(nest->child);
    free(nest);
}

static int depth_of(core_part part) {
    return part.nest ? part.nest->depth : 0;
}

/* A nest with room for `items` things behind it; NULL with the error in *code. */
static core_nest *new_nest(const char *call, core_nest head, size_t items, size_t item_bytes, int *code) {
    size_t bytes;
    if (head.depth > CORE_NEST_DEPTH) {
        *code = core_error(WEFT_ERR_ARG, "%s: the type is nested deeper than %d levels", call, CORE_NEST_DEPTH);
        return NULL;
    }
    core_nest *nest =
        __builtin_mul_overflow(items, item_bytes, &bytes) || __builtin_add_overflow(bytes, sizeof(core_nest), &bytes)
            ? NULL
            : malloc(bytes);
    if (!nest) {
        *code = core_error(WEFT_ERR_NOMEM, "%s: no memory for a layout of %zu parts", call, head.count);
        return NULL;
    }
    *nest = head;
    atomic_store_explicit(&nest->uses, 1, memory_order_relaxed);
    return nest;
}

int core_nest_loop(const char *call, size_t count, ptrdiff_t stride, core_part child, core_part *made) {
    size_t bytes = count * child.bytes, inner;
    ptrdiff_t span;
    if (bytes == 0) {
        *made = (core_part){0, NULL};
        return WEFT_SUCCESS;
    }
    if (count == 1) {
        *made = core_part_keep(child);
        return WEFT_SUCCESS;
    }
    if (!child.nest && stride >= 0 && (size_t)stride == child.bytes) {
        *made = (core_part){bytes, NULL};
        return WEFT_SUCCESS;
    }
    core_nest *loop = child.nest;
    if (loop && loop->form == CORE_NEST_LOOP && !__builtin_mul_overflow(loop->count, loop->stride, &span) &&
        span == stride && !__builtin_mul_overflow(loop->count, count, &inner)) {
        count = inner;
        stride = loop->stride;
        child = loop->child;
    }
    int code = WEFT_SUCCESS;
    core_nest *nest = new_nest(
        call,
        (core_nest){
            .form = CORE_NEST_LOOP, .depth = depth_of(child) + 1, .count = count, .child = child, .stride = stride},
        0, 0, &code);
    if (!nest)
        return code;
    core_part_keep(child);
    *made = (core_part){bytes, nest};
    return WEFT_SUCCESS;
}

static bool all_equal(size_t count, const core_placed *list) {
    for (size_t i = 1; i < count; i++)
        if (list[i].part.nest != list[0].part.nest || list[i].part.bytes != list[0].part.bytes)
            return false;
    return true;
}

/* Where there is nothing the displacement may be any number. */
static bool neighbours(const core_placed *block, const core_placed *next) {
    return block->part.bytes && next->part.bytes && !block->part.nest && !next->part.nest &&
           next->displ - block->displ == (ptrdiff_t)block->part.bytes;
}

/*
 * Joined neighbours are copied at once. But of equal blocks in places without order, as a list of indices has them, it
 * would leave blocks of many sizes, which take longer: then half of them must go.
 */
static bool worth_joining(size_t count, const core_placed *list) {
    size_t pairs = 0;
    for (size_t i = 1; i < count; i++)
        pairs += neighbours(&list[i - 1], &list[i]);
    return 2 * pairs >= count || !all_equal(count, list);
}

/*
 * Drops what is empty, joins neighbouring blocks, and lets displacements count from the first. Returns how many are
 * left.
 */
static size_t tidy(size_t count, core_placed *list, ptrdiff_t *first) {
    bool joins = worth_joining(count, list);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        core_placed item = list[i];
        if (item.part.bytes == 0)
            continue;
        if (kept == 0)
            *first = item.displ;
        item.displ -= *first;
        core_placed *last = kept > 0 ? &list[kept - 1] : NULL;
        if (last && joins && neighbours(last, &item))
            last->part.bytes += item.part.bytes;
        else
            list[kept++] = item;
    }
    return kept;
}

static bool evenly_apart(size_t count, const core_placed *list) {
    for (size_t i = 2; i < count; i++) {
        ptrdiff_t step;
        if (__builtin_sub_overflow(list[i].displ, list[i - 1].displ, &step) || step != list[1].displ)
            return false;
    }
    return true;
}

static int new_list(const char *call, size_t count, const core_placed *list, core_part *made) {
    core_nest head = {.form = CORE_NEST_LIST, .count = count, .child = list[0].part};
    head.depth = depth_of(head.child) + 1;
    int code = WEFT_SUCCESS;
    core_nest *nest = new_nest(call, head, count, sizeof(ptrdiff_t), &code);
    if (!nest)
        return code;
    ptrdiff_t *displs = (ptrdiff_t *)(nest + 1);
    for (size_t i = 0; i < count; i++)
        displs[i] = list[i].displ;
    nest->displs = displs;
    core_part_keep(nest->child);
    *made = (core_part){count * nest->child.bytes, nest};
    return WEFT_SUCCESS;
}

static int new_sequence(const char *call, size_t count, const core_placed *list, core_part *made) {
    core_nest head = {.form = CORE_NEST_SEQUENCE, .count = count};
    for (size_t i = 0; i < count; i++)
        if (head.depth <= depth_of(list[i].part))
            head.depth = depth_of(list[i].part) + 1;
    int code = WEFT_SUCCESS;
    core_nest *nest = new_nest(call, head, count, sizeof(core_nest_item), &code);
    if (!nest)
        return code;
    core_nest_item *items = (core_nest_item *)(nest + 1);
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        end += list[i].part.bytes;
        items[i] = (core_nest_item){list[i].displ, end, core_part_keep(list[i].part).nest};
    }
    nest->items = items;
    *made = (core_part){end, nest};
    return WEFT_SUCCESS;
}

static int join(const char *call, size_t count, const core_placed *list, core_part *made) {
    if (count < 2) {
        *made = count == 0 ? (core_part){0, NULL} : core_part_keep(list[0].part);
        return WEFT_SUCCESS;
    }
    if (!all_equal(count, list))
        return new_sequence(call, count, list, made);
    if (evenly_apart(count, list))
        return core_nest_loop(call, count, list[1].displ, list[0].part, made);
    return new_list(call, count, list, made);
}

int core_nest_sequence(const char *call, size_t count, core_placed *list, core_part *made, ptrdiff_t *first) {
    *first = 0;
    /* What this drops has no nest. */
    count = tidy(count, list, first);
    int code = join(call, count, list, made);
    for (size_t i = 0; i < count; i++)
        core_part_drop(list[i].part);
    return code;
}
