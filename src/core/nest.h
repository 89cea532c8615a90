// SPDX-License-Identifier: BSD-3-Clause
/**
 * Where the data of a type lies, as a nest of loops over blocks of bytes. In it every displacement counts from the
 * first byte in packed order, so that equal nests are equal wherever they lie; in packed order the data of the children
 * follow each other.
 *
 *     vector(3, 2, 4, double)                    loop 3 x, stride 32: 16 bytes
 *     subarray of 1000^3, rows of 10             loop 1000 x: loop 1000 x: 80 bytes
 *     struct { int a; double b; } with both      sequence: 4 bytes at 0, 8 bytes at 8
 *
 * Nests are normalised as they are made (neighbouring blocks and loops are joined), never change afterwards, and are
 * shared: a type holds those of the types that it was made of, so that its memory is in proportion to its constructor's
 * arguments.
 */
#ifndef CORE_NEST_H
#define CORE_NEST_H

#include <stdatomic.h>
#include <stddef.h>

/** Nests are no deeper, so that who walks one needs no memory but a small stack. */
#define CORE_NEST_DEPTH 64

typedef struct core_nest core_nest;

/** Data with the first byte at displacement 0. */
typedef struct core_part {
    size_t bytes;    /* of data */
    core_nest *nest; /* NULL: they are one block */
} core_part;

/** A part somewhere. */
typedef struct core_placed {
    ptrdiff_t displ; /* of its first byte, in bytes */
    core_part part;
} core_placed;

enum core_nest_form {
    CORE_NEST_LOOP,    /* equal children, `stride` bytes apart */
    CORE_NEST_LIST,    /* equal children, at `displs` */
    CORE_NEST_SEQUENCE /* different children: `items` */
};

/** A child of a sequence. */
typedef struct core_nest_item {
    ptrdiff_t displ;
    size_t end;      /* packed bytes up to its end, counted from the sequence's beginning */
    core_nest *nest; /* NULL: a block */
} core_nest_item;

struct core_nest {
    _Atomic size_t uses; /* pointers to it */
    enum core_nest_form form;
    int depth;       /* of the nest, itself included */
    size_t count;    /* children */
    core_part child; /* a loop's or a list's; it has at least one byte */
    union {
        ptrdiff_t stride;            /* LOOP */
        const ptrdiff_t *displs;     /* LIST: the first is 0 */
        const core_nest_item *items; /* SEQUENCE */
    };
};

/** One use more. */
core_part core_part_keep(core_part part);

/** One use less: the last one frees it. */
void core_part_drop(core_part part);

/**
 * `count` copies of `child`, `stride` bytes apart. *made is a use of the caller's. Errors, in sentences that begin with
 * `call`: WEFT_ERR_NOMEM, WEFT_ERR_ARG (too deep). The bytes of all must fit size_t.
 */
int core_nest_loop(const char *call, size_t count, ptrdiff_t stride, core_part child, core_part *made);

/**
 * `count` parts in this order, a list that is overwritten and whose uses are taken over, in case of an error too.
 * *first: where the first byte of *made lies. Errors as core_nest_loop. The differences of the displacements must fit
 * ptrdiff_t.
 */
int core_nest_sequence(const char *call, size_t count, core_placed *list, core_part *made, ptrdiff_t *first);

#endif
