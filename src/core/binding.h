// SPDX-License-Identifier: BSD-3-Clause
/**
 * Where threads run: a hint to the system where cores are short, and, for who asks for it, a core of its own for each.
 */
#ifndef CORE_BINDING_H
#define CORE_BINDING_H

#include <core/cpu_set.h>
#include <stdatomic.h>
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

/** The processing units that threads may be bound to (core_topology_cpus), one thread to each. Zeroed: nobody is bound. */
typedef struct core_places {
    core_cpu_set all; /* of all processes that share them out: only who may use all of these is bound */
    int *cpus;
    _Atomic bool *taken; /* by place, by any thread */
    int count;
} core_places;

/** Those of the calling thread, of which process `part` of `parts` has its share. None when the system does not tell, or there is no memory. */
void core_places_read(core_places *places, int64_t part, int64_t parts);

void core_places_free(core_places *places);

/**
 * Binds the calling thread to a place, the first that is free from `wanted` on, round the end. Returns it; -1 when the thread stays as
 * it is: none is free, it may not use all of the cores (somebody has bound it), or the system refuses.
 */
int core_bind(core_places *places, int wanted);

/** Undoes core_bind, which returned `place`: frees it, and lets the thread go unless somebody has bound it otherwise meanwhile. */
void core_unbind(core_places *places, int place);

#endif
