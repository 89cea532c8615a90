// SPDX-License-Identifier: BSD-3-Clause
/**
 * Waiting: the one way in which a thread waits for another thread or for the network.
 *
 * A flag is a number that only grows. Writers publish with core_flag_publish() (or add with core_flag_add()), readers
 * wait with core_flag_wait(). A loop that waits for something else (the network) calls core_backoff() between two looks
 * and sleeps by its own means when told to.
 *
 * Who waits goes through three stages, how long each lasts is the policy's: look again at once, give the core away and
 * look again, sleep. A publisher pays for a wake-up call only when somebody sleeps on this very flag, and for looking
 * whether somebody does only where threads may sleep at all (core_waiting.may_sleep).
 */
#ifndef CORE_WAIT_H
#define CORE_WAIT_H

#include <core/clock.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/init.h>

/** Tells the processor that this is a spinning loop. */
static inline void core_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/** Ways differ in how patient they are, 0 to 2; and those from here on prepare before they look. */
enum { CORE_WAYS_EARLY = 3 };

/**
 * For how long a thread lets another one be that writes when it does, before it looks whether that has: steps of a loop, which take about a
 * cycle each. A look that comes before the other's store takes the line from its cache, and then the line crosses twice more. So
 * looks come a little later, by as much as they lately had to; if that pays: what an early look costs differs between processors, and so now and
 * then it is found out by trying. All zero to begin with, but `prepares`, and `stretch` of those that are not to try at the same time.
 */
typedef struct core_patience {
    unsigned steps[CORE_WAYS_EARLY]; /* none (0), as with who writes when this thread does, with who first reads */
    bool prepares;    /* it has something to do before it looks, or when it has seen: that is tried, too */
    unsigned way;     /* as is tried, or was the quickest */
    unsigned looks;   /* of this stretch */
    unsigned stretch; /* of CORE_STRETCHES: the first ones try */
    uint64_t began;   /* this stretch, in ticks */
    uint64_t least[2 * CORE_WAYS_EARLY]; /* ticks that a stretch took, of those that tried, by way */
} core_patience;

enum { CORE_STRETCH_LOOKS = 32, CORE_STRETCHES = 512, CORE_TRIES_OF_A_WAY = 4 };

static inline bool core_prepares_early(const core_patience *patience) {
    return patience->way >= CORE_WAYS_EARLY;
}

/** A stretch is over, at those ticks. */
void core_patience_turn(core_patience *patience, uint64_t now);

static inline void core_linger(const core_patience *patience) {
    const unsigned steps = patience->steps[patience->way % CORE_WAYS_EARLY];
    for (unsigned step = 0; step < steps; step++)
        __asm__ volatile("");
}

/** What the look showed: the other has written, or the look was too early. */
static inline void core_patience_learn(core_patience *patience, bool written) {
    enum { MORE = 16 };
    static const unsigned most[] = {0, 160, 800};
    const unsigned patient = patience->way % CORE_WAYS_EARLY;
    unsigned *steps = &patience->steps[patient];
    if (!written)
        *steps += *steps + MORE <= most[patient] ? MORE : 0;
    else if (*steps)
        --*steps;
    if (__builtin_expect(++patience->looks == CORE_STRETCH_LOOKS, 0))
        core_patience_turn(patience, core_ticks());
}

/** A policy made concrete for one group of threads; the same for all that share a flag. */
typedef struct core_waiting {
    bool may_sleep;  /* waiters may sleep, so publishers look for sleepers */
    unsigned hot;    /* looks at the flag alone, first of all */
    unsigned spins;  /* looks before the core is given away for the first time */
    unsigned yields; /* times the core is given away before the first sleep, when may_sleep */
} core_waiting;

/** WEFT_WAIT_YIELD. */
extern const core_waiting core_waiting_yields;

/** `oversubscribed`: some core has more than one of the threads that spin; decides what WEFT_WAIT_AUTO means. */
core_waiting core_waiting_resolve(weft_wait_policy policy, bool oversubscribed);

typedef struct core_flag {
    _Atomic uint64_t value;    /* written by the publisher, read by waiters; never goes down */
    _Atomic uint32_t sleepers; /* threads in the kernel for this flag; written by waiters, read by the publisher */
    _Atomic uint32_t note;     /* the publisher's, free for use: published with the value */
} core_flag;

/** Called between two looks. True: it is time to sleep (the caller does, for a bounded time or until woken). */
bool core_backoff(const core_waiting *waiting, unsigned *looks);

/**
 * How long a sleeper sleeps at most who also looks after something else, in nanoseconds, when it has woken up so often for nothing: what it
 * waits for wakes it, and from a wait that is long each look takes more of a core than it is worth.
 */
static inline long core_nap(unsigned naps) {
    return naps < 32 ? 10000000L : 50000000L;
}

enum core_idle {
    CORE_IDLE_NOTHING,
    CORE_IDLE_MOVED,
    CORE_IDLE_SLEPT,
    CORE_IDLE_GIVE_UP,
    CORE_IDLE_BUSY, /* somebody else drives it just now, and may leave it to this thread: no long sleep */
    CORE_IDLE_YIELD /* and where cores are short who is waited for needs this one: no more looks before it is given away */
};

/**
 * Called by a waiting thread between looks to drive something else (the network). `tired`: the wait has come to the
 * stage where threads sleep; the function may then sleep by its own means, for a bounded time.
 */
typedef enum core_idle core_idle_function(void *argument, bool tired);

/**
 * Returns true when *flag ≥ target. Acquire: pairs with the release in core_flag_publish/add, so that what the publisher
 * wrote before is visible. `idle` may be NULL; with one, sleeps are bounded, so that it is called again, and when it gives
 * up the wait ends with false.
 */
bool core_flag_wait_slow(core_flag *flag, uint64_t target, const core_waiting *waiting, core_idle_function *idle,
                         void *argument);

/** Sleeps until *flag ≥ target, or not: for `nanoseconds` at most. For waits that look at more than the flag. */
void core_flag_sleep(core_flag *flag, uint64_t target, long nanoseconds);

/** Marks of sleepers, a bit each: by them one is woken among those that sleep on a flag. */
#define CORE_MARK(number) ((uint32_t)1 << ((unsigned)(number) % 32))
#define CORE_ANY_MARK     UINT32_MAX

/** The same, with a mark. */
void core_flag_sleep_marked(core_flag *flag, uint64_t target, long nanoseconds, uint32_t mark);

/** Wakes whoever sleeps on the flag with that mark, or without one; false: nobody did. */
bool core_flag_wake(core_flag *flag, uint32_t mark);

/**
 * Wakes who sleeps on a flag, with that mark, and has said on which (NULL: it does not sleep) because something may come to it by another way.
 * Between that and its last look at the other way is a sequentially consistent fence, as between what came there and this.
 */
void core_flag_wake_napping(core_flag *_Atomic *napping, uint32_t mark);

static inline bool core_flag_reached(const core_flag *flag, uint64_t target) {
    /* Acquire: pairs with core_flag_publish/add. */
    return atomic_load_explicit(&flag->value, memory_order_acquire) >= target;
}

/** Looks at the flag once and `looks` times more: most waits between threads that run end there. True when *flag ≥ target. */
static inline bool core_flag_wait_hot(const core_flag *flag, uint64_t target, unsigned looks) {
    for (unsigned look = 0; !core_flag_reached(flag, target); look++) {
        if (look == looks)
            return false;
        core_pause();
    }
    return true;
}

/** Returns when *flag ≥ target; acquire. */
static inline void core_flag_wait(core_flag *flag, uint64_t target, const core_waiting *waiting) {
    if (!core_flag_wait_hot(flag, target, waiting->hot))
        core_flag_wait_slow(flag, target, waiting, NULL, NULL);
}

/** After the flag has been raised, sequentially consistent: see core_flag_publish. */
static inline void core_flag_wake_sleepers(core_flag *flag) {
    if (atomic_load_explicit(&flag->sleepers, memory_order_seq_cst))
        (void)core_flag_wake(flag, CORE_ANY_MARK);
}

/**
 * Sets the flag; single writer. Release: publishes all that the caller wrote before, pairs with core_flag_reached.
 *
 * Where threads may sleep, store and look-up of the sleepers are sequentially consistent, as are the waiter's
 * registration and its last look at the flag: in the one order of all four, either the publisher sees the sleeper or
 * the sleeper sees the value, and no wake-up is lost.
 */
static inline void core_flag_publish(core_flag *flag, uint64_t value, const core_waiting *waiting) {
    if (!waiting->may_sleep) {
        atomic_store_explicit(&flag->value, value, memory_order_release);
        return;
    }
    atomic_store_explicit(&flag->value, value, memory_order_seq_cst);
    core_flag_wake_sleepers(flag);
}

/** As core_flag_publish for a flag with many writers: adds. Acquire too, so that the adds form one chain of releases.
 */
static inline void core_flag_add(core_flag *flag, uint64_t increment, const core_waiting *waiting) {
    atomic_fetch_add_explicit(&flag->value, increment, memory_order_seq_cst);
    if (waiting->may_sleep)
        core_flag_wake_sleepers(flag);
}

/**
 * As core_flag_add, from `base` on if the flag is below: counts the same thing once more, with a higher base each time, and nobody
 * has to set it back.
 */
static inline void core_flag_count(core_flag *flag, uint64_t base, uint64_t increment, const core_waiting *waiting) {
    uint64_t seen = atomic_load_explicit(&flag->value, memory_order_relaxed), next;
    do
        next = (seen < base ? base : seen) + increment;
    while (
        !atomic_compare_exchange_weak_explicit(&flag->value, &seen, next, memory_order_seq_cst, memory_order_relaxed));
    if (waiting->may_sleep)
        core_flag_wake_sleepers(flag);
}

/** Sleeps while *word is `value`, for `nanoseconds` at most (or less, for no reason); the word may be shared with other
 * processes. */
void core_word_sleep(_Atomic uint32_t *word, uint32_t value, long nanoseconds);

/** Wakes all who sleep on the word. */
void core_word_wake(_Atomic uint32_t *word);

/** A word that is odd while anybody may sleep on it: the value to sleep at, after one more look past a fence or in a lock. */
static inline uint32_t core_word_arm(_Atomic uint32_t *word) {
    return atomic_fetch_or_explicit(word, 1, memory_order_relaxed) | 1;
}

/** Who sleeps on such a word sleeps no more, nor falls asleep without looking again: the word never comes back to what it was. Past the same. */
static inline void core_word_rouse(_Atomic uint32_t *word) {
    uint32_t value = atomic_load_explicit(word, memory_order_relaxed);
    if (value % 2 &&
        atomic_compare_exchange_strong_explicit(word, &value, value + 1, memory_order_relaxed, memory_order_relaxed))
        core_word_wake(word);
}

#endif
