// SPDX-License-Identifier: BSD-3-Clause
/**
 * A core for each thread that is measured: threads that spin may else share one, for as long as the run lasts.
 */
#ifndef BENCH_PIN_H
#define BENCH_PIN_H

#include <sched.h>

/**
 * Binds the calling thread, `number` of `threads`, to its core of `allowed`, which is what the process may use. Does nothing
 * when there are fewer cores than threads: then the scheduler does better.
 */
void bench_pin(const cpu_set_t *allowed, int number, int threads);

#endif
