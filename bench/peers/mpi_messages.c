// SPDX-License-Identifier: BSD-3-Clause
/* The calls of the message loops, in MPI's words. */
#include "mpi_messages.h"
#include "../report.h"

#include <limits.h>

enum { TAG = 0, ANSWER_TAG = 1, DOUBLES = BENCH_STRIDED_BYTES / sizeof(double) };

typedef mpi_messages message_state;
typedef MPI_Request message_request;

/* How many elements of which type a call's message is. */
static int count_of(const bench_call *call) {
    return call->vector ? 1 : (int)call->block;
}

static MPI_Datatype type_of(const mpi_messages *self, const bench_call *call) {
    return call->vector ? self->vector : MPI_BYTE;
}

#define SENT     call->send, count_of(call), type_of(self, call), call->pair.partner
#define RECEIVED call->recv, count_of(call), type_of(self, call), call->pair.partner

static inline void message_send(mpi_messages *self, const bench_call *call) {
    MPI_Send(SENT, TAG, MPI_COMM_WORLD);
}

static inline void message_recv(mpi_messages *self, const bench_call *call) {
    MPI_Recv(RECEIVED, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static inline void message_answer(mpi_messages *self, const bench_call *call) {
    const char answer[BENCH_ANSWER_BYTES] = {0};
    (void)self;
    MPI_Send(answer, sizeof answer, MPI_BYTE, call->pair.partner, ANSWER_TAG, MPI_COMM_WORLD);
}

static inline void message_await_answer(mpi_messages *self, const bench_call *call) {
    char answer[BENCH_ANSWER_BYTES];
    (void)self;
    MPI_Recv(answer, sizeof answer, MPI_BYTE, call->pair.partner, ANSWER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static inline void message_isend(mpi_messages *self, const bench_call *call, MPI_Request *request) {
    MPI_Isend(SENT, TAG, MPI_COMM_WORLD, request);
}

static inline void message_irecv(mpi_messages *self, const bench_call *call, MPI_Request *request) {
    MPI_Irecv(RECEIVED, TAG, MPI_COMM_WORLD, request);
}

static inline void message_wait_window(mpi_messages *self, MPI_Request requests[]) {
    (void)self;
    MPI_Waitall(BENCH_WINDOW, requests, MPI_STATUSES_IGNORE);
}

static inline void message_sendrecv(mpi_messages *self, const bench_call *call) {
    MPI_Sendrecv(SENT, TAG, RECEIVED, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static inline void message_pack(mpi_messages *self, const bench_call *call) {
    int position = 0;
    MPI_Pack(call->send, 1, self->vector, call->recv, self->vector_bytes, &position, MPI_COMM_WORLD);
}

static inline void message_unpack(mpi_messages *self, const bench_call *call) {
    int position = 0;
    MPI_Unpack(call->send, self->vector_bytes, &position, call->recv, 1, self->vector, MPI_COMM_WORLD);
}

#include "../message_loops.h"

void mpi_messages_prepare(mpi_messages *self, const bench_call *call) {
    if (call->block > INT_MAX)
        bench_fail("MPI counts are int: messages of %zu bytes are too long", call->block);
    if (!bench_has(call->operation, BENCH_STRIDED))
        return;
    self->vector_bytes = (int)call->block;
    MPI_Type_vector((int)(call->block / BENCH_STRIDED_BYTES), DOUBLES, BENCH_STRIDE_BYTES / sizeof(double), MPI_DOUBLE,
                    &self->vector);
    MPI_Type_commit(&self->vector);
}

void mpi_messages_release(mpi_messages *self, const bench_call *call) {
    if (bench_has(call->operation, BENCH_STRIDED))
        MPI_Type_free(&self->vector);
}

void mpi_messages_run(mpi_messages *self, const bench_call *call, size_t calls) {
    message_run(self, call, calls);
}

void mpi_exchange_start(mpi_messages *self, const bench_call *call) {
    if (call->pair.partner < 0)
        return;
    message_irecv(self, call, &self->exchange[0]);
    message_isend(self, call, &self->exchange[1]);
}

void mpi_exchange_test(mpi_messages *self) {
    int done;
    MPI_Testall(2, self->exchange, &done, MPI_STATUSES_IGNORE);
}

void mpi_exchange_wait(mpi_messages *self) {
    MPI_Waitall(2, self->exchange, MPI_STATUSES_IGNORE);
}
