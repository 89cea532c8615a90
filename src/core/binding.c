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

/* How often a thread looks where it is, and how long it stays where it is after it was put back. */
#define YIELDS_BETWEEN_LOOKS 64
#define SHORTEST_STAY_NS     UINT64_C(4000000)
#define LONGEST_STAY_NS      UINT64_C(1000000000)

/* The share of the calling thread. */
static _Thread_local struct share {
    core_crowd crowd; /* all: 0 where it has none */
    int thread, cpu;
    unsigned yields;
    uint64_t settled_ns, stay_ns; /* when it was put back, and how long it is left alone then */
} own_share;

void core_settle(core_crowd crowd, int thread) {
    cpu_set_t allowed;
    own_share.crowd.all = 0;
    if (!crowd.all || sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
        return;
    int64_t others = (crowd.before + thread) * CPU_COUNT(&allowed) / crowd.all; /* cores before its own */
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || others-- > 0)
        cpu++;
    own_share.crowd = crowd;
    own_share.thread = thread;
    own_share.cpu = cpu;
    if (cpu == sched_getcpu())
        return;
    /* The kernel moves a thread at once when it may not stay. */
    const cpu_set_t own = only(cpu);
    if (!sched_setaffinity(0, sizeof(own), &own))
        (void)sched_setaffinity(0, sizeof(allowed), &allowed);
}

void core_settle_again(void) {
    struct share *share = &own_share;
    if (!share->crowd.all || ++share->yields % YIELDS_BETWEEN_LOOKS || sched_getcpu() == share->cpu)
        return;
    const uint64_t now = core_now_ns(), since = now - share->settled_ns;
    if (since < share->stay_ns)
        return;
    share->stay_ns = since > 4 * share->stay_ns         ? SHORTEST_STAY_NS
                     : share->stay_ns < LONGEST_STAY_NS ? 2 * share->stay_ns
                                                        : LONGEST_STAY_NS;
    share->settled_ns = now;
    core_settle(share->crowd, share->thread);
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
