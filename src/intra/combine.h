// SPDX-License-Identifier: BSD-3-Clause
/**
 * Reductions over the threads of a meeting, and the slices into which long data is cut so that all threads work at
 * once.
 */
#ifndef INTRA_COMBINE_H
#define INTRA_COMBINE_H

#include <core/op.h>
#include <intra/meeting.h>

/** Where a thread's operand is: in its cell's payload, or at its offer's send address. */
enum intra_operands { INTRA_INLINE, INTRA_OFFERED };

typedef struct intra_slice {
    size_t begin, count; /* elements */
} intra_slice;

/** Part `index` of `parts` of `count` elements: contiguous, of nearly equal size, on cache-line multiples. Pure. */
intra_slice intra_slice_of(size_t count, size_t element_bytes, int index, int parts);

/**
 * Combines, in thread order, elements begin … begin+count-1 of every thread's operand into `out` (which is where
 * element `begin` goes). `out` may be the place of one of the operands. All threads have posted their operands.
 */
void intra_combine(const intra_meeting *meeting, enum intra_operands where, const weft_op *op,
                   const weft_datatype *type, intra_slice slice, void *out);

/** Combines a slice of the offered operands, and puts the result into every thread's offered recv. */
void intra_combine_for_all(const intra_meeting *meeting, const weft_op *op, const weft_datatype *type,
                           intra_slice slice);

#endif
