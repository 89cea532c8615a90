// SPDX-License-Identifier: BSD-3-Clause
/*
 * weft-bench: times weft's collectives through the public API. Ranks are the OpenMP threads of all processes, or, with
 * --level process, the processes.
 */
#include "bench_limits.h"
#include "simulate.h"
#include "sweep.h"
#include "weft_calls.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>
#include <weft/weft.h>

static void stop(const char *call, int code) {
    bench_fail("%s: %s (%s)", call, weft_last_error(), weft_strerror(code));
}

/* The threads of each process; 0 when not all have as many. */
static int threads_of_each(const weft_comm *comm) {
    const int threads = weft_node_threads(comm, 0);
    for (int node = 1; node < weft_nodes(comm); node++)
        if (weft_node_threads(comm, node) != threads)
            return 0;
    return threads;
}

/* What every rank does with its communicator. Returns 1 when a check failed. */
static int measure(const bench_options *options, weft_comm *comm) {
    bench_weft_calls calls = bench_weft_open(comm);
    const bench_rank rank = {&bench_weft_library, &calls, weft_rank(comm), weft_size(comm)};
    int failed;
    const bench_setting setting = {.library = "weft",
                                   .version = weft_version(),
                                   .level = options->process_level ? "process" : "thread",
                                   .processes = weft_nodes(comm),
                                   .threads = threads_of_each(comm),
                                   .ranks = weft_size(comm),
                                   .format = options->format,
                                   .checked = options->check,
                                   .touched = options->touch};
    failed = bench_sweep(&rank, options, &setting);
    bench_weft_close(&calls);
    return failed;
}

static int measure_threads(const bench_options *options) {
    weft_team *team;
    int threads = omp_get_max_threads(), code;
    atomic_int failed = 0;
    omp_set_dynamic(0);
    if ((code = weft_team_create(weft_process_comm(), threads, &team)))
        stop("weft_team_create", code);
#pragma omp parallel num_threads(threads)
    {
        weft_comm *comm;
        int entered = weft_team_enter(team, omp_get_thread_num(), &comm);
        if (omp_get_num_threads() != threads)
            bench_fail("OpenMP started %d threads instead of %d", omp_get_num_threads(), threads);
        if (entered)
            stop("weft_team_enter", entered);
        if (measure(options, comm))
            atomic_store(&failed, 1);
        if ((entered = weft_team_leave(&comm)))
            stop("weft_team_leave", entered);
    }
    if ((code = weft_team_free(&team)))
        stop("weft_team_free", code);
    return atomic_load(&failed);
}

int main(int argc, char **argv) {
    bench_options options;
    int status, code;
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--simulate", strlen("--simulate")) == 0)
            return bench_simulate(argc, argv);
    if (bench_parse(argc, argv, false, &options))
        return 2;
    if (options.help) {
        bench_print_help("weft-bench", false);
        return 0;
    }
    if (options.operation == BENCH_LIMITS)
        return bench_limits(
            &options, &(bench_setting){.version = weft_version(), .format = options.format, .touched = options.touch});
    if ((code = weft_init(
             &(weft_options){.bind = WEFT_BIND_CORE}))) /* a thread that spins may not share its core with another */
        stop("weft_init", code);
    status = options.process_level ? measure(&options, weft_process_comm()) : measure_threads(&options);
    if ((code = weft_finalize()))
        stop("weft_finalize", code);
    return status;
}
