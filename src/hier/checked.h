// SPDX-License-Identifier: BSD-3-Clause
/**
 * Calls that are like the last one of their kind on the same handle: what that one's arguments were found to be, these are. A check takes
 * as long as a short collective between threads takes from one to the other.
 *
 * Arrays are compared with copies of what was in them. Calls with derived types and users' operations are always checked, since
 * those may be freed meanwhile, and others may come to lie where they were.
 */
#ifndef HIER_CHECKED_H
#define HIER_CHECKED_H

#include <hier/check.h>

/** Does the call's arrays have in them what those of the last one had? */
bool hier_has_same_arrays(const weft_comm *comm, const hier_arguments *arguments, const hier_checked *last);

/** hier_check_arguments(), and notes what they were found to be, if that holds for the next call, too. */
int hier_check_and_note(weft_comm *comm, hier_arguments *arguments, hier_checked *checked);

/** Frees what a handle keeps of its calls. */
void hier_checked_free(weft_comm *comm);

/* What is said of a `collective` that the compiler knows leaves the arguments in registers. */
#define HIER_IN_PLACE __attribute__((always_inline)) static inline

HIER_IN_PLACE bool hier_is_like_last(const weft_comm *comm, enum inter_collective collective, const hier_arguments *a,
                                     const hier_checked *last) {
    if (collective == INTER_BARRIER)
        return last->known;
    return last->known && a->send == last->send && a->recv == last->recv && a->recv_count == last->recv_count &&
           a->recv_type == last->recv_type && a->send_count == last->send_count && a->send_type == last->send_type &&
           a->op == last->op && a->root == last->root && !a->counted &&
           (!inter_is(collective, INTER_WITH_ARRAYS) || !last->sides || hier_has_same_arrays(comm, a, last));
}

/** hier_check_arguments(). By the handle's own thread; of a process communicator under the funnel. */
static inline int hier_check_own(weft_comm *comm, hier_arguments *a) {
    hier_checked *last = &comm->checked[a->collective];
    if (!hier_is_like_last(comm, a->collective, a, last))
        return hier_check_and_note(comm, a, last);
    a->send = last->found.send;
    a->recv = last->found.recv;
    a->recv_count = last->found.recv_count;
    a->bytes = last->found.bytes;
    a->own_bytes = last->found.own_bytes;
    a->content = last->found.content;
    a->counted = last->found.counted;
    a->signature = last->found.signature;
    a->element = last->found.element;
    a->in_place = last->found.in_place;
    a->bracketed = last->found.bracketed;
    a->number = last->number;
    return WEFT_SUCCESS;
}

/* The arrays of a brief call have the same in them as the last one's, but may lie elsewhere. */
HIER_IN_PLACE void hier_find_arrays(hier_arguments *found, enum inter_collective collective, const hier_arguments *a) {
    const unsigned alltoalls = INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW);
    if (collective != INTER_SCATTERV)
        found->recv_counts = a->recv_counts;
    if (!inter_is(collective, INTER_BIT(INTER_SCATTERV) | INTER_BIT(INTER_REDUCE_SCATTER)))
        found->recv_displs = a->recv_displs;
    if (inter_is(collective, alltoalls | INTER_BIT(INTER_SCATTERV))) {
        found->send_counts = a->send_counts;
        found->send_displs = a->send_displs;
    }
    if (collective == INTER_ALLTOALLW) {
        found->send_types = a->send_types;
        found->recv_types = a->recv_types;
    }
}

/**
 * What the arguments of a call that is like the last one are found to be, where that is brief; else NULL. They are the handle's, and good
 * until its next call of the kind is checked.
 */
HIER_IN_PLACE const hier_arguments *hier_found_brief(weft_comm *comm, enum inter_collective collective,
                                                     const hier_arguments *a) {
    hier_checked *last = &comm->checked[collective];
    if (!last->brief || comm->member->retired || !hier_is_like_last(comm, collective, a, last))
        return NULL;
    hier_arguments *found = &last->found;
    found->call = a->call; /* that may have been the nonblocking one */
    found->caller = a->caller;
    if (inter_is(collective, INTER_WITH_ARRAYS))
        hier_find_arrays(found, collective, a);
    return found;
}

#endif
