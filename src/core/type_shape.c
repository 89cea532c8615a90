// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <core/type_shape.h>
#include <stdlib.h>

core_shape core_shape_of(const weft_datatype *type) {
    bool derived = type->kind == CORE_KIND_DERIVED;
    const core_span data = {type->size_bytes > 0, type->true_lower_bound, type->true_lower_bound + type->true_extent};
    core_span bounds = data;
    if (type->marked) /* else the extent was rounded up, and where it ends need not be a ptrdiff_t */
        bounds = (core_span){true, type->lower_bound, type->lower_bound + type->extent};
    return (core_shape){
        .part = core_part_keep((core_part){type->size_bytes, type->nest}),
        .first_byte = type->first_byte,
        .signature = derived ? core_signature_keep(*type->signature) : core_signature_of_predefined(type),
        .data = data,
        .bounds = bounds,
        .marked = type->marked,
        .alignment = type->alignment,
    };
}

core_shape core_shape_keep(const core_shape *shape) {
    core_part_keep(shape->part);
    core_signature_keep(shape->signature);
    return *shape;
}

void core_shape_drop(core_shape *shape) {
    core_part_drop(shape->part);
    core_signature_drop(shape->signature);
}

ptrdiff_t core_shape_extent(const core_shape *shape) {
    if (!shape->bounds.any)
        return 0;
    ptrdiff_t extent = shape->bounds.upper - shape->bounds.lower;
    if (shape->marked || shape->alignment <= 1)
        return extent;
    ptrdiff_t over = extent % (ptrdiff_t)shape->alignment;
    return over && __builtin_add_overflow(extent, (ptrdiff_t)shape->alignment - over, &extent) ? PTRDIFF_MAX : extent;
}

static int overflow(const char *call) {
    return core_error(WEFT_ERR_ARG, "%s: the type's size or extent would not fit ptrdiff_t", call);
}

static bool span_fits(core_span span) {
    ptrdiff_t length;
    return !__builtin_sub_overflow(span.upper, span.lower, &length);
}

static bool span_move(core_span *span, ptrdiff_t displ) {
    return !span->any || (!__builtin_add_overflow(span->lower, displ, &span->lower) &&
                          !__builtin_add_overflow(span->upper, displ, &span->upper));
}

static bool span_repeat(core_span *span, size_t count, ptrdiff_t stride) {
    ptrdiff_t last;
    if (count == 0)
        *span = (core_span){.any = false};
    if (!span->any || count == 1)
        return true;
    if (__builtin_mul_overflow(count - 1, stride, &last))
        return false;
    return !__builtin_add_overflow(last < 0 ? span->lower : span->upper, last,
                                   last < 0 ? &span->lower : &span->upper) &&
           span_fits(*span);
}

static void span_join(core_span *span, core_span with) {
    if (!span->any)
        *span = with;
    if (!with.any)
        return;
    span->lower = with.lower < span->lower ? with.lower : span->lower;
    span->upper = with.upper > span->upper ? with.upper : span->upper;
}

int core_shape_repeat(const char *call, size_t count, ptrdiff_t stride, core_shape *shape) {
    core_shape made = *shape;
    ptrdiff_t bytes;
    if (__builtin_mul_overflow(count, shape->part.bytes, &bytes) || !span_repeat(&made.data, count, stride) ||
        !span_repeat(&made.bounds, count, stride))
        return overflow(call);
    made.marked = made.marked && count > 0;
    if (count == 0) {
        made.first_byte = 0;
        made.alignment = 1;
    }
    int code = core_nest_loop(call, count, stride, shape->part, &made.part);
    if (code)
        return code;
    code = core_signature_repeat(call, count, shape->signature, &made.signature);
    if (code) {
        core_part_drop(made.part);
        return code;
    }
    core_shape_drop(shape);
    *shape = made;
    return WEFT_SUCCESS;
}

int core_shape_move(const char *call, ptrdiff_t displ, core_shape *shape) {
    core_shape moved = *shape;
    if (!span_move(&moved.data, displ) || !span_move(&moved.bounds, displ))
        return overflow(call);
    /* It lies in `data`. */
    moved.first_byte += moved.part.bytes > 0 ? displ : 0;
    *shape = moved;
    return WEFT_SUCCESS;
}

int core_shape_mark(const char *call, ptrdiff_t lower, ptrdiff_t extent, core_shape *shape) {
    core_span bounds = {true, lower, 0};
    if (__builtin_add_overflow(lower, extent, &bounds.upper))
        return overflow(call);
    shape->bounds = bounds;
    shape->marked = true;
    return WEFT_SUCCESS;
}

/* Bounds that were given hide those of data: in a type with both, only the former count. */
static void join_bounds(core_shape *shape, const core_shape *with) {
    shape->alignment = with->alignment > shape->alignment ? with->alignment : shape->alignment;
    if (with->marked && !shape->marked)
        shape->bounds = (core_span){.any = false};
    if (with->marked || !shape->marked)
        span_join(&shape->bounds, with->bounds);
    shape->marked = shape->marked || with->marked;
}

int core_shape_append(const char *call, ptrdiff_t displ, const core_shape *with, core_shape *shape) {
    core_shape moved = *with, made = *shape;
    ptrdiff_t bytes;
    int code = core_shape_move(call, displ, &moved);
    if (code)
        return code;
    span_join(&made.data, moved.data);
    join_bounds(&made, &moved);
    if (__builtin_add_overflow(made.part.bytes, moved.part.bytes, &bytes) || !span_fits(made.data) ||
        !span_fits(made.bounds))
        return overflow(call);
    core_placed placed[] = {{shape->first_byte, core_part_keep(shape->part)},
                            {moved.first_byte, core_part_keep(moved.part)}};
    code = core_nest_sequence(call, 2, placed, &made.part, &made.first_byte);
    if (code)
        return code;
    core_signature signatures[] = {core_signature_keep(shape->signature), core_signature_keep(moved.signature)};
    code = core_signature_sequence(call, 2, signatures, &made.signature);
    if (code) {
        core_part_drop(made.part);
        return code;
    }
    core_shape_drop(shape);
    *shape = made;
    return WEFT_SUCCESS;
}

/* The blocks of a constructor on their way into one shape. */
typedef struct joined {
    core_shape all; /* its data and bounds, so far */
    size_t bytes;
    size_t elements;            /* of the one type, when there is one */
    core_placed *placed;        /* a block each */
    core_signature *signatures; /* a block each; NULL when all are of one type */
} joined;

static int join_block(const core_blocks *blocks, joined *to, size_t i, size_t length, const core_shape *block) {
    core_shape moved = *block;
    ptrdiff_t displ = 0, bytes;
    if ((length > 0 && __builtin_mul_overflow(blocks->displs[i], blocks->unit, &displ)) ||
        __builtin_add_overflow(to->bytes, block->part.bytes, &bytes))
        return overflow(blocks->call);
    int code = core_shape_move(blocks->call, displ, &moved);
    if (code)
        return code;
    to->bytes = (size_t)bytes;
    to->elements += block->part.bytes > 0 ? length : 0;
    span_join(&to->all.data, moved.data);
    join_bounds(&to->all, &moved);
    to->placed[i] = (core_placed){moved.first_byte, core_part_keep(moved.part)};
    if (to->signatures)
        to->signatures[i] = core_signature_keep(moved.signature);
    return WEFT_SUCCESS;
}

static int join_blocks(const core_blocks *blocks, joined *to) {
    /* That of no bytes, to begin with. */
    core_shape block = {.marked = false};
    const weft_datatype *type = WEFT_BYTE;
    size_t length = 0;
    int code = WEFT_SUCCESS;
    for (size_t i = 0; i < blocks->count && !code; i++) {
        const weft_datatype *its_type = blocks->types ? blocks->types[i] : blocks->type;
        size_t its_length = blocks->lengths ? blocks->lengths[i] : blocks->length;
        /* Equal neighbours share one shape, and so are seen to be equal. */
        if (its_type != type || its_length != length) {
            core_shape_drop(&block);
            block = core_shape_of(its_type);
            type = its_type;
            length = its_length;
            code = core_shape_repeat(blocks->call, length, core_shape_extent(&block), &block);
        }
        if (!code)
            code = join_block(blocks, to, i, length, &block);
    }
    core_shape_drop(&block);
    if (!code && (!span_fits(to->all.data) || !span_fits(to->all.bounds)))
        code = overflow(blocks->call);
    return code;
}

static int join_signatures(const core_blocks *blocks, joined *to) {
    if (to->signatures)
        return core_signature_sequence(blocks->call, blocks->count, to->signatures, &to->all.signature);
    core_shape one = core_shape_of(blocks->type);
    int code = core_signature_repeat(blocks->call, to->elements, one.signature, &to->all.signature);
    core_shape_drop(&one);
    return code;
}

/* Makes the nest and the signature, of which the lists are used up even if that fails. */
static int finish(const core_blocks *blocks, joined *to) {
    int code = core_nest_sequence(blocks->call, blocks->count, to->placed, &to->all.part, &to->all.first_byte);
    int signature_code = join_signatures(blocks, to);
    /* What could not be made is empty still. */
    if (code || signature_code)
        core_shape_drop(&to->all);
    return code ? code : signature_code;
}

static void give_up(const core_blocks *blocks, const joined *to) {
    for (size_t i = 0; i < blocks->count; i++) {
        core_part_drop(to->placed[i].part);
        if (to->signatures)
            core_signature_drop(to->signatures[i]);
    }
}

int core_shape_blocks(const core_blocks *blocks, core_shape *made) {
    joined to = {.elements = 0};
    to.placed = calloc(blocks->count + 1, sizeof(*to.placed));
    to.signatures = blocks->types ? calloc(blocks->count + 1, sizeof(*to.signatures)) : NULL;
    int code = WEFT_SUCCESS;
    if (!to.placed || (blocks->types && !to.signatures)) {
        code = core_error(WEFT_ERR_NOMEM, "%s: no memory for %zu blocks", blocks->call, blocks->count);
    } else if ((code = join_blocks(blocks, &to)) != WEFT_SUCCESS) {
        give_up(blocks, &to);
    } else if ((code = finish(blocks, &to)) == WEFT_SUCCESS) {
        *made = to.all;
    }
    free(to.placed);
    free(to.signatures);
    return code;
}

int core_shape_type(const char *call, core_shape *shape, weft_datatype **type) {
    const ptrdiff_t extent = core_shape_extent(shape);
    if (extent == PTRDIFF_MAX && shape->alignment > 1 && !shape->marked) { /* one that was given is as it is */
        core_shape_drop(shape);
        return overflow(call);
    }
    weft_datatype fields = {
        .size_bytes = shape->part.bytes,
        .lower_bound = shape->bounds.any ? shape->bounds.lower : 0,
        .extent = extent,
        .true_lower_bound = shape->data.any ? shape->data.lower : 0,
        .true_extent = shape->data.any ? shape->data.upper - shape->data.lower : 0,
        .alignment = shape->alignment,
        .marked = shape->marked,
        .first_byte = shape->first_byte,
        .nest = shape->part.nest,
        .signature = &shape->signature,
    };
    fields.contiguous = !fields.nest && fields.lower_bound == 0 && fields.first_byte == 0 && fields.extent >= 0 &&
                        (size_t)fields.extent == fields.size_bytes;
    weft_datatype *made = core_datatype_make(&fields);
    if (!made) {
        core_shape_drop(shape);
        return core_error(WEFT_ERR_NOMEM, "%s: no memory for a datatype", call);
    }
    *type = made;
    return WEFT_SUCCESS;
}
