// SPDX-License-Identifier: BSD-3-Clause
/**
 * Messages between the ranks of pairs over all sizes: rows of each operation, their check, their times. The same for weft, for the
 * peers and for bare UCX.
 *
 * Ping-pong, bandwidth by windows and message rate are measured as in the OSU micro-benchmarks (Liu et al., "Performance
 * comparison of MPI implementations over InfiniBand, Myrinet and Quadrics", SC03): half a round trip; 64 messages from and
 * into one buffer, all started, then waited for, then a short answer. Overlap: see overlap.h; both ranks of the pair send,
 * receive and compute.
 */
#ifndef BENCH_MESSAGES_H
#define BENCH_MESSAGES_H

#include "library.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As bench_sweep(), of an operation with BENCH_PAIRS. Ends the program when the ranks form no pair. */
int bench_message_sweep(const bench_rank *rank, const bench_options *options, const bench_setting *setting);

#ifdef __cplusplus
}
#endif
#endif
