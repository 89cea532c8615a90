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
    core_idle_function *idle; /* what a waiting thread drives, or NULL */
    void *idle_argument;
} intra_meeting;

/** Up to this many threads look at each other's flags; more go by way of thread 0. */
#define INTRA_FLAT_THREADS 8

/** Waits until the slot's last users have all completed. */
void intra_await_slot(intra_member *member, uint64_t sequence);

/** The thread's next collective. May wait for threads that are a whole ring behind. */
static inline void intra_begin(intra_meeting *meeting, intra_member *member) {
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
    meeting->idle = NULL;
    meeting->idle_argument = NULL;
}

static inline uint64_t intra_value(const intra_meeting *meeting, unsigned phase) {
    return meeting->sequence * INTRA_PHASES + phase;
}

/** Waits for any flag, driving meeting->idle meanwhile. */
static inline void intra_await_flag(const intra_meeting *meeting, core_flag *flag, uint64_t value) {
    core_flag_wait_idle(flag, value, &meeting->team->waiting, meeting->idle, meeting->idle_argument);
}

/** Tells the others that this thread has come to `phase`. Release: pairs with intra_await. */
static inline void intra_post(const intra_meeting *meeting, unsigned phase) {
    core_flag_publish(&meeting->own->flag, intra_value(meeting, phase), &meeting->team->waiting);
}

static inline bool intra_posted(const intra_meeting *meeting, int thread, unsigned phase) {
    return core_flag_reached(&meeting->cells[thread].flag, intra_value(meeting, phase));
}

/** Waits until `thread` has posted `phase`. Acquire: pairs with intra_post. */
static inline void intra_await(const intra_meeting *meeting, int thread, unsigned phase) {
    intra_await_flag(meeting, &meeting->cells[thread].flag, intra_value(meeting, phase));
}

/** Waits until every other thread has posted `phase`. */
static inline void intra_await_all(const intra_meeting *meeting, unsigned phase) {
    for (int thread = 0; thread < meeting->team->threads; thread++)
        if (thread != meeting->member->thread)
            intra_await(meeting, thread, phase);
    /* Collectives block: whoever is in this one has completed those before. */
    meeting->member->known = meeting->sequence - 1;
}

/** Posts `phase`, and returns when every thread has. Large teams use the release cell: one such sync of a phase a
 * meeting. */
static inline void intra_sync(const intra_meeting *meeting, unsigned phase) {
    intra_post(meeting, phase);
    if (meeting->team->threads <= INTRA_FLAT_THREADS) {
        intra_await_all(meeting, phase);
    } else if (meeting->member->thread == 0) {
        intra_await_all(meeting, phase);
        core_flag_publish(&meeting->release->flag, intra_value(meeting, phase), &meeting->team->waiting);
    } else {
        intra_await_flag(meeting, &meeting->release->flag, intra_value(meeting, phase));
        meeting->member->known = meeting->sequence - 1;
    }
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

static inline const intra_offer *intra_offer_of(const intra_meeting *meeting, int thread) {
    return &meeting->cells[thread].payload.offer;
}

#endif
