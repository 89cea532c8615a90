// SPDX-License-Identifier: BSD-3-Clause
/* Preloaded: as on a host of 4096 cores, of which the process may use the first 1025 and then every other one. Nobody can be bound there. */
#include <errno.h>
#include <sched.h>
#include <string.h>

enum { CORES = 4096, ALL_BELOW = 1024 };

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the names there are reserved */
int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
    (void)process;
    if (bytes < CORES / 8)
        return errno = EINVAL, -1;
    memset(set, 0, bytes);
    for (size_t core = 0; core < CORES; core += core < ALL_BELOW ? 1 : 2)
        CPU_SET_S(core, bytes, set);
    return 0;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): as above */
int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *set) {
    (void)process, (void)bytes, (void)set;
    return errno = EINVAL, -1;
}
