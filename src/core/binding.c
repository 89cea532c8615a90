// SPDX-License-Identifier: BSD-3-Clause
#include <core/binding.h>
#include <core/clock.h>
#include <core/topology.h>
#include <sched.h>
#include <stdlib.h>

static cpu_set_t only(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return set;
}

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
    cpu_set_t of; /* what it is a share of */
    unsigned yields;
    uint64_t settled_ns, stay_ns;
} own_share;

static bool may_use(cpu_set_t *set) {
    return !sched_getaffinity(0, sizeof(*set), set);
}

/* The kernel moves a thread at once when it may not stay. Whoever binds the thread meanwhile keeps what he did. */
static void move_to(int cpu, const cpu_set_t *allowed) {
    const cpu_set_t own = only(cpu);
    cpu_set_t now;
    if (!sched_setaffinity(0, sizeof(own), &own) && may_use(&now) && CPU_EQUAL(&now, &own))
        (void)sched_setaffinity(0, sizeof(*allowed), allowed);
}

void core_settle(core_crowd crowd, int thread) {
    struct share *share = &own_share;
    share->crowd.all = 0;
    if (!crowd.all || !may_use(&share->of) || CPU_COUNT(&share->of) < 2)
        return;
    int64_t others = (crowd.before + thread) * CPU_COUNT(&share->of) / crowd.all; /* cores before its own */
    int cpu = 0;
    while (!CPU_ISSET(cpu, &share->of) || others-- > 0)
        cpu++;
    share->crowd = crowd;
    share->thread = thread;
    share->cpu = cpu;
    share->stay_ns = 0;
    if (cpu != sched_getcpu())
        move_to(cpu, &share->of);
}

void core_settle_again(void) {
    struct share *share = &own_share;
    cpu_set_t allowed;
    if (!share->crowd.all || ++share->yields % YIELDS_BETWEEN_LOOKS || sched_getcpu() == share->cpu)
        return;
    const uint64_t now = core_now_ns(), since = now - share->settled_ns;
    if (since < share->stay_ns)
        return;
    if (!may_use(&allowed) || !CPU_EQUAL(&allowed, &share->of)) { /* somebody has bound it: its share is another */
        share->crowd.all = 0;
        return;
    }
    if (!share->stay_ns || since > LONG_STAY_NS)
        share->stay_ns = SHORTEST_STAY_NS;
    else if (share->stay_ns < LONGEST_STAY_NS)
        share->stay_ns *= 2;
    share->settled_ns = now;
    move_to(share->cpu, &allowed);
}

void core_places_read(core_places *places) {
    places->count = core_topology_cpus(&places->cpus);
    for (int i = 0; i < places->count; i++)
        if (places->cpus[i] >= CPU_SETSIZE) { /* more than cpu_set_t has room for */
            core_places_free(places);
            return;
        }
}

void core_places_free(core_places *places) {
    free(places->cpus);
    *places = (core_places){0};
}

/* May the calling thread use just these? */
static bool is_own_set(const cpu_set_t *expected) {
    cpu_set_t own;
    return !sched_getaffinity(0, sizeof(own), &own) && CPU_EQUAL(&own, expected);
}

static cpu_set_t all_of(const core_places *places) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < places->count; i++)
        CPU_SET(places->cpus[i], &set);
    return set;
}

int core_bind(const core_places *places, int64_t place) {
    if (place >= places->count)
        return -1;
    const cpu_set_t all = all_of(places), one = only(places->cpus[place]);
    return is_own_set(&all) && !sched_setaffinity(0, sizeof(one), &one) ? places->cpus[place] : -1;
}

void core_unbind(const core_places *places, int cpu) {
    if (cpu < 0)
        return;
    const cpu_set_t all = all_of(places), one = only(cpu);
    if (is_own_set(&one))
        (void)sched_setaffinity(0, sizeof(all), &all);
}
