// SPDX-License-Identifier: BSD-3-Clause
/**
 * Who calls: threads told apart, as by pthread_self(), but without a call where compilers know where the thread pointer is. A call in
 * the way of a short message costs it all that it has in registers.
 */
#ifndef CORE_SELF_H
#define CORE_SELF_H

#include <pthread.h>
#include <stdint.h>

/** The calling thread: a number that no other living thread of the process has. */
static inline uintptr_t core_self(void) {
#if defined(__x86_64__) || defined(__aarch64__)
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

#endif
