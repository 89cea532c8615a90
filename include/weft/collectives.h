// SPDX-License-Identifier: BSD-3-Clause
/**
 * Collectives, with the meaning and the argument order of MPI 4.0 chapter 6: blocking (weft_bcast), nonblocking
 * (weft_ibcast) and persistent (weft_bcast_init).
 *
 * For all of them:
 * - They are collective: every rank of `comm` calls the same operation in the same order, with the same root, type size,
 *   operation, and matching counts. `comm` is a process communicator or a thread's handle on a thread communicator.
 * - The blocking ones return when the caller's part is done: its send buffer may be changed and its receive buffer read.
 *   Only weft_barrier promises that all ranks have entered.
 * - The nonblocking ones (weft_i…) start the same operation and return; `*request` completes it (request.h). Until then
 *   the buffers, and an operation that a user made, belong to weft; arrays of counts, displacements and types need not
 *   outlive the call. Any number may be under way, and be completed in any order; ranks start them in the same order,
 *   blocking ones among them.
 * - The persistent ones (weft_…_init) prepare the operation: weft_start() starts it, again and again, and completing it
 *   leaves the request for the next start. Ranks prepare them in the same order, other collectives among them, and start them in any
 *   (who waits in one of them for ranks that wait in another collective waits for ever: a roll-call tells). Starting again takes
 *   no memory but for messages that find their way between processes full, and for what a user's operation combines elements of
 *   some hundred bytes or more in; on a thread communicator from the third start on, since ranks may be at two of them.
 * - On a thread communicator as many of a team's nonblocking operations move on at once as the team has slots (WEFT_SLOTS);
 *   those started later wait for their turn, which no call waits for. A persistent one has a slot of its own.
 * - Reductions combine in an order of their own choice, the same everywhere in one call, and sums of floating-point numbers round
 *   accordingly. With weft_options.reproducible or WEFT_REPRODUCIBLE=1 the bits of a result depend on nothing but the operands and
 *   their ranks, when the operation is WEFT_SUM or WEFT_PROD on floating-point or complex numbers, or the user's (which then must
 *   treat each element alike, whatever their number): the sum S(a, n) of the operands of ranks a … a+n-1 is the operand when n = 1,
 *   else S(a, h) op S(a+h, n-h), where h is the largest power of two below n. So ((0 1) (2 3)) (4 5) for six ranks. Reduce, allreduce and
 *   reduce_scatter(_block) give S(0, p), scan at rank r S(0, r+1), exscan S(0, r). Other operations have one result in any order (but for
 *   the sign of a zero, and which NaN, of WEFT_MAX and WEFT_MIN), and are as fast as without. It is for up to some dozens of
 *   processes: each sends to each.
 * - What a rank wrote to its send buffer before the call is what the others receive, without further synchronisation.
 * - Counts are in elements of the type, displacements in extents of the type; `p` is the size of the communicator.
 *   A count of 0 is allowed, and then the buffer may be NULL. Buffers may be larger than 4 GiB, counts larger than 2^31.
 * - Types are committed (weft_type_commit). Ranks may lay the same elements out differently, by any types of the same signature (MPI 4.1
 *   section 5.1: as many elements of the same kinds in the same order; two integers of one width and sign are of one kind). Threads of
 *   a process copy long ones straight from layout to layout; short ones, and between processes, are packed on the way. In reductions all
 *   ranks use the same type, and an operation of the user's finds the elements laid out as it says; one whose data reach beyond
 *   its extent, as a column of a matrix does, alone.
 * - Buffers of different ranks do not overlap; a send and a receive buffer of one call overlap only as WEFT_IN_PLACE.
 * - Errors that all report: WEFT_ERR_ARG (no communicator or one given back; null buffer with a count above 0; no datatype,
 *   or one that is not committed; an operation that the type does not have; WEFT_IN_PLACE where it is not allowed; bytes or
 *   displacements that memory cannot hold; a block that the rank sends itself and expects to be another), WEFT_ERR_RANK (root outside 0 … p-1), WEFT_ERR_THREAD (a handle of another thread; a process
 *   communicator under FUNNELED on another thread than weft_init's), WEFT_ERR_MISMATCH (ranks are in
 *   different calls, or one sends another block than expected), WEFT_ERR_NOMEM,
 *   WEFT_ERR_TRANSPORT, WEFT_ERR_PROC_FAILED. Errors in the arguments are found before anything is sent.
 * - Ranks whose calls differ in the collective, the root, the bytes, the signature of the type, the operation (two of the user's: in
 *   whether they commute), (of reductions of derived types) the bounds, or (of allgatherv and reduce_scatter) the counts, that come in
 *   another order, or that leave one out, are found out, at the latest when two ranks have waited for 10 ms or so, and those of their processes
 *   that have started the same collective are in weft again (before Linux 4.14: and all of their processes have called one): every rank returns
 *   WEFT_ERR_MISMATCH, in that call or, who could do its part of it, in a later one, and weft_last_error() names two ranks and what they
 *   called. The communicator is broken then: all that is under way on it and all later collectives on it return the same error
 *   at once. Of gatherv, scatterv, alltoallv and alltoallw, each of whose blocks two ranks know alone, the bytes of the blocks are compared, where they
 *   arrive, but not of what kinds their elements are; between processes those of the threads of each may be compared together. What came to receive buffers is undefined. A team is left and freed as always, messages go on, and so do other
 *   communicators; weft_finalize goes well after it. A sequence number has 24 bits: one collective must not stay under way
 *   while 2^24 others on its communicator are started.
 */
#ifndef WEFT_COLLECTIVES_H
#define WEFT_COLLECTIVES_H

#include <weft/request.h>
#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name Blocking
 * @{ */

/** Returns after every rank has called it. What a rank wrote before, every rank of its process reads after. */
WEFT_API int weft_barrier(weft_comm *comm);

/** Copies `count` elements of the root's `buffer` into every rank's. */
WEFT_API int weft_bcast(void *buffer, size_t count, const weft_datatype *type, int root, weft_comm *comm);

/**
 * Gives part r of the root's `send` (p × send_count elements, which count at the root only) to rank r. At the root `recv`
 * may be WEFT_IN_PLACE: its part stays where it is.
 */
WEFT_API int weft_scatter(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                          size_t recv_count, const weft_datatype *recv_type, int root, weft_comm *comm);

/**
 * As weft_scatter with a count and a displacement for each rank: `send_counts` and `send_displs` have p entries each and
 * count at the root only. Rank r's recv_count is send_counts[r] (in bytes).
 */
WEFT_API int weft_scatterv(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                           const weft_datatype *send_type, void *recv, size_t recv_count,
                           const weft_datatype *recv_type, int root, weft_comm *comm);

/**
 * Gathers `send_count` elements of each rank, in rank order, at the root: `recv` has room for p × recv_count elements of
 * recv_type. All three count at the root only. At the root `send` may be WEFT_IN_PLACE: its part is already in its place in recv.
 */
WEFT_API int weft_gather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                         size_t recv_count, const weft_datatype *recv_type, int root, weft_comm *comm);

/**
 * As weft_gather with a count and a displacement for each rank: `recv_counts` and `recv_displs` have p entries each and
 * count at the root only; parts that are received do not overlap. Rank r's send_count is recv_counts[r] (in bytes).
 */
WEFT_API int weft_gatherv(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                          const size_t *recv_counts, const ptrdiff_t *recv_displs, const weft_datatype *recv_type,
                          int root, weft_comm *comm);

/** As weft_gather, with the result in every rank's `recv`. WEFT_IN_PLACE as `send`: at every rank. */
WEFT_API int weft_allgather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                            size_t recv_count, const weft_datatype *recv_type, weft_comm *comm);

/** As weft_gatherv, with the result in every rank's `recv`; the counts (in bytes) are the same everywhere. */
WEFT_API int weft_allgatherv(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                             const size_t *recv_counts, const ptrdiff_t *recv_displs, const weft_datatype *recv_type,
                             weft_comm *comm);

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

/**
 * As weft_alltoallv with a datatype for each rank, p of them in `send_types` and `recv_types`. Displacements are in bytes.
 */
WEFT_API int weft_alltoallw(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                            const weft_datatype *const *send_types, void *recv, const size_t *recv_counts,
                            const ptrdiff_t *recv_displs, const weft_datatype *const *recv_types, weft_comm *comm);

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
 * Combines the vectors of all ranks and gives block r of the result, recv_counts[r] elements, to rank r's `recv`. `send` has
 * as many elements as all blocks together; `recv_counts` has p entries, the same everywhere. WEFT_IN_PLACE as `send`, at
 * every rank: the operand stands in `recv`, which has room for all of it, and the block comes to its begin; what is behind it then is undefined.
 */
WEFT_API int weft_reduce_scatter(const void *send, void *recv, const size_t *recv_counts, const weft_datatype *type,
                                 const weft_op *op, weft_comm *comm);

/** As weft_reduce_scatter with blocks of `recv_count` elements each. */
WEFT_API int weft_reduce_scatter_block(const void *send, void *recv, size_t recv_count, const weft_datatype *type,
                                       const weft_op *op, weft_comm *comm);

/** Rank r's `recv` becomes the combination of the operands of ranks 0 … r. WEFT_IN_PLACE as `send`: at every rank. */
WEFT_API int weft_scan(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                       weft_comm *comm);

/** As weft_scan without the rank's own operand: ranks 0 … r−1. Rank 0's `recv` stays as it is. */
WEFT_API int weft_exscan(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                         weft_comm *comm);

/** @} */

/** @name Nonblocking
 * As the blocking ones; `*request` is set to a request for weft_wait() and its kin, or stays as it is on an error.
 * More errors: WEFT_ERR_ARG (null request).
 * @{ */

WEFT_API int weft_ibarrier(weft_comm *comm, weft_request **request);
WEFT_API int weft_ibcast(void *buffer, size_t count, const weft_datatype *type, int root, weft_comm *comm,
                         weft_request **request);
WEFT_API int weft_iscatter(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                           size_t recv_count, const weft_datatype *recv_type, int root, weft_comm *comm,
                           weft_request **request);
WEFT_API int weft_iscatterv(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                            const weft_datatype *send_type, void *recv, size_t recv_count,
                            const weft_datatype *recv_type, int root, weft_comm *comm, weft_request **request);
WEFT_API int weft_igather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                          size_t recv_count, const weft_datatype *recv_type, int root, weft_comm *comm,
                          weft_request **request);
WEFT_API int weft_igatherv(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                           const size_t *recv_counts, const ptrdiff_t *recv_displs, const weft_datatype *recv_type,
                           int root, weft_comm *comm, weft_request **request);
WEFT_API int weft_iallgather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                             size_t recv_count, const weft_datatype *recv_type, weft_comm *comm,
                             weft_request **request);
WEFT_API int weft_iallgatherv(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                              const size_t *recv_counts, const ptrdiff_t *recv_displs, const weft_datatype *recv_type,
                              weft_comm *comm, weft_request **request);
WEFT_API int weft_ialltoall(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                            size_t recv_count, const weft_datatype *recv_type, weft_comm *comm, weft_request **request);
WEFT_API int weft_ialltoallv(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                             const weft_datatype *send_type, void *recv, const size_t *recv_counts,
                             const ptrdiff_t *recv_displs, const weft_datatype *recv_type, weft_comm *comm,
                             weft_request **request);
WEFT_API int weft_ialltoallw(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                             const weft_datatype *const *send_types, void *recv, const size_t *recv_counts,
                             const ptrdiff_t *recv_displs, const weft_datatype *const *recv_types, weft_comm *comm,
                             weft_request **request);
WEFT_API int weft_ireduce(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                          int root, weft_comm *comm, weft_request **request);
WEFT_API int weft_iallreduce(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                             weft_comm *comm, weft_request **request);
WEFT_API int weft_ireduce_scatter(const void *send, void *recv, const size_t *recv_counts, const weft_datatype *type,
                                  const weft_op *op, weft_comm *comm, weft_request **request);
WEFT_API int weft_ireduce_scatter_block(const void *send, void *recv, size_t recv_count, const weft_datatype *type,
                                        const weft_op *op, weft_comm *comm, weft_request **request);
WEFT_API int weft_iscan(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                        weft_comm *comm, weft_request **request);
WEFT_API int weft_iexscan(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                          weft_comm *comm, weft_request **request);

/** @} */

/** @name Persistent
 * As the blocking ones; `*request` is set to an inactive request for weft_start(), freed with weft_request_free(), or stays
 * as it is on an error. Buffers and operations belong to weft while a start is under way; arrays of counts, displacements and types need not
 * outlive this call. More errors: WEFT_ERR_ARG.
 * @{ */

WEFT_API int weft_barrier_init(weft_comm *comm, weft_request **request);
WEFT_API int weft_bcast_init(void *buffer, size_t count, const weft_datatype *type, int root, weft_comm *comm,
                             weft_request **request);
WEFT_API int weft_scatter_init(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                               size_t recv_count, const weft_datatype *recv_type, int root, weft_comm *comm,
                               weft_request **request);
WEFT_API int weft_scatterv_init(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                                const weft_datatype *send_type, void *recv, size_t recv_count,
                                const weft_datatype *recv_type, int root, weft_comm *comm, weft_request **request);
WEFT_API int weft_gather_init(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                              size_t recv_count, const weft_datatype *recv_type, int root, weft_comm *comm,
                              weft_request **request);
WEFT_API int weft_gatherv_init(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                               const size_t *recv_counts, const ptrdiff_t *recv_displs, const weft_datatype *recv_type,
                               int root, weft_comm *comm, weft_request **request);
WEFT_API int weft_allgather_init(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                                 size_t recv_count, const weft_datatype *recv_type, weft_comm *comm,
                                 weft_request **request);
WEFT_API int weft_allgatherv_init(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                                  const size_t *recv_counts, const ptrdiff_t *recv_displs,
                                  const weft_datatype *recv_type, weft_comm *comm, weft_request **request);
WEFT_API int weft_alltoall_init(const void *send, size_t send_count, const weft_datatype *send_type, void *recv,
                                size_t recv_count, const weft_datatype *recv_type, weft_comm *comm,
                                weft_request **request);
WEFT_API int weft_alltoallv_init(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                                 const weft_datatype *send_type, void *recv, const size_t *recv_counts,
                                 const ptrdiff_t *recv_displs, const weft_datatype *recv_type, weft_comm *comm,
                                 weft_request **request);
WEFT_API int weft_alltoallw_init(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                                 const weft_datatype *const *send_types, void *recv, const size_t *recv_counts,
                                 const ptrdiff_t *recv_displs, const weft_datatype *const *recv_types, weft_comm *comm,
                                 weft_request **request);
WEFT_API int weft_reduce_init(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                              int root, weft_comm *comm, weft_request **request);
WEFT_API int weft_allreduce_init(const void *send, void *recv, size_t count, const weft_datatype *type,
                                 const weft_op *op, weft_comm *comm, weft_request **request);
WEFT_API int weft_reduce_scatter_init(const void *send, void *recv, const size_t *recv_counts,
                                      const weft_datatype *type, const weft_op *op, weft_comm *comm,
                                      weft_request **request);
WEFT_API int weft_reduce_scatter_block_init(const void *send, void *recv, size_t recv_count, const weft_datatype *type,
                                            const weft_op *op, weft_comm *comm, weft_request **request);
WEFT_API int weft_scan_init(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                            weft_comm *comm, weft_request **request);
WEFT_API int weft_exscan_init(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                              weft_comm *comm, weft_request **request);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
