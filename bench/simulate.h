// SPDX-License-Identifier: BSD-3-Clause
/**
 * weft-bench --simulate: what each algorithm of a collective would cost on a machine that is described, not at hand.
 */
#ifndef BENCH_SIMULATE_H
#define BENCH_SIMULATE_H

#ifdef __cplusplus
extern "C" {
#endif

#include <inter/predict.h>

#define BENCH_MOST_PROCESSES 65536

/** nodes × costs.processes processes of so many threads each. */
typedef struct bench_machine {
    int nodes, threads;
    inter_machine costs;
} bench_machine;

/**
 * Reads "nodes=1024,threads=16,latency=1us,bandwidth=12.5GB/s". Returns 0, or -1 with a sentence in `message`; what the
 * text does not name has the values that --simulate --help shows.
 */
int bench_parse_machine(const char *text, bench_machine *machine, char *message, size_t message_bytes);

/** Prints the keys of a machine with what they mean and what they are when they are not given. */
void bench_print_machine_keys(void);

/**
 * The time in seconds of what the threads of a process do before and after the process-level schedule, `bytes` being what
 * one rank contributes:
 *
 *     f: a flag from one thread to the others (intra_latency); c, r: copying, reducing a byte; T threads, R ranks in all
 *
 *                            before                          after
 *     barrier                f                               f
 *     bcast                  f                               f + nc         the others copy, at the same time
 *     scatter                f                               f + nc
 *     gather                 f + nc                          f
 *     allgather              f + nc                          f + Rnc        each copies the whole
 *     alltoall               f + nc                          f + nc
 *     reduce                 2f + (T−1)/T nr                 f              each thread reduces a T-th of all operands
 *     allreduce              2f + (T−1)/T nr                 f + nc
 *     reduce_scatter         2f + (T−1)/T nr                 f + n/R c
 *     scan, exscan           2f + (T−1)/T nr                 f + nr
 *
 * With one thread nothing.
 */
double bench_thread_phases(const bench_machine *machine, enum inter_collective collective, double bytes);

/** The view of a process when a rank contributes `bytes`, and what it really contributes after rounding up. */
inter_view bench_process_view(const bench_machine *machine, enum inter_collective collective, size_t *bytes);

#define BENCH_MOST_CANDIDATES 24

/**
 * The algorithms that are worth a prediction: those of the table by their names, but for those that only reproducible sums take, and
 * some of them in segments. How many.
 */
int bench_candidates(enum inter_collective collective, inter_algorithm candidates[BENCH_MOST_CANDIDATES]);

/** weft-bench with --simulate on its command line. Returns the exit status. */
int bench_simulate(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
