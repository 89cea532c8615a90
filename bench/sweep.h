// SPDX-License-Identifier: BSD-3-Clause
/**
 * One collective over all its sizes: buffers, check, times, rows. The same for weft and for the peers, which differ in
 * the driver that they pass; the driver's calls are bench_call.
 */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "check.h"
#include "sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A rank's view of the run. */
typedef struct bench_rank {
    const bench_driver *driver;
    void *state; /* the driver's `rank` */
    int rank;
    int size;
} bench_rank;

/**
 * Collective over the ranks; rank 0 prints. Returns 0, or 1 at every rank when a check failed (each rank that saw
 * something wrong has said so on stderr). Ends the program when there is no memory.
 */
int bench_sweep(const bench_rank *rank, const bench_options *options, const bench_setting *setting);

/** Prints "program: sentence" on stderr and ends the process with status 1 at once: other threads may be inside a call.
 */
__attribute__((noreturn, format(printf, 1, 2))) void bench_fail(const char *format, ...);

#ifdef __cplusplus
}
#endif
#endif
