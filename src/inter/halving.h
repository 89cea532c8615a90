// SPDX-License-Identifier: BSD-3-Clause
/**
 * Recursive halving: how 2^k positions (peers.h) that hold a vector each come to hold a part of the sum each.
 *
 * On every level a position swaps halves with a partner: it keeps one half of what it has, gives the other away, and adds
 * what it gets to what it keeps. Both orders of partners are here:
 *
 *     distance doubling                              distance halving
 *     0⇄1  2⇄3   halves                              0⇄2  1⇄3
 *     0⇄2  1⇄3   quarters                            0⇄1  2⇄3
 *     parts 0 2 1 3 of the vector                    blocks 0 1 2 3, as a reduce_scatter wants them
 *     every sum is one of neighbours: rank order     operands of far ranks meet first: not for every operation
 */
#ifndef INTER_HALVING_H
#define INTER_HALVING_H

#include <inter/operands.h>
#include <inter/peers.h>

/** A level as a rank sees it. Elements are counted from the vector's begin; what is kept holds all levels that follow. */
typedef struct inter_halving {
    int peer; /* rank */
    size_t keep, keep_count, give, give_count;
} inter_halving;

#define INTER_HALVING_MAX_LEVELS 30
#define INTER_NO_ROOT            (-1)

/** As inter_fold_leaves(), but of each pair it is the root who stays. */
static inline bool inter_halving_leaves(inter_fold fold, int rank, int root) {
    if (rank == root || (rank ^ 1) == root)
        return rank < 2 * fold.extra && rank != root;
    return inter_fold_leaves(fold, rank);
}

/** As inter_fold_rank(), likewise. */
static inline int inter_halving_rank(inter_fold fold, int position, int root) {
    bool of_root = position < fold.extra && root == 2 * position;
    return of_root ? root : inter_fold_rank(fold, position);
}

/** Distance doubling, halving `count` elements. Level k is the one with the partner position xor 2^k. How many levels. */
static inline int inter_halving_of_vector(inter_fold fold, int position, int root, size_t count,
                                          inter_halving levels[INTER_HALVING_MAX_LEVELS]) {
    size_t begin = 0;
    int level = 0;
    for (int distance = 1; distance < fold.power; distance *= 2, level++) {
        size_t low = count - count / 2, high = count / 2;
        bool keep_low = !(position & distance);
        levels[level] = (inter_halving){.peer = inter_halving_rank(fold, position ^ distance, root),
                                        .keep = keep_low ? begin : begin + low,
                                        .keep_count = keep_low ? low : high,
                                        .give = keep_low ? begin + low : begin,
                                        .give_count = keep_low ? high : low};
        begin = levels[level].keep;
        count = levels[level].keep_count;
    }
    return level;
}

/** Distance halving, down to the blocks of the ranks that the position stands for. How many levels. */
static inline int inter_halving_of_blocks(inter_fold fold, int position, const inter_view *view,
                                          inter_halving levels[INTER_HALVING_MAX_LEVELS]) {
    int level = 0;
    for (int distance = fold.power / 2; distance; distance /= 2, level++) {
        int low = position & ~(2 * distance - 1); /* the first position of those that share what is halved */
        size_t begin = inter_block_offset(view, inter_fold_first(fold, low));
        size_t middle = inter_block_offset(view, inter_fold_first(fold, low + distance));
        size_t end = inter_block_offset(view, inter_fold_first(fold, low + 2 * distance));
        bool keep_low = !(position & distance);
        levels[level] = (inter_halving){.peer = inter_fold_rank(fold, position ^ distance),
                                        .keep = keep_low ? begin : middle,
                                        .keep_count = keep_low ? middle - begin : end - middle,
                                        .give = keep_low ? middle : begin,
                                        .give_count = keep_low ? end - middle : middle - begin};
    }
    return level;
}

/** Some of a vector's elements, from `first` on, lie at `place`. */
typedef struct inter_part {
    inter_place place;
    size_t first;
} inter_part;

static inline inter_place inter_part_at(inter_part part, size_t element) {
    return inter_plus(part.place, element - part.first);
}

/** A rank's sums while it halves. */
typedef struct inter_sums {
    inter_part now; /* the operand at first, which is only read; then the sums */
    inter_part sum; /* where sums go */
    inter_place arrived;
} inter_sums;

/**
 * The memory: sums go to INTER_RECV when the rank has room for the whole there, else to temporary memory, where what
 * arrives first can be received right away. `whole`: elements of the vector; `takes`: another rank folds into this one.
 */
static inline inter_sums inter_sums_begin(inter_schedule *schedule, const inter_halving *levels, int count,
                                          size_t whole, bool takes, bool in_recv) {
    inter_sums sums = {.now = {inter_at(INTER_SEND, 0), 0}, .sum = {inter_at(INTER_RECV, 0), 0}};
    size_t half = count ? levels[0].keep_count : 0, quarter = count > 1 ? levels[1].keep_count : 0;
    if (!in_recv) {
        sums.sum.first = takes || !count ? 0 : levels[0].keep;
        sums.sum.place = inter_schedule_temp(schedule, takes ? whole : half);
        sums.arrived = inter_schedule_temp(schedule, takes ? half : quarter);
    } else {
        sums.arrived = inter_schedule_temp(schedule, takes ? whole : half);
    }
    return sums;
}

/* Where elements from `first` on may arrive. */
static inline inter_place inter_sums_arrive(const inter_sums *sums, size_t first) {
    bool right_away = sums->now.place.buffer == INTER_SEND && sums->sum.place.buffer == INTER_TEMP;
    return right_away ? inter_part_at(sums->sum, first) : sums->arrived;
}

/** Adds the whole vector of the rank that folds into this one. */
static inline void inter_sums_take(inter_schedule *schedule, const inter_view *view, inter_sums *sums, int peer,
                                   size_t whole) {
    inter_place arrived = inter_sums_arrive(sums, 0);
    inter_schedule_recv(schedule, peer, arrived, whole);
    inter_schedule_next_stage(schedule);
    inter_combine(schedule, view, peer, sums->now.place, arrived, sums->sum.place, whole);
    sums->now = sums->sum;
}

/** One level's messages. Returns where what came in lies. */
static inline inter_place inter_sums_swap(inter_schedule *schedule, const inter_view *view, const inter_sums *sums,
                                          const inter_halving *level) {
    inter_place arrived = inter_sums_arrive(sums, level->keep);
    inter_exchange(schedule, view, view->rank < level->peer,
                   (inter_message){level->peer, inter_part_at(sums->now, level->give), level->give_count},
                   (inter_message){level->peer, arrived, level->keep_count});
    return arrived;
}

/** One level. */
static inline void inter_sums_halve(inter_schedule *schedule, const inter_view *view, inter_sums *sums,
                                    const inter_halving *level) {
    inter_place arrived = inter_sums_swap(schedule, view, sums, level);
    inter_combine(schedule, view, level->peer, inter_part_at(sums->now, level->keep), arrived,
                  inter_part_at(sums->sum, level->keep), level->keep_count);
    sums->now = sums->sum;
}

#endif
