// SPDX-License-Identifier: BSD-3-Clause
/**
 * weft's side of the measurements: its calls, on one communicator.
 */
#ifndef BENCH_WEFT_CALLS_H
#define BENCH_WEFT_CALLS_H

#include "library.h"

#include <weft/weft.h>

/** One rank's state, the `rank` of bench_weft_library. Counts and vector are for the block of the last prepare. */
typedef struct bench_weft_calls {
    weft_comm *comm;
    int size;
    size_t *counts;              /* [rank], in units */
    ptrdiff_t *displs;           /* [rank], in units: packed */
    const weft_datatype **types; /* [rank]: bytes */
    weft_request *requests[BENCH_MODES];
    weft_datatype *vector;     /* of messages, where the operation has one */
    weft_request *exchange[2]; /* of overlap */
} bench_weft_calls;

extern const bench_library bench_weft_library;

/** Ends the program when there is no memory; to be closed. */
bench_weft_calls bench_weft_open(weft_comm *comm);
void bench_weft_close(bench_weft_calls *self);

#endif
