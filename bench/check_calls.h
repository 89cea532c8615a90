// SPDX-License-Identifier: BSD-3-Clause
/**
 * The calls that --check makes before a row is timed.
 */
#ifndef BENCH_CHECK_CALLS_H
#define BENCH_CHECK_CALLS_H

#include "library.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Verifies calls like `timed`: with its block, one unit less (which may be nothing at all) and one more, for which its
 * buffers have room, with other data and another root in each; a persistent operation is started twice. A barrier is
 * checked for waiting, on one host only. Collective. Returns 0, or 1 at every rank when something was wrong (each rank
 * that saw it has said so on stderr).
 */
int bench_check_calls(const bench_rank *rank, const bench_call *timed);

#ifdef __cplusplus
}
#endif
#endif
