// SPDX-License-Identifier: BSD-3-Clause
/**
 * The Integer Sort of the NAS Parallel Benchmarks (report RNR-94-007, section 2.5) with threads as ranks: every OpenMP
 * thread of every process has a block of the keys and calls weft's collectives from inside one parallel region.
 *
 *     weftrun -n 2 -t 2 ./is A
 */
#include "ranking.h"
#include "verify.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

struct outcome {
    double seconds; /**< of the slowest rank */
    bool verified;
    int processes, ranks;
};

/**
 * Ends the process: the other ranks wait for this one, so there is nothing to go on with. Not exit(), whose handlers
 * would run while the other threads are at work.
 */
static _Noreturn void fail(int code) {
    fprintf(stderr, "is: %s; %s\n", weft_strerror(code), weft_last_error());
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static void check(int code) {
    if (code != WEFT_SUCCESS)
        fail(code);
}

/** The timed part: iterations 1 … IS_ITERATIONS. Returns the time of the slowest rank; adds the right probes to *right.
 */
static double run_iterations(struct is_ranking *ranking, int *right) {
    check(weft_barrier(ranking->comm));
    const double begin = omp_get_wtime();
    for (int iteration = 1; iteration <= IS_ITERATIONS; iteration++) {
        check(is_ranking_iterate(ranking, iteration));
        *right += is_verify_probes(ranking, iteration);
    }
    double slowest, mine = omp_get_wtime() - begin;
    check(weft_allreduce(&mine, &slowest, 1, WEFT_DOUBLE, WEFT_MAX, ranking->comm));
    return slowest;
}

/** What one thread does. Every rank returns the same outcome. */
static struct outcome run_rank(const struct is_class *spec, weft_comm *comm) {
    struct is_ranking ranking;
    struct outcome outcome = {.processes = weft_nodes(comm), .ranks = weft_size(comm)};
    check(is_ranking_open(&ranking, spec, comm));
    check(is_ranking_iterate(&ranking, 1)); /* warms up, as the specification says; not timed, not counted */

    int right = 0, all_right;
    outcome.seconds = run_iterations(&ranking, &right);
    check(weft_allreduce(&right, &all_right, 1, WEFT_INT, WEFT_SUM, comm));
    bool sorted;
    check(is_verify_order(&ranking, &sorted));
    outcome.verified = sorted && all_right == IS_PROBES * IS_ITERATIONS;
    is_ranking_close(&ranking);
    return outcome;
}

static void print_summary(const struct is_class *spec, const struct outcome *outcome) {
    const double mops = (double)IS_ITERATIONS * (double)(1ul << spec->keys_log2) / outcome->seconds * 1e-6;
    printf("\n IS Benchmark Completed\n");
    printf(" Class           = %24c\n", spec->name);
    printf(" Size            = %24lu\n", 1ul << spec->keys_log2);
    printf(" Iterations      = %24d\n", IS_ITERATIONS);
    printf(" Time in seconds = %24.4f\n", outcome->seconds);
    printf(" Total processes = %24d\n", outcome->processes);
    printf(" Total threads   = %24d\n", outcome->ranks);
    printf(" Mop/s total     = %24.2f\n", mops);
    printf(" Mop/s/thread    = %24.2f\n", mops / outcome->ranks);
    printf(" Operation type  = %24s\n", "keys ranked");
    printf(" Verification    = %24s\n", outcome->verified ? "SUCCESSFUL" : "UNSUCCESSFUL");
    printf(" Version         = %19s%5s\n\n", "weft ", weft_version());
}

/** All threads of this process; the leader's answer is everybody's. */
static struct outcome run_process(const struct is_class *spec, weft_team *team, int threads) {
    struct outcome outcome = {0};
#pragma omp parallel num_threads(threads)
    {
        if (omp_get_num_threads() != threads) {
            fprintf(stderr, "is: OpenMP gave %d threads, not %d\n", omp_get_num_threads(), threads);
            _Exit(EXIT_FAILURE);
        }
        weft_comm *world;
        check(weft_team_enter(team, omp_get_thread_num(), &world));
        const struct outcome mine = run_rank(spec, world);
        if (weft_thread(world) == 0)
            outcome = mine;
        if (weft_rank(world) == 0)
            print_summary(spec, &mine);
        check(weft_team_leave(&world));
    }
    return outcome;
}

int main(int argc, char **argv) {
    const struct is_class *spec = is_class_find(argc > 1 ? argv[1] : "S");
    if (!spec || argc > 2) {
        fprintf(stderr, "usage: is [S|W|A|B|C]\n");
        return 2;
    }
    const int threads = omp_get_max_threads();
    weft_team *team;
    omp_set_dynamic(0);
    check(weft_init(NULL));
    check(weft_team_create(weft_process_comm(), threads, &team));
    const struct outcome outcome = run_process(spec, team, threads);
    check(weft_team_free(&team));
    check(weft_finalize());
    return outcome.verified ? EXIT_SUCCESS : EXIT_FAILURE;
}
