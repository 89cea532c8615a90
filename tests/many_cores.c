// SPDX-License-Identifier: BSD-3-Clause
/* Preloaded: as on a host with 64 cores, all of which the process may use. So ranks that share the few that there are take the ways of those
 * that have one each. A thread that is bound to some of them is told so from then on; it runs where it ran. */
#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 64 };

static _Thread_local cpu_set_t own_set;
static _Thread_local int bound;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the names there are reserved */
int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
    memset(set, 0, bytes);
    for (int core = 0; core < MANY; core++)
        if (process || !bound || CPU_ISSET(core, &own_set))
            CPU_SET_S(core, bytes, set);
    return 0;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): as above */
int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *set) {
    (void)process;
    memcpy(&own_set, set, bytes < sizeof(own_set) ? bytes : sizeof(own_set));
    bound = 1;
    return 0;
}

long sysconf(int name) {
    long (*real)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_NPROCESSORS_ONLN ? MANY : real(name);
}
