// SPDX-License-Identifier: BSD-3-Clause
/**
 * Prefixes over the threads of a meeting: each thread's is what it and the threads before it bring, combined in thread order.
 * The threads take a slice each and make all prefixes of it, from the offered send buffers straight into the offered receive
 * buffers. Only who makes a slice reads or writes it, so any thread's two buffers may be the same.
 */
#ifndef INTRA_PREFIX_H
#define INTRA_PREFIX_H

#include <intra/combine.h>

/**
 * The prefixes of a slice. All threads have posted their offers. Returns WEFT_SUCCESS, or WEFT_ERR_NOMEM without memory for
 * elements of more than 4 KiB.
 */
int intra_scan(const intra_meeting *meeting, const weft_op *op, const weft_datatype *type, intra_slice slice);

/**
 * The same without each thread's own operand. Thread 0 has none, and its receive buffer is not touched. What all bring goes
 * to `total` (which is where element 0 goes) unless that is NULL. Returns as intra_scan().
 */
int intra_exscan(const intra_meeting *meeting, const weft_op *op, const weft_datatype *type, intra_slice slice,
                 void *total);

#endif
