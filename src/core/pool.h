// SPDX-License-Identifier: BSD-3-Clause
/**
 * Memory for handles: blocks of one size that go to a free list and never back to malloc, so that a stale handle can
 * always be looked at and is seen to be invalid. The oldest free block is used first, so that a stale handle stays
 * invalid for long.
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/** A block begins with this head, and the object follows its own way from there. */
typedef struct core_pooled {
    _Atomic uint32_t magic; /* the object's own while it is valid, 0 when it is free */
    struct core_pooled *next;
} core_pooled;

typedef struct core_pool {
    pthread_mutex_t lock;
    core_pooled *oldest, *newest; /* free … */
    size_t free;                  /* … so many */
} core_pool;

#define CORE_POOL_INITIALIZER                                                                                          \
    { .lock = PTHREAD_MUTEX_INITIALIZER }

/** A block of `bytes` bytes, zeroed but for the magic, which is set. One pool, one size. NULL: no memory. Any thread.
 */
void *core_pool_take(core_pool *pool, size_t bytes, uint32_t magic);

/** Gives a block back if its magic is `magic`, and clears it; returns 0 when it is not (freed before), else 1. */
int core_pool_give(core_pool *pool, void *block, uint32_t magic);

/** The block is not valid any more, and is not given back. */
static inline void core_pooled_void(void *block) {
    atomic_store_explicit(&((core_pooled *)block)->magic, 0, memory_order_relaxed);
}

static inline int core_pooled_valid(const void *block, uint32_t magic) {
    /* Relaxed: who passes a handle to another thread synchronises with it. */
    return block && atomic_load_explicit(&((core_pooled *)(uintptr_t)block)->magic, memory_order_relaxed) == magic;
}

#endif
