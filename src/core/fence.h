// SPDX-License-Identifier: BSD-3-Clause
/**
 * A fence that one thread makes for all: those who must be fast need none of their own (asymmetric fences, as in P1202 of the C++
 * committee).
 */
#ifndef CORE_FENCE_H
#define CORE_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

/**
 * The side that is often run. Of a store before it and a load behind it, and a store before core_fence_heavy() and a load behind that,
 * one load at least sees the other's store.
 */
static inline void core_fence_light(void) {
    atomic_signal_fence(memory_order_seq_cst); /* for the compiler; the other side brings the processor's */
}

/** The side that is seldom run: interrupts all threads of the process that run, microseconds. False: the system cannot. */
bool core_fence_heavy(void) __attribute__((cold));

#endif
