// SPDX-License-Identifier: BSD-3-Clause
/**
 * The collectives and the kinds of messages that are measured, and what they have in common: a table instead of a case for
 * each. Sizes, buffers and the check follow from it; only the calls themselves are written out, once for each library.
 */
#ifndef BENCH_OPERATIONS_H
#define BENCH_OPERATIONS_H

#include "pairs.h"

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
    BENCH_COLLECTIVES = BENCH_LIMITS,
    BENCH_PINGPONG, /* from here on: messages between two ranks */
    BENCH_STREAM,
    BENCH_MESSAGE_RATE,
    BENCH_MULTI_PAIR,
    BENCH_OVERLAP,
    BENCH_DATATYPES,
    BENCH_OPERATIONS
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
    BENCH_ROOTED = 1,  /* has a root */
    BENCH_TO_ROOT = 2, /* only the root receives */
    BENCH_REDUCES = 4, /* sums doubles; the others move bytes */
    BENCH_ONE_WAY = 8, /* some ranks only send: without a barrier behind each call they would run ahead */
    BENCH_WHOLE = 16,  /* --bytes says how long the whole send buffer is, not one block */
    BENCH_PAIRS = 32,  /* messages between the ranks of a pair */
    BENCH_STRIDED = 64 /* whole blocks of BENCH_STRIDED_BYTES */
};

#define BENCH_STRIDED_BYTES 64  /* a block of a vector of doubles … */
#define BENCH_STRIDE_BYTES  128 /* … and from the beginning of one to that of the next */
#define BENCH_WINDOW        64  /* messages under way at once */
#define BENCH_ANSWER_BYTES  4   /* of the message that answers a window */

/** What the two ranks of a pair do in a call. The first three are messages, the others what the first rank does alone. */
enum bench_motion {
    BENCH_ROUND_TRIP, /* the first sends and then receives; the second receives and then sends */
    BENCH_ONE_WINDOW, /* the first starts BENCH_WINDOW sends, the second as many receives; the second answers the last */
    BENCH_EXCHANGE,   /* both send and receive */
    BENCH_COPY,       /* memcpy from `send` to `recv` */
    BENCH_PACK,       /* from a vector in `send` to `recv` */
    BENCH_UNPACK      /* from `send` to a vector in `recv` */
};

typedef struct bench_shape {
    const char *name;
    enum bench_extent send, recv;
    unsigned traits; /* of enum bench_trait */
} bench_shape;

#define BENCH_LINE_BYTES 64 /* of a cache */

/** What a rank writes before a call, and reads after it; no bytes: nothing. */
typedef struct bench_touched {
    void *given;
    size_t given_bytes;
    const void *got;
    size_t got_bytes;
} bench_touched;

/** One call as all ranks make it. A rank's bytes: bcast uses `recv` only, and no `send`. */
typedef struct bench_call {
    enum bench_operation operation;
    enum bench_mode mode;
    int root;          /* of those that have one */
    size_t block;      /* bytes */
    bool then_barrier; /* a barrier follows in the same call */
    void *send;
    void *recv;
    bench_touched touched;
    bench_pair pair; /* of messages, as the two below */
    enum bench_motion motion;
    bool vector; /* the messages are a vector of doubles in memory, at both ends */
} bench_call;

/** Static. Of BENCH_LIMITS it has a name only. */
const bench_shape *bench_shape_of(enum bench_operation operation);

bool bench_has(enum bench_operation operation, enum bench_trait trait);

/** "bcast" and so on. */
const char *bench_operation_name(enum bench_operation operation);

/** An operation by its name, BENCH_LIMITS too; -1: there is none. */
int bench_operation_of(const char *name);

/** "blocking", "nonblocking", "persistent". */
const char *bench_mode_name(enum bench_mode mode);

/** The messages that a rank's time for one call is divided by. */
int bench_messages_of(enum bench_motion motion);

/** What a block is made of, in bytes. */
size_t bench_unit_bytes(enum bench_operation operation);

/** Writes into each cache line of what is given, which is bytes or doubles, as who computed it anew would have: what others have of it in their caches is old then. */
static inline void bench_touch_given(const bench_touched *touched) {
    char *given = (char *)touched->given;
    size_t at = 0;
    for (; at + sizeof(double) <= touched->given_bytes; at += BENCH_LINE_BYTES)
        *(volatile double *)(given + at) = 1;
    if (at < touched->given_bytes)
        given[at] = 1;
}

/** Reads from each cache line of what was got. */
static inline void bench_touch_got(const bench_touched *touched) {
    const char *got = (const char *)touched->got;
    for (size_t at = 0; at < touched->got_bytes; at += BENCH_LINE_BYTES)
        (void)*(const volatile char *)(got + at);
}

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
