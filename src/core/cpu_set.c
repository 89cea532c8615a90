// SPDX-License-Identifier: BSD-3-Clause
#include <core/cpu_set.h>
#include <core/hash.h>

bool core_cpu_set_read(core_cpu_set *set, pid_t process) {
    return !sched_getaffinity(process, sizeof(*set), set->parts);
}

bool core_cpu_set_bind(const core_cpu_set *set) {
    return !sched_setaffinity(0, sizeof(*set), set->parts);
}

core_cpu_set core_cpu_set_of(const int *cpus, int count) {
    core_cpu_set set = {0};
    for (int i = 0; i < count; i++)
        CPU_SET_S((size_t)cpus[i], sizeof(set), set.parts);
    return set;
}

int core_cpu_set_count(const core_cpu_set *set) {
    return CPU_COUNT_S(sizeof(*set), set->parts);
}

bool core_cpu_set_has(const core_cpu_set *set, int cpu) {
    return CPU_ISSET_S((size_t)cpu, sizeof(*set), set->parts);
}

bool core_cpu_set_equal(const core_cpu_set *left, const core_cpu_set *right) {
    return CPU_EQUAL_S(sizeof(*left), left->parts, right->parts);
}

/* FNV-1a over the numbers; ends with the last of them. */
uint64_t core_cpu_set_hash(const core_cpu_set *set) {
    uint64_t hash = CORE_HASH_BEGIN;
    for (int cpu = 0, left = core_cpu_set_count(set); left; cpu++)
        if (core_cpu_set_has(set, cpu)) {
            hash = core_hash_add(hash, (uint64_t)cpu);
            left--;
        }
    return hash;
}
