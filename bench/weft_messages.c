// SPDX-License-Identifier: BSD-3-Clause
/* The calls of the message loops, in weft's words. */
#include "weft_messages.h"
#include "report.h"

enum { TAG = 0, ANSWER_TAG = 1, DOUBLES = BENCH_STRIDED_BYTES / sizeof(double) };

typedef bench_weft_calls message_state;
typedef weft_request *message_request;

static void require(int code, const char *call) {
    if (__builtin_expect(code, 0))
        bench_fail("%s: %s (%s)", call, weft_last_error(), weft_strerror(code));
}

/* How many elements of which type a call's message is. */
static size_t count_of(const bench_call *call) {
    return call->vector ? 1 : call->block;
}

static const weft_datatype *type_of(const bench_weft_calls *self, const bench_call *call) {
    return call->vector ? self->vector : WEFT_BYTE;
}

#define SENT     call->send, count_of(call), type_of(self, call), call->pair.partner
#define RECEIVED call->recv, count_of(call), type_of(self, call), call->pair.partner

static inline void message_send(bench_weft_calls *self, const bench_call *call) {
    require(weft_send(SENT, TAG, self->comm), "weft_send");
}

static inline void message_recv(bench_weft_calls *self, const bench_call *call) {
    require(weft_recv(RECEIVED, TAG, self->comm, WEFT_STATUS_IGNORE), "weft_recv");
}

static inline void message_answer(bench_weft_calls *self, const bench_call *call) {
    const char answer[BENCH_ANSWER_BYTES] = {0};
    require(weft_send(answer, sizeof answer, WEFT_BYTE, call->pair.partner, ANSWER_TAG, self->comm), "weft_send");
}

static inline void message_await_answer(bench_weft_calls *self, const bench_call *call) {
    char answer[BENCH_ANSWER_BYTES];
    require(weft_recv(answer, sizeof answer, WEFT_BYTE, call->pair.partner, ANSWER_TAG, self->comm, WEFT_STATUS_IGNORE),
            "weft_recv");
}

static inline void message_isend(bench_weft_calls *self, const bench_call *call, weft_request **request) {
    require(weft_isend(SENT, TAG, self->comm, request), "weft_isend");
}

static inline void message_irecv(bench_weft_calls *self, const bench_call *call, weft_request **request) {
    require(weft_irecv(RECEIVED, TAG, self->comm, request), "weft_irecv");
}

static inline void message_wait_window(bench_weft_calls *self, weft_request *requests[]) {
    (void)self;
    require(weft_waitall(BENCH_WINDOW, requests, WEFT_STATUSES_IGNORE), "weft_waitall");
}

static inline void message_sendrecv(bench_weft_calls *self, const bench_call *call) {
    require(weft_sendrecv(SENT, TAG, RECEIVED, TAG, self->comm, WEFT_STATUS_IGNORE), "weft_sendrecv");
}

static inline void message_pack(bench_weft_calls *self, const bench_call *call) {
    size_t position = 0;
    require(weft_pack(call->send, 1, self->vector, call->recv, call->block, &position), "weft_pack");
}

static inline void message_unpack(bench_weft_calls *self, const bench_call *call) {
    size_t position = 0;
    require(weft_unpack(call->send, call->block, &position, call->recv, 1, self->vector), "weft_unpack");
}

#include "message_loops.h"

void bench_weft_messages_prepare(bench_weft_calls *self, const bench_call *call) {
    if (!bench_has(call->operation, BENCH_STRIDED))
        return;
    require(weft_type_vector(call->block / BENCH_STRIDED_BYTES, DOUBLES, BENCH_STRIDE_BYTES / sizeof(double),
                             WEFT_DOUBLE, &self->vector),
            "weft_type_vector");
    require(weft_type_commit(&self->vector), "weft_type_commit");
}

void bench_weft_messages_release(bench_weft_calls *self, const bench_call *call) {
    if (bench_has(call->operation, BENCH_STRIDED))
        require(weft_type_free(&self->vector), "weft_type_free");
}

void bench_weft_messages_run(bench_weft_calls *self, const bench_call *call, size_t calls) {
    message_run(self, call, calls);
}

void bench_weft_exchange_start(bench_weft_calls *self, const bench_call *call) {
    if (call->pair.partner < 0)
        return;
    message_irecv(self, call, &self->exchange[0]);
    message_isend(self, call, &self->exchange[1]);
}

void bench_weft_exchange_test(bench_weft_calls *self) {
    int done;
    require(weft_testall(2, self->exchange, &done, WEFT_STATUSES_IGNORE), "weft_testall");
}

void bench_weft_exchange_wait(bench_weft_calls *self) {
    require(weft_waitall(2, self->exchange, WEFT_STATUSES_IGNORE), "weft_waitall");
}
