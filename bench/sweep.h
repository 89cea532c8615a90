// SPDX-License-Identifier: BSD-3-Clause
/**
 * One operation over all its sizes: buffers, check, times, rows. The same for weft and for the peers.
 */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "library.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Collective over the ranks; rank 0 prints. Returns 0, or 1 at every rank when a check failed (each rank that saw
 * something wrong has said so on stderr). Ends the program when there is no memory.
 */
int bench_sweep(const bench_rank *rank, const bench_options *options, const bench_setting *setting);

/** A buffer on pages of its own, all of them written, so that no row pays for page faults. Ends the program without memory. */
void *bench_new_buffer(size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
