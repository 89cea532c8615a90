// SPDX-License-Identifier: BSD-3-Clause
/**
 * What allgather BT and BTe share: blocks go up a binomial tree with root 0 (peers.h) and the whole comes down it. A
 * subtree is a contiguous range of ranks, so its blocks are one message, and all stand in INTER_RECV where they belong.
 */
#ifndef INTER_ALLGATHER_TREE_H
#define INTER_ALLGATHER_TREE_H

#include <inter/algorithm.h>
#include <inter/peers.h>

/** The elements of the rank's subtree of `span` ranks. */
static inline size_t inter_tree_count(const inter_view *view, int root, int span) {
    return inter_blocks_count(view, root, span < view->size - root ? root + span - 1 : view->size - 1);
}

/**
 * Collects the rank's subtree of `span` ranks, the smallest child first. Returns where its blocks stand then: those of a
 * leaf where the caller has them.
 */
static inline inter_place inter_tree_collect(inter_schedule *schedule, const inter_view *view, int span) {
    inter_place mine = inter_at(INTER_SEND, 0), place = inter_at(INTER_RECV, inter_block_offset(view, view->rank));
    bool leaf = true;
    for (int distance = 1; distance < span && distance < view->size - view->rank; distance *= 2) {
        int child = view->rank + distance;
        inter_schedule_recv(schedule, child, inter_at(INTER_RECV, inter_block_offset(view, child)),
                            inter_tree_count(view, child, distance));
        if (leaf)
            inter_schedule_copy(schedule, mine, place, inter_block_count(view, view->rank));
        inter_schedule_next_stage(schedule);
        leaf = false;
    }
    return leaf ? mine : place;
}

/** Passes the whole on to the rank's subtree of `span` ranks, the largest child first. */
static inline void inter_tree_spread(inter_schedule *schedule, const inter_view *view, int span) {
    for (int distance = span / 2; distance; distance /= 2) {
        if (distance >= view->size - view->rank)
            continue;
        inter_schedule_send(schedule, view->rank + distance, inter_at(INTER_RECV, 0),
                            inter_blocks_count(view, 0, view->size - 1));
        inter_schedule_next_stage(schedule);
    }
}

#endif
