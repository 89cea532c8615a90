// SPDX-License-Identifier: BSD-3-Clause
/* From checked arguments to what the engine takes: a view, a binding, an algorithm. Counts and offsets are in bytes but for
 * reductions, whose elements must stay whole. */
#include <core/error.h>
#include <hier/process.h>
#include <stdlib.h>
#include <string.h>

/* Blocks as the caller gave them: counts and displacements in elements of one type, or of one each (then in bytes). */
typedef struct blocks {
    const size_t *counts;
    const ptrdiff_t *displs;
    const weft_datatype *type;
    const weft_datatype *const *types;
} blocks;

static blocks send_blocks(const hier_arguments *a) {
    return (blocks){a->send_counts, a->send_displs, a->send_type,
                    a->collective == INTER_ALLTOALLW ? a->send_types : NULL};
}

static blocks recv_blocks(const hier_arguments *a) {
    return (blocks){a->recv_counts, a->recv_displs, a->recv_type,
                    a->collective == INTER_ALLTOALLW ? a->recv_types : NULL};
}

static ptrdiff_t displ_bytes(const blocks *from, size_t rank) {
    return from->types ? from->displs[rank] : from->displs[rank] * (ptrdiff_t)from->type->size_bytes;
}

/* Counts and offsets in bytes, from the lowest block of a side, whose address is returned. */
static void *in_bytes(const hier_arguments *a, bool sends, size_t ranks, size_t *counts, size_t *offsets) {
    const void *buffer = sends ? a->send : a->recv;
    const blocks from = sends ? send_blocks(a) : recv_blocks(a);
    ptrdiff_t low = 0;
    bool any = false;
    for (size_t rank = 0; rank < ranks; rank++) {
        counts[rank] = from.counts[rank] * (from.types ? from.types[rank] : from.type)->size_bytes;
        if (counts[rank] && (!any || displ_bytes(&from, rank) < low))
            low = displ_bytes(&from, rank);
        any |= counts[rank] > 0;
    }
    for (size_t rank = 0; rank < ranks; rank++)
        offsets[rank] = counts[rank] ? (size_t)(displ_bytes(&from, rank) - low) : 0;
    return buffer ? (char *)(uintptr_t)buffer + low : NULL;
}

static void plan_alltoallv(const weft_comm *comm, const hier_arguments *arguments, hier_plan *plan) {
    size_t ranks = (size_t)comm->size, *arrays = plan->arrays;
    size_t *recv_counts = arrays, *recv_offsets = arrays + ranks;
    size_t *send_counts = arrays + 2 * ranks, *send_offsets = arrays + 3 * ranks;
    plan->binding.recv = in_bytes(arguments, false, ranks, recv_counts, recv_offsets);
    plan->view.recv_counts = recv_counts;
    plan->view.recv_offsets = recv_offsets;
    if (arguments->in_place)
        return;
    plan->binding.send = in_bytes(arguments, true, ranks, send_counts, send_offsets);
    plan->view.send_counts = send_counts;
    plan->view.send_offsets = send_offsets;
    size_t *sent = &send_counts[comm->rank], *expected = &recv_counts[comm->rank];
    plan->own_sent = *sent;
    plan->own_expected = *expected;
    *sent = *expected =
        *sent < *expected ? *sent : *expected; /* the others wait for their blocks whatever becomes of this one */
}

/* Where blocks of such counts begin and end when they are packed. */
static void pack(const size_t *counts, size_t ranks, size_t *offsets) {
    offsets[0] = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        offsets[rank + 1] = offsets[rank] + counts[rank];
}

/* The whole of gatherv, scatterv and allgatherv; returns the address of its lowest block. */
static void *plan_whole(const hier_arguments *arguments, bool sends, size_t ranks, hier_plan *plan) {
    size_t *offsets = plan->arrays, *displs = offsets + ranks + 1, *counts = displs + ranks;
    void *lowest = in_bytes(arguments, sends, ranks, counts, displs);
    pack(counts, ranks, offsets);
    plan->view.offsets = offsets;
    for (size_t rank = 0; rank < ranks; rank++)
        if (counts[rank] && displs[rank] != offsets[rank])
            plan->view.displs = displs;
    return lowest;
}

static void plan_reduction(const hier_arguments *arguments, size_t ranks, hier_plan *plan) {
    plan->view.in_place = arguments->send == arguments->recv;
    plan->view.count = arguments->recv_count;
    plan->view.element_bytes = arguments->recv_type->size_bytes;
    plan->binding.type = arguments->recv_type;
    plan->binding.op = arguments->op;
    if (arguments->collective != INTER_REDUCE_SCATTER)
        return;
    pack(arguments->recv_counts, ranks, plan->arrays);
    plan->view.offsets = plan->arrays;
}

static size_t arrays_of(enum inter_collective collective, size_t ranks) {
    switch (collective) {
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW:
        return 4 * ranks;
    case INTER_GATHERV:
    case INTER_SCATTERV:
    case INTER_ALLGATHERV:
        return 3 * ranks + 1;
    case INTER_REDUCE_SCATTER:
        return ranks + 1;
    default:
        return 0;
    }
}

static void plan_buffers(const weft_comm *comm, const hier_arguments *arguments, hier_plan *plan) {
    size_t ranks = (size_t)comm->size;
    bool root = comm->rank == arguments->root;
    switch (arguments->collective) {
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW:
        plan_alltoallv(comm, arguments, plan);
        break;
    case INTER_ALLGATHERV:
        plan->binding.recv = plan_whole(arguments, false, ranks, plan);
        break;
    case INTER_GATHERV:
        if (root)
            plan->binding.recv = plan_whole(arguments, false, ranks, plan);
        break;
    case INTER_SCATTERV:
        if (root)
            plan->binding.send = plan_whole(arguments, true, ranks, plan);
        break;
    default:
        if (inter_is(arguments->collective, INTER_REDUCTIONS))
            plan_reduction(arguments, ranks, plan);
        break;
    }
}

/* Room for so many entries, beside those of the plan before. */
static bool make_room(hier_plan *plan, size_t entries) {
    if (entries > plan->capacity) {
        size_t *memory = realloc(plan->memory, 2 * entries * sizeof(*memory));
        if (!memory)
            return false;
        plan->memory = plan->arrays = memory;
        plan->capacity = entries;
        plan->entries = SIZE_MAX; /* those before are lost */
    }
    plan->arrays = plan->arrays == plan->memory ? plan->memory + plan->capacity : plan->memory;
    memset(plan->arrays, 0, entries * sizeof(*plan->arrays)); /* not every rank fills in all of them */
    return true;
}

/* Are the arrays' contents those of the plan before? Then its schedule need not be built again. */
static void compare_arrays(hier_plan *plan, size_t entries) {
    const size_t *before = plan->arrays == plan->memory ? plan->memory + plan->capacity : plan->memory;
    if (!plan->memory || entries != plan->entries || memcmp(before, plan->arrays, entries * sizeof(*before)) != 0)
        plan->contents++;
    plan->entries = entries;
    plan->view.contents = plan->contents;
}

int hier_plan_make(const weft_comm *comm, const hier_arguments *arguments, hier_plan *plan) {
    size_t arrays = arrays_of(arguments->collective, (size_t)comm->size);
    plan->algorithm = hier_select(&comm->world->selector, hier_key_of(arguments, comm->layout)).process;
    plan->view = (inter_view){.collective = arguments->collective,
                              .rank = comm->rank,
                              .size = comm->size,
                              .root = arguments->root,
                              .count = arguments->bytes,
                              .element_bytes = 1,
                              .in_place = arguments->in_place};
    plan->binding = (inter_binding){.send = arguments->send,
                                    .recv = arguments->recv,
                                    .processes = comm->layout->processes,
                                    .counted_as = arguments->collective,
                                    .by_lines = true};
    plan->own_sent = plan->own_expected = 0;
    if (inter_is(arguments->collective, INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV)))
        plan->view.count = arguments->own_bytes;
    if (arrays && !make_room(plan, arrays))
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for the counts of %d ranks", comm->rank,
                          arguments->call, comm->size);
    plan_buffers(comm, arguments, plan);
    if (arrays)
        compare_arrays(plan, arrays);
    return WEFT_SUCCESS;
}
