// SPDX-License-Identifier: BSD-3-Clause
/**
 * How much of an operation's time a computation hides, after Hoefler, Lumsdaine and Rehm, "Implementation and
 * performance analysis of non-blocking collective operations for MPI", SC07; and what the operation's calls cost the
 * one who computes, after Ramos, Taboada, Expósito and Touriño, "Nonblocking collectives for scalable Java
 * communications", Concurrency and Computation 27(5), 2015.
 *
 * A sample is three readings, each begun together by all ranks: the blocking call; the computation alone, a fixed amount
 * of work that lasts about as long as the blocking call; and the call started, the same work in slices with a test
 * between each two, and a wait. Readings that take turns meet the same machine. The work touches no memory.
 */
#ifndef BENCH_OVERLAP_H
#define BENCH_OVERLAP_H

#include "library.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Medians over the samples, of the slowest rank: all in microseconds. */
typedef struct bench_overlap_us {
    double blocking; /* t_b: each sample's value is that of its slowest rank */
    double compute;  /* the computation alone */
    double total;    /* start, computation with tests, and wait */
    double exposed;  /* total − compute of the rank where this is largest; when crowded, calls of a rank at most */
    double calls;    /* of total: in start, tests and wait */
} bench_overlap_us;

typedef struct bench_overlap_timing {
    size_t samples;
    int tests; /* a sample */
    bench_overlap_us us;
} bench_overlap_timing;

/**
 * Measures `call`, whose mode is not BENCH_BLOCKING and which has been prepared, as has the blocking one. `repeats` as in
 * bench_sample(); `tests`: 0 for one every 10 us of the blocking call, from 4 to 100. Collective; all ranks get the same answer. Returns 0, or
 * -1 when there is no memory (at this rank: the caller ends the program).
 */
int bench_overlap(const bench_rank *rank, const bench_call *call, size_t repeats, int tests,
                  bench_overlap_timing *timing);

/** 1 − exposed / blocking in percent, from 0 to 100. */
double bench_hidden_percent(const bench_overlap_us *us);

#ifdef __cplusplus
}
#endif
#endif
