// SPDX-License-Identifier: BSD-3-Clause
/**
 * What one collective call works on, the data that a check puts in, and the verification of every byte that comes out.
 * No communication in here: each rank can compute what every other one contributed.
 */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_GUARD_BYTES 64 /* behind each buffer: nothing may be written there */

/** One call as all ranks make it. A rank's bytes: bcast uses `recv` only, and no `send`. */
typedef struct bench_call {
    enum bench_operation operation;
    int root;          /* of bcast and reduce */
    size_t block;      /* bytes; alltoall: of one rank's part of the send buffer; else all that a rank contributes */
    bool then_barrier; /* a barrier follows in the same call */
    void *send;
    void *recv;
} bench_call;

typedef struct bench_mismatch {
    const char *where; /* NULL: all is right */
    size_t offset;
    unsigned expected;
    unsigned found;
} bench_mismatch;

/** Bytes of each buffer that a call uses, without the guard, with `size` ranks. */
size_t bench_send_bytes(const bench_call *call, int size);
size_t bench_recv_bytes(const bench_call *call, int size);

/** Before a call: the rank's contribution in its place, and a filling that is no result in the rest and in the guards.
 */
void bench_check_fill(const bench_call *call, int rank, int size, unsigned iteration);

/** After it: the first byte that is wrong in the result, in the guard behind it, or in the send buffer. */
bench_mismatch bench_check_verify(const bench_call *call, int rank, int size, unsigned iteration);

#ifdef __cplusplus
}
#endif
#endif
