// SPDX-License-Identifier: BSD-3-Clause
/* Flags, exchanges and slices by hand. */
#include "floors.h"

#include <sched.h>
#include <stdbool.h>

#define LOOKS_BEFORE_YIELD 20000 /* far longer than any wait between threads that both have a core */
#define SLICE_DOUBLES      8     /* slices end at cache lines */

void floor_wait(const _Atomic uint64_t *epoch, uint64_t value) {
    unsigned looks = 0;
    /* pairs with the release in the function that called us, made by the other thread */
    while (atomic_load_explicit(epoch, memory_order_acquire) < value)
        if (++looks == LOOKS_BEFORE_YIELD) {
            sched_yield();
            looks = 0;
        }
}

void floor_hops(floor_end *end, size_t hops) {
    _Atomic uint64_t *flag = &end->pair->hop.epoch;
    uint64_t hop = end->hops;
    for (size_t i = 0; i < hops; i++, hop++) {
        if ((hop & 1) == (uint64_t)end->me)
            atomic_store_explicit(flag, hop + 1, memory_order_release); /* pairs with floor_wait below */
        else
            floor_wait(flag, hop + 1);
    }
    end->hops = hop;
}

void floor_barrier(floor_end *end) {
    floor_flag *arrived = end->pair->arrived;
    uint64_t epoch = ++end->arrivals;
    /* pairs with the other's floor_wait, publishes all that this thread wrote before */
    atomic_store_explicit(&arrived[end->me].epoch, epoch, memory_order_release);
    floor_wait(&arrived[1 - end->me].epoch, epoch);
}

/*
 * Two cells a thread are enough: who writes its cell for epoch e + 2 has seen the other's epoch e + 1, which the other
 * stored only after it had read the cell of epoch e.
 */
void floor_exchange(floor_end *end, size_t doubles) {
    uint64_t epoch = ++end->exchanges;
    floor_cell *mine = &end->pair->cells[end->me][epoch & 1], *other = &end->pair->cells[1 - end->me][epoch & 1];
    const double *send = end->pair->send[end->me];
    double *recv = end->pair->recv[end->me];
    if (doubles == 1) { /* without loops, as one writes it by hand */
        double value = send[0];
        mine->payload[0] = value;
        atomic_store_explicit(&mine->epoch, epoch,
                              memory_order_release); /* pairs with the other's wait, publishes payload */
        floor_wait(&other->epoch, epoch);
        recv[0] = value + other->payload[0];
        return;
    }
    for (size_t i = 0; i < doubles; i++)
        mine->payload[i] = send[i];
    atomic_store_explicit(&mine->epoch, epoch, memory_order_release); /* as above */
    floor_wait(&other->epoch, epoch);
    for (size_t i = 0; i < doubles; i++) /* two operands: the order does not change the sum */
        recv[i] = send[i] + other->payload[i];
}

/* One loop for each width of vector registers, so that the floor is what the machine can do and not what a compiler's
 * default instruction set can. */
#define ADD_INTO_BOTH(name, attributes, bytes)                                                                         \
    attributes static void name(const double *restrict a, const double *restrict b, double *restrict x,                \
                                double *restrict y, size_t count) {                                                    \
        typedef double vector __attribute__((vector_size(bytes), aligned(8), may_alias));                              \
        size_t lanes = sizeof(vector) / sizeof(double), i = 0;                                                         \
        for (; i + lanes <= count; i += lanes) {                                                                       \
            vector sum = *(const vector *)(a + i) + *(const vector *)(b + i);                                          \
            *(vector *)(x + i) = sum;                                                                                  \
            *(vector *)(y + i) = sum;                                                                                  \
        }                                                                                                              \
        for (; i < count; i++)                                                                                         \
            x[i] = y[i] = a[i] + b[i];                                                                                 \
    }

typedef void add_function(const double *, const double *, double *, double *, size_t);

ADD_INTO_BOTH(add_plain, , 16)
#if defined(__x86_64__)
ADD_INTO_BOTH(add_avx, __attribute__((target("avx"))), 32)
ADD_INTO_BOTH(add_avx512, __attribute__((target("avx512f"))), 64)
#endif

static add_function *widest_add(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return add_avx512;
    if (__builtin_cpu_supports("avx"))
        return add_avx;
#endif
    return add_plain;
}

void floor_slices(floor_end *end, size_t doubles) {
    static add_function *_Atomic chosen;
    add_function *add = atomic_load_explicit(&chosen, memory_order_relaxed); /* either value will do */
    floor_pair *pair = end->pair;
    size_t half = doubles / 2 / SLICE_DOUBLES * SLICE_DOUBLES;
    size_t first = end->me ? half : 0, count = end->me ? doubles - half : half;
    if (!add) {
        add = widest_add();
        atomic_store_explicit(&chosen, add, memory_order_relaxed);
    }
    floor_barrier(end); /* both send buffers are ready, both receive buffers free */
    add(pair->send[0] + first, pair->send[1] + first, pair->recv[0] + first, pair->recv[1] + first, count);
    floor_barrier(end); /* both halves are written */
}
