// SPDX-License-Identifier: BSD-3-Clause
// A memory that promises what C11 does and no more, for the library's own objects as they are. x86 shows a store to all at once, and other
// stores and loads in the order in which they are written; here a thread that loads may find any value that C11 lets it find.
//
// What is compiled with -fsanitize=thread asks a function before each access, and instead of each atomic one. ThreadSanitizer's runtime is one
// to link it with; this is another. Threads run one at a time, and change at accesses to atomics, by a seed. An atomic object has the values
// that were stored to it, in order; each thread has a view, the oldest of these that it may still load. A release store has the view of
// who stores with it, an acquire load takes it over (Kang et al., "A Promising Semantics for Relaxed-Memory Concurrency", POPL 2017,
// without promises: a load never finds what is stored only later; sequentially consistent accesses as in Lahav et al., "Repairing
// Sequential Consistency in C/C++11", PLDI 2017). Views have clocks of the threads, by which races on all other memory are found.
#ifndef TESTS_WEAK_MEMORY_H
#define TESTS_WEAK_MEMORY_H

#include <cstdint>

namespace weak {

constexpr int most_threads = 40;

// Between these the calling thread, and those that it and others start meanwhile, by std::thread or pthread_create, are in one run of the
// seed. A race, a deadlock, a lost wake-up, or a run that does not end ends the program with status 1, and says on stderr what and where.
void begin(uint64_t seed);
void end();

// To see that what is there is needed: all accesses of a kind are less than they say they are.
enum weaker {
    AS_WRITTEN,
    LOADS_RELAXED,  // acquire loads
    STORES_RELAXED, // release stores
    UPDATES_RELAXED,
    NOT_CONSISTENT, // sequentially consistent accesses, which acquire and release all the same
    FENCES_NOTHING,
    BARRIERS_NOTHING // those of the system: membarrier(2)
};
void weaken(weaker how);

// The same for one place in the program: the places of runs since the program began have numbers from 0.
void weaken_place(unsigned number);

// Where the place is, and what is done there; NULL: there is no such place.
const char *place(unsigned number);

} // namespace weak

#endif
