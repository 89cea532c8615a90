// SPDX-License-Identifier: BSD-3-Clause
/**
 * The machine as hwloc sees it, and what of it this process may use.
 */
#ifndef CORE_TOPOLOGY_H
#define CORE_TOPOLOGY_H

#include <core/cpu_set.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct core_topology {
    int host_cores;        /* processing units of the host that are online */
    int allowed_cores;     /* processing units in this process's cpuset, at least 1 */
    uint64_t allowed_hash; /* equal for processes with the same cpuset … */
    core_cpu_set allowed;  /* … which is this; empty: unknown */
    size_t cache_bytes;    /* of the last cache of the core that the caller runs on; 0: unknown */
    int cache_cores;       /* processing units that share it */
} core_topology;

/** Looks at the cpuset of the calling thread (its parent process's when OpenMP binds threads) and at the host. Cheap: no full hwloc discovery. Never fails: 1 core if unknown. */
void core_topology_read(core_topology *topology);

/**
 * How many of the processing units in `allowed` (empty: of those that the system lets anybody use) the objects of each kind have (cores, caches, NUMA nodes, packages; of
 * a kind the largest), rising, `most` of them at most; how many. A full discovery, which takes milliseconds. 0 if unknown.
 */
int core_topology_groups(const core_cpu_set *allowed, int *sizes, int most);

/**
 * Of the processing units that the calling thread may use those of part `part` of `parts`, whose sizes differ by one at most and which have whole
 * cores where there are enough: one of each core, in the order in which they are beside each other, then the second of
 * each, and so on. *cpus is the caller's to free. A full discovery. Returns how many; 0 if unknown.
 */
int core_topology_cpus(int64_t part, int64_t parts, int **cpus);

/** Prints the tree (package, NUMA node, L3, core) with hwloc, this process's cores marked. Returns a weft error code. */
int core_topology_print(FILE *file);

#endif
