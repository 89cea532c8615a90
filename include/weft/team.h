// SPDX-License-Identifier: BSD-3-Clause
/**
 * Teams: the threads of all processes as ranks of one communicator, and what a communicator knows about its ranks.
 *
 * A *node* is a process and its threads. The ranks of a team's communicator are numbered node by node: thread t of node n
 * has the rank (threads of the nodes before n) + t.
 */
#ifndef WEFT_TEAM_H
#define WEFT_TEAM_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most threads that one process may bring to a team. */
#define WEFT_MAX_TEAM_THREADS 4096

/**
 * Makes a team of `nthreads` threads of this process and those of the others. Collective over the processes of `parent` (a
 * process communicator), called by one thread of each; nthreads may differ from process to process.
 * nthreads 0: the value of WEFT_THREADS (`weftrun -t` sets it), else one for each core this process may use.
 * The caller frees *team with weft_team_free().
 * Errors: WEFT_ERR_ARG (parent is no process communicator, nthreads out of 0 … WEFT_MAX_TEAM_THREADS, null team; every
 * process gets it when one of them passes a bad nthreads or a null team), WEFT_ERR_MISMATCH (the processes call
 * different collectives), WEFT_ERR_THREAD, WEFT_ERR_NOMEM, WEFT_ERR_TRANSPORT, WEFT_ERR_PROC_FAILED, WEFT_ERR_BUSY (as many teams and
 * communicators stand as weft/comm.h allows).
 */
WEFT_API int weft_team_create(weft_comm *parent, int nthreads, weft_team **team);

/**
 * Enters a team as thread `thread` (0 … nthreads-1, or WEFT_ANY_THREAD to be given a free number) and makes the calling
 * thread's own handle *comm, which no other thread may use. Local: it does not wait for the others. Any kind of thread:
 * OpenMP, pthread, C11, C++. Thread 0 is the leader; under FUNNELED it must be the thread that called weft_init.
 * The caller gives the handle back with weft_team_leave(), and may enter again later.
 * Errors: WEFT_ERR_ARG (team is null or freed, null comm), WEFT_ERR_THREAD (number out of range, already in, or none free;
 * not the leader's thread), WEFT_ERR_NOMEM.
 */
WEFT_API int weft_team_enter(weft_team *team, int thread, weft_comm **comm);

/**
 * Leaves the team and sets *comm to NULL. Local. The handle must have no collective under way. Messages that were sent to the rank
 * stay with it, for who enters under the same number.
 * Under FUNNELED, what the other threads of the process still have under way between processes stands still from when thread 0 has
 * left until it is in weft again: a barrier before leaving keeps it with them.
 * A thread leaves before it ends: nobody else can, but a thread that the system has put into its place.
 * Errors: WEFT_ERR_ARG (no handle of a team, or given back before), WEFT_ERR_THREAD (the handle of another thread), WEFT_ERR_BUSY (a
 * request is not completed, a persistent one not freed, a message of weft_mprobe not received, a buffer attached, or a communicator that was made of it
 * not freed; the handle stays).
 */
WEFT_API int weft_team_leave(weft_comm **comm);

/**
 * Frees the team and sets *team to NULL. Called by one thread of each process, whichever, after every thread left; waits for no one.
 * Errors: WEFT_ERR_ARG (null or freed before), WEFT_ERR_BUSY (a thread is still in it; the team stays).
 */
WEFT_API int weft_team_free(weft_team **team);

/** The threads that this process has in the team. Negative: WEFT_ERR_ARG. */
WEFT_API int weft_team_threads(const weft_team *team);

/**
 * What a communicator knows. Each returns a number ≥ 0, or a negative error code (WEFT_ERR_ARG: no communicator, or freed;
 * WEFT_ERR_RANK: no such node). On a process communicator every node has one rank, and the thread is 0.
 */
/** @{ */
WEFT_API int weft_rank(const weft_comm *comm);   /**< the caller's rank */
WEFT_API int weft_size(const weft_comm *comm);   /**< how many ranks */
WEFT_API int weft_node(const weft_comm *comm);   /**< the caller's node: its process, 0 … weft_nodes-1 */
WEFT_API int weft_thread(const weft_comm *comm); /**< the caller's thread number in its node */
WEFT_API int weft_nodes(const weft_comm *comm);  /**< how many nodes */
WEFT_API int weft_node_threads(const weft_comm *comm, int node); /**< how many ranks a node has */
/** @} */

#ifdef __cplusplus
}
#endif
#endif
