// SPDX-License-Identifier: BSD-3-Clause
/* Thread t gets the t-th core of the set. */
#include "pin.h"

#include <pthread.h>

void bench_pin(const cpu_set_t *allowed, int number, int threads) {
    cpu_set_t one;
    int seen = 0;
    if (CPU_COUNT(allowed) < threads)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed) && seen++ == number) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one); /* a wish: without it the run is right as well */
            return;
        }
}
