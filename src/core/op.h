// SPDX-License-Identifier: BSD-3-Clause
/**
 * Reduction operations and the one function that applies them.
 */
#ifndef CORE_OP_H
#define CORE_OP_H

#include <core/datatype.h>
#include <stdbool.h>
#include <weft/types.h>

enum core_op_kind {
    CORE_OP_SUM,
    CORE_OP_PROD,
    CORE_OP_MAX,
    CORE_OP_MIN,
    CORE_OP_LAND,
    CORE_OP_LOR,
    CORE_OP_LXOR,
    CORE_OP_BAND,
    CORE_OP_BOR,
    CORE_OP_BXOR,
    CORE_OP_MAXLOC,
    CORE_OP_MINLOC,
    CORE_OP_REPLACE,
    CORE_OP_NO_OP,
    CORE_OP_USER,
    CORE_OPS = CORE_OP_USER
};

struct weft_op {
    uint32_t magic; /* CORE_OP_MAGIC while valid */
    enum core_op_kind kind;
    bool commutative;
    const char *name;           /* "WEFT_SUM" */
    weft_op_function *function; /* CORE_OP_USER only */
};

#define CORE_OP_MAGIC 0x77744f50u

static inline bool core_op_valid(const weft_op *op) {
    return op && op->magic == CORE_OP_MAGIC;
}

/** Does the operation exist for the type? A user's operation exists for every type. */
bool core_op_defined(const weft_op *op, const weft_datatype *type);

/**
 * May the bits of a result depend on which operands are combined first? Not of integers, nor of maxima and minima; a user's operation
 * is taken to be one of floating-point numbers.
 */
bool core_op_depends_on_brackets(const weft_op *op, const weft_datatype *type);

/** Without an allocation, a user's operation is applied to elements of up to so many bytes. */
#define CORE_REDUCE_BYTES 4096

/**
 * out[i] = left[i] op right[i]. `out` may be `left` or `right` itself, but not overlap them otherwise. The buffers need the
 * alignment of the C type only. The pair must be defined (core_op_defined). Any thread. Returns WEFT_SUCCESS, or
 * WEFT_ERR_NOMEM without memory for one element, which only a user's operation on one of more than CORE_REDUCE_BYTES needs.
 */
int core_reduce(const weft_op *op, const weft_datatype *type, const void *left, const void *right, void *out,
                size_t count);

/** The instruction set that the kernels in use were compiled for: "generic", "avx2" or "avx512". */
const char *core_reduce_isa(void);

#endif
