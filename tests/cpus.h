// SPDX-License-Identifier: BSD-3-Clause
// The processing units that the calling thread may use.
#ifndef TESTS_CPUS_H
#define TESTS_CPUS_H

#include <gtest/gtest.h>
#include <sched.h>
#include <vector>

inline cpu_set_t set_of(const std::vector<int> &cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus)
        CPU_SET(cpu, &set);
    return set;
}

inline std::vector<int> allowed_cpus() {
    cpu_set_t set;
    std::vector<int> cpus;
    EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            cpus.push_back(cpu);
    return cpus;
}

inline void bind_to(const std::vector<int> &cpus) {
    const cpu_set_t set = set_of(cpus);
    ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

#endif
