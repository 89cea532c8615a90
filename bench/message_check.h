// SPDX-License-Identifier: BSD-3-Clause
/**
 * What a check puts into the buffers of messages, and the verification of every byte behind them, gaps of vectors and guards
 * included.
 */
#ifndef BENCH_MESSAGE_CHECK_H
#define BENCH_MESSAGE_CHECK_H

#include "check.h"
#include "library.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Before a call of `rank`: its data in `send`, in the layout that the call sends, and a filling everywhere else. */
void bench_message_fill(const bench_call *call, int rank, unsigned iteration);

/** After it: the first byte of `recv` that is not what the partner sent, or not the filling where nothing should come. */
bench_mismatch bench_message_verify(const bench_call *call, int rank, unsigned iteration);

/** A few calls, checked; collective, prepared. Returns 1 at every rank after a mismatch, which is said on stderr. */
int bench_check_messages(const bench_rank *rank, const bench_call *call, const char *name);

#ifdef __cplusplus
}
#endif
#endif
