// SPDX-License-Identifier: BSD-3-Clause
/* Preloaded: as on a host with 64 cores, all of which the process may use. So ranks that share the few that there are take the ways of those
 * that have one each. */
#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 64 };

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the names there are reserved */
int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
    (void)process;
    memset(set, 0, bytes);
    for (int core = 0; core < MANY; core++)
        CPU_SET_S(core, bytes, set);
    return 0;
}

long sysconf(int name) {
    long (*real)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_NPROCESSORS_ONLN ? MANY : real(name);
}
