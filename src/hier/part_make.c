// SPDX-License-Identifier: BSD-3-Clause
/* Making parts, and giving them back. */
#include <core/error.h>
#include <hier/order.h>
#include <hier/part.h>
#include <hier/ring.h>
#include <hier/sides.h>
#include <hier/staging.h>
#include <stdlib.h>
#include <string.h>

static core_pool parts = CORE_POOL_INITIALIZER;

static hier_part *part_of(weft_request *request) {
    return (hier_part *)request;
}

/* The user's arrays need not stay, nor his types: movement is of bytes from here on, unless it is laid out. */

typedef struct arrays {
    const size_t *counts;
    const ptrdiff_t *displs;
    const weft_datatype *const *types;
} arrays;

/* Copies one side's to `memory`; where its end is. */
static void *copy_side(arrays *side, size_t ranks, void *memory) {
    size_t *counts = memory;
    ptrdiff_t *displs = (ptrdiff_t *)(counts + ranks);
    const weft_datatype **types = (const weft_datatype **)(displs + ranks);
    memcpy(counts, side->counts, ranks * sizeof(*counts));
    memcpy(displs, side->displs, ranks * sizeof(*displs));
    if (side->types)
        memcpy(types, side->types, ranks * sizeof(*types));
    *side = (arrays){counts, displs, side->types ? types : NULL};
    return types + ranks;
}

/* The same, of bytes then. `size`: an element's, where the blocks have no types of their own. */
static void *copy_side_in_bytes(arrays *side, size_t ranks, size_t size, void *memory) {
    size_t *counts = memory;
    ptrdiff_t *displs = (ptrdiff_t *)(counts + ranks);
    const weft_datatype **types = (const weft_datatype **)(displs + ranks);
    for (size_t rank = 0; rank < ranks; rank++) {
        counts[rank] = side->counts[rank] * (side->types ? side->types[rank]->size_bytes : size);
        /* Of an empty block the displacement means nothing. */
        displs[rank] = counts[rank] ? side->displs[rank] * (side->types ? 1 : (ptrdiff_t)size) : 0;
        types[rank] = WEFT_BYTE;
    }
    *side = (arrays){counts, displs, side->types ? types : NULL};
    return types + ranks;
}

static int copy_arrays(const weft_comm *comm, hier_part *part) {
    hier_arguments *a = &part->arguments;
    size_t ranks = (size_t)comm->size;
    int which = hier_sides_with_arrays(comm, a);
    bool typed = a->collective == INTER_ALLTOALLW;
    if (!which)
        return WEFT_SUCCESS;
    void *memory = intra_scratch_take(&part->scratch[HIER_COUNTS], 6 * ranks * sizeof(size_t));
    if (!memory)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for the counts of %zu ranks", comm->rank, a->call,
                          ranks);
    if (a->collective == INTER_REDUCE_SCATTER) {
        a->recv_counts = memcpy(memory, a->recv_counts, ranks * sizeof(size_t));
        return WEFT_SUCCESS;
    }
    if (which & HIER_SENDS) {
        arrays side = {a->send_counts, a->send_displs, typed ? a->send_types : NULL};
        memory = a->laid_out ? copy_side(&side, ranks, memory)
                             : copy_side_in_bytes(&side, ranks, typed ? 0 : a->send_type->size_bytes, memory);
        a->send_counts = side.counts;
        a->send_displs = side.displs;
        a->send_types = side.types;
        if (!a->laid_out)
            a->send_type = WEFT_BYTE;
    }
    if (which & HIER_RECEIVES) {
        arrays side = {a->recv_counts, a->recv_displs, typed ? a->recv_types : NULL};
        if (a->laid_out)
            copy_side(&side, ranks, memory);
        else
            copy_side_in_bytes(&side, ranks, typed ? 0 : a->recv_type->size_bytes, memory);
        a->recv_counts = side.counts;
        a->recv_displs = side.displs;
        a->recv_types = side.types;
        if (!a->laid_out)
            a->recv_type = WEFT_BYTE;
    }
    return WEFT_SUCCESS;
}

static hier_part *take(weft_comm *comm) {
    weft_request *kept = hier_request_kept(&comm->free_requests[0]);
    if (kept)
        return part_of(kept);
    hier_part *part = core_pool_take(&parts, sizeof(*part), HIER_REQUEST_MAGIC);
    if (part)
        part->base = (weft_request){.pooled = part->base.pooled, .kind = HIER_PART, .comm = comm};
    else
        core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a request", comm->rank);
    if (part)
        hier_scratch_opens(comm->world, part->scratch);
    return part;
}

void hier_part_empty(hier_part *part) {
    weft_comm *comm = part->base.comm;
    free(part->sentence);
    part->sentence = NULL;
    if (!part->prepared)
        return;
    if (part->ring)
        hier_ring_leave(comm->team, part->ring);
    hier_staging_free(part->arguments.staging);
    if (part->arguments.laid_out)
        hier_types_release(comm, &part->arguments);
    part->ring = NULL;
    part->prepared = false;
}

void hier_parts_free(weft_comm *comm) {
    weft_request *request;
    while ((request = hier_request_kept(&comm->free_requests[0]))) {
        intra_scratch_free(part_of(request)->scratch, INTRA_SCRATCHES);
        core_pool_give(&parts, request, HIER_REQUEST_MAGIC);
    }
}

/* Of ranks that have places. */
static int prepare_in_order(const weft_comm *comm, hier_part *part) {
    void *mapped[2];
    int code = hier_order_map(comm, &part->arguments, mapped);
    if (code)
        return code;
    code = copy_arrays(comm->inner, part);
    free(mapped[0]);
    free(mapped[1]);
    return code;
}

/* `number`: of a persistent one. */
static int prepare(weft_comm *comm, hier_part *part, bool persistent, uint64_t number) {
    int code = WEFT_SUCCESS;
    if (!persistent && !part->arguments.strided && !comm->inner)
        return inter_is(part->arguments.collective, INTER_WITH_ARRAYS) ? copy_arrays(comm, part) : WEFT_SUCCESS;
    part->prepared = true;
    if (part->arguments.strided && hier_lay_out(comm, &part->arguments))
        hier_types_retain(comm, &part->arguments);
    else if (part->arguments.strided)
        code = hier_stage(comm, &part->arguments, false);
    if (!code && hier_is_ordered(comm, &part->arguments))
        code = prepare_in_order(comm, part);
    else if (!code) /* also where it is staged: that replaces only the side which needs it */
        code = copy_arrays(comm, part);
    if (!code && persistent) {
        part->ring = hier_ring_join(comm->team, number);
        if (!part->ring)
            code = core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for a persistent collective", comm->rank,
                              part->arguments.call);
    }
    return code;
}

static int make(weft_comm *comm, const hier_arguments *arguments, bool persistent, uint64_t number,
                weft_request **request) {
    hier_part *part = take(comm);
    if (!part)
        return WEFT_ERR_NOMEM;
    part->alike = 0;
    part->arguments = *arguments;
    if (persistent && arguments->op && arguments->op->kind == CORE_OP_USER) {
        part->op = *arguments->op;
        part->arguments.op = &part->op;
    }
    part->base.call = arguments->call;
    part->moved = hier_moved_by_last(comm, arguments);
    part->bytes = hier_traces(comm) ? hier_traced_bytes(comm, arguments) : 0;
    weft_comm *on = hier_is_ordered(comm, arguments) ? comm->inner : comm;
    int code = prepare(comm, part, persistent, number);
    if (code) {
        hier_part_give(&part->base);
        return code;
    }
    part->run = hier_thread_collective(comm, &part->arguments);
    hier_aim(&part->call, on, part->ring, &part->arguments, part->scratch);
    part->base.persistent = persistent;
    if (!part->prepared)
        part->alike = arguments->number;
    const bool brief = arguments->number && comm->checked[arguments->collective].brief && !arguments->strided &&
                       !comm->traces; /* which is begun and ended as any other */
    part->brief = brief && comm->layout->nodes == 1 ? hier_steps_of(arguments->collective) : NULL;
    hier_part_hand_out(part, request);
    if (!persistent)
        hier_part_restart(*request);
    return WEFT_SUCCESS;
}

/*
 * Persistent ones are started in any order, but prepared in one: they are counted, and the next collective tells those apart that have
 * prepared others. One that could not be prepared is none, so that it may be prepared again.
 */
int hier_part_make(weft_comm *comm, const hier_arguments *arguments, bool persistent, weft_request **request) {
    intra_member *member = comm->member;
    const uint64_t number = atomic_load_explicit(&member->rings, memory_order_relaxed);
    int code = make(comm, arguments, persistent, number, request);
    if (persistent && !code) {
        atomic_store_explicit(&member->rings, number + 1, memory_order_relaxed);
        member->chain = hier_chain(member->chain, ~arguments->signature);
    }
    return code;
}
