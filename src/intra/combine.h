// SPDX-License-Identifier: BSD-3-Clause
/**
 * Reductions over the threads of a meeting, and the slices into which long data is cut so that all threads work at
 * once.
 */
#ifndef INTRA_COMBINE_H
#define INTRA_COMBINE_H

#include <core/layout.h>
#include <core/op.h>
#include <intra/meeting.h>

/**
 * What is combined: the operands in the payloads of the cells, or at the offers' send addresses. The caller's own is given by its
 * address: its cell has most likely moved to the cache of a thread that read it, and reading it would fetch it back.
 */
typedef struct intra_operands {
    bool in_cells;
    const void *own;
    const weft_op *op;
    const weft_datatype *type;
} intra_operands;

typedef struct intra_slice {
    size_t begin, count; /* elements */
} intra_slice;

/** Part `index` of `parts` of `count` elements: contiguous, of nearly equal size, on cache-line multiples. Pure. */
intra_slice intra_slice_of(size_t count, size_t element_bytes, int index, int parts);

/** Where a thread's begins. */
static inline const char *intra_operand_of(const intra_meeting *meeting, const intra_operands *operands, int thread) {
    const intra_cell *cell = &meeting->cells[thread];
    if (thread == meeting->member->thread)
        return (const char *)operands->own;
    return operands->in_cells ? (const char *)cell->payload.bytes : (const char *)cell->payload.offer.send;
}

/**
 * Combines, in thread order, elements begin … begin+count-1 of the first `threads` threads' operands, at least one, into `out` (which is
 * where element `begin` goes). `out` may be the place of one of the operands. All threads have posted their operands. Returns
 * WEFT_SUCCESS, or WEFT_ERR_NOMEM without memory for one element, which only elements of more than 8 KiB need.
 */
int intra_combine_first(const intra_meeting *meeting, int threads, const intra_operands *operands, intra_slice slice,
                        void *out);

/** The same of threads 0 and 1: on the way of short collectives of a pair, and inline for that. */
static inline int intra_combine_two(const intra_meeting *meeting, const intra_operands *operands, intra_slice slice,
                                    void *out) {
    const ptrdiff_t at = (ptrdiff_t)(slice.begin * operands->type->size_bytes);
    return core_reduce(operands->op, operands->type, core_offset(intra_operand_of(meeting, operands, 0), at),
                       core_offset(intra_operand_of(meeting, operands, 1), at), out, slice.count);
}

/** As intra_combine_first(), of all threads. */
static inline int intra_combine(const intra_meeting *meeting, const intra_operands *operands, intra_slice slice,
                                void *out) {
    const int threads = meeting->team->threads;
    return threads == 2 ? intra_combine_two(meeting, operands, slice, out)
                        : intra_combine_first(meeting, threads, operands, slice, out);
}

/**
 * Combines a slice of the offered operands, and puts the result into every thread's offered recv; recv: the caller's. Returns as
 * intra_combine().
 */
int intra_combine_for_all(const intra_meeting *meeting, const intra_operands *operands, intra_slice slice, void *recv);

#endif
