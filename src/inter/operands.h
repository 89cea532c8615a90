// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the builders of reductions share: how two ranks exchange operands, and how operands meet in rank order.
 *
 * Operations need only be associative, so a result is always (something of lower ranks) op (something of higher ranks).
 */
#ifndef INTER_OPERANDS_H
#define INTER_OPERANDS_H

#include <inter/algorithm.h>

/** One end of a message. */
typedef struct inter_message {
    int peer;
    inter_place place;
    size_t count;
} inter_message;

/**
 * Sends and receives, and ends the stage: at once, or, in an algorithm that issues one message at a time, the one before
 * the other. Then one of those who would wait for each other must send first: of two that swap the lower rank, of a ring
 * the even ranks. At once all send first, since others wait for that.
 */
static inline void inter_exchange(inter_schedule *schedule, const inter_view *view, bool send_first, inter_message out,
                                  inter_message in) {
    bool one_at_a_time = view->algorithm->issue == INTER_B;
    send_first |= !one_at_a_time;
    if (send_first)
        inter_schedule_send(schedule, out.peer, out.place, out.count);
    if (send_first && one_at_a_time)
        inter_schedule_next_stage(schedule);
    inter_schedule_recv(schedule, in.peer, in.place, in.count);
    if (!send_first) {
        inter_schedule_next_stage(schedule);
        inter_schedule_send(schedule, out.peer, out.place, out.count);
    }
    inter_schedule_next_stage(schedule);
}

/** A rank that folds into its neighbour (peers.h): all that it sends is its operand, all that it gets the result. */
static inline void inter_lean_on_neighbour(inter_schedule *schedule, const inter_view *view, size_t operand,
                                           size_t result) {
    inter_schedule_send(schedule, view->rank + 1, inter_at(INTER_SEND, 0), operand);
    inter_schedule_next_stage(schedule);
    inter_schedule_recv(schedule, view->rank + 1, inter_at(INTER_RECV, 0), result);
}

/** out = `mine` and what `peer` has sent, the lower rank's on the left. `out` may be either. */
static inline void inter_combine(inter_schedule *schedule, const inter_view *view, int peer, inter_place mine,
                                 inter_place arrived, inter_place out, size_t count) {
    bool peer_low = peer < view->rank;
    inter_schedule_reduce(schedule, peer_low ? arrived : mine, peer_low ? mine : arrived, out, count);
}

/**
 * May a reduction read this rank's own block of INTER_SEND and write to the beginning of INTER_RECV? They may be the same
 * memory, and then the two places must be the same or apart.
 */
static inline bool inter_own_block_is_apart(const inter_view *view) {
    size_t begin = inter_block_offset(view, view->rank);
    return !begin || begin >= inter_block_count(view, view->rank);
}

/** Where the operand of `peer` arrives, when those of all ranks but one stand one behind the other in `others`. */
static inline inter_place inter_operand_of(const inter_view *view, int peer, inter_place others) {
    return inter_plus(others, (size_t)(peer < view->rank ? peer : peer - 1) * view->count);
}

/**
 * INTER_RECV = the operands of the ranks 0 … last, one after the other; this rank's own is in INTER_SEND, the others
 * (there are some) in `others` and lost. INTER_RECV is not written before INTER_SEND is read: they may be the same.
 */
static inline void inter_combine_all(inter_schedule *schedule, const inter_view *view, inter_place others, int last) {
    inter_place sum = view->rank ? others : inter_at(INTER_SEND, 0);
    for (int peer = 1; peer <= last; peer++) {
        bool own = peer == view->rank;
        bool own_is_in = view->rank <= peer || view->rank > last;
        inter_place operand = own ? inter_at(INTER_SEND, 0) : inter_operand_of(view, peer, others);
        inter_place out = own_is_in ? inter_at(INTER_RECV, 0) : others;
        inter_schedule_reduce(schedule, sum, operand, out, view->count);
        sum = out;
    }
}

#endif
