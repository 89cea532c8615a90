// SPDX-License-Identifier: BSD-3-Clause
/**
 * The loops of the messages, compiled into each library's side so that nothing lies between them and its calls. The includer
 * has defined before:
 *
 *     message_state, message_request           types: a rank's state, a started message
 *     message_send, message_recv               (state, call): the call's message to and from its partner
 *     message_answer, message_await_answer     (state, call): BENCH_ANSWER_BYTES, likewise
 *     message_isend, message_irecv             (state, call, message_request *)
 *     message_wait_window                      (state, message_request [BENCH_WINDOW])
 *     message_sendrecv                         (state, call): to and from the partner
 *     message_pack, message_unpack             (state, call)
 */
#ifndef BENCH_MESSAGE_LOOPS_H
#define BENCH_MESSAGE_LOOPS_H

#include "operations.h"

#include <string.h>

static void message_round_trips(message_state *self, const bench_call *call, size_t calls) {
    for (size_t i = 0; i < calls; i++) {
        if (call->pair.first) {
            message_send(self, call);
            message_recv(self, call);
        } else {
            message_recv(self, call);
            message_send(self, call);
        }
    }
}

static void message_windows(message_state *self, const bench_call *call, size_t calls) {
    message_request requests[BENCH_WINDOW];
    for (size_t i = 0; i < calls; i++) {
        if (call->pair.first) {
            for (int k = 0; k < BENCH_WINDOW; k++)
                message_isend(self, call, &requests[k]);
            message_wait_window(self, requests);
            message_await_answer(self, call);
        } else {
            for (int k = 0; k < BENCH_WINDOW; k++)
                message_irecv(self, call, &requests[k]);
            message_wait_window(self, requests);
            message_answer(self, call);
        }
    }
}

/* The compiler must not merge the copies of a batch into one. */
static void message_copies(const bench_call *call, size_t calls) {
    for (size_t i = 0; i < calls; i++) {
        memcpy(call->recv, call->send, call->block);
        __asm__ volatile("" : : "r"(call->recv), "r"(call->send) : "memory");
    }
}

/* What the first rank of the pair does alone. */
static void message_local(message_state *self, const bench_call *call, size_t calls) {
    if (call->motion == BENCH_COPY)
        message_copies(call, calls);
    else if (call->motion == BENCH_PACK)
        for (size_t i = 0; i < calls; i++)
            message_pack(self, call);
    else
        for (size_t i = 0; i < calls; i++)
            message_unpack(self, call);
}

static void message_run(message_state *self, const bench_call *call, size_t calls) {
    if (call->pair.partner < 0)
        return;
    if (call->motion == BENCH_ROUND_TRIP)
        message_round_trips(self, call, calls);
    else if (call->motion == BENCH_ONE_WINDOW)
        message_windows(self, call, calls);
    else if (call->motion == BENCH_EXCHANGE)
        for (size_t i = 0; i < calls; i++)
            message_sendrecv(self, call);
    else if (call->pair.first)
        message_local(self, call, calls);
}

#endif
