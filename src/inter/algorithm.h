// SPDX-License-Identifier: BSD-3-Clause
/**
 * The process-level algorithms: each a builder, a pure function from a rank's view of a collective to a schedule.
 *
 * A builder takes no buffers. By convention the operands stand in INTER_SEND and the result goes to INTER_RECV; "in
 * place" is the binding of both to the same memory, and a copy from a place to itself is skipped when the schedule
 * runs. Bcast uses INTER_RECV for its one buffer. What a rank has not got (the receive buffer of a rank that is not the
 * root) is not used.
 */
#ifndef INTER_ALGORITHM_H
#define INTER_ALGORITHM_H

#include <inter/schedule.h>

enum inter_collective {
    INTER_BARRIER,
    INTER_BCAST,
    INTER_REDUCE,
    INTER_ALLREDUCE,
    INTER_GATHER,
    INTER_SCATTER,
    INTER_ALLGATHER,
    INTER_ALLTOALL,
    INTER_ALLTOALLV,
    INTER_COLLECTIVES
};

/**
 * One rank's view of one collective. Counts and offsets are in elements.
 *
 * Gather, scatter and allgather concern p blocks that lie packed in rank order in the whole buffer (the root's, or
 * everyone's): `offsets` (p+1 entries) says where each begins and ends; NULL: each has `count` elements.
 * Alltoall(v): block j of the send buffer begins at send_offsets[j] and has send_counts[j] elements, likewise for
 * receive; NULL counts: `count` elements each, packed.
 */
typedef struct inter_view {
    int rank, size, root;
    size_t count;
    const size_t *offsets;
    const size_t *send_counts, *recv_counts;
    const size_t *send_offsets, *recv_offsets;
} inter_view;

typedef void inter_builder(inter_schedule *schedule, const inter_view *view);

typedef struct inter_algorithm {
    enum inter_collective collective;
    const char *name; /* as in the table of algorithms: "MST", "nbBDE", "MSTReduce+nbFTBcast" */
    inter_builder *build;
    bool keeps_order; /* reductions: right for operations that do not commute */
} inter_algorithm;

/** The collective's name, "allreduce". */
const char *inter_collective_name(enum inter_collective collective);

/** All algorithms, grouped by collective; ends with one whose name is NULL. The first of each collective is its
 * default. */
extern const inter_algorithm inter_algorithms[];

/** NULL when there is none. */
const inter_algorithm *inter_algorithm_find(enum inter_collective collective, const char *name);

/** Where block `rank` begins, and how long it is: gather, scatter, allgather. */
static inline size_t inter_block_offset(const inter_view *view, int rank) {
    return view->offsets ? view->offsets[rank] : (size_t)rank * view->count;
}

/** The elements of the blocks of the ranks first … last. */
static inline size_t inter_blocks_count(const inter_view *view, int first, int last) {
    return inter_block_offset(view, last + 1) - inter_block_offset(view, first);
}

inter_builder inter_barrier_diss, inter_bcast_mst, inter_bcast_nbft, inter_reduce_mst, inter_allreduce_nbbde,
    inter_allreduce_mst_mst, inter_allreduce_mst_nbft, inter_gather_mst, inter_scatter_mst, inter_allgather_nbbkt,
    inter_alltoall_nb1ft;

#endif
