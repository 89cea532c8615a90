// SPDX-License-Identifier: BSD-3-Clause
/**
 * Counters: what the ranks of a process have done so far, and what that has put on its way. Always on.
 *
 * `weftrun --counters` prints the sums over all processes of a job at its end. With WEFT_COUNTERS=DIRECTORY each process writes
 * its own to DIRECTORY/counters.RANK in weft_finalize, under any launcher; a process that starts weft again then writes counters.RANK.2,
 * and so on.
 */
#ifndef WEFT_COUNTERS_H
#define WEFT_COUNTERS_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The rows: a collective in all its forms (weft_bcast, weft_ibcast, weft_bcast_init), and messages. */
typedef enum weft_counted {
    WEFT_COUNTED_BARRIER,
    WEFT_COUNTED_BCAST,
    WEFT_COUNTED_SCATTER,
    WEFT_COUNTED_SCATTERV,
    WEFT_COUNTED_GATHER,
    WEFT_COUNTED_GATHERV,
    WEFT_COUNTED_ALLGATHER,
    WEFT_COUNTED_ALLGATHERV,
    WEFT_COUNTED_ALLTOALL,
    WEFT_COUNTED_ALLTOALLV,
    WEFT_COUNTED_ALLTOALLW,
    WEFT_COUNTED_REDUCE,
    WEFT_COUNTED_ALLREDUCE,
    WEFT_COUNTED_REDUCE_SCATTER,
    WEFT_COUNTED_REDUCE_SCATTER_BLOCK,
    WEFT_COUNTED_SCAN,
    WEFT_COUNTED_EXSCAN,
    WEFT_COUNTED_MESSAGES, /**< weft_send and its kin */
    WEFT_COUNTED_ROWS
} weft_counted;

/** Messages and the bytes of user data in them, without headers. */
typedef struct weft_traffic {
    uint64_t messages;
    uint64_t bytes;
} weft_traffic;

/**
 * One row.
 *
 * `operations`: collectives count once a rank that calls them, when they end (short ones within a process when they wait for the others),
 * nonblocking and persistent ones at each start; messages once a send.
 *
 * `on_host`, `between_hosts`: what this process has sent to other processes, of its host or of others; counted where the engine
 * issues the sends of a schedule, and where a rank sends a message. What threads of another process read for themselves counts as
 * one message to that process. Sums over all processes are what has crossed; what a process receives is not counted again.
 *
 * `inside`: what ranks took over from other ranks of their process. Of messages, those sent. Of collectives on a thread
 * communicator it is reckoned from the call, for a node of T ranks out of p, by what must change hands whatever the algorithm:
 *
 *     bcast, scatter, gather, reduce, scan, exscan    T - 1 blocks (vectors)
 *     allreduce                                       2 (T - 1) vectors: the operands, and the result
 *     reduce_scatter(_block)                          T - 1 vectors, the operands, and T - 1 blocks
 *     allgather, alltoall                             (T - 1) p blocks: T - 1 ranks take over all others' (also those that have
 *                                                     come to the node), the first rank those of its node
 *     the same with counts (v, w)                     likewise, each block with its own length
 *     barrier                                         nothing
 *
 * `waited_seconds`: the time for which ranks of this process waited in operations for other ranks, added up over ranks. Only
 * waits that are not over after the first looks are measured, from then on: those of less than a few microseconds count nothing.
 */
typedef struct weft_counter_row {
    uint64_t operations;
    weft_traffic inside, on_host, between_hosts;
    double waited_seconds;
} weft_counter_row;

typedef struct weft_counters {
    weft_counter_row rows[WEFT_COUNTED_ROWS]; /**< by weft_counted */
} weft_counters;

/**
 * Fills *counters with those of this process since weft_init. To count a part of a program, subtract what they were before it.
 * Making a team or a communicator takes some allgathers and allreduces of its parent, and weft_finalize begins with the barrier of the process
 * communicator; they are counted as such. weft_init is not counted.
 * Local; any thread, any time between weft_init and weft_finalize, also while operations are under way: of those it may see a
 * part. What a thread has done is complete for itself, and for others that it has met since.
 * Errors: WEFT_ERR_ARG (null), WEFT_ERR_INIT.
 */
WEFT_API int weft_counters_get(weft_counters *counters);

/** The name of a row, as in "allreduce" or "messages"; NULL for a number that is no row. Static. */
WEFT_API const char *weft_counted_name(weft_counted row);

#ifdef __cplusplus
}
#endif
#endif
