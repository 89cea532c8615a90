// SPDX-License-Identifier: BSD-3-Clause
/**
 * Where threads run: a hint to the system where cores are short, and, for who asks for it, a core of its own for each.
 */
#ifndef CORE_BINDING_H
#define CORE_BINDING_H

#include <stdbool.h>
#include <stdint.h>

/** The threads that share the cores of a process: those of the processes before it, and all of them. */
typedef struct core_crowd {
    int64_t before, all; /* all: 0 where every thread has a core of its own */
} core_crowd;

/**
 * Puts the calling thread, number `thread` of its process, onto its share of the cores; the system may move it from there. Threads
 * that give their cores away instead of sleeping look busy everywhere: it takes the system a tenth of a second to see that three are on
 * one core and one on the other, and so long everybody waits for those three. A hint: nothing happens where there is no crowd, which takes the thread's share from it, nothing to choose from, or no permission.
 */
void core_settle(core_crowd crowd, int thread);

/**
 * Of a thread that waits and gives its core away: now and then puts it back onto the share that core_settle gave it, should the system have
 * moved it since; ever more seldom where that does not last, and no more when somebody else has bound the thread.
 */
void core_settle_again(void);

/** The processing units that threads may be bound to (core_topology_cpus). Zeroed: nobody is bound. */
typedef struct core_places {
    int *cpus;
    int count;
} core_places;

/** Those of the calling thread. None when the system does not tell, or when a thread would not be bound anyway. */
void core_places_read(core_places *places);

void core_places_free(core_places *places);

/**
 * Binds the calling thread to a place. Returns its processing unit; -1 when it stays as it is: there is no such place, it may not use
 * all of them (somebody has bound it), or the system refuses.
 */
int core_bind(const core_places *places, int64_t place);

/** Undoes core_bind, which returned `cpu`, unless somebody has bound the thread otherwise meanwhile. */
void core_unbind(const core_places *places, int cpu);

#endif
