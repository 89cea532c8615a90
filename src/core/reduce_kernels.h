// SPDX-License-Identifier: BSD-3-Clause
/**
 * The loops behind core_reduce: one table of kernels for each instruction set that reduce_kernels.c is compiled for.
 * All tables give the same bits; on machines other than x86-64 all three hold the same code.
 */
#ifndef CORE_REDUCE_KERNELS_H
#define CORE_REDUCE_KERNELS_H

#include <core/op.h>

/** out[i] = left[i] op right[i]. `out` may be `left` or `right` itself, but not overlap them otherwise. */
typedef void core_kernel(const void *left, const void *right, void *out, size_t count);

/**
 * [operation][kind]. NULL: the pair is undefined, or is CORE_OP_REPLACE or CORE_OP_NO_OP, which core_reduce copies.
 */
typedef core_kernel *const core_kernel_table[CORE_OPS][CORE_KINDS];

extern core_kernel_table core_kernels_generic, core_kernels_avx2, core_kernels_avx512;

#endif
