// SPDX-License-Identifier: BSD-3-Clause
/**
 * The arguments of a collective, checked: one struct for all of them, so that both levels take the same.
 */
#ifndef HIER_ARGUMENTS_H
#define HIER_ARGUMENTS_H

#include <inter/algorithm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/types.h>

/**
 * After hier_check… WEFT_IN_PLACE is resolved: reductions have send = recv; gather(v)'s, allgather(v)'s send is the own block
 * in recv, scatter(v)'s recv that in send (where the types are strided: hier_lay_out(), hier_stage()); alltoall(v, w) keep it, as
 * in_place.
 */
typedef struct hier_arguments {
    enum inter_collective collective;
    enum inter_collective row; /* of the counters: what the user called, where it is served by another (order.c) */
    const char *call;          /* "weft_allreduce", for sentences */
    const void *caller;        /* where the program called it, for the roll-call */
    const void *send;
    void *recv; /* bcast: the buffer */
    size_t send_count, recv_count;
    const weft_datatype *send_type, *recv_type; /* reductions and bcast: recv_type */
    const weft_op *op;
    int root;
    const size_t *send_counts, *recv_counts;
    const ptrdiff_t *send_displs, *recv_displs;
    const weft_datatype *const *send_types, *const *recv_types;
    bool in_place;
    bool bracketed; /* operands meet in the fixed bracketing of core/bracket.h */
    /* Of a type that was checked the data are not one run, or it is a derived one that an operation is given, and so in use
     * to the end: staging.h */
    bool strided;
    bool derived;                 /* a type that was checked is a derived one */
    struct hier_staging *staging; /* once staged: what the buffers above belong to */
    bool laid_out;                /* strided, and threads copy from and to where the types say: sides.h */
    size_t moved;                 /* of strided ones: what passes through the cache for this rank, against stream.h */
    size_t bytes;                 /* a vector, or a block, of one rank, as all ranks know it; else 0 */
    size_t own_bytes;             /* gatherv, scatterv, allgatherv: of the rank's own block */
    uint64_t content; /* of what kinds these `bytes` are: core_datatype_hash(); 0 where it is not compared */
    /* A hash of what all ranks must count alike: allgatherv's and reduce_scatter's blocks, the bounds of an operation's derived type. */
    uint64_t counted;
    uint64_t
        signature; /* of all that the ranks must agree on: collective, root, bytes, counts, operation and its type */
    const char *element; /* the name of the type, when it is predefined or made of one that is; else NULL */
    uint64_t
        number; /* hier_checked.number: calls of one number and kind, of a communicator's rank, are alike; of barriers 1; 0: like none */
} hier_arguments;

/**
 * What every collective has, set to nothing; the fields that a collective does not have stay unset and are not read.
 */
__attribute__((always_inline)) static inline void
hier_arguments_begin(hier_arguments *arguments, enum inter_collective collective, const char *call) {
    arguments->collective = arguments->row = collective;
    arguments->call = call;
    arguments->caller = __builtin_return_address(0); /* of the public call that this stands in */
    arguments->send = NULL;
    arguments->recv = NULL;
    arguments->send_count = arguments->recv_count = 0;
    arguments->send_type = arguments->recv_type = NULL;
    arguments->op = NULL;
    arguments->root = 0;
    arguments->in_place = false;
    arguments->bracketed = false;
    arguments->strided = false;
    arguments->derived = false;
    arguments->staging = NULL;
    arguments->laid_out = false;
    arguments->bytes = 0;
    arguments->own_bytes = 0;
    arguments->content = 0;
    arguments->counted = 0;
    arguments->signature = (uint64_t)collective + 1; /* of a barrier; those of others are made when they are checked */
    arguments->element = NULL;
    arguments->number = collective == INTER_BARRIER;
}

#endif
