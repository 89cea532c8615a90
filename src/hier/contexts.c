// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/comm.h>

/* Few words to begin with keep the numbers low, and the tables that they index short. */
#define FIRST_WORDS 8

void hier_contexts_init(hier_contexts *contexts) {
    pthread_mutex_init(&contexts->lock, NULL);
    contexts->used[0] = 1; /* the process communicator's */
    contexts->used[HIER_OWN_CONTEXT / 64] |= (uint64_t)1 << HIER_OWN_CONTEXT % 64;
}

void hier_contexts_destroy(hier_contexts *contexts) {
    pthread_mutex_destroy(&contexts->lock);
}

void hier_contexts_return(hier_contexts *contexts, uint32_t number) {
    if (number == HIER_NO_CONTEXT)
        return;
    pthread_mutex_lock(&contexts->lock);
    contexts->used[number / 64] &= ~((uint64_t)1 << number % 64);
    pthread_mutex_unlock(&contexts->lock);
}

/* With the lock. */
static bool is_free(const hier_contexts *contexts, uint32_t number) {
    return !((contexts->used[number / 64] | contexts->offered[number / 64]) >> number % 64 & 1);
}

void hier_contexts_lose(hier_contexts *contexts, uint32_t number) {
    pthread_mutex_lock(&contexts->lock);
    contexts->lost[number / 64] |= (uint64_t)1 << number % 64;
    pthread_mutex_unlock(&contexts->lock);
}

bool hier_contexts_expect(hier_contexts *contexts, uint32_t number) {
    pthread_mutex_lock(&contexts->lock);
    bool expected = !is_free(contexts, number) && !(contexts->lost[number / 64] >> number % 64 & 1);
    pthread_mutex_unlock(&contexts->lock);
    return expected;
}

bool hier_contexts_take_back(hier_contexts *contexts, uint32_t number) {
    uint64_t bit = (uint64_t)1 << number % 64;
    pthread_mutex_lock(&contexts->lock);
    bool taken = is_free(contexts, number);
    if (taken) {
        contexts->used[number / 64] |= bit;
        contexts->lost[number / 64] |= bit;
    }
    pthread_mutex_unlock(&contexts->lock);
    return taken;
}

/* What this process has to offer of a word; `*calm`: nobody else has it on offer. */
static uint64_t offer(hier_contexts *contexts, unsigned word, bool *calm) {
    pthread_mutex_lock(&contexts->lock);
    uint64_t bits = ~contexts->used[word] & ~contexts->offered[word];
    *calm = !contexts->offered[word];
    contexts->offered[word] |= bits;
    pthread_mutex_unlock(&contexts->lock);
    return bits;
}

static void take(hier_contexts *contexts, unsigned word, uint64_t offered, uint64_t chosen) {
    pthread_mutex_lock(&contexts->lock);
    contexts->offered[word] &= ~offered;
    contexts->used[word] |= chosen;
    pthread_mutex_unlock(&contexts->lock);
}

static uint64_t lowest_bits(uint64_t bits, int count) {
    uint64_t chosen = 0;
    for (; bits && count; count--) {
        chosen |= bits & -bits;
        bits &= bits - 1;
    }
    return chosen;
}

/* One round: up to `count` bits of a word that all processes have free. One thread of each process offers, all learn. */
static int agree_on_word(weft_comm *parent, hier_caller by, unsigned word, int count, uint64_t *chosen, bool *calm) {
    hier_contexts *contexts = &parent->world->contexts;
    bool offers = parent->thread == 0, own_calm = true;
    uint64_t own = offers ? offer(contexts, word, &own_calm) : ~(uint64_t)0;
    uint64_t said[2] = {own, own_calm};
    int code = hier_agree(parent, by, said, 2, WEFT_BAND);
    *chosen = code ? 0 : lowest_bits(said[0], count);
    *calm = code || said[1];
    if (offers)
        take(contexts, word, own, *chosen);
    return code;
}

/*
 * One later than what any process has seen. Whoever had one of the contexts is through with it here, and has noted its epoch before: that it is gone was
 * seen when the context was offered, which the agreement on contexts follows. Relaxed: that orders it.
 */
static int agree_on_epoch(weft_comm *parent, hier_caller by, uint64_t *epoch) {
    _Atomic uint64_t *latest = &parent->world->contexts.epoch;
    uint64_t known = atomic_load_explicit(latest, memory_order_relaxed), own = known + 1;
    int code = hier_agree(parent, by, &own, 1, WEFT_MAX);
    while (!code && known < own &&
           !atomic_compare_exchange_weak_explicit(latest, &known, own, memory_order_relaxed, memory_order_relaxed))
        continue;
    *epoch = own;
    return code;
}

int hier_contexts_agree(weft_comm *parent, hier_caller by, int count, uint32_t *numbers, uint64_t *epoch) {
    /* A thread that has left and entered again goes on where the others are. */
    unsigned *steps = parent->member ? &parent->member->steps : &parent->context_steps;
    unsigned first = parent->context % FIRST_WORDS, step = 2 * (parent->context / FIRST_WORDS) + 1;
    unsigned in_vain = 0; /* rounds since one brought something, or met another agreement … */
    unsigned most =
        64 * HIER_CONTEXT_WORDS; /* … which may wait for this thread's process to come to it: so many in all */
    int found = 0, code = WEFT_SUCCESS;
    while (found < count && in_vain < HIER_CONTEXT_WORDS && most && !code) {
        uint64_t chosen;
        bool calm;
        /* An odd step comes to all words. The one that brought something last is the first one next time, on all ranks. */
        unsigned word = (first + step * *steps) % HIER_CONTEXT_WORDS;
        code = agree_on_word(parent, by, word, count - found, &chosen, &calm);
        in_vain = chosen || !calm ? 0 : in_vain + 1;
        *steps += !chosen;
        most -= !chosen;
        for (; chosen; chosen &= chosen - 1)
            numbers[found++] = word * 64 + (uint32_t)__builtin_ctzll(chosen);
    }
    if (found == count && (code = agree_on_epoch(parent, by, epoch)) == WEFT_SUCCESS)
        return WEFT_SUCCESS;
    while (found-- > 0 && parent->thread == 0)
        hier_contexts_return(&parent->world->contexts, numbers[found]);
    return code ? code
                : core_error(WEFT_ERR_BUSY,
                             "rank %d: %s: %d more communicators between processes cannot be had: %u "
                             "can stand at once in a process",
                             parent->rank, by.call, count, HIER_MOST_CONTEXTS);
}
