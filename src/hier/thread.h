// SPDX-License-Identifier: BSD-3-Clause
/**
 * The thread-rank collectives: compositions of thread phases and a process-level schedule. One file each.
 * The communicator is a thread's handle, the arguments are checked.
 */
#ifndef HIER_THREAD_H
#define HIER_THREAD_H

#include <hier/network.h>

typedef int hier_collective(weft_comm *comm, const hier_arguments *arguments);

hier_collective hier_thread_barrier, hier_thread_bcast, hier_thread_reduce, hier_thread_allreduce, hier_thread_gather,
    hier_thread_scatter, hier_thread_allgather, hier_thread_alltoall, hier_thread_alltoallv;

/** The collectives of a process communicator. */
hier_collective hier_process_collective;

/** Adds to the team's `ready` or `done` counter, and waits for it: the two-counter scheme. */
static inline void hier_counter_add(hier_call *call, intra_line *counter, uint64_t increment) {
    core_flag_add(&counter->flag, increment, &call->meeting.team->waiting);
}

/** Each use of a counter raises it by the number of threads; `use` numbers them from 1. */
static inline void hier_counter_await(hier_call *call, intra_line *counter, uint64_t use) {
    if (!intra_await_flag(&call->meeting, &counter->flag, use * (uint64_t)hier_threads(call), INTRA_ALL))
        hier_mismatch(call, call->meeting.mismatch);
}

static inline char *hier_at(const void *base, size_t index, size_t bytes) {
    return (char *)(uintptr_t)base + index * bytes;
}

#endif
