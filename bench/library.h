// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the measurements know of the library that they measure: weft's side and each peer's are one bench_library. Its
 * functions end the program with a message when they fail; `rank` is the caller's own state.
 */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include "operations.h"
#include "sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_library {
    /** `run` makes bench_calls, each in its mode, and the barrier behind it if it has one. */
    bench_driver driver;
    /**
     * Called before the first call of an operation, mode, root and block, and after the last: counts, and the request of
     * a persistent operation. Collective. Prepared at once are at most one call a mode, all of the same operation, root
     * and block. Of messages one call is prepared for all of its operation, block and pair.
     */
    void (*prepare)(void *rank, const bench_call *call);
    void (*release)(void *rank, const bench_call *call);
    /** Begins a call whose mode is not BENCH_BLOCKING. */
    void (*start)(void *rank, const bench_call *call);
    /** Lets the library move the call on, which may be complete already. */
    void (*test)(void *rank, const bench_call *call);
    /** Returns when it is complete. */
    void (*wait)(void *rank, const bench_call *call);
} bench_library;

/** A rank's view of the run. */
typedef struct bench_rank {
    const bench_library *library;
    void *state; /* the library's `rank` */
    int rank;
    int size;
} bench_rank;

#ifdef __cplusplus
}
#endif
#endif
