// SPDX-License-Identifier: BSD-3-Clause
/**
 * The algebra behind the constructors: a shape is all that makes a type but the handle. Shapes are repeated, moved, put
 * one after the other and given bounds; the constructors are short programs of these.
 * Errors, in sentences that begin with `call`: WEFT_ERR_NOMEM, WEFT_ERR_ARG (size or extent leave ptrdiff_t, nested too
 * deep).
 */
#ifndef CORE_TYPE_SHAPE_H
#define CORE_TYPE_SHAPE_H

#include <core/datatype.h>
#include <core/nest.h>
#include <core/signature.h>

/** From lower to below upper, when there is something. */
typedef struct core_span {
    bool any;
    ptrdiff_t lower, upper;
} core_span;

typedef struct core_shape {
    core_part part;
    ptrdiff_t first_byte; /* where the part's first byte lies */
    core_signature signature;
    core_span data; /* true bounds */
    core_span
        bounds; /* if given: may be longer or shorter than the data, or have upper below lower; else those of the data */
    bool marked;      /* they were given, and hide those that follow from the data (MPI 4.1 section 5.1.7) */
    size_t alignment; /* of the data */
} core_shape;

/** That of a type, whose uses the caller gets. */
core_shape core_shape_of(const weft_datatype *type);

/** One use more of what the shape holds. */
core_shape core_shape_keep(const core_shape *shape);

/** Gives up the uses. */
void core_shape_drop(core_shape *shape);

/** One that was not given is rounded up to the alignment, as that of a C struct is (section 5.1.1). At most PTRDIFF_MAX, whatever that is. */
ptrdiff_t core_shape_extent(const core_shape *shape);

/** Makes *shape `count` copies of itself, `stride` bytes apart. On error it stays as it was. */
int core_shape_repeat(const char *call, size_t count, ptrdiff_t stride, core_shape *shape);

/** Moves *shape by `displ` bytes. On error it stays as it was. */
int core_shape_move(const char *call, ptrdiff_t displ, core_shape *shape);

/** Puts `with`, moved by `displ` bytes, behind what *shape has. On error that stays as it was. */
int core_shape_append(const char *call, ptrdiff_t displ, const core_shape *with, core_shape *shape);

/** Gives *shape bounds in place of those it had. */
int core_shape_mark(const char *call, ptrdiff_t lower, ptrdiff_t extent, core_shape *shape);

/** Blocks of elements: what the indexed constructors and struct are given. */
typedef struct core_blocks {
    const char *call;
    size_t count;
    const size_t *lengths; /* in elements; NULL: each has `length` */
    size_t length;
    const ptrdiff_t *displs; /* in units of `unit` bytes */
    ptrdiff_t unit;
    const weft_datatype *const *types; /* NULL: all of `type` */
    const weft_datatype *type;
} core_blocks;

/** The blocks one after the other. The arguments were checked, the numbers not. */
int core_shape_blocks(const core_blocks *blocks, core_shape *made);

/** Makes an uncommitted type of a shape, whose uses it takes over; on error they are given up. */
int core_shape_type(const char *call, core_shape *shape, weft_datatype **type);

#endif
