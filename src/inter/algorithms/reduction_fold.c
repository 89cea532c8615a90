// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce, allreduce, reduce_scatter, scan, exscan FOLD; reduce, allreduce SFOLD: the fixed bracketing (core/bracket.h).
 *
 * Operands (or, with view.leaves, the values of the blocks of ranks that a process has) go to whoever needs the result, and are
 * combined there as the bracketing says: the bits depend on neither p nor the number of processes, only on the ranks.
 * FOLD: whole vectors to the root, to all, or to all higher ranks. Of reduce_scatter each block goes to its owner.
 * SFOLD: slice r of the vector goes to rank r, which combines it; the slices are gathered, at the root or everywhere.
 * Any p, any root. With one leaf a rank:
 * FOLD: 1 stage; reduce p−1 messages of n, allreduce p(p−1) of n, reduce_scatter p(p−1) of a block, scans p(p−1)/2 of n.
 * SFOLD: 2 stages; allreduce 2p(p−1) messages of n/p, reduce p(p−1) + p−1. Memory: the operands of the other ranks.
 *
 *     0 ─▶ 1, 2, 3     slices: 0 has a₀ b₀ c₀ d₀   ((a₀ b₀) (c₀ d₀)) ─▶ 1, 2, 3
 *     1 ─▶ 0, 2, 3             1 has a₁ b₁ c₁ d₁   …
 *
 * Scans with leaves (there are several ranks a process, whose prefixes differ) only gather: leaf i, of another process, comes to
 * INTER_RECV at i times view.stride.
 */
#include <core/bracket.h>
#include <inter/algorithms.h>
#include <inter/leaves.h>
#include <inter/operands.h>
#include <inter/peers.h>

static int leaves_count(const inter_view *view) {
    return view->leaves ? view->leaves->count : view->size;
}

static inter_leaf leaf_at(const inter_view *view, int i) {
    return view->leaves ? view->leaves->leaf[i] : (inter_leaf){.first = i, .end = i + 1, .owner = i};
}

/* The leaves of a process are some of those from `first` up to, not including, `end`. */
typedef struct range {
    int first, end;
} range;

static range leaves_near(const inter_view *view, int owner) {
    return view->leaves ? (range){0, view->leaves->count} : (range){owner, owner + 1};
}

/* Where an own leaf's elements from `begin` on stand. */
static inter_place own_leaf(const inter_view *view, const inter_leaf *leaf, size_t begin) {
    return inter_at(INTER_SEND, (size_t)leaf->index * view->stride + begin);
}

static void send_leaves(inter_schedule *schedule, const inter_view *view, int to, size_t begin, size_t count) {
    range own = leaves_near(view, view->rank);
    for (int i = own.first; i < own.end && count; i++) {
        inter_leaf leaf = leaf_at(view, i);
        if (leaf.owner == view->rank)
            inter_schedule_send(schedule, to, own_leaf(view, &leaf, begin), count);
    }
}

/* Of `from`; each to its place in `others`, where there is one for each leaf, `apart` elements apart. */
static void recv_leaves(inter_schedule *schedule, const inter_view *view, int from, inter_place others, size_t apart,
                        size_t count) {
    range theirs = leaves_near(view, from);
    for (int i = theirs.first; i < theirs.end && count; i++)
        if (leaf_at(view, i).owner == from)
            inter_schedule_recv(schedule, from, inter_plus(others, (size_t)i * apart), count);
}

/*
 * out = the first `leaves` leaves, the own ones in INTER_SEND from `begin` on, the others in `others`, and lost. Of two leaves that
 * meet one is another's, or they are all: so there always is a place for what they make. `out` is written last, and may be INTER_SEND
 * from `begin` on itself.
 */
static void fold(inter_schedule *schedule, const inter_view *view, int leaves, size_t begin, inter_place others,
                 inter_place out, size_t count) {
    inter_place stack[CORE_BRACKET_DEPTH];
    core_bracket bracket = {0};
    for (int i = 0; i < leaves && count; i++) {
        inter_leaf leaf = leaf_at(view, i);
        bool own = leaf.owner == view->rank, last = i == leaves - 1;
        stack[bracket.depth] = own ? own_leaf(view, &leaf, begin) : inter_plus(others, (size_t)i * count);
        core_bracket_push(&bracket, leaf.level);
        while (core_bracket_merges(&bracket, last)) {
            inter_place *left = &stack[bracket.depth - 1], *right = left + 1;
            inter_place to = right->buffer == INTER_SEND ? *left : *right;
            if (last && bracket.depth == 1)
                to = out;
            inter_schedule_reduce(schedule, *left, *right, to, count);
            *left = to;
        }
    }
    if (leaves == 1 && count)
        inter_schedule_copy(schedule, stack[0], out, count);
}

/* Everybody who needs it, all at once. */
static void fold_whole(inter_schedule *schedule, const inter_view *view) {
    bool rooted = view->collective == INTER_REDUCE;
    inter_place others = {0};
    if (rooted && view->rank != view->root) {
        send_leaves(schedule, view, view->root, 0, view->count);
        return;
    }
    others = inter_schedule_temp(schedule, (size_t)leaves_count(view) * view->count);
    for (int step = 1; step < view->size && !rooted; step++)
        send_leaves(schedule, view, inter_ring_rank(view->rank, step, view->size), 0, view->count);
    for (int step = 1; step < view->size; step++)
        recv_leaves(schedule, view, inter_ring_rank(view->rank, -step, view->size), others, view->count, view->count);
    inter_schedule_next_stage(schedule);
    fold(schedule, view, leaves_count(view), 0, others, inter_at(INTER_RECV, 0), view->count);
}

/* Does `to` have a rank above one of `from`'s? */
static bool is_above(const inter_view *view, int to, int from) {
    int lowest = -1, highest = -1;
    if (!view->leaves)
        return to > from;
    for (int i = 0; i < view->leaves->count; i++) {
        if (lowest < 0 && view->leaves->leaf[i].owner == from)
            lowest = i;
        if (view->leaves->leaf[i].owner == to)
            highest = i;
    }
    return highest > lowest;
}

static void fold_scan(inter_schedule *schedule, const inter_view *view) {
    int rank = view->rank;
    bool gathers = view->leaves;
    inter_place others = inter_at(INTER_RECV, 0);
    if (!gathers)
        others = inter_schedule_temp(schedule, (size_t)rank * view->count);
    for (int step = 1; step < view->size; step++) {
        int to = inter_ring_rank(rank, step, view->size);
        if (is_above(view, to, rank))
            send_leaves(schedule, view, to, 0, view->count);
    }
    for (int step = 1; step < view->size; step++) {
        int from = inter_ring_rank(rank, -step, view->size);
        if (is_above(view, rank, from))
            recv_leaves(schedule, view, from, others, gathers ? view->stride : view->count, view->count);
    }
    inter_schedule_next_stage(schedule);
    if (!gathers)
        fold(schedule, view, view->collective == INTER_EXSCAN ? rank : rank + 1, 0, others, inter_at(INTER_RECV, 0),
             view->count);
}

/* Everybody gets its block of all leaves. Places for all of them, one behind the other, are returned. */
static inter_place exchange_blocks(inter_schedule *schedule, const inter_view *view) {
    int rank = view->rank;
    size_t own = inter_block_count(view, rank);
    inter_place others = inter_schedule_temp(schedule, (size_t)leaves_count(view) * own);
    for (int step = 1; step < view->size; step++) {
        int to = inter_ring_rank(rank, step, view->size);
        send_leaves(schedule, view, to, inter_block_offset(view, to), inter_block_count(view, to));
    }
    for (int step = 1; step < view->size; step++)
        recv_leaves(schedule, view, inter_ring_rank(rank, -step, view->size), others, own, own);
    inter_schedule_next_stage(schedule);
    return others;
}

/* The own block goes to the beginning of INTER_RECV, which may be in the middle of that of INTER_SEND: then by way of memory. */
static void fold_blocks(inter_schedule *schedule, const inter_view *view) {
    size_t begin = inter_block_offset(view, view->rank), own = inter_block_count(view, view->rank);
    inter_place others = exchange_blocks(schedule, view);
    inter_place result = inter_at(INTER_RECV, 0), out = result;
    bool apart = !view->in_place || inter_own_block_is_apart(view);
    if (!apart)
        out = inter_schedule_temp(schedule, own);
    fold(schedule, view, leaves_count(view), begin, others, out, own);
    if (!apart && own)
        inter_schedule_copy(schedule, out, result, own);
}

void inter_reduction_fold(inter_schedule *schedule, const inter_view *view) {
    if (inter_is(view->collective, INTER_SCANS))
        fold_scan(schedule, view);
    else if (inter_is(view->collective, INTER_REDUCE_SCATTERS))
        fold_blocks(schedule, view);
    else
        fold_whole(schedule, view);
}

/* Sends the own slice from `place` to all or to the root, and gets those of the others. */
static void gather_slices(inter_schedule *schedule, const inter_view *cut, inter_place slice) {
    bool rooted = cut->collective == INTER_REDUCE;
    size_t own = inter_block_count(cut, cut->rank);
    for (int step = 1; step < cut->size && own; step++) {
        int to = inter_ring_rank(cut->rank, step, cut->size);
        if (!rooted || to == cut->root)
            inter_schedule_send(schedule, to, slice, own);
    }
    for (int step = 1; step < cut->size && !(rooted && cut->rank != cut->root); step++) {
        int from = inter_ring_rank(cut->rank, -step, cut->size);
        if (inter_block_count(cut, from))
            inter_schedule_recv(schedule, from, inter_at(INTER_RECV, inter_block_offset(cut, from)),
                                inter_block_count(cut, from));
    }
}

void inter_reduction_sfold(inter_schedule *schedule, const inter_view *view) {
    inter_view cut = *view;
    cut.cut = true;
    size_t begin = inter_block_offset(&cut, view->rank), own = inter_block_count(&cut, view->rank);
    bool has_result = view->collective != INTER_REDUCE || view->rank == view->root;
    inter_place others = exchange_blocks(schedule, &cut);
    inter_place slice = inter_at(INTER_RECV, begin);
    if (!has_result)
        slice = inter_schedule_temp(schedule, own);
    fold(schedule, &cut, leaves_count(view), begin, others, slice, own);
    inter_schedule_next_stage(schedule);
    gather_slices(schedule, &cut, slice);
}
