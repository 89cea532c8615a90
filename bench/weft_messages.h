// SPDX-License-Identifier: BSD-3-Clause
/**
 * weft's messages between pairs, for bench_weft_library. Each function ends the program with a message when it fails.
 */
#ifndef BENCH_WEFT_MESSAGES_H
#define BENCH_WEFT_MESSAGES_H

#include "weft_calls.h"

/** The vector of the call's block, where the operation has one. */
void bench_weft_messages_prepare(bench_weft_calls *self, const bench_call *call);
void bench_weft_messages_release(bench_weft_calls *self, const bench_call *call);

void bench_weft_messages_run(bench_weft_calls *self, const bench_call *call, size_t calls);

/** Overlap's exchange: both ranks of the pair start to receive and to send. Nothing for a rank without a pair. */
void bench_weft_exchange_start(bench_weft_calls *self, const bench_call *call);
void bench_weft_exchange_test(bench_weft_calls *self);
void bench_weft_exchange_wait(bench_weft_calls *self);

#endif
