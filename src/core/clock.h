// SPDX-License-Identifier: BSD-3-Clause
/**
 * Clocks: of the host, the same for all its processes and never set back, and the processor's own counter, which is read in a third of the
 * time. Waits and timelines take ticks of the counter, and make nanoseconds of them when somebody wants to know.
 */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t core_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** Before the first ticks that are compared with others: may the counter be used? It may where the kernel itself goes by it. */
void core_clock_start(void);

extern _Atomic bool core_clock_counts; /* ticks are the counter's, else nanoseconds */

static inline uint64_t core_ticks(void) {
#if defined(__x86_64__)
    if (atomic_load_explicit(&core_clock_counts, memory_order_relaxed))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (atomic_load_explicit(&core_clock_counts, memory_order_relaxed)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return core_now_ns();
}

/** What ticks are, as far as it is known when somebody asks: the later, the better. */
typedef struct core_clock_scale {
    uint64_t ticks, ns; /* a moment, by both clocks */
    double ns_a_tick;
} core_clock_scale;

core_clock_scale core_clock_measure(void);

/** What core_now_ns() was at those ticks. */
static inline uint64_t core_ticks_ns(const core_clock_scale *scale, uint64_t ticks) {
    return scale->ns + (uint64_t)(int64_t)((double)(int64_t)(ticks - scale->ticks) * scale->ns_a_tick);
}

#endif
