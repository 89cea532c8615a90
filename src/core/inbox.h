// SPDX-License-Identifier: BSD-3-Clause
/**
 * Inbox: a list that any thread puts things into, and that one thread at a time takes as a whole. Links stand inside of what is put
 * in, so that nothing can fail, and nobody waits for anybody but to repeat a compare and swap.
 */
#ifndef CORE_INBOX_H
#define CORE_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct core_link {
    struct core_link *next;
} core_link;

typedef struct core_inbox {
    core_link *_Atomic newest;
} core_inbox;

/** Release: pairs with core_inbox_take. From here on what the link stands in is the taker's. */
static inline void core_inbox_put(core_inbox *inbox, core_link *link) {
    core_link *newest = atomic_load_explicit(&inbox->newest, memory_order_relaxed);
    do
        link->next = newest;
    while (!atomic_compare_exchange_weak_explicit(&inbox->newest, &newest, link, memory_order_release,
                                                  memory_order_relaxed));
}

/** A hint, to spare the taker a write. */
static inline bool core_inbox_is_empty(const core_inbox *inbox) {
    return !atomic_load_explicit(&inbox->newest, memory_order_relaxed);
}

/** All that is in it, the oldest first; NULL: nothing. Acquire: pairs with core_inbox_put. */
static inline core_link *core_inbox_take(core_inbox *inbox) {
    if (core_inbox_is_empty(inbox))
        return NULL;
    core_link *link = atomic_exchange_explicit(&inbox->newest, NULL, memory_order_acquire), *oldest = NULL;
    while (link) {
        core_link *next = link->next;
        link->next = oldest;
        oldest = link;
        link = next;
    }
    return oldest;
}

#endif
