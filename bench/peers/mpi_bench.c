// SPDX-License-Identifier: BSD-3-Clause
/*
 * weft-bench's measurements against the MPI API, for comparison: a rank is a process with one thread. Compiled once for
 * each MPI that is found; everything but the calls themselves is the code that weft-bench runs.
 */
#include "../sweep.h"

#include <limits.h>
#include <mpi.h>

#define TEXT(number)                      #number
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

#if defined(OPEN_MPI)
#define PEER         "openmpi"
#define PEER_VERSION VERSION_TEXT(OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION)
#elif defined(MPICH_VERSION)
#define PEER         "mpich"
#define PEER_VERSION MPICH_VERSION
#else
#define PEER         "mpi"
#define PEER_VERSION VERSION_TEXT(MPI_VERSION, MPI_SUBVERSION, 0)
#endif

/* Errors in MPI calls end the job by themselves: the default handler is MPI_ERRORS_ARE_FATAL. */
static void one_call(const bench_call *call) {
    int bytes = (int)call->block, doubles = (int)(call->block / sizeof(double));
    switch (call->operation) {
    case BENCH_BCAST:
        MPI_Bcast(call->recv, bytes, MPI_BYTE, call->root, MPI_COMM_WORLD);
        break;
    case BENCH_REDUCE:
        MPI_Reduce(call->send, call->recv, doubles, MPI_DOUBLE, MPI_SUM, call->root, MPI_COMM_WORLD);
        break;
    case BENCH_ALLREDUCE:
        MPI_Allreduce(call->send, call->recv, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    case BENCH_ALLGATHER:
        MPI_Allgather(call->send, bytes, MPI_BYTE, call->recv, bytes, MPI_BYTE, MPI_COMM_WORLD);
        break;
    case BENCH_ALLTOALL:
        MPI_Alltoall(call->send, bytes, MPI_BYTE, call->recv, bytes, MPI_BYTE, MPI_COMM_WORLD);
        break;
    default:
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void run(void *rank, const void *call_data, size_t calls) {
    const bench_call *call = call_data;
    (void)rank;
    for (size_t i = 0; i < calls; i++) {
        one_call(call);
        if (call->then_barrier)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void barrier(void *rank) {
    (void)rank;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void maximum(void *rank, double *values, size_t count) {
    (void)rank;
    MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static int measure(const bench_options *options) {
    static const bench_driver driver = {run, barrier, maximum};
    bench_rank rank = {.driver = &driver};
    bench_setting setting = {.library = PEER,
                             .version = PEER_VERSION,
                             .level = "process",
                             .threads = 1,
                             .format = options->format,
                             .checked = options->check};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rank.size);
    setting.processes = rank.size;
    for (int i = 0; i < options->size_count; i++)
        if (options->sizes[i] >= INT_MAX - sizeof(double))
            bench_fail("MPI counts are int: %zu bytes are too many", options->sizes[i]);
    return bench_sweep(&rank, options, &setting);
}

int main(int argc, char **argv) {
    bench_options options;
    int status;
    if (bench_parse(argc, argv, true, &options))
        return 2;
    if (options.help) {
        bench_print_help("peer-" PEER, true);
        return 0;
    }
    MPI_Init(&argc, &argv);
    status = measure(&options);
    MPI_Finalize();
    return status;
}
