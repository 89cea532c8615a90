// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/order.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Blocks by rank: counts and displacements in elements (types: bytes), or, without counts, `count` elements each, one behind the other. */
typedef struct given {
    size_t count;
    const size_t *counts;
    const ptrdiff_t *displs;
    const weft_datatype *const *types; /* or NULL */
} given;

/* The same by place; one allocation. */
typedef struct blocks {
    size_t *counts;
    ptrdiff_t *displs;
    const weft_datatype **types;
} blocks;

static int no_memory(const weft_comm *comm, const hier_arguments *arguments) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory to put what %d ranks have into their order", comm->rank,
                      arguments->call, comm->size);
}

static bool blocks_make(const weft_comm *comm, const given *from, blocks *made) {
    size_t ranks = (size_t)comm->size;
    made->counts = malloc(ranks * (sizeof(*made->counts) + sizeof(*made->displs) + sizeof(*made->types)));
    if (!made->counts)
        return false;
    made->displs = (ptrdiff_t *)(made->counts + ranks);
    made->types = (const weft_datatype **)(made->displs + ranks);
    for (int place = 0; place < comm->size; place++) {
        int rank = hier_layout_rank(comm->layout, place);
        made->counts[place] = from->counts ? from->counts[rank] : from->count;
        made->displs[place] = from->counts ? from->displs[rank] : rank * (ptrdiff_t)from->count;
        if (from->types)
            made->types[place] = from->types[rank];
    }
    return true;
}

static void map_root(const weft_comm *comm, hier_arguments *mapped) {
    if (inter_is(mapped->collective, INTER_ROOTED))
        mapped->root = hier_layout_place(comm->layout, mapped->root);
}

/* Places know no order of ranks. What goes by it (operands, prefixes, blocks of a result) is combined in the fixed bracketing. */
static void map_reduction(hier_arguments *a) {
    bool any_order =
        inter_is(a->collective, INTER_BIT(INTER_REDUCE) | INTER_BIT(INTER_ALLREDUCE)) && a->op->commutative;
    a->bracketed |= !any_order;
}

static bool has_sent_blocks(const weft_comm *comm, const hier_arguments *a) {
    if (inter_is(a->collective, INTER_BIT(INTER_SCATTER) | INTER_BIT(INTER_SCATTERV)))
        return comm->rank == a->root;
    return inter_is(a->collective, INTER_ALLTOALLS) && !a->in_place;
}

static bool has_received_blocks(const weft_comm *comm, const hier_arguments *a) {
    if (inter_is(a->collective, INTER_BIT(INTER_GATHER) | INTER_BIT(INTER_GATHERV)))
        return comm->rank == a->root;
    return inter_is(a->collective, INTER_ALLGATHERS | INTER_ALLTOALLS);
}

/* That with counts, which takes blocks wherever they are. */
static enum inter_collective with_counts(enum inter_collective collective) {
    switch (collective) {
    case INTER_GATHER:
        return INTER_GATHERV;
    case INTER_SCATTER:
        return INTER_SCATTERV;
    case INTER_ALLGATHER:
        return INTER_ALLGATHERV;
    case INTER_ALLTOALL:
        return INTER_ALLTOALLV;
    default:
        return collective;
    }
}

int hier_order_map(const weft_comm *comm, hier_arguments *a, void *arrays[2]) {
    blocks sent = {0}, received = {0};
    bool equal = inter_is(a->collective, INTER_BIT(INTER_GATHER) | INTER_BIT(INTER_SCATTER) |
                                             INTER_BIT(INTER_ALLGATHER) | INTER_BIT(INTER_ALLTOALL));
    bool types = a->collective == INTER_ALLTOALLW, sends = has_sent_blocks(comm, a), room = true;
    bool receives = has_received_blocks(comm, a);
    arrays[0] = arrays[1] = NULL;
    map_root(comm, a);
    if (inter_is(a->collective, INTER_REDUCTIONS)) {
        map_reduction(a);
        return WEFT_SUCCESS;
    }
    if (sends) {
        given from = {.count = a->send_count};
        if (!equal)
            from = (given){0, a->send_counts, a->send_displs, types ? a->send_types : NULL};
        room = blocks_make(comm, &from, &sent);
    }
    if (receives) {
        given from = {.count = a->recv_count};
        if (!equal)
            from = (given){0, a->recv_counts, a->recv_displs, types ? a->recv_types : NULL};
        room &= blocks_make(comm, &from, &received);
    }
    if (!room) {
        free(sent.counts);
        free(received.counts);
        return no_memory(comm, a);
    }
    arrays[0] = sent.counts;
    arrays[1] = received.counts;
    a->send_counts = sent.counts;
    a->send_displs = sent.displs;
    a->send_types = sent.types;
    a->recv_counts = received.counts;
    a->recv_displs = received.displs;
    a->recv_types = received.types;
    a->collective = with_counts(a->collective);
    if (equal)
        a->own_bytes = a->bytes;
    return WEFT_SUCCESS;
}

int hier_ordered(weft_comm *comm, const hier_arguments *arguments) {
    hier_arguments mapped = *arguments;
    void *arrays[2];
    int code = hier_order_map(comm, &mapped, arrays);
    if (code)
        return code;
    code = hier_thread_run(hier_comm_inner(comm),
                           &mapped); /* whose sentences count ranks as this handle does (hier_rank_of) */
    free(arrays[0]);
    free(arrays[1]);
    return code;
}
