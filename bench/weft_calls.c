// SPDX-License-Identifier: BSD-3-Clause
/* Every collective of weft once, as a line of a list; from the list come its three ways of being called. */
#include "weft_calls.h"
#include "report.h"
#include "weft_messages.h"

#include <stdlib.h>

#define BYTES(buffer)   buffer, call->block, WEFT_BYTE
#define BYTES_V(buffer) buffer, self->counts, self->displs, WEFT_BYTE
#define BYTES_W(buffer) buffer, self->counts, self->displs, self->types
#define SUMS            call->block / sizeof(double), WEFT_DOUBLE, WEFT_SUM
#define COMM            self->comm

/* X(operation, name, arguments) */
/* clang-format off */
#define COLLECTIVES(X)                                                                                                 \
    X(BENCH_BARRIER, barrier, COMM)                                                                                    \
    X(BENCH_BCAST, bcast, BYTES(call->recv), call->root, COMM)                                                         \
    X(BENCH_SCATTER, scatter, BYTES(call->send), BYTES(call->recv), call->root, COMM)                                  \
    X(BENCH_SCATTERV, scatterv, BYTES_V(call->send), BYTES(call->recv), call->root, COMM)                              \
    X(BENCH_GATHER, gather, BYTES(call->send), BYTES(call->recv), call->root, COMM)                                    \
    X(BENCH_GATHERV, gatherv, BYTES(call->send), BYTES_V(call->recv), call->root, COMM)                                \
    X(BENCH_ALLGATHER, allgather, BYTES(call->send), BYTES(call->recv), COMM)                                          \
    X(BENCH_ALLGATHERV, allgatherv, BYTES(call->send), BYTES_V(call->recv), COMM)                                      \
    X(BENCH_ALLTOALL, alltoall, BYTES(call->send), BYTES(call->recv), COMM)                                            \
    X(BENCH_ALLTOALLV, alltoallv, BYTES_V(call->send), BYTES_V(call->recv), COMM)                                      \
    X(BENCH_ALLTOALLW, alltoallw, BYTES_W(call->send), BYTES_W(call->recv), COMM)                                      \
    X(BENCH_REDUCE, reduce, call->send, call->recv, SUMS, call->root, COMM)                                            \
    X(BENCH_ALLREDUCE, allreduce, call->send, call->recv, SUMS, COMM)                                                  \
    X(BENCH_REDUCE_SCATTER, reduce_scatter, call->send, call->recv, self->counts, WEFT_DOUBLE, WEFT_SUM, COMM)         \
    X(BENCH_REDUCE_SCATTER_BLOCK, reduce_scatter_block, call->send, call->recv, SUMS, COMM)                            \
    X(BENCH_SCAN, scan, call->send, call->recv, SUMS, COMM)                                                            \
    X(BENCH_EXSCAN, exscan, call->send, call->recv, SUMS, COMM)
/* clang-format on */

#define CALL(operation, name, ...)                                                                                     \
    case operation:                                                                                                    \
        return weft_##name(__VA_ARGS__);
#define START(operation, name, ...)                                                                                    \
    case operation:                                                                                                    \
        return weft_i##name(__VA_ARGS__, &self->requests[BENCH_NONBLOCKING]);
#define PREPARE(operation, name, ...)                                                                                  \
    case operation:                                                                                                    \
        return weft_##name##_init(__VA_ARGS__, &self->requests[BENCH_PERSISTENT]);

static int call_blocking(bench_weft_calls *self, const bench_call *call) {
    switch (call->operation) {
        COLLECTIVES(CALL)
    default:
        return WEFT_ERR_ARG;
    }
}

static int start_nonblocking(bench_weft_calls *self, const bench_call *call) {
    switch (call->operation) {
        COLLECTIVES(START)
    default:
        return WEFT_ERR_ARG;
    }
}

static int prepare_persistent(bench_weft_calls *self, const bench_call *call) {
    switch (call->operation) {
        COLLECTIVES(PREPARE)
    default:
        return WEFT_ERR_ARG;
    }
}

static void require(int code, const bench_call *call) {
    if (code)
        bench_fail("%s %s: %s (%s)", bench_mode_name(call->mode), bench_operation_name(call->operation),
                   weft_last_error(), weft_strerror(code));
}

static void prepare(void *rank, const bench_call *call) {
    bench_weft_calls *self = rank;
    size_t count = call->block / bench_unit_bytes(call->operation);
    if (bench_has(call->operation, BENCH_PAIRS)) {
        bench_weft_messages_prepare(self, call);
        return;
    }
    for (int i = 0; i < self->size; i++) {
        self->counts[i] = count;
        self->displs[i] = (ptrdiff_t)count * i;
    }
    if (call->mode == BENCH_PERSISTENT)
        require(prepare_persistent(self, call), call);
}

static void release(void *rank, const bench_call *call) {
    bench_weft_calls *self = rank;
    if (bench_has(call->operation, BENCH_PAIRS))
        bench_weft_messages_release(self, call);
    else if (call->mode == BENCH_PERSISTENT)
        require(weft_request_free(&self->requests[BENCH_PERSISTENT]), call);
}

static void start(void *rank, const bench_call *call) {
    bench_weft_calls *self = rank;
    if (bench_has(call->operation, BENCH_PAIRS))
        bench_weft_exchange_start(self, call);
    else
        require(call->mode == BENCH_PERSISTENT ? weft_start(&self->requests[BENCH_PERSISTENT])
                                               : start_nonblocking(self, call),
                call);
}

static void test(void *rank, const bench_call *call) {
    bench_weft_calls *self = rank;
    int done;
    if (bench_has(call->operation, BENCH_PAIRS))
        bench_weft_exchange_test(self);
    else
        require(weft_test(&self->requests[call->mode], &done, WEFT_STATUS_IGNORE), call);
}

static void wait(void *rank, const bench_call *call) {
    bench_weft_calls *self = rank;
    if (bench_has(call->operation, BENCH_PAIRS))
        bench_weft_exchange_wait(self);
    else
        require(weft_wait(&self->requests[call->mode], WEFT_STATUS_IGNORE), call);
}

static void barrier(void *rank) {
    static const bench_call call = {.operation = BENCH_BARRIER};
    require(weft_barrier(((bench_weft_calls *)rank)->comm), &call);
}

static void run(void *rank, const void *call_data, size_t calls) {
    const bench_call *call = call_data;
    if (bench_has(call->operation, BENCH_PAIRS)) {
        bench_weft_messages_run(rank, call, calls);
        return;
    }
    for (size_t i = 0; i < calls; i++) {
        bench_touch_given(&call->touched);
        if (call->mode == BENCH_BLOCKING) {
            require(call_blocking(rank, call), call);
        } else {
            start(rank, call);
            wait(rank, call);
        }
        bench_touch_got(&call->touched);
        if (call->then_barrier)
            barrier(rank);
    }
}

static void maximum(void *rank, double *values, size_t count) {
    weft_comm *comm = ((bench_weft_calls *)rank)->comm;
    int code = weft_allreduce(WEFT_IN_PLACE, values, count, WEFT_DOUBLE, WEFT_MAX, comm);
    if (code)
        bench_fail("allreduce of the times: %s (%s)", weft_last_error(), weft_strerror(code));
}

const bench_library bench_weft_library = {.driver = {run, barrier, maximum},
                                          .prepare = prepare,
                                          .release = release,
                                          .start = start,
                                          .test = test,
                                          .wait = wait};

bench_weft_calls bench_weft_open(weft_comm *comm) {
    bench_weft_calls self = {.comm = comm, .size = weft_size(comm)};
    size_t size = (size_t)self.size;
    self.counts = calloc(size, sizeof *self.counts);
    self.displs = calloc(size, sizeof *self.displs);
    self.types = calloc(size, sizeof(const weft_datatype *));
    if (!self.counts || !self.displs || !self.types)
        bench_fail("no memory for the counts of %d ranks", self.size);
    for (size_t i = 0; i < size; i++)
        self.types[i] = WEFT_BYTE;
    return self;
}

void bench_weft_close(bench_weft_calls *self) {
    free(self->counts);
    free(self->displs);
    free(self->types);
}
