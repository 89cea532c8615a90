// SPDX-License-Identifier: BSD-3-Clause
#include <hier/folding.h>
#include <intra/fold.h>

/* The ranks first … end − 1, all of this node, one by one; with `gathered` all leaves from the first on: the other nodes' are there, and
 * this node's are its ranks. */
typedef struct cursor {
    const hier_call *call;
    bool in_cells;
    int first, end;
    const char *gathered; /* leaf i at i times the vector; or NULL */
    int rank, stop;       /* where it is: before this rank, with the next ones up to `stop` … */
    int leaf, own;        /* … and past so many leaves, so many of them this node's */
} cursor;

static int thread_of(const hier_call *call, int rank) {
    return hier_layout_place(call->comm->layout, rank) - (int)hier_first_rank(call);
}

static intra_leaf operand(const cursor *at, int rank) {
    const hier_call *call = at->call;
    int thread = thread_of(call, rank);
    /* The own cell has most likely moved to another's cache. But a block may go to where other elements of the own operand stand. */
    if (at->in_cells && thread == call->comm->thread && !(hier_fold_scatters(call) && hier_fold_in_place(call)))
        return (intra_leaf){.at = call->arguments->send};
    if (at->in_cells)
        return (intra_leaf){.at = (const char *)call->meeting.cells[thread].payload.bytes};
    const intra_offer *offer = intra_offer_of(&call->meeting, thread);
    bool receives = rank || call->arguments->collective != INTER_EXSCAN;
    return (intra_leaf){.at = offer->send, .prefix = receives ? offer->recv : NULL};
}

static bool next(void *argument, intra_leaf *found) {
    cursor *at = argument;
    if (!found) {
        at->rank = at->first;
        at->stop = at->end;
        at->leaf = at->own = 0;
        return true;
    }
    while (at->rank == at->stop) {
        const inter_leaves *leaves = at->gathered ? hier_leaves_of(at->call) : NULL;
        if (!leaves || at->own == leaves->own) /* what is above this node's ranks has not come */
            return false;
        const inter_leaf *leaf = &leaves->leaf[at->leaf++];
        if (leaf->owner == at->call->comm->node) {
            at->rank = leaf->first;
            at->stop = leaf->end;
            at->own++;
        } else {
            *found = (intra_leaf){.at = at->gathered + (size_t)(at->leaf - 1) * at->call->arguments->bytes,
                                  .level = leaf->level};
            return true;
        }
    }
    *found = operand(at, at->rank++);
    return true;
}

static intra_folding folding_of(const hier_call *call, cursor *over) {
    return (intra_folding){.op = call->arguments->op,
                           .type = call->arguments->recv_type,
                           .next = next,
                           .cursor = over,
                           .ranks = over->gathered ? hier_leaves_of(call)->ranks : over->end - over->first};
}

void hier_fold(hier_call *call, bool in_cells, int first, int end, intra_slice slice, void *out) {
    cursor over = {.call = call, .in_cells = in_cells, .first = first, .end = end};
    const intra_folding folding = folding_of(call, &over);
    const size_t size = folding.type->size_bytes;
    const bool backwards = !in_cells && hier_backwards(call, slice.count * size * (size_t)(end - first));
    int code = WEFT_SUCCESS;
    for (intra_slice left = slice, part; !code && hier_next_part(&left, size, backwards, &part);)
        code = intra_fold(&folding, part, hier_at(out, part.begin - slice.begin, size));
    hier_combined(call, code);
}

void hier_fold_prefixes(hier_call *call, const char *gathered, intra_slice slice) {
    cursor over = {.call = call, .end = gathered ? 0 : call->comm->size, .gathered = gathered};
    const intra_folding folding = folding_of(call, &over);
    const bool exclusive = call->arguments->collective == INTER_EXSCAN,
               backwards = hier_backwards(call, call->arguments->bytes);
    int code = WEFT_SUCCESS;
    for (intra_slice part; !code && hier_next_part(&slice, folding.type->size_bytes, backwards, &part);)
        code = intra_fold_prefixes(&folding, exclusive, part);
    hier_combined(call, code);
}

size_t hier_fold_begin(const hier_call *call, int rank) {
    size_t begin = 0;
    if (call->arguments->collective != INTER_REDUCE_SCATTER)
        return (size_t)rank * call->arguments->recv_count;
    for (int before = 0; before < rank; before++)
        begin += call->arguments->recv_counts[before];
    return begin;
}

size_t hier_fold_places(const hier_call *call, size_t first, size_t end) {
    size_t count = 0;
    while (first < end)
        count += hier_fold_block(call, hier_layout_rank(call->comm->layout, (int)first++));
    return count;
}
