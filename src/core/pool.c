// SPDX-License-Identifier: BSD-3-Clause
#include <core/pool.h>
#include <stdlib.h>
#include <string.h>

/* Free blocks that are kept before the oldest is used again. */
#define KEPT 64

void *core_pool_take(core_pool *pool, size_t bytes, uint32_t magic) {
    pthread_mutex_lock(&pool->lock);
    core_pooled *block = NULL;
    if (pool->free > KEPT) {
        block = pool->oldest;
        pool->oldest = block->next;
        pool->free--;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!block)
        block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!block)
        return NULL;
    memset((char *)block + sizeof(*block), 0, bytes - sizeof(*block));
    block->next = NULL;
    atomic_store_explicit(&block->magic, magic, memory_order_relaxed);
    return block;
}

int core_pool_give(core_pool *pool, void *block, uint32_t magic) {
    core_pooled *freed = block;
    uint32_t expected = magic;
    /* Of two threads that give the same block, one wins. */
    if (!freed || !atomic_compare_exchange_strong_explicit(&freed->magic, &expected, 0, memory_order_relaxed,
                                                           memory_order_relaxed))
        return 0;
    pthread_mutex_lock(&pool->lock);
    freed->next = NULL;
    if (pool->oldest)
        pool->newest->next = freed;
    else
        pool->oldest = freed;
    pool->newest = freed;
    pool->free++;
    pthread_mutex_unlock(&pool->lock);
    return 1;
}
