// SPDX-License-Identifier: BSD-3-Clause
/**
 * Sets of processing units, with room for all that a kernel can have. A cpu_set_t has room for 1024, and sched_getaffinity refuses
 * one that is smaller than the kernel's own, however small the numbers in it would be.
 */
#ifndef CORE_CPU_SET_H
#define CORE_CPU_SET_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** Twice what Linux can be built for: a set still fits on any stack (2 KiB). */
enum { CORE_MOST_CPUS = 1 << 14 };

typedef struct core_cpu_set {
    cpu_set_t parts[CORE_MOST_CPUS / CPU_SETSIZE];
} core_cpu_set;

/** Those that a process may use, or thread; 0: the calling one. False when the kernel does not tell. */
bool core_cpu_set_read(core_cpu_set *set, pid_t process);

/** Lets the calling thread use just these. False when the kernel refuses. */
bool core_cpu_set_bind(const core_cpu_set *set);

/** The set of `count` numbers, each below CORE_MOST_CPUS. */
core_cpu_set core_cpu_set_of(const int *cpus, int count);

int core_cpu_set_count(const core_cpu_set *set);
bool core_cpu_set_has(const core_cpu_set *set, int cpu);
bool core_cpu_set_equal(const core_cpu_set *left, const core_cpu_set *right);

/** Equal for equal sets, and for no others that one meets. */
uint64_t core_cpu_set_hash(const core_cpu_set *set);

#endif
