// SPDX-License-Identifier: BSD-3-Clause
#include <core/binding.h>
#include <core/wait.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Some tens of microseconds of looking: longer than any exchange between threads that run. Then between two looks the core is
 * given away, should the thread that is waited for have been put on the same one in spite of all.
 */
#define SPINS_WITH_CORES_FREE 1000u
#define HOT_LOOKS             100u
/* With more threads than cores, who we wait for most likely needs this core. Who sleeps is woken late, and makes the others wait
 * so long that they sleep too: a millisecond or so of giving the core away comes first. */
#define SPINS_OVERSUBSCRIBED  2u
#define YIELDS_OVERSUBSCRIBED 2000u
/* Somebody who drives does so for some microseconds, unless the core is taken away meanwhile. */
#define BUSY_NS               50000L
/* Who does not sleep after so many tries has lost its core: then it sleeps out a nap. */
#define WAKES                 16
#define NS_IN_S               1000000000L

static unsigned quickest(const core_patience *patience, unsigned ways) {
    unsigned quickest = 0;
    for (unsigned way = 1; way < ways; way++)
        if (patience->least[way] < patience->least[quickest])
            quickest = way;
    return quickest;
}

/* Stretches by turns in each way, of which the shortest counts: what else a program does in between is in all of them. */
void core_patience_turn(core_patience *patience, uint64_t now) {
    const unsigned ways = patience->prepares ? 2 * CORE_WAYS_EARLY : CORE_WAYS_EARLY,
                   tries = ways * CORE_TRIES_OF_A_WAY;
    const uint64_t took = now - patience->began;
    uint64_t *least = &patience->least[patience->way];
    if (patience->stretch < tries && (!*least || took < *least))
        *least = took;
    patience->stretch = (patience->stretch + 1) % CORE_STRETCHES;
    if (patience->stretch == 0)
        memset(patience->least, 0, sizeof(patience->least));
    if (patience->stretch < tries)
        patience->way = patience->stretch % ways;
    else if (patience->stretch == tries)
        patience->way = quickest(patience, ways);
    patience->looks = 0;
    patience->began = now;
}

const core_waiting core_waiting_yields = {.spins = SPINS_OVERSUBSCRIBED};

core_waiting core_waiting_resolve(weft_wait_policy policy, bool oversubscribed) {
    switch (policy) {
    case WEFT_WAIT_SPIN:
        return (core_waiting){.hot = HOT_LOOKS, .spins = UINT_MAX};
    case WEFT_WAIT_YIELD:
        return core_waiting_yields;
    case WEFT_WAIT_BLOCK:
        return (core_waiting){.may_sleep = true, .spins = SPINS_OVERSUBSCRIBED, .yields = 1};
    case WEFT_WAIT_DEFAULT:
    case WEFT_WAIT_AUTO:
        break;
    }
    if (oversubscribed)
        return (core_waiting){.may_sleep = true, .spins = SPINS_OVERSUBSCRIBED, .yields = YIELDS_OVERSUBSCRIBED};
    return (core_waiting){.hot = HOT_LOOKS, .spins = SPINS_WITH_CORES_FREE};
}

bool core_backoff(const core_waiting *waiting, unsigned *looks) {
    unsigned look = *looks;
    if (look < waiting->spins) {
        *looks = waiting->spins == UINT_MAX ? 0 : look + 1;
        if (waiting->hot) /* else the few looks that there are come at once: a pause is as long as one of them */
            core_pause();
        return false;
    }
    if (!waiting->may_sleep || look - waiting->spins < waiting->yields) {
        if (waiting->may_sleep)
            *looks = look + 1;
        sched_yield();
        core_settle_again();
        return false;
    }
    return true;
}

/* The futex is the flag's low half: it changes with every publication, so a sleeper that came too late does not sleep.
 */
static uint32_t *futex_word(core_flag *flag) {
    _Static_assert(sizeof(flag->value) == 8, "a flag is 64 bits without a lock");
    uint32_t *words = (uint32_t *)(void *)&flag->value;
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? words : words + 1;
}

static void flag_sleep(core_flag *flag, uint64_t target, const struct timespec *until, uint32_t mark) {
    atomic_fetch_add_explicit(&flag->sleepers, 1, memory_order_seq_cst);
    /* Sequentially consistent with the publisher's store: see core_flag_publish. */
    uint64_t seen = atomic_load_explicit(&flag->value, memory_order_seq_cst);
    if (seen < target)
        syscall(SYS_futex, futex_word(flag), FUTEX_WAIT_BITSET_PRIVATE, (uint32_t)seen, until, NULL, mark);
    atomic_fetch_sub_explicit(&flag->sleepers, 1, memory_order_relaxed);
}

void core_flag_sleep_marked(core_flag *flag, uint64_t target, long nanoseconds, uint32_t mark) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until); /* what the futex counts by */
    until.tv_nsec += nanoseconds;
    until.tv_sec += until.tv_nsec / NS_IN_S;
    until.tv_nsec %= NS_IN_S;
    flag_sleep(flag, target, &until, mark);
}

void core_flag_sleep(core_flag *flag, uint64_t target, long nanoseconds) {
    core_flag_sleep_marked(flag, target, nanoseconds, CORE_ANY_MARK);
}

bool core_flag_wait_slow(core_flag *flag, uint64_t target, const core_waiting *waiting, core_idle_function *idle,
                         void *argument) {
    unsigned looks = 0, naps = 0;
    bool tired = false;
    while (!core_flag_reached(flag, target)) {
        enum core_idle result = idle ? idle(argument, tired) : CORE_IDLE_NOTHING;
        if (result == CORE_IDLE_GIVE_UP)
            return false;
        if (result == CORE_IDLE_BUSY && tired)
            core_flag_sleep(flag, target, BUSY_NS);
        else if (result == CORE_IDLE_NOTHING && tired && idle)
            core_flag_sleep(flag, target, core_nap(naps++));
        else if (result == CORE_IDLE_NOTHING && tired)
            flag_sleep(flag, target, NULL, CORE_ANY_MARK);
        if (result == CORE_IDLE_MOVED)
            looks = naps = 0;
        else if (result == CORE_IDLE_YIELD && looks < waiting->spins)
            looks = waiting->spins;
        tired = core_backoff(waiting, &looks);
    }
    return true;
}

bool core_flag_wake(core_flag *flag, uint32_t mark) {
    return syscall(SYS_futex, futex_word(flag), FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL, mark) > 0;
}

void core_flag_wake_napping(core_flag *_Atomic *napping, uint32_t mark) {
    for (int tries = 0; tries < WAKES; tries++) {
        /* Which is not looked at, and may be gone. */
        core_flag *flag = atomic_load_explicit(napping, memory_order_relaxed);
        if (!flag || core_flag_wake(flag, mark))
            return;
        sched_yield(); /* it is on its way to sleep, or back */
    }
}

void core_word_sleep(_Atomic uint32_t *word, uint32_t value, long nanoseconds) {
    const struct timespec limit = {.tv_nsec = nanoseconds};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
}

void core_word_wake(_Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
