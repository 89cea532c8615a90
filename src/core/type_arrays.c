// SPDX-License-Identifier: BSD-3-Clause
/*
 * Parts of arrays (MPI 4.1 sections 5.1.3 and 5.1.4). Both constructors go through the dimensions from the one that
 * runs fastest: what is there so far becomes an element of the next dimension, which repeats it, moves it to where its
 * part begins and gives it the bounds of the whole dimension.
 */
#include <core/error.h>
#include <core/type_shape.h>
#include <weft/datatype.h>

static int check(const char *call, int dims, enum weft_order order, const weft_datatype *old, weft_datatype **type) {
    int code = core_datatype_check(call, "old", old);
    if (code)
        return code;
    if (!type)
        return core_error(WEFT_ERR_ARG, "%s: there is no place for the type (type is NULL)", call);
    if (dims < 1)
        return core_error(WEFT_ERR_ARG, "%s: an array of %d dimensions; it must have at least 1", call, dims);
    if (order != WEFT_ORDER_C && order != WEFT_ORDER_FORTRAN)
        return core_error(WEFT_ERR_ARG, "%s: order is %d; it must be WEFT_ORDER_C or WEFT_ORDER_FORTRAN", call,
                          (int)order);
    return WEFT_SUCCESS;
}

/* Moves the shape by `start` elements of `extent` bytes and gives it the bounds of `size` of them. */
static int place(const char *call, size_t start, size_t size, ptrdiff_t extent, core_shape *shape) {
    ptrdiff_t displ, whole;
    if (__builtin_mul_overflow(start, extent, &displ) || __builtin_mul_overflow(size, extent, &whole))
        return core_error(WEFT_ERR_ARG, "%s: the array's extent would not fit ptrdiff_t", call);
    int code = core_shape_move(call, displ, shape);
    return code ? code : core_shape_mark(call, 0, whole, shape);
}

/* The dimension that runs i-th fastest. */
static int dimension(enum weft_order order, int dims, int i) {
    return order == WEFT_ORDER_C ? dims - 1 - i : i;
}

int weft_type_subarray(int dims, const size_t sizes[], const size_t subsizes[], const size_t starts[],
                       enum weft_order order, const weft_datatype *old, weft_datatype **type) {
    const char *call = "weft_type_subarray";
    int code = check(call, dims, order, old, type);
    if (code)
        return code;
    if (!sizes || !subsizes || !starts)
        return core_error(WEFT_ERR_ARG, "%s: %s is NULL", call, !sizes ? "sizes" : !subsizes ? "subsizes" : "starts");
    for (int i = 0; i < dims; i++) {
        if (subsizes[i] < 1 || subsizes[i] > sizes[i])
            return core_error(WEFT_ERR_ARG, "%s: subsizes[%d] is %zu; it must be 1 … %zu (sizes[%d])", call, i,
                              subsizes[i], sizes[i], i);
        if (starts[i] > sizes[i] - subsizes[i])
            return core_error(WEFT_ERR_ARG, "%s: starts[%d] is %zu; it must be 0 … %zu (sizes[%d] - subsizes[%d])",
                              call, i, starts[i], sizes[i] - subsizes[i], i, i);
    }
    core_shape shape = core_shape_of(old);
    for (int i = 0; i < dims && !code; i++) {
        int d = dimension(order, dims, i);
        ptrdiff_t extent = core_shape_extent(&shape);
        code = core_shape_repeat(call, subsizes[d], extent, &shape);
        if (!code)
            code = place(call, starts[d], sizes[d], extent, &shape);
    }
    if (!code)
        return core_shape_type(call, &shape, type);
    core_shape_drop(&shape);
    return code;
}

/* A dimension and this process's place in it. */
typedef struct dealt {
    size_t size;      /* elements */
    size_t block;     /* elements that a process gets at a time */
    size_t processes; /* among which the blocks go round */
    size_t rank;
} dealt;

static size_t ceiling(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

/*
 * Blocks rank, rank + processes, … of `block` elements; the array's last block may be shorter. E.g. 10 elements in
 * blocks of 2 for rank 0 of 2:   [0 1] 2 3 [4 5] 6 7 [8 9]
 */
static int deal(const char *call, const dealt *d, core_shape *shape) {
    ptrdiff_t extent = core_shape_extent(shape), stride = 0, behind = 0;
    size_t blocks = ceiling(d->size, d->block);
    size_t mine = blocks > d->rank ? ceiling(blocks - d->rank, d->processes) : 0;
    /* Of the last block, if that is mine and short. */
    size_t rest = mine > 0 && (blocks - 1) % d->processes == d->rank ? d->size % d->block : 0;
    size_t whole = rest > 0 ? mine - 1 : mine;
    /* With two blocks of mine a round of all processes is less than the array, so only `extent` can overflow. */
    if (mine > 1 && (__builtin_mul_overflow(d->processes * d->block, extent, &stride) ||
                     __builtin_mul_overflow(whole, stride, &behind)))
        return core_error(WEFT_ERR_ARG, "%s: the array's extent would not fit ptrdiff_t", call);
    core_shape last = core_shape_keep(shape);
    int code = core_shape_repeat(call, whole > 0 ? d->block : 0, extent, shape);
    if (!code)
        code = core_shape_repeat(call, whole, stride, shape);
    if (!code)
        code = core_shape_repeat(call, rest, extent, &last);
    if (!code)
        code = core_shape_append(call, behind, &last, shape);
    core_shape_drop(&last);
    return code ? code : place(call, mine > 0 ? d->rank * d->block : 0, d->size, extent, shape);
}

/* What dimension i is dealt as, but for the rank in it. */
static int check_dimension(const char *call, int i, size_t size, enum weft_distribute distrib, size_t arg,
                           int processes, dealt *d) {
    bool given = arg != WEFT_DISTRIBUTE_DFLT_DARG;
    if (size < 1)
        return core_error(WEFT_ERR_ARG, "%s: gsizes[%d] is 0; it must be at least 1", call, i);
    if (processes < 1)
        return core_error(WEFT_ERR_ARG, "%s: psizes[%d] is %d; it must be at least 1", call, i, processes);
    *d = (dealt){.size = size, .processes = (size_t)processes};
    switch (distrib) {
    case WEFT_DISTRIBUTE_NONE:
        if (processes != 1)
            return core_error(WEFT_ERR_ARG, "%s: psizes[%d] is %d; a dimension that is not dealt out has 1", call, i,
                              processes);
        d->block = size;
        return WEFT_SUCCESS;
    case WEFT_DISTRIBUTE_BLOCK:
        d->block = given ? arg : ceiling(size, d->processes);
        if (d->block < 1 || ceiling(size, d->block) > d->processes)
            return core_error(WEFT_ERR_ARG, "%s: args[%d] is %zu; %d blocks of it must hold %zu elements (gsizes[%d])",
                              call, i, arg, processes, size, i);
        return WEFT_SUCCESS;
    case WEFT_DISTRIBUTE_CYCLIC:
        d->block = given ? arg : 1;
        if (d->block < 1)
            return core_error(WEFT_ERR_ARG, "%s: args[%d] is 0; it must be at least 1", call, i);
        return WEFT_SUCCESS;
    default:
        return core_error(WEFT_ERR_ARG, "%s: distribs[%d] is %d; it must be a WEFT_DISTRIBUTE_ constant", call, i,
                          (int)distrib);
    }
}

static int check_grid(const char *call, int size, int rank, int dims, const int psizes[]) {
    if (size < 1)
        return core_error(WEFT_ERR_ARG, "%s: size is %d; it must be at least 1", call, size);
    if (rank < 0 || rank >= size)
        return core_error(WEFT_ERR_ARG, "%s: rank is %d; it must be 0 … %d", call, rank, size - 1);
    int rest = size;
    for (int i = 0; i < dims; i++)
        rest = psizes[i] > 0 && rest % psizes[i] == 0 ? rest / psizes[i] : 0;
    if (rest != 1)
        return core_error(WEFT_ERR_ARG, "%s: the product of psizes is not size, which is %d", call, size);
    return WEFT_SUCCESS;
}

int weft_type_darray(int size, int rank, int dims, const size_t gsizes[], const enum weft_distribute distribs[],
                     const size_t args[], const int psizes[], enum weft_order order, const weft_datatype *old,
                     weft_datatype **type) {
    const char *call = "weft_type_darray";
    dealt d = {.size = 0};
    int code = check(call, dims, order, old, type);
    if (code)
        return code;
    if (!gsizes || !distribs || !args || !psizes)
        return core_error(WEFT_ERR_ARG, "%s: %s is NULL", call,
                          !gsizes     ? "gsizes"
                          : !distribs ? "distribs"
                          : !args     ? "args"
                                      : "psizes");
    for (int i = 0; i < dims && !code; i++)
        code = check_dimension(call, i, gsizes[i], distribs[i], args[i], psizes[i], &d);
    if (!code)
        code = check_grid(call, size, rank, dims, psizes);
    if (code)
        return code;
    core_shape shape = core_shape_of(old);
    for (int i = 0; i < dims && !code; i++) {
        int dim = dimension(order, dims, i), below = 1;
        /* Ranks are row-major in the grid, whatever the order of the array. */
        for (int j = dim + 1; j < dims; j++)
            below *= psizes[j];
        code = check_dimension(call, dim, gsizes[dim], distribs[dim], args[dim], psizes[dim], &d);
        d.rank = (size_t)(rank / below % psizes[dim]);
        if (!code)
            code = deal(call, &d, &shape);
    }
    if (!code)
        return core_shape_type(call, &shape, type);
    core_shape_drop(&shape);
    return code;
}
