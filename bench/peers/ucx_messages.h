// SPDX-License-Identifier: BSD-3-Clause
/**
 * Bare UCX active messages between two processes: the limit of what a library over UCX can reach. No matching, no queue of
 * unexpected messages: whatever comes goes into the one buffer that the call receives into.
 */
#ifndef BENCH_UCX_MESSAGES_H
#define BENCH_UCX_MESSAGES_H

#include "../library.h"

#include <stdatomic.h>
#include <ucp/api/ucp.h>

#define UCX_RANKS         2
#define UCX_ADDRESS_BYTES 4096
#define UCX_MOST_VALUES   ((size_t)BENCH_MOST_TURNS * 1000000) /* what --repeats allows */

/** What the two processes share besides UCX. */
typedef struct ucx_shared {
    _Atomic uint64_t rounds[UCX_RANKS]; /* [rank]: barriers that it has come to; it writes its own */
    size_t address_bytes[UCX_RANKS];    /* [rank]: written by it before its first barrier, as the address */
    char address[UCX_RANKS][UCX_ADDRESS_BYTES];
    double values[UCX_RANKS][UCX_MOST_VALUES]; /* [rank]: what it offers to maximum() */
} ucx_shared;

/** One process. `arrived` and `answers` are written by the handlers, which run in this process's calls. */
typedef struct ucx_rank {
    int rank;
    ucx_shared *shared;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h endpoint; /* to the other */
    uint64_t round;
    void *into;
    size_t room; /* bytes of `into` */
    uint64_t arrived, expected;
    uint64_t answers, expected_answers;
} ucx_rank;

extern const bench_library ucx_library;

/** Both processes at once; ends the program with a message when it fails. */
void ucx_open(ucx_rank *self, int rank, ucx_shared *shared);
void ucx_close(ucx_rank *self);

#endif
