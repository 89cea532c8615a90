// SPDX-License-Identifier: BSD-3-Clause
/*
 * weft-bench's measurements against the MPI API, for comparison: a rank is a process with one thread. Compiled once for
 * each MPI that is found; everything but the calls themselves is the code that weft-bench runs.
 */
#include "../sweep.h"
#include "mpi_messages.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

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

/* One rank. The counts are for the block of the last prepare. */
typedef struct mpi_calls {
    mpi_messages messages;
    int size;
    int *counts;         /* [rank], in units */
    int *displs;         /* [rank], in units: packed */
    MPI_Datatype *types; /* [rank]: bytes */
    MPI_Request nonblocking, persistent;
} mpi_calls;

#define BYTES(buffer)   buffer, (int)call->block, MPI_BYTE
#define BYTES_V(buffer) buffer, self->counts, self->displs, MPI_BYTE
#define BYTES_W(buffer) buffer, self->counts, self->displs, self->types
#define SUMS            (int)(call->block / sizeof(double)), MPI_DOUBLE, MPI_SUM
#define COMM            MPI_COMM_WORLD

/* X(operation, name, name behind MPI_I, arguments) */
/* clang-format off */
#define COLLECTIVES(X)                                                                                                 \
    X(BENCH_BARRIER, Barrier, barrier, COMM)                                                                           \
    X(BENCH_BCAST, Bcast, bcast, BYTES(call->recv), call->root, COMM)                                                  \
    X(BENCH_SCATTER, Scatter, scatter, BYTES(call->send), BYTES(call->recv), call->root, COMM)                         \
    X(BENCH_SCATTERV, Scatterv, scatterv, BYTES_V(call->send), BYTES(call->recv), call->root, COMM)                    \
    X(BENCH_GATHER, Gather, gather, BYTES(call->send), BYTES(call->recv), call->root, COMM)                            \
    X(BENCH_GATHERV, Gatherv, gatherv, BYTES(call->send), BYTES_V(call->recv), call->root, COMM)                       \
    X(BENCH_ALLGATHER, Allgather, allgather, BYTES(call->send), BYTES(call->recv), COMM)                               \
    X(BENCH_ALLGATHERV, Allgatherv, allgatherv, BYTES(call->send), BYTES_V(call->recv), COMM)                          \
    X(BENCH_ALLTOALL, Alltoall, alltoall, BYTES(call->send), BYTES(call->recv), COMM)                                  \
    X(BENCH_ALLTOALLV, Alltoallv, alltoallv, BYTES_V(call->send), BYTES_V(call->recv), COMM)                           \
    X(BENCH_ALLTOALLW, Alltoallw, alltoallw, BYTES_W(call->send), BYTES_W(call->recv), COMM)                           \
    X(BENCH_REDUCE, Reduce, reduce, call->send, call->recv, SUMS, call->root, COMM)                                    \
    X(BENCH_ALLREDUCE, Allreduce, allreduce, call->send, call->recv, SUMS, COMM)                                       \
    X(BENCH_REDUCE_SCATTER, Reduce_scatter, reduce_scatter, call->send, call->recv, self->counts, MPI_DOUBLE, MPI_SUM, \
      COMM)                                                                                                            \
    X(BENCH_REDUCE_SCATTER_BLOCK, Reduce_scatter_block, reduce_scatter_block, call->send, call->recv, SUMS, COMM)      \
    X(BENCH_SCAN, Scan, scan, call->send, call->recv, SUMS, COMM)                                                      \
    X(BENCH_EXSCAN, Exscan, exscan, call->send, call->recv, SUMS, COMM)
/* clang-format on */

#define CALL(operation, name, lower_name, ...)                                                                         \
    case operation:                                                                                                    \
        MPI_##name(__VA_ARGS__);                                                                                       \
        break;
#define START(operation, name, lower_name, ...)                                                                        \
    case operation:                                                                                                    \
        MPI_I##lower_name(__VA_ARGS__, &self->nonblocking);                                                            \
        break;
#define PREPARE(operation, name, lower_name, ...)                                                                      \
    case operation:                                                                                                    \
        MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &self->persistent);                                              \
        break;

/* Errors in MPI calls end the job by themselves: the default handler is MPI_ERRORS_ARE_FATAL. */
static void call_blocking(const mpi_calls *self, const bench_call *call) {
    switch (call->operation) {
        COLLECTIVES(CALL)
    default:
        break;
    }
}

static void start_nonblocking(mpi_calls *self, const bench_call *call) {
    switch (call->operation) {
        COLLECTIVES(START)
    default:
        break;
    }
}

#if MPI_VERSION >= 4
static void prepare_persistent(mpi_calls *self, const bench_call *call) {
    switch (call->operation) {
        COLLECTIVES(PREPARE)
    default:
        break;
    }
}
#else
static void prepare_persistent(mpi_calls *self, const bench_call *call) {
    (void)self, (void)call; /* main has refused it */
}
#endif

static void prepare(void *rank, const bench_call *call) {
    mpi_calls *self = rank;
    size_t count = call->block / bench_unit_bytes(call->operation);
    if (bench_has(call->operation, BENCH_PAIRS)) {
        mpi_messages_prepare(&self->messages, call);
        return;
    }
    if (call->block > (size_t)(INT_MAX / self->size))
        bench_fail("MPI counts are int: blocks of %zu bytes are too many", call->block);
    for (int i = 0; i < self->size; i++) {
        self->counts[i] = (int)count;
        self->displs[i] = (int)count * i;
    }
    if (call->mode == BENCH_PERSISTENT)
        prepare_persistent(self, call);
}

static void release(void *rank, const bench_call *call) {
    if (bench_has(call->operation, BENCH_PAIRS))
        mpi_messages_release(&((mpi_calls *)rank)->messages, call);
    else if (call->mode == BENCH_PERSISTENT)
        MPI_Request_free(&((mpi_calls *)rank)->persistent);
}

static void start(void *rank, const bench_call *call) {
    if (bench_has(call->operation, BENCH_PAIRS))
        mpi_exchange_start(&((mpi_calls *)rank)->messages, call);
    else if (call->mode == BENCH_PERSISTENT)
        MPI_Start(&((mpi_calls *)rank)->persistent);
    else
        start_nonblocking(rank, call);
}

static MPI_Request *request_of(mpi_calls *self, const bench_call *call) {
    return call->mode == BENCH_PERSISTENT ? &self->persistent : &self->nonblocking;
}

static void test(void *rank, const bench_call *call) {
    int done;
    if (bench_has(call->operation, BENCH_PAIRS))
        mpi_exchange_test(&((mpi_calls *)rank)->messages);
    else
        MPI_Test(request_of(rank, call), &done, MPI_STATUS_IGNORE);
}

static void wait(void *rank, const bench_call *call) {
    if (bench_has(call->operation, BENCH_PAIRS))
        mpi_exchange_wait(&((mpi_calls *)rank)->messages);
    else
        MPI_Wait(request_of(rank, call), MPI_STATUS_IGNORE); /* NOLINT(clang-analyzer-optin.mpi.*): start() began it */
}

static void run(void *rank, const void *call_data, size_t calls) {
    const bench_call *call = call_data;
    if (bench_has(call->operation, BENCH_PAIRS)) {
        mpi_messages_run(&((mpi_calls *)rank)->messages, call, calls);
        return;
    }
    for (size_t i = 0; i < calls; i++) {
        bench_touch_given(&call->touched);
        if (call->mode == BENCH_BLOCKING) {
            call_blocking(rank, call);
        } else {
            start(rank, call);
            wait(rank, call);
        }
        bench_touch_got(&call->touched);
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

static const bench_library library = {.driver = {run, barrier, maximum},
                                      .prepare = prepare,
                                      .release = release,
                                      .start = start,
                                      .test = test,
                                      .wait = wait};

static mpi_calls open_calls(int size) {
    mpi_calls self = {.size = size,
                      .messages = {.vector = MPI_DATATYPE_NULL, .exchange = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}},
                      .nonblocking = MPI_REQUEST_NULL,
                      .persistent = MPI_REQUEST_NULL};
    self.counts = calloc((size_t)size, sizeof *self.counts);
    self.displs = calloc((size_t)size, sizeof *self.displs);
    self.types = calloc((size_t)size, sizeof *self.types);
    if (!self.counts || !self.displs || !self.types)
        bench_fail("no memory for the counts of %d ranks", size);
    for (int i = 0; i < size; i++)
        self.types[i] = MPI_BYTE;
    return self;
}

static void close_calls(mpi_calls *self) {
    free(self->counts);
    free(self->displs);
    free(self->types);
}

static int measure(const bench_options *options) {
    mpi_calls calls;
    bench_rank rank = {.library = &library, .state = &calls};
    int status;
    bench_setting setting = {.library = PEER,
                             .version = PEER_VERSION,
                             .level = "process",
                             .threads = 1,
                             .format = options->format,
                             .checked = options->check,
                             .touched = options->touch};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rank.size);
    setting.processes = rank.size;
    calls = open_calls(rank.size);
    status = bench_sweep(&rank, options, &setting);
    close_calls(&calls);
    return status;
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
    if (MPI_VERSION < 4 && options.modes & 1u << BENCH_PERSISTENT) {
        fprintf(stderr, "%s: this MPI has no persistent collectives\n", argv[0]);
        return 2;
    }
    MPI_Init(&argc, &argv);
    status = measure(&options);
    MPI_Finalize();
    return status;
}
