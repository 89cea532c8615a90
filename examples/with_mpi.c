// SPDX-License-Identifier: BSD-3-Clause
/**
 * weft inside a program that already runs under MPI: MPI starts the processes and carries their own messages, weft
 * makes ranks of the threads. The sum over all threads is formed twice, by weft alone and by OpenMP and MPI_Allreduce.
 *
 *     mpirun -n 2 with_mpi
 */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>
#include <weft/with_mpi.h>

/* Any thread: MPI, which only the main thread may call, is told by the end of the process. */
static void check(int code) {
    if (code != WEFT_SUCCESS) {
        fprintf(stderr, "with_mpi: %s; %s\n", weft_strerror(code), weft_last_error());
        _Exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv) {
    int provided, process;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    if (provided < MPI_THREAD_FUNNELED)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    check(weft_init_with_mpi(MPI_COMM_WORLD, NULL));

    const int threads = omp_get_max_threads();
    weft_team *team;
    long by_openmp = 0, by_mpi, by_weft = 0;
    int wrong = 0;
    omp_set_dynamic(0);
    check(weft_team_create(weft_process_comm(), threads, &team));
#pragma omp parallel num_threads(threads) reduction(+ : by_openmp, wrong)
    {
        if (omp_get_num_threads() != threads) {
            fprintf(stderr, "with_mpi: OpenMP gave %d threads, not %d\n", omp_get_num_threads(), threads);
            _Exit(EXIT_FAILURE);
        }
        weft_comm *world;
        check(weft_team_enter(team, omp_get_thread_num(), &world));
        long mine = 1 + weft_rank(world), sum;
        by_openmp += mine;
        check(weft_allreduce(&mine, &sum, 1, WEFT_LONG, WEFT_SUM, world));
        wrong += weft_node(world) != process;
        if (weft_thread(world) == 0)
            by_weft = sum;
        check(weft_team_leave(&world));
    }
    check(weft_team_free(&team));

    MPI_Allreduce(&by_openmp, &by_mpi, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong += by_weft != by_mpi;
    if (process == 0)
        printf("sum over all threads: %ld by weft, %ld by OpenMP and MPI\n", by_weft, by_mpi);

    check(weft_finalize());
    check(weft_release_mpi());
    MPI_Finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
