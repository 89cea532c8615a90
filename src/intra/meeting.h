// SPDX-License-Identifier: BSD-3-Clause
/**
 * A meeting: one thread's part in one collective of its team. The primitives that every thread-level algorithm is made
 * of.
 *
 *     begin → put a payload or an offer into the own cell → post a phase → await others' phases → read their cells →
 * end
 *
 * intra_post releases, intra_await acquires: what a thread wrote (its cell, and its user's buffers) before it posted a
 * phase is seen by whoever awaited that phase.
 */
#ifndef INTRA_MEETING_H
#define INTRA_MEETING_H

#include <intra/team.h>

typedef struct intra_meeting {
    intra_member *member;
    intra_team *team;
    intra_cell *cells; /* by thread */
    intra_cell *release;
    intra_cell *own;
    uint64_t sequence;
    uint32_t note;            /* what this thread takes the meeting for; its cell carries it */
    int mismatch;             /* the thread that a wait gave up on, since it is in another call */
    core_idle_function *idle; /* what a waiting thread drives, or NULL */
    void *idle_argument;
} intra_meeting;

/** Up to this many threads look at each other's flags; more go by way of thread 0. */
#define INTRA_FLAT_THREADS 8

/** Waits until the slot's last users have all completed. */
void intra_await_slot(intra_member *member, uint64_t sequence);

/** The thread's next collective, which `note` tells from others. May wait for threads that are a whole ring behind. */
static inline void intra_begin(intra_meeting *meeting, intra_member *member, uint32_t note) {
    intra_team *team = member->team;
    uint64_t sequence = ++member->sequence;
    if (sequence > team->slots && member->known < sequence - team->slots)
        intra_await_slot(member, sequence);
    intra_cell *slot = member->slot, *own = slot + 1 + member->thread;
    meeting->member = member;
    meeting->team = team;
    meeting->release = slot;
    meeting->cells = slot + 1;
    meeting->own = own;
    meeting->sequence = sequence;
    own->flag.note = meeting->note = note;
    meeting->idle = NULL;
    meeting->idle_argument = NULL;
}

static inline uint64_t intra_value(const intra_meeting *meeting, unsigned phase) {
    return meeting->sequence * INTRA_PHASES + phase;
}

/** Whom a wait depends on, instead of a thread number: on all; on all, with thread 0 raising the flag last. */
enum { INTRA_ALL = -1, INTRA_ALL_BY_LEADER = -2 };

/** The slow part of intra_await_flag. */
bool intra_await_slow(intra_meeting *meeting, core_flag *flag, uint64_t value, int whom);

/**
 * Waits for any flag, driving meeting->idle meanwhile. False: the wait was given up, because a thread that it depends on
 * (`whom`) is in another call, as its note tells; meeting->mismatch is that thread.
 */
static inline bool intra_await_flag(intra_meeting *meeting, core_flag *flag, uint64_t value, int whom) {
    return core_flag_wait_hot(flag, value, &meeting->team->waiting) || intra_await_slow(meeting, flag, value, whom);
}

/** Tells the others that this thread has come to `phase`. Release: pairs with intra_await. */
static inline void intra_post(const intra_meeting *meeting, unsigned phase) {
    core_flag_publish(&meeting->own->flag, intra_value(meeting, phase), &meeting->team->waiting);
}

static inline bool intra_has_posted(const intra_meeting *meeting, int thread, unsigned phase) {
    return core_flag_reached(&meeting->cells[thread].flag, intra_value(meeting, phase));
}

/** Waits until `thread` has posted `phase`; false as in intra_await_flag. Acquire: pairs with intra_post. */
static inline bool intra_await(intra_meeting *meeting, int thread, unsigned phase) {
    return intra_await_flag(meeting, &meeting->cells[thread].flag, intra_value(meeting, phase), thread);
}

/** Waits until every other thread has posted `phase`; false as in intra_await_flag. */
static inline bool intra_await_all(intra_meeting *meeting, unsigned phase) {
    for (int thread = 0; thread < meeting->team->threads; thread++)
        if (thread != meeting->member->thread && !intra_await(meeting, thread, phase))
            return false;
    /* Collectives block: whoever is in this one has completed those before. */
    meeting->member->known = meeting->sequence - 1;
    return true;
}

/**
 * Posts `phase`, and returns when every thread has; false as in intra_await_flag. Large teams use the release cell: one such
 * sync of a phase a meeting.
 */
static inline bool intra_sync(intra_meeting *meeting, unsigned phase) {
    intra_post(meeting, phase);
    if (meeting->team->threads <= INTRA_FLAT_THREADS)
        return intra_await_all(meeting, phase);
    core_flag *release = &meeting->release->flag;
    uint64_t value = intra_value(meeting, phase);
    if (meeting->member->thread != 0) {
        if (!intra_await_flag(meeting, release, value, INTRA_ALL_BY_LEADER))
            return false;
        meeting->member->known = meeting->sequence - 1;
        return true;
    }
    if (!intra_await_all(meeting, phase))
        return false;
    core_flag_publish(release, value, &meeting->team->waiting);
    return true;
}

/** The thread's part is over: it reads nothing of the slot any more. Release: pairs with intra_await_slot. */
static inline void intra_end(const intra_meeting *meeting) {
    intra_team *team = meeting->team;
    intra_cell *next = meeting->release + 1 + team->threads;
    if (next == team->cells_end)
        next = team->cells;
    meeting->member->slot = next;
    /* Nobody looks at the next own cell now: get its line before it is written. */
    __builtin_prefetch(next + 1 + meeting->member->thread, 1);
    core_flag_publish(&meeting->team->completed[meeting->member->thread].flag, meeting->sequence,
                      &meeting->team->waiting);
}

/** The thread, which is in no collective, comes to none any more: who waits for it, or will, does so in vain. */
static inline void intra_retire(intra_meeting *meeting) {
    meeting->member->retired = true;
    /* Release: pairs with intra_is_retired, intra_await_slot and who looks for what it has completed. */
    core_flag_publish(&meeting->team->completed[meeting->member->thread].flag, UINT64_MAX, &meeting->team->waiting);
}

static inline bool intra_is_retired(const intra_meeting *meeting, int thread) {
    return core_flag_reached(&meeting->team->completed[thread].flag, UINT64_MAX); /* acquire: pairs with intra_retire */
}

static inline const intra_offer *intra_offer_of(const intra_meeting *meeting, int thread) {
    return &meeting->cells[thread].payload.offer;
}

#endif
