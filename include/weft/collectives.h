// SPDX-License-Identifier: BSD-3-Clause
/**
 * Blocking collectives, with the meaning and the argument order of MPI 4.0 chapter 6.
 *
 * For all of them:
 * - They are collective: every rank of `comm` calls the same operation in the same order, with the same root, type size,
 *   operation, and matching counts. `comm` is a process communicator or a thread's handle on a thread communicator.
 * - They block until the caller's part is done: its send buffer may be changed and its receive buffer read. Only
 *   weft_barrier promises that all ranks have entered.
 * - What a rank wrote to its send buffer before the call is what the others receive, without further synchronisation.
 * - Counts are in elements of the type, displacements in extents of the type; `p` is the size of the communicator.
 *   A count of 0 is allowed, and then the buffer may be NULL. Buffers may be larger than 4 GiB, counts larger than 2^31.
 * - Buffers of different ranks do not overlap; a send and a receive buffer of one call overlap only as WEFT_IN_PLACE.
 * - Errors that all report: WEFT_ERR_ARG (no communicator or one given back; null buffer with a count above 0; no datatype;
 *   an operation that the type does not have; WEFT_IN_PLACE where it is not allowed; bytes that overflow size_t),
 *   WEFT_ERR_RANK (root outside 0 … p-1), WEFT_ERR_THREAD (a handle of another thread; a process communicator under
 *   FUNNELED on another thread than weft_init's), WEFT_ERR_MISMATCH (threads of the process are in different calls, or a
 *   message is shorter than expected), WEFT_ERR_TRUNCATE (or longer), WEFT_ERR_NOMEM, WEFT_ERR_TRANSPORT,
 *   WEFT_ERR_PROC_FAILED. Errors in the arguments are found before anything is sent.
 * - After WEFT_ERR_MISMATCH of threads the team is only good for leaving and freeing it.
 */
#ifndef WEFT_COLLECTIVES_H
#define WEFT_COLLECTIVES_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Returns after every rank has called it. What a rank wrote before, every rank of its process reads after. */
WEFT_API int weft_barrier(weft_comm *comm);

/** Copies `count` elements of the root's `buffer` into every rank's. */
WEFT_API int weft_bcast(void *buffer, size_t count, const weft_datatype *type, int root, weft_comm *comm);

/**
 * Combines the `count` elements of all ranks, in rank order for an operation that does not commute, into the root's `recv`.
 * `recv` counts at the root only. At the root `send` may be WEFT_IN_PLACE: its operand stands in `recv`.
 */
WEFT_API int weft_reduce(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                         int root, weft_comm *comm);

/** As weft_reduce, with the result in every rank's `recv`, the same bits everywhere. WEFT_IN_PLACE: at every rank. */
WEFT_API int weft_allreduce(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                            weft_comm *comm);

/**
 * Gathers `send_count` elements of each rank, in rank order, at the root: `recv` has room for p × recv_count elements of
 * recv_type and counts at the root only. At the root `send` may be WEFT_IN_PLACE: its part is already in its place in recv.
 */
WEFT_API int weft_gather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                         size_t recv_count, const weft_datatype *recv_type, int root, weft_comm *comm);

/**
 * Gives part r of the root's `send` (p × send_count elements, which count at the root only) to rank r. At the root `recv`
 * may be WEFT_IN_PLACE: its part stays where it is.
 */
WEFT_API int weft_scatter(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                          size_t recv_count, const weft_datatype *recv_type, int root, weft_comm *comm);

/** As weft_gather, with the result in every rank's `recv`. WEFT_IN_PLACE as `send`: at every rank. */
WEFT_API int weft_allgather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                            size_t recv_count, const weft_datatype *recv_type, weft_comm *comm);

/**
 * Rank i's part j of `send` (p × send_count elements) becomes part i of rank j's `recv`. WEFT_IN_PLACE as `send`, at every
 * rank: `recv` holds what is sent, and is overwritten.
 */
WEFT_API int weft_alltoall(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                           size_t recv_count, const weft_datatype *recv_type, weft_comm *comm);

/**
 * As weft_alltoall with a count and a displacement for each rank: `send_counts`, `send_displs`, `recv_counts` and
 * `recv_displs` have p entries each and must not change during the call. Parts that are received do not overlap.
 * send_counts[j] at rank i equals recv_counts[i] at rank j (in bytes). WEFT_IN_PLACE as `send`, at every rank:
 * send_counts and send_displs are ignored, recv_counts is symmetric.
 */
WEFT_API int weft_alltoallv(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                            const weft_datatype *send_type, void *recv, const size_t *recv_counts,
                            const ptrdiff_t *recv_displs, const weft_datatype *recv_type, weft_comm *comm);

#ifdef __cplusplus
}
#endif
#endif
