// SPDX-License-Identifier: BSD-3-Clause
/**
 * Direct: threads read what they get straight from the buffers of threads of other processes of the host, in one copy and without
 * memory in between (process_vm_readv; after the kernel-assisted collectives of Ma, Bosilca et al., ICPP 2011).
 *
 * The network part carries no data. It is an alltoall of the processes in two segments (pieces.h): with the first a process tells the
 * others where its threads' data are, with the second that its threads have read all that they get. So what a thread has shown
 * stays as it is until the part is over.
 *
 *     threads    show their data │                     │ read │
 *     network                    │ strand 0: addresses │      │ strand 1: all is read │
 *
 * What comes from another process is not trusted: an address that is wrong makes an error of the system call.
 */
#ifndef HIER_DIRECT_H
#define HIER_DIRECT_H

#include <hier/moves.h>
#include <hier/pieces.h>

/**
 * Shows `send`, one run, of which each rank of other processes reads arguments->bytes, and posts HIER_OFFERED. Where there is a root only its
 * data are read, and the others show nothing. NULL: there is no memory for it, as those learn who want to read it.
 */
void hier_direct_offer(hier_call *call, const void *send);

/** HIER_AWAIT: the others' addresses are here. */
static inline bool hier_await_addresses(hier_call *call) {
    return hier_await_piece(call, 0);
}

/** Of several threads of another node: so many bytes each, `offset` behind the address that it has shown. */
typedef struct hier_source {
    int node, first, threads;
    size_t offset, bytes;
} hier_source;

/** Reads that, one behind the other in packed bytes. Sets the call's error if it cannot. */
void hier_direct_read(hier_call *call, hier_source from, core_data to);

/** This thread has read all that it gets, in its own process too. Whoever was there when the addresses came says so, whatever else was. */
static inline void hier_have_read(hier_call *call) {
    hier_piece_ready(call, 1);
    intra_post(&call->meeting, HIER_READY);
}

/** HIER_AWAIT: all threads of all processes have read all that they get. */
static inline bool hier_await_readers(hier_call *call) {
    return hier_await_piece(call, 1);
}

#endif
