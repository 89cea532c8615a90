// SPDX-License-Identifier: BSD-3-Clause
/**
 * The collectives that are measured, and what they have in common: a table instead of a case for each. Sizes, buffers
 * and the check follow from it; only the calls themselves are written out, once for each library.
 */
#ifndef BENCH_OPERATIONS_H
#define BENCH_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bench_operation {
    BENCH_BARRIER,
    BENCH_BCAST,
    BENCH_SCATTER,
    BENCH_SCATTERV,
    BENCH_GATHER,
    BENCH_GATHERV,
    BENCH_ALLGATHER,
    BENCH_ALLGATHERV,
    BENCH_ALLTOALL,
    BENCH_ALLTOALLV,
    BENCH_ALLTOALLW,
    BENCH_REDUCE,
    BENCH_ALLREDUCE,
    BENCH_REDUCE_SCATTER,
    BENCH_REDUCE_SCATTER_BLOCK,
    BENCH_SCAN,
    BENCH_EXSCAN,
    BENCH_LIMITS, /* weft-bench only; no collective */
    BENCH_COLLECTIVES = BENCH_LIMITS
};

/** How an operation is called. */
enum bench_mode {
    BENCH_BLOCKING,
    BENCH_NONBLOCKING, /* started and waited for */
    BENCH_PERSISTENT,  /* prepared once; started and waited for in each call */
    BENCH_MODES
};

/** What a rank's buffer holds; a block is what goes from one rank to one other. */
enum bench_extent { BENCH_NOTHING, BENCH_BLOCK, BENCH_BLOCK_A_RANK };

enum bench_trait {
    BENCH_ROOTED = 1,   /* has a root */
    BENCH_TO_ROOT = 2,  /* only the root receives */
    BENCH_REDUCES = 4,  /* sums doubles; the others move bytes */
    BENCH_ONE_WAY = 8,  /* some ranks only send: without a barrier behind each call they would run ahead */
    BENCH_WHOLE = 16,   /* --bytes says how long the whole send buffer is, not one block */
    BENCH_THREADS = 32, /* exists for ranks that are threads */
};

typedef struct bench_shape {
    const char *name;
    enum bench_extent send, recv;
    unsigned traits; /* of enum bench_trait */
} bench_shape;

/** One call as all ranks make it. A rank's bytes: bcast uses `recv` only, and no `send`. */
typedef struct bench_call {
    enum bench_operation operation;
    enum bench_mode mode;
    int root;          /* of those that have one */
    size_t block;      /* bytes */
    bool then_barrier; /* a barrier follows in the same call */
    void *send;
    void *recv;
} bench_call;

/** Static. Of BENCH_LIMITS it has a name only. */
const bench_shape *bench_shape_of(enum bench_operation operation);

bool bench_has(enum bench_operation operation, enum bench_trait trait);

/** "bcast" and so on. */
const char *bench_operation_name(enum bench_operation operation);

/** BENCH_COLLECTIVES or BENCH_LIMITS by its name; -1: there is none. */
int bench_operation_of(const char *name);

/** "blocking", "nonblocking", "persistent". */
const char *bench_mode_name(enum bench_mode mode);

/** What a block is made of, in bytes. */
size_t bench_unit_bytes(enum bench_operation operation);

/** The least block with which a rank contributes at least `bytes` ≥ 1. */
size_t bench_block_bytes(enum bench_operation operation, size_t bytes, int size);

/** What a rank contributes, in the sense of --bytes. */
size_t bench_contributed_bytes(const bench_call *call, int size);

/** Bytes of each buffer that a call uses, without the guard, with `size` ranks. */
size_t bench_send_bytes(const bench_call *call, int size);
size_t bench_recv_bytes(const bench_call *call, int size);

#ifdef __cplusplus
}
#endif
#endif
