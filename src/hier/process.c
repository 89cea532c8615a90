// SPDX-License-Identifier: BSD-3-Clause
/* From checked arguments to what the engine takes: a view, a binding, an algorithm. Counts and offsets are in bytes but for
 * reductions, whose elements must stay whole. */
#include <core/error.h>
#include <hier/check.h>
#include <hier/process.h>
#include <stdlib.h>
#include <string.h>

/* Blocks as the caller gave them: counts and displacements (NULL: none) in so many bytes, or (types) of one type each. */
typedef struct blocks {
    const size_t *counts;
    const ptrdiff_t *displs;
    size_t bytes;
    const weft_datatype *const *types;
} blocks;

static blocks send_blocks(const hier_arguments *a) {
    bool many = a->collective == INTER_ALLTOALLW;
    return (blocks){a->send_counts, a->send_displs, many ? 1 : a->send_type->size_bytes, many ? a->send_types : NULL};
}

static blocks recv_blocks(const hier_arguments *a) {
    bool many = a->collective == INTER_ALLTOALLW;
    return (blocks){a->recv_counts, a->recv_displs, many ? 1 : a->recv_type->size_bytes, many ? a->recv_types : NULL};
}

static void find_lowest(hier_plan_side *side, size_t ranks) {
    bool any = false;
    side->lowest = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        if (side->counts[rank] && (!any || side->displs[rank] < side->lowest))
            side->lowest = side->displs[rank];
        any |= side->counts[rank] > 0;
    }
}

/* Notes a side's blocks. Are they others than before? */
static bool note(hier_plan_side *side, const blocks *given, size_t ranks) {
    bool differ = false;
    for (size_t rank = 0; rank < ranks; rank++) {
        size_t count = given->counts[rank] * (given->types ? given->types[rank]->size_bytes : given->bytes);
        ptrdiff_t displ = given->displs && count ? given->displs[rank] * (ptrdiff_t)given->bytes : 0;
        differ |= count != side->counts[rank] || displ != side->displs[rank];
        side->counts[rank] = count;
        side->displs[rank] = displ;
    }
    if (differ)
        find_lowest(side, ranks);
    return differ;
}

static char *lowest_block(const void *buffer, const hier_plan_side *side) {
    return buffer ? (char *)(uintptr_t)buffer + side->lowest : NULL;
}

static bool note_received(const hier_arguments *arguments, size_t ranks, hier_plan *plan) {
    blocks given = recv_blocks(arguments);
    bool differ = note(&plan->receives, &given, ranks);
    plan->binding.recv = lowest_block(arguments->recv, &plan->receives);
    return differ;
}

static bool note_sent(const hier_arguments *arguments, size_t ranks, hier_plan *plan) {
    blocks given = send_blocks(arguments);
    bool differ = note(&plan->sends, &given, ranks);
    plan->binding.send = lowest_block(arguments->send, &plan->sends);
    return differ;
}

/* The sides that this rank has arrays of. Are they others than before? */
static bool note_sides(const weft_comm *comm, const hier_arguments *arguments, hier_plan *plan) {
    size_t ranks = (size_t)comm->size;
    bool root = comm->rank == arguments->root;
    switch (arguments->collective) {
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW: {
        bool differ = note_received(arguments, ranks, plan);
        return (!arguments->in_place && note_sent(arguments, ranks, plan)) || differ;
    }
    case INTER_ALLGATHERV:
        return note_received(arguments, ranks, plan);
    case INTER_GATHERV:
        return root && note_received(arguments, ranks, plan);
    case INTER_SCATTERV:
        return root && note_sent(arguments, ranks, plan);
    case INTER_REDUCE_SCATTER:
        return note(&plan->receives, &(blocks){arguments->recv_counts, NULL, 1, NULL}, ranks);
    default:
        return false;
    }
}

/* Where a side's blocks begin, from the lowest one on. */
static void offset_side(const hier_plan_side *side, size_t ranks, size_t *counts, size_t *offsets) {
    memcpy(counts, side->counts, ranks * sizeof(*counts));
    for (size_t rank = 0; rank < ranks; rank++)
        offsets[rank] = counts[rank] ? (size_t)(side->displs[rank] - side->lowest) : 0;
}

static void view_alltoallv(const weft_comm *comm, const hier_arguments *arguments, hier_plan *plan) {
    size_t ranks = (size_t)comm->size, *arrays = plan->arrays;
    size_t *recv_counts = arrays, *recv_offsets = arrays + ranks;
    size_t *send_counts = arrays + 2 * ranks, *send_offsets = arrays + 3 * ranks;
    offset_side(&plan->receives, ranks, recv_counts, recv_offsets);
    plan->view.recv_counts = recv_counts;
    plan->view.recv_offsets = recv_offsets;
    if (arguments->in_place)
        return;
    offset_side(&plan->sends, ranks, send_counts, send_offsets);
    plan->view.send_counts = send_counts;
    plan->view.send_offsets = send_offsets;
}

/* Where blocks of such counts begin and end when they are packed. */
static void pack(const size_t *counts, size_t ranks, size_t *offsets) {
    offsets[0] = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        offsets[rank + 1] = offsets[rank] + counts[rank];
}

/* The whole of gatherv, scatterv and allgatherv. */
static void view_whole(const hier_plan_side *side, size_t ranks, hier_plan *plan) {
    size_t *offsets = plan->arrays, *displs = offsets + ranks + 1;
    pack(side->counts, ranks, offsets);
    plan->view.offsets = offsets;
    for (size_t rank = 0; rank < ranks; rank++) {
        displs[rank] = side->counts[rank] ? (size_t)(side->displs[rank] - side->lowest) : 0;
        if (side->counts[rank] && displs[rank] != offsets[rank])
            plan->view.displs = displs;
    }
}

static void view_reduction(const hier_arguments *arguments, size_t ranks, hier_plan *plan) {
    plan->view.in_place = arguments->send == arguments->recv;
    plan->view.count = arguments->recv_count;
    plan->view.element_bytes = arguments->recv_type->size_bytes;
    if (arguments->collective != INTER_REDUCE_SCATTER)
        return;
    pack(plan->receives.counts, ranks, plan->arrays);
    plan->view.offsets = plan->arrays;
}

static void view_blocks(const weft_comm *comm, const hier_arguments *arguments, hier_plan *plan) {
    size_t ranks = (size_t)comm->size;
    bool root = comm->rank == arguments->root;
    if (inter_is(arguments->collective, INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW)))
        view_alltoallv(comm, arguments, plan);
    else if (arguments->collective == INTER_ALLGATHERV || (arguments->collective == INTER_GATHERV && root))
        view_whole(&plan->receives, ranks, plan);
    else if (arguments->collective == INTER_SCATTERV && root)
        view_whole(&plan->sends, ranks, plan);
    else if (inter_is(arguments->collective, INTER_REDUCTIONS))
        view_reduction(arguments, ranks, plan);
}

/* Entries of the view's arrays. */
static size_t arrays_of(enum inter_collective collective, size_t ranks) {
    if (inter_is(collective, INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW)))
        return 4 * ranks;
    return collective == INTER_REDUCE_SCATTER ? ranks + 1 : 2 * ranks + 1;
}

/* Room for what a plan of this collective has. The sides are of no blocks. */
static int make_room(const weft_comm *comm, const hier_arguments *arguments, hier_plan *plan) {
    size_t ranks = (size_t)comm->size, entries = arrays_of(arguments->collective, ranks);
    size_t *memory = calloc(entries + 4 * ranks, sizeof(*memory));
    if (!memory)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for the counts of %d ranks", comm->rank,
                          arguments->call, comm->size);
    plan->arrays = memory;
    memory += entries;
    plan->receives = (hier_plan_side){.counts = memory, .displs = (ptrdiff_t *)(memory + ranks)};
    plan->sends = (hier_plan_side){.counts = memory + 2 * ranks, .displs = (ptrdiff_t *)(memory + 3 * ranks)};
    return WEFT_SUCCESS;
}

static bool is_commutative(const hier_arguments *arguments) {
    return !arguments->op || arguments->op->commutative;
}

static size_t count_of(const hier_arguments *arguments) {
    if (inter_is(arguments->collective, INTER_REDUCTIONS))
        return arguments->recv_count;
    bool own = inter_is(arguments->collective, INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV));
    return own ? arguments->own_bytes : arguments->bytes;
}

/* Is it, but for buffers and blocks, what the plan before was of? */
static bool is_repeated(const hier_arguments *arguments, const hier_plan *plan) {
    const inter_view *view = &plan->view;
    if (!plan->algorithm || plan->algorithm->needs_counts || view->root != arguments->root ||
        view->count != count_of(arguments) || plan->bracketed != arguments->bracketed)
        return false;
    if (!inter_is(arguments->collective, INTER_REDUCTIONS))
        return view->in_place == arguments->in_place;
    return view->element_bytes == arguments->recv_type->size_bytes &&
           view->in_place == (arguments->send == arguments->recv) && plan->commutative == is_commutative(arguments);
}

/* Another one than before. `differ`: in its blocks, too. */
static __attribute__((noinline)) void make_anew(const weft_comm *comm, const hier_arguments *arguments, bool differ,
                                                hier_plan *plan) {
    plan->algorithm = hier_select(&comm->world->selector, hier_key_of(arguments, comm->layout)).process;
    plan->commutative = is_commutative(arguments);
    plan->bracketed = arguments->bracketed;
    plan->contents += differ || !plan->contents;
    plan->view = (inter_view){.collective = arguments->collective,
                              .rank = comm->rank,
                              .size = comm->size,
                              .root = arguments->root,
                              .count = count_of(arguments),
                              .element_bytes = 1,
                              .in_place = arguments->in_place,
                              .contents = inter_is(arguments->collective, INTER_WITH_ARRAYS) ? plan->contents : 0};
    view_blocks(comm, arguments, plan);
}

/* WEFT_ERR_NOMEM. */
static __attribute__((noinline)) int note_arrays(const weft_comm *comm, const hier_arguments *arguments,
                                                 hier_plan *plan, bool *differ) {
    int code = plan->arrays ? WEFT_SUCCESS : make_room(comm, arguments, plan);
    if (!code)
        *differ = note_sides(comm, arguments, plan);
    return code;
}

int hier_plan_make(const weft_comm *comm, const hier_arguments *arguments, hier_plan *plan) {
    bool differ = false;
    plan->binding = (inter_binding){.send = arguments->send,
                                    .recv = arguments->recv,
                                    .type = arguments->op ? arguments->recv_type : NULL,
                                    .op = arguments->op,
                                    .processes = comm->layout->processes,
                                    .counted_as = arguments->row,
                                    .uneven = inter_is(arguments->collective, INTER_UNEVEN),
                                    .by_lines = true};
    if (inter_is(arguments->collective, INTER_WITH_ARRAYS)) {
        int code = note_arrays(comm, arguments, plan, &differ);
        if (code)
            return code;
    }
    plan->repeated = !differ && is_repeated(arguments, plan);
    if (!plan->repeated)
        make_anew(comm, arguments, differ, plan);
    return WEFT_SUCCESS;
}

void hier_plan_clear(hier_plan *plan) {
    free(plan->arrays);
    *plan = (hier_plan){.contents = plan->contents};
}
