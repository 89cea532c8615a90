// SPDX-License-Identifier: BSD-3-Clause
/**
 * The data that a check puts into a call's buffers, and the verification of every byte that comes out.
 * No communication in here: each rank can compute what every other one contributed.
 */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "operations.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_GUARD_BYTES 64 /* behind each buffer: nothing may be written there */

typedef struct bench_mismatch {
    const char *where; /* NULL: all is right */
    size_t offset;
    unsigned expected;
    unsigned found;
} bench_mismatch;

/** Before a call: the rank's contribution in its place, and a filling that is no result in the rest and in the guards.
 */
void bench_check_fill(const bench_call *call, int rank, int size, unsigned iteration);

/** After it: the first byte that is wrong in the result, in the guard behind it, or in the send buffer. */
bench_mismatch bench_check_verify(const bench_call *call, int rank, int size, unsigned iteration);

#ifdef __cplusplus
}
#endif
#endif
