// SPDX-License-Identifier: BSD-3-Clause
#include <core/binding.h>
#include <core/clock.h>
#include <core/cpu_set.h>
#include <core/topology.h>
#include <sched.h>
#include <stdlib.h>

/* How often a thread looks where it is. */
#define YIELDS_BETWEEN_LOOKS 64
/* For how long it is left alone when it was put back: twice as long each time, until it has stayed where it is for long. */
#define SHORTEST_STAY_NS     UINT64_C(4000000)
#define LONGEST_STAY_NS      UINT64_C(1000000000)
#define LONG_STAY_NS         (3 * LONGEST_STAY_NS)

/* The share of the calling thread; crowd.all: 0 where it has none. */
static _Thread_local struct share {
    core_crowd crowd;
    int thread, cpu;
    unsigned yields;
    uint64_t of; /* what it is a share of: the hash of the set */
    uint64_t settled_ns, stay_ns;
} own_share;

/* The kernel moves a thread at once when it may not stay. Whoever binds the thread meanwhile keeps what he did. */
static void move_to(int cpu, const core_cpu_set *allowed) {
    const core_cpu_set own = core_cpu_set_of(&cpu, 1);
    core_cpu_set now;
    if (core_cpu_set_bind(&own) && core_cpu_set_read(&now, 0) && core_cpu_set_equal(&now, &own))
        (void)core_cpu_set_bind(allowed);
}

void core_settle(core_crowd crowd, int thread) {
    struct share *share = &own_share;
    core_cpu_set allowed;
    share->crowd.all = 0;
    if (!crowd.all || !core_cpu_set_read(&allowed, 0) || core_cpu_set_count(&allowed) < 2)
        return;
    int64_t others = (crowd.before + thread) * core_cpu_set_count(&allowed) / crowd.all; /* cores before its own */
    int cpu = 0;
    while (!core_cpu_set_has(&allowed, cpu) || others-- > 0)
        cpu++;
    share->crowd = crowd;
    share->thread = thread;
    share->cpu = cpu;
    share->of = core_cpu_set_hash(&allowed);
    share->stay_ns = 0;
    if (cpu != sched_getcpu())
        move_to(cpu, &allowed);
}

void core_settle_again(void) {
    struct share *share = &own_share;
    core_cpu_set allowed;
    if (!share->crowd.all || ++share->yields % YIELDS_BETWEEN_LOOKS || sched_getcpu() == share->cpu)
        return;
    const uint64_t now = core_now_ns(), since = now - share->settled_ns;
    if (since < share->stay_ns)
        return;
    if (!core_cpu_set_read(&allowed, 0) || core_cpu_set_hash(&allowed) != share->of) {
        share->crowd.all = 0; /* somebody has bound it: its share is another */
        return;
    }
    if (!share->stay_ns || since > LONG_STAY_NS)
        share->stay_ns = SHORTEST_STAY_NS;
    else if (share->stay_ns < LONGEST_STAY_NS)
        share->stay_ns *= 2;
    share->settled_ns = now;
    move_to(share->cpu, &allowed);
}

void core_places_read(core_places *places, int64_t part, int64_t parts) {
    *places = (core_places){0};
    if (!core_cpu_set_read(&places->all, 0))
        return;
    places->count = core_topology_cpus(part, parts, &places->cpus);
    places->taken = calloc((size_t)places->count, sizeof(*places->taken));
    if (!places->taken)
        places->count = 0;
}

void core_places_free(core_places *places) {
    free(places->cpus);
    free((void *)places->taken);
    *places = (core_places){0};
}

/* May the calling thread use just these? */
static bool is_own_set(const core_cpu_set *expected) {
    core_cpu_set own;
    return core_cpu_set_read(&own, 0) && core_cpu_set_equal(&own, expected);
}

/* -1: none is free. */
static int take_place(core_places *places, int wanted) {
    for (int i = 0; i < places->count; i++) {
        const int place = (wanted + i) % places->count;
        /* Acquire: pairs with the release in give_place: who had it is off its core. */
        if (!atomic_exchange_explicit(&places->taken[place], true, memory_order_acquire))
            return place;
    }
    return -1;
}

static void give_place(core_places *places, int place) {
    atomic_store_explicit(&places->taken[place], false, memory_order_release); /* pairs with take_place */
}

int core_bind(core_places *places, int wanted) {
    if (!places->count || !is_own_set(&places->all))
        return -1;
    const int place = take_place(places, wanted);
    if (place < 0)
        return -1;
    const core_cpu_set one = core_cpu_set_of(&places->cpus[place], 1);
    if (core_cpu_set_bind(&one))
        return place;
    give_place(places, place);
    return -1;
}

void core_unbind(core_places *places, int place) {
    if (place < 0)
        return;
    const core_cpu_set one = core_cpu_set_of(&places->cpus[place], 1);
    if (is_own_set(&one))
        (void)core_cpu_set_bind(&places->all);
    give_place(places, place);
}
