// SPDX-License-Identifier: BSD-3-Clause
#include <hier/checked.h>
#include <hier/observe.h>
#include <stdlib.h>
#include <string.h>

/* A call has so many arrays with an entry for each rank. */
enum { MOST_ARRAYS = 6, FEW_RANKS = 8 };
_Static_assert(sizeof(ptrdiff_t) == sizeof(size_t) && sizeof(void *) == sizeof(size_t), "entries are of one length");

static int list_arrays(const hier_arguments *a, int sides, const void *arrays[MOST_ARRAYS]) {
    const bool displaced = a->collective != INTER_REDUCE_SCATTER, typed = a->collective == INTER_ALLTOALLW;
    int count = 0;
    if (sides & HIER_SENDS) {
        arrays[count++] = a->send_counts;
        arrays[count++] = a->send_displs;
        if (typed)
            arrays[count++] = a->send_types;
    }
    if (sides & HIER_RECEIVES) {
        arrays[count++] = a->recv_counts;
        if (displaced)
            arrays[count++] = a->recv_displs;
        if (typed)
            arrays[count++] = a->recv_types;
    }
    return count;
}

/* Of few ranks in less time than a call of memcmp, or setting up a loop of vectors, takes. */
static inline bool are_same(const size_t *kept, const void *given, size_t ranks) {
    const unsigned char *at = given;
    if (!given || ranks > FEW_RANKS)
        return given && memcmp(kept, given, ranks * sizeof(*kept)) == 0;
    for (size_t rank = 0; rank < ranks; rank++, at += sizeof(size_t)) {
        size_t entry;
        memcpy(&entry, at, sizeof(entry));
        if (entry != kept[rank])
            return false;
    }
    return true;
}

/* As list_arrays() has them. */
bool hier_has_same_arrays(const weft_comm *comm, const hier_arguments *a, const hier_checked *last) {
    const size_t ranks = (size_t)comm->size;
    const bool displaced = a->collective != INTER_REDUCE_SCATTER, typed = a->collective == INTER_ALLTOALLW;
    const size_t *kept = last->entries;
    if (last->sides & HIER_SENDS) {
        if (!are_same(kept, a->send_counts, ranks) || !are_same(kept + ranks, a->send_displs, ranks) ||
            (typed && !are_same(kept + 2 * ranks, a->send_types, ranks)))
            return false;
        kept += (2 + (size_t)typed) * ranks;
    }
    return !(last->sides & HIER_RECEIVES) ||
           (are_same(kept, a->recv_counts, ranks) && (!displaced || are_same(kept + ranks, a->recv_displs, ranks)) &&
            (!typed || are_same(kept + 2 * ranks, a->recv_types, ranks)));
}

/* False: no memory for it, so that the next call is checked, too. */
static bool keep_arrays(const weft_comm *comm, const hier_arguments *a, hier_checked *checked) {
    const void *arrays[MOST_ARRAYS];
    const size_t ranks = (size_t)comm->size;
    checked->sides = hier_sides_with_arrays(comm, a);
    if (checked->sides && !checked->entries)
        checked->entries = malloc(MOST_ARRAYS * ranks * sizeof(size_t));
    if (checked->sides && !checked->entries)
        return false;
    for (int count = list_arrays(a, checked->sides, arrays), i = 0; i < count; i++)
        memcpy(checked->entries + (size_t)i * ranks, arrays[i], ranks * sizeof(size_t));
    return true;
}

int hier_check_and_note(const weft_comm *comm, hier_arguments *a, hier_checked *checked) {
    const bool own = a->counted; /* weft's own, which are no user's */
    checked->known = false;
    checked->number++;
    checked->send = a->send;
    checked->recv = a->recv;
    checked->send_count = a->send_count;
    checked->recv_count = a->recv_count;
    checked->send_type = a->send_type;
    checked->recv_type = a->recv_type;
    checked->op = a->op;
    checked->root = a->root;
    const int code = hier_check_arguments(comm, a);
    if (code || own || a->derived || (a->op && a->op->kind == CORE_OP_USER) || !keep_arrays(comm, a, checked))
        return code;
    checked->found_send = a->send;
    checked->found_recv = a->recv;
    checked->found_recv_count = a->recv_count;
    checked->bytes = a->bytes;
    checked->own_bytes = a->own_bytes;
    checked->content = a->content;
    checked->counted = a->counted;
    checked->signature = a->signature;
    checked->element = a->element;
    checked->in_place = a->in_place;
    checked->bracketed = a->bracketed;
    checked->moved = hier_moved_inside(comm, a);
    checked->known = true;
    return WEFT_SUCCESS;
}

void hier_checked_free(weft_comm *comm) {
    for (int collective = 0; collective < INTER_COLLECTIVES; collective++) {
        free(comm->checked[collective].entries);
        comm->checked[collective].entries = NULL;
    }
}
