// SPDX-License-Identifier: BSD-3-Clause
/**
 * Communicators made of others: duplicated, or split into groups of any ranks in any order (MPI 4.0 section 7.4).
 *
 * Both kinds of communicators can be the parent: of a process communicator come process communicators (which weft_team_create
 * takes as a parent), of a thread's handle on a thread communicator comes a handle that belongs to that thread. The ranks of the
 * new one may be mixed over the nodes in any way, and a process may take part with some of its threads. Messages and
 * collectives on different communicators never meet, wildcards included.
 *
 * weft_node, weft_thread, weft_nodes and weft_node_threads count the processes and threads that take part, in the order of their
 * first ranks. Where the ranks of a node do not lie together collectives do more: blocks are put in order on the way, prefixes and
 * operations that do not commute gather all operands.
 *
 * Making one is collective over all ranks of the parent, and blocks. Several threads may do so at the same time, each with another
 * parent. What was made is freed before its origin is left, freed or finalized; what descends from it stays.
 * At most 4094 communicators that span several processes stand in a process at once; what is split or duplicated
 * of them within a process is not counted, teams always are.
 *
 * Under WEFT_THREAD_FUNNELED a communicator whose threads of a process do not include the one that called weft_init
 * needs that thread for what goes between processes: it moves while that thread waits in any call of weft.
 */
#ifndef WEFT_COMM_H
#define WEFT_COMM_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As color in weft_comm_split(): no communicator for this rank. */
#define WEFT_COLOR_UNDEFINED (-1)

/**
 * Makes a communicator of the same ranks in the same order. Collective over `comm`. The caller frees *made with weft_comm_free().
 * Errors: WEFT_ERR_ARG (no communicator, or one given back; null made: then all ranks get the error), WEFT_ERR_THREAD (handle of another thread;
 * a process communicator under FUNNELED on another thread than weft_init's), WEFT_ERR_BUSY (too many communicators stand),
 * WEFT_ERR_NOMEM, WEFT_ERR_TRANSPORT, WEFT_ERR_PROC_FAILED; then no rank has one. WEFT_ERR_MISMATCH: `comm` is broken; when that happens
 * during the call some ranks may have one all the same, on which collectives return that error, and which they free.
 */
WEFT_API int weft_comm_dup(weft_comm *comm, weft_comm **made);

/**
 * Makes a communicator for each color: its ranks are those of `comm` that passed it, ordered by `key`, of equal ones by
 * their rank in `comm`. A negative color, as WEFT_COLOR_UNDEFINED: *made is set to NULL, the call is needed all the same. Collective over `comm`.
 * The caller frees *made with weft_comm_free(). Errors: as weft_comm_dup.
 */
WEFT_API int weft_comm_split(weft_comm *comm, int color, int key, weft_comm **made);

/**
 * Frees what weft_comm_dup() or weft_comm_split() made, and sets *comm to NULL. Every rank of it calls this, and waits for nobody.
 * What it sent was received, or is lost; a send to a rank that has freed it, if it waits for its receive (synchronous, or
 * longer than WEFT_EAGER_LIMIT), may be complete, or never is.
 * Errors: WEFT_ERR_ARG (null, freed before, or made by weft_init or weft_team_enter),
 * WEFT_ERR_THREAD (handle of another thread), WEFT_ERR_BUSY (a request is not completed, a persistent one not freed, a message of weft_mprobe not
 * received, or a buffer attached; the communicator stays).
 */
WEFT_API int weft_comm_free(weft_comm **comm);

#ifdef __cplusplus
}
#endif
#endif
