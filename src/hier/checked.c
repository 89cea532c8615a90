// SPDX-License-Identifier: BSD-3-Clause
#include <hier/brief.h>
#include <hier/checked.h>
#include <hier/observe.h>
#include <stdlib.h>
#include <string.h>

/* A call has so many arrays with an entry for each rank. */
enum { MOST_ARRAYS = 6, FEW_RANKS = 8 };
_Static_assert(sizeof(ptrdiff_t) == sizeof(size_t) && sizeof(void *) == sizeof(size_t), "entries are of one length");

/* What is done with one of them and the room for its copy; false: no more. */
typedef bool visitor(size_t *kept, const void *given, size_t ranks);

/* Of those of a call's sides, until one says false. `visit` becomes a part of it. */
__attribute__((always_inline)) static inline bool for_arrays(const weft_comm *comm, const hier_arguments *a, int sides,
                                                             size_t *kept, visitor *visit) {
    const bool displaced = a->collective != INTER_REDUCE_SCATTER, typed = a->collective == INTER_ALLTOALLW;
    const size_t ranks = (size_t)comm->size;
    if (sides & HIER_SENDS) {
        if (!visit(kept, a->send_counts, ranks) || !visit(kept + ranks, a->send_displs, ranks) ||
            (typed && !visit(kept + 2 * ranks, a->send_types, ranks)))
            return false;
        kept += (2 + (size_t)typed) * ranks;
    }
    return !(sides & HIER_RECEIVES) ||
           (visit(kept, a->recv_counts, ranks) && (!displaced || visit(kept + ranks, a->recv_displs, ranks)) &&
            (!typed || visit(kept + 2 * ranks, a->recv_types, ranks)));
}

/* Of few ranks in less time than a call of memcmp, or setting up a loop of vectors, takes. */
static inline bool is_same(size_t *kept, const void *given, size_t ranks) {
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

static inline bool keep(size_t *kept, const void *given, size_t ranks) {
    memcpy(kept, given, ranks * sizeof(*kept));
    return true;
}

bool hier_has_same_arrays(const weft_comm *comm, const hier_arguments *a, const hier_checked *last) {
    return for_arrays(comm, a, last->sides, last->entries, is_same);
}

/* False: no memory for it, so that the next call is checked, too. */
static bool keep_arrays(const weft_comm *comm, const hier_arguments *a, hier_checked *checked) {
    checked->sides = hier_sides_with_arrays(comm, a);
    if (checked->sides && !checked->entries)
        checked->entries = malloc(MOST_ARRAYS * (size_t)comm->size * sizeof(size_t));
    if (checked->sides && !checked->entries)
        return false;
    return for_arrays(comm, a, checked->sides, checked->entries, keep);
}

int hier_check_and_note(weft_comm *comm, hier_arguments *a, hier_checked *checked) {
    const bool own = a->counted; /* weft's own, which are no user's */
    checked->known = false;
    /* Of a thread's, whatever its handle: its team's slots remember them. Barriers are all alike. */
    if (a->collective != INTER_BARRIER)
        checked->number = comm->team ? ++comm->member->calls : checked->number + 1;
    else
        checked->number = a->number;
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
    if (comm->team)
        checked->moved = hier_moved_inside(comm, a);
    checked->known = true;
    a->number = checked->number;
    checked->found = *a;
    checked->brief = hier_brief_for(comm, a);
    return WEFT_SUCCESS;
}

void hier_checked_free(weft_comm *comm) {
    for (int collective = 0; collective < INTER_COLLECTIVES; collective++) {
        free(comm->checked[collective].entries);
        comm->checked[collective].entries = NULL;
    }
}
