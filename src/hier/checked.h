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

#include <hier/arguments.h>

/** Does the call's arrays have in them what those of the last one had? */
bool hier_has_same_arrays(const weft_comm *comm, const hier_arguments *arguments, const hier_checked *last);

/** hier_check_arguments(), and notes what they were found to be, if that holds for the next call, too. */
int hier_check_and_note(const weft_comm *comm, hier_arguments *arguments, hier_checked *checked);

/** Frees what a handle keeps of its calls. */
void hier_checked_free(weft_comm *comm);

/* Word by word: that is how they have just been written. */
static inline bool hier_is_like_last(const weft_comm *comm, const hier_arguments *a, const hier_checked *last) {
    return last->known && a->send == last->send && a->recv == last->recv && a->recv_count == last->recv_count &&
           a->recv_type == last->recv_type && a->send_count == last->send_count && a->send_type == last->send_type &&
           a->op == last->op && a->root == last->root && !a->counted &&
           (!last->sides || hier_has_same_arrays(comm, a, last));
}

/** hier_check_arguments(). By the handle's own thread; of a process communicator under the funnel. */
static inline int hier_check_own(weft_comm *comm, hier_arguments *a) {
    hier_checked *last = &comm->checked[a->collective];
    if (!hier_is_like_last(comm, a, last))
        return hier_check_and_note(comm, a, last);
    a->send = last->found_send;
    a->recv = last->found_recv;
    a->recv_count = last->found_recv_count;
    a->bytes = last->bytes;
    a->own_bytes = last->own_bytes;
    a->content = last->content;
    a->counted = last->counted;
    a->signature = last->signature;
    a->element = last->element;
    a->in_place = last->in_place;
    a->bracketed = last->bracketed;
    a->number = last->number;
    return WEFT_SUCCESS;
}

#endif
