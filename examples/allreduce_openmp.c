// SPDX-License-Identifier: BSD-3-Clause
/**
 * The minimal program: an allreduce from inside an OpenMP parallel region. Every thread of every process contributes
 * its rank, and every one gets the sum.
 *
 *     weftrun -n 2 -t 2 ./allreduce_openmp
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

/** A collective that failed on one thread cannot be awaited by the others: the process ends. */
static void check(int code) {
    if (code != WEFT_SUCCESS) {
        fprintf(stderr, "allreduce_openmp: %s; %s\n", weft_strerror(code), weft_last_error());
        _Exit(EXIT_FAILURE);
    }
}

int main(void) {
    const int threads = omp_get_max_threads();
    weft_team *team;
    int wrong = 0;
    omp_set_dynamic(0);
    check(weft_init(NULL));
    check(weft_team_create(weft_process_comm(), threads, &team));
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        if (omp_get_num_threads() != threads) {
            fprintf(stderr, "allreduce_openmp: OpenMP gave %d threads, not %d\n", omp_get_num_threads(), threads);
            _Exit(EXIT_FAILURE);
        }
        weft_comm *world;
        check(weft_team_enter(team, omp_get_thread_num(), &world));
        const int rank = weft_rank(world), size = weft_size(world);

        double mine = rank, sum;
        check(weft_allreduce(&mine, &sum, 1, WEFT_DOUBLE, WEFT_SUM, world));

        wrong += sum != 0.5 * size * (size - 1);
        if (rank == 0)
            printf("the ranks 0 to %d add up to %.0f\n", size - 1, sum);
        check(weft_team_leave(&world));
    }
    check(weft_team_free(&team));
    check(weft_finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
