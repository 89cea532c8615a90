// SPDX-License-Identifier: BSD-3-Clause
/**
 * The process-level algorithms: each a builder, a pure function from a rank's view of a collective to a schedule.
 *
 * A builder takes no buffers. By convention the operands stand in INTER_SEND and the result goes to INTER_RECV. Bcast
 * uses INTER_RECV for its one buffer. What a rank has not got (the receive buffer of a rank that is not the root) is not
 * used. "In place" is the binding of both to the same memory (of gather, scatter and allgather: of the own block to its
 * place in the whole), and a copy from a place to itself is skipped when the schedule runs. So no step may write to a
 * place of INTER_RECV while the same place of INTER_SEND is yet to be read, or is being sent, unless view.in_place says that
 * the reduction is not in place.
 */
#ifndef INTER_ALGORITHM_H
#define INTER_ALGORITHM_H

#include <inter/schedule.h>

enum inter_collective {
    INTER_BARRIER,
    INTER_BCAST,
    INTER_SCATTER,
    INTER_SCATTERV,
    INTER_GATHER,
    INTER_GATHERV,
    INTER_ALLGATHER,
    INTER_ALLGATHERV,
    INTER_ALLTOALL,
    INTER_ALLTOALLV,
    INTER_ALLTOALLW,
    INTER_REDUCE,
    INTER_ALLREDUCE,
    INTER_REDUCE_SCATTER,
    INTER_REDUCE_SCATTER_BLOCK,
    INTER_SCAN,
    INTER_EXSCAN,
    INTER_COLLECTIVES
};

/** Sets of collectives, a bit each. */
#define INTER_BIT(collective) (1u << (collective))
#define INTER_SCATTERS        (INTER_BIT(INTER_SCATTER) | INTER_BIT(INTER_SCATTERV))
#define INTER_GATHERS         (INTER_BIT(INTER_GATHER) | INTER_BIT(INTER_GATHERV))
#define INTER_ALLGATHERS      (INTER_BIT(INTER_ALLGATHER) | INTER_BIT(INTER_ALLGATHERV))
#define INTER_ALLTOALLS       (INTER_BIT(INTER_ALLTOALL) | INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW))
#define INTER_REDUCE_SCATTERS (INTER_BIT(INTER_REDUCE_SCATTER) | INTER_BIT(INTER_REDUCE_SCATTER_BLOCK))
#define INTER_SCANS           (INTER_BIT(INTER_SCAN) | INTER_BIT(INTER_EXSCAN))
/** Those of one vector, which may be cut into segments. */
#define INTER_VECTORS         (INTER_BIT(INTER_BCAST) | INTER_BIT(INTER_REDUCE) | INTER_BIT(INTER_ALLREDUCE) | INTER_SCANS)
/** Those of blocks that may be cut, each block into as many segments, and those whose names may end with a segment size. */
#define INTER_CUT_BLOCKS      (INTER_BIT(INTER_SCATTER) | INTER_ALLGATHERS | INTER_ALLTOALLS | INTER_REDUCE_SCATTERS)
#define INTER_SEGMENTED                                                                                                \
    (INTER_VECTORS | INTER_BIT(INTER_SCATTER) | INTER_BIT(INTER_ALLGATHER) | INTER_BIT(INTER_ALLTOALL) |               \
     INTER_REDUCE_SCATTERS)
#define INTER_REDUCTIONS (INTER_BIT(INTER_REDUCE) | INTER_BIT(INTER_ALLREDUCE) | INTER_REDUCE_SCATTERS | INTER_SCANS)
/** Those whose ranks may disagree about the length of a message without being in different calls. */
#define INTER_UNEVEN                                                                                                   \
    (INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV) | INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW))
/** Those with an array of something for each rank. */
#define INTER_WITH_ARRAYS (INTER_UNEVEN | INTER_BIT(INTER_ALLGATHERV) | INTER_BIT(INTER_REDUCE_SCATTER))
#define INTER_ROOTED      (INTER_BIT(INTER_BCAST) | INTER_BIT(INTER_REDUCE) | INTER_GATHERS | INTER_SCATTERS)

static inline bool inter_is(enum inter_collective collective, unsigned set) {
    return set >> collective & 1;
}

typedef struct inter_algorithm inter_algorithm;

/**
 * One rank's view of one collective. Counts and offsets are in elements.
 *
 * Gather(v), scatter(v), allgather(v) and reduce_scatter(_block) concern p blocks in rank order, the *whole*: `offsets`
 * (p + 1 entries) says where each begins and ends when they are packed; NULL: each has `count` elements. A rank that is
 * not the root of gatherv or scatterv may know its own block only: then offsets is NULL and `count` its length.
 * `displs` (p entries): where the blocks lie in the whole, when they are not packed: of gatherv and scatterv at the root,
 * of allgatherv; of parts of blocks.
 * Alltoall(v, w): block j of the send buffer begins at send_offsets[j] and has send_counts[j] elements, likewise for
 * receive; NULL counts: `count` elements each, packed.
 * Collectives of blocks whose algorithm has a segment size are cut when all blocks have `count` elements, or when `typical` says what
 * the segments are measured against, equal in all ranks: every block into as many segments as one of so many elements needs.
 * Reduce_scatter with `typical` is not in place.
 * With `next`, which is of the same ranks and elements, that follows in a strand of its own. `sparse`: of an alltoall(v), where both sides
 * know what there is: blocks of no elements are no messages.
 * Reductions in the fixed bracketing, of several ranks a process: INTER_SEND has the process's own `leaves` (leaves.h), one each
 * `stride` elements; NULL: the operand of its only rank.
 */
typedef struct inter_view {
    enum inter_collective collective;
    const inter_algorithm *algorithm; /* whose builder is called: set by inter_build(), or by who uses it as a part */
    int rank, size, root;
    size_t count;
    size_t element_bytes;
    bool cut; /* a part of a composed algorithm: the blocks are `count` elements, cut in p (inter_block_offset) */
    /* Reductions: INTER_SEND and INTER_RECV are the same. Alltoall(v, w): what is to be sent stands in INTER_RECV. */
    bool in_place;
    uint64_t contents; /* equal when the arrays' contents are those of the view prepared before; 0: who knows */
    size_t typical;
    const size_t *offsets, *displs;
    const size_t *send_counts, *recv_counts;
    const size_t *send_offsets, *recv_offsets;
    const struct inter_leaves *leaves;
    size_t stride;
    bool sparse;
    const struct inter_view *next;
} inter_view;

/** How a rank's messages that do not depend on each other are issued: the prefix of a name. */
enum inter_issue {
    INTER_B,   /* one at a time, each complete before the next begins */
    INTER_NB,  /* all at once; where a rank sends and receives: the sends at once, the receives one at a time */
    INTER_NB1, /* receives and sends all at once */
    INTER_NB2  /* the receives at once, the sends one at a time */
};

typedef void inter_builder(inter_schedule *schedule, const inter_view *view);

#define INTER_NAME_BYTES 40

struct inter_algorithm {
    unsigned collectives;        /* those that it serves, a bit each */
    char name[INTER_NAME_BYTES]; /* as in the table of algorithms: "MST", "nbBDE", "MSTReduce+nbFTBcast", "CHAIN:64K" */
    inter_builder *build;
    enum inter_issue issue;
    bool commutes;      /* takes operands in another order than that of the ranks: not for every operation */
    bool single_blocks; /* moves the blocks of a whole one by one, so they may lie anywhere */
    bool needs_counts;  /* of gatherv, scatterv: every rank must know all blocks, not only its own */
    bool bracketed;     /* combines operands in the fixed bracketing of core/bracket.h, and takes leaves */
    bool symmetric;     /* every rank r does the same with r + d or r xor d, for the same d (for any, for 2^k ranks) */
    size_t segment_bytes;            /* vectors, or blocks, are cut into strands of so many; 0: they are not */
    const inter_algorithm *parts[2]; /* of a composed algorithm */
};

/** The collective's name, "allreduce". */
const char *inter_collective_name(enum inter_collective collective);

/**
 * The algorithms of a collective, from index 0: first those of the table by their names (the first one is the default;
 * composed ones once, as "Reduce+Bcast"), then every composition of two parts, "MSTReduce+nbFTBcast". False behind the
 * last.
 */
bool inter_algorithm_at(enum inter_collective collective, int index, inter_algorithm *algorithm);

/** How many inter_algorithm_at() counts before the compositions: the names in the table. */
int inter_algorithm_names(enum inter_collective collective);

/**
 * The algorithm of a name, which may end with a segment size (INTER_SEGMENTED), as in "CHAIN:64K" or "MST:0".
 * False when there is none, and then *algorithm is as it was.
 */
bool inter_algorithm_find(enum inter_collective collective, const char *name, inter_algorithm *algorithm);

/** More segments hide nothing more, and each costs memory: of what is very long they are longer. */
#define INTER_MOST_SEGMENTS 4096

/** As many of `count` elements as the algorithm's segments have, one at least; 0: it has none. */
static inline size_t inter_segment_elements(const inter_algorithm *algorithm, size_t count, size_t element_bytes) {
    size_t bytes = algorithm->segment_bytes, least = count / INTER_MOST_SEGMENTS + (count % INTER_MOST_SEGMENTS > 0);
    size_t elements = bytes && element_bytes ? bytes / element_bytes + (bytes < element_bytes) : 0;
    return elements && elements < least ? least : elements;
}

/** The elements of the segments, a strand each, that the algorithm cuts a vector of `count` elements into; 0: it does not. */
static inline size_t inter_segment(const inter_algorithm *algorithm, enum inter_collective collective, size_t count,
                                   size_t element_bytes) {
    size_t segment = inter_segment_elements(algorithm, count, element_bytes);
    return inter_is(collective, INTER_VECTORS) && segment < count ? segment : 0;
}

/**
 * The segments, a strand each, that the algorithm cuts blocks into of which the typical one has so many elements; 1: it does not. Where
 * MST sends several of a scatter's blocks at once they would have to be packed, and the root's own be unpacked into what may be the
 * user's send buffer.
 */
static inline size_t inter_cuts(const inter_algorithm *algorithm, enum inter_collective collective, size_t typical,
                                size_t element_bytes) {
    bool single = inter_is(collective, INTER_BIT(INTER_SCATTER) | INTER_ALLTOALLS);
    if (!inter_is(collective, INTER_CUT_BLOCKS) || (single && !algorithm->single_blocks))
        return 1;
    size_t segment = inter_segment_elements(algorithm, typical, element_bytes);
    return segment && segment < typical ? typical / segment + (typical % segment > 0) : 1;
}

/** Where part `index` of `count` elements begins, that are cut into so many parts; the first ones are longer by one than the last. */
static inline size_t inter_part_offset(size_t count, size_t parts, size_t index) {
    size_t longer = count % parts;
    return index * (count / parts) + (index < longer ? index : longer);
}

/**
 * Builds the schedule: the algorithm's own, for every segment; with blocks that do not lie packed, or in place, copied to
 * and from temporary memory where the algorithm needs it.
 */
void inter_build(inter_schedule *schedule, const inter_algorithm *algorithm, const inter_view *view);

/** Where block `rank` of the packed whole begins (rank = size: where it ends). Of a cut vector the first blocks are longer
 * by one than the last. */
static inline size_t inter_block_offset(const inter_view *view, int rank) {
    size_t index = (size_t)rank;
    if (view->offsets)
        return view->offsets[rank];
    if (!view->cut)
        return index * view->count;
    return inter_part_offset(view->count, (size_t)view->size, index);
}

/** The elements of the blocks of the ranks first … last. */
static inline size_t inter_blocks_count(const inter_view *view, int first, int last) {
    return inter_block_offset(view, last + 1) - inter_block_offset(view, first);
}

static inline size_t inter_block_count(const inter_view *view, int rank) {
    return inter_blocks_count(view, rank, rank);
}

/** Where block `rank` lies in the whole, packed or not: for algorithms that move single blocks. */
static inline size_t inter_block_place(const inter_view *view, int rank) {
    return view->displs ? view->displs[rank] : inter_block_offset(view, rank);
}

#endif
