// SPDX-License-Identifier: BSD-3-Clause
/**
 * A meeting: one thread's part in one collective of its team. The primitives that every thread-level algorithm is made
 * of.
 *
 *     take → occupy → put a payload or an offer into the own cell → post a phase → await others' phases → read their cells →
 *     end
 *
 * intra_post releases, intra_await acquires: what a thread wrote (its cell, and its user's buffers) before it posted a
 * phase is seen by whoever awaited that phase. A meeting of a nonblocking collective does not wait: its await functions say
 * whether it is so.
 */
#ifndef INTRA_MEETING_H
#define INTRA_MEETING_H

#include <core/fence.h>
#include <core/stream.h>
#include <intra/team.h>

typedef struct intra_meeting {
    intra_member *member;
    intra_team *team;
    intra_cell *cells; /* by thread */
    intra_cell *release;
    intra_cell *own;
    intra_offer mine; /* as far as this thread has offered anything: what intra_offer_of says of it */
    uint64_t sequence;
    uint32_t note;            /* what this thread takes the meeting for; its cell carries it */
    bool waits;               /* where something is not there yet; else the await functions say false */
    unsigned hot;             /* looks at a flag alone, first of all */
    unsigned looks;           /* at flags that were not there, without waiting */
    core_flag *awaited;       /* that was not there at the last look, without waiting … */
    uint64_t value;           /* … at this value */
    bool met;                 /* every thread was seen to be in it */
    int mismatch;             /* the thread that a wait gave up on, since it is in another call; -1: none */
    core_idle_function *idle; /* what a waiting thread drives, or NULL */
    void *idle_argument;
} intra_meeting;

/**
 * Up to this many threads look at each other's flags; more go by way of thread 0. Measured with up to 16 on one L3: looking takes each
 * thread more the more others there are (2: 3 times the flag latency, 16: 6), by way of thread 0 it takes longer for any number (4 to 9).
 */
#define INTRA_FLAT_THREADS 16

/** From now on it waits, or does not. */
static inline void intra_let_wait(intra_meeting *meeting, bool waits) {
    meeting->waits = waits;
    meeting->hot = waits ? meeting->team->waiting.hot : 0;
}

/** The last collective that a thread has taken. Relaxed: nothing else is read of what it says. */
static inline uint64_t intra_taken(const intra_member *member) {
    return atomic_load_explicit(&member->sequence, memory_order_relaxed);
}

/**
 * Takes the thread's next collective, which `note` tells from others; `waits`: it is one to block in. Nothing of it may be used
 * before intra_is_free() says so and intra_occupy() was called.
 */
static inline void intra_take(intra_meeting *meeting, intra_member *member, uint32_t note, bool waits) {
    intra_team *team = member->team;
    intra_cell *slot = member->slot;
    /* Published by this thread's first post of this collective: see intra_have_met. */
    const uint64_t taken = intra_taken(member);
    if (member->completed != taken)
        atomic_store_explicit(&team->overlaps, true, memory_order_relaxed);
    member->slot = intra_slot_of(team, taken + 2);
    if (slot == team->cells) { /* the first of a round */
        member->fills = member->filled;
        member->filled = 0;
    }
    meeting->member = member;
    meeting->team = team;
    meeting->release = slot;
    meeting->cells = slot + 1;
    meeting->own = slot + 1 + member->thread;
    meeting->sequence = taken + 1;
    atomic_store_explicit(&member->sequence, taken + 1, memory_order_relaxed);
    core_fence_light(); /* pairs with intra_disown: before any look at another one's note */
    meeting->note = note;
    intra_let_wait(meeting, waits);
    meeting->looks = 1; /* at the first one nobody asks why */
    meeting->awaited = NULL;
    meeting->met = false;
    meeting->mismatch = -1;
    meeting->idle = NULL;
    meeting->idle_argument = NULL;
}

/** The slow part of intra_is_free. */
bool intra_look_at_users(const intra_meeting *meeting);

/** Have all threads completed the collective that used the slot before? Acquire: pairs with intra_end. */
static inline bool intra_is_free(const intra_meeting *meeting) {
    uint64_t slots = meeting->team->slots;
    return meeting->sequence <= slots || meeting->member->known >= meeting->sequence - slots ||
           intra_look_at_users(meeting);
}

static inline void intra_occupy(const intra_meeting *meeting) {
    atomic_store_explicit(&meeting->own->flag.note, meeting->note, memory_order_relaxed);
}

/** The own cell's payload, to put so many bytes there before anything is posted. */
static inline unsigned char *intra_fill(const intra_meeting *meeting, size_t bytes) {
    intra_member *member = meeting->member;
    if (bytes > member->filled)
        member->filled = bytes;
    if (bytes > member->fills)
        member->fills = bytes;
    return meeting->own->payload.bytes;
}

/**
 * Gets the lines of the next own cell before they are written, as many as were filled lately: those who read them have them, and each would
 * take its way back then; one that is forgotten takes as long as all. `flag`: the first one, too.
 */
static inline void intra_clear_next(intra_member *member, bool flag) {
    const char *cell = (const char *)(member->slot + 1 + member->thread);
    if (flag)
        __builtin_prefetch(cell, 1);
    for (size_t line = CORE_LINE_BYTES; line < offsetof(intra_cell, payload) + member->fills; line += CORE_LINE_BYTES)
        __builtin_prefetch(cell + line, 1);
}

/** Does it fill its cells beyond the flag's line, lately? */
static inline bool intra_fills_lines(const intra_member *member) {
    return member->fills > INTRA_FLAG_ROOM;
}

static inline core_patience *intra_patience_with(intra_member *member, int with) {
    return &member->patience[with + (intra_fills_lines(member) ? INTRA_FILLED : 0)];
}

/** Before it looks for the others, whose cells are on their way meanwhile, or when it has seen them? Of many lines, as is quicker. */
static inline bool intra_clears_early(intra_member *member, int with) {
    return core_prepares_early(intra_patience_with(member, with));
}

/** The slot's counter `which`. */
static inline core_flag *intra_counter(const intra_meeting *meeting, int which) {
    const intra_team *team = meeting->team;
    return &team->counters[INTRA_COUNTERS * (meeting->sequence & (team->slots - 1)) + (uint64_t)which].flag;
}

/** The slot's tray. */
static inline char *intra_tray(const intra_meeting *meeting) {
    const intra_team *team = meeting->team;
    return team->trays + (meeting->sequence & (team->slots - 1)) * team->tray_bytes;
}

/** What a counter shows when it was raised by `count`, a few times the threads at most, in this collective. */
static inline uint64_t intra_count(const intra_meeting *meeting, int count) {
    return (meeting->sequence << 20) +
           (uint64_t)count; /* the low half is not the same in the slot's next collective: core/wait.c */
}

/** The thread's part of this collective is not done. Relaxed: others look after they have awaited what it posts next. */
static inline void intra_leave_undone(const intra_meeting *meeting) {
    atomic_store_explicit(&intra_counter(meeting, INTRA_UNDONE)->value, meeting->sequence, memory_order_relaxed);
}

/** Is a thread's, of those that were awaited? */
static inline bool intra_is_undone(const intra_meeting *meeting) {
    return atomic_load_explicit(&intra_counter(meeting, INTRA_UNDONE)->value, memory_order_relaxed) ==
           meeting->sequence;
}

/** The thread is so far in this collective. Release: pairs with intra_step_of. */
static inline void intra_step(const intra_meeting *meeting, size_t step) {
    atomic_store_explicit(&meeting->own->step, intra_count(meeting, 0) + step, memory_order_release);
}

/** How far the cell's thread is, in the collective whose counters begin at `base`. Acquire: pairs with intra_step. */
static inline size_t intra_step_of(const intra_cell *cell, uint64_t base) {
    uint64_t step = atomic_load_explicit(&cell->step, memory_order_acquire);
    return step > base ? (size_t)(step - base) : 0;
}

/**
 * Is this thread the first to ask, of those who could do a piece of the thread's work? Whoever was is told so again. In a collective without
 * steps, whose word this is. Relaxed: what is read on the strength of it was awaited before.
 */
static inline bool intra_claims(const intra_meeting *meeting, int thread) {
    _Atomic uint64_t *claim = &meeting->cells[thread].step;
    const uint64_t own = intra_count(meeting, 1 + meeting->member->thread);
    uint64_t seen = 0; /* most likely not: but to read it first would take as long as this does */
    do
        if (atomic_compare_exchange_strong_explicit(claim, &seen, own, memory_order_relaxed, memory_order_relaxed))
            return true;
    while (seen < intra_count(meeting, 1));
    return seen == own;
}

static inline uint64_t intra_value(const intra_meeting *meeting, unsigned phase) {
    return meeting->sequence * INTRA_PHASES + phase;
}

/** Whom a wait depends on, instead of a thread number: on all; on all, with thread 0 raising the flag last. */
enum { INTRA_ALL = -1, INTRA_ALL_BY_LEADER = -2 };

/** What a thread takes this meeting for; NULL: it has not come, or retired before. Acquire: pairs with intra_post and intra_end. */
const intra_calling *intra_calling_of(const intra_meeting *meeting, int thread) __attribute__((cold));

/** The slow part of intra_await_flag. */
bool intra_await_slow(intra_meeting *meeting, core_flag *flag, uint64_t value, int whom);

/**
 * Waits for any flag, driving meeting->idle meanwhile. False: the wait was given up, because a thread that it depends on
 * (`whom`) is in another call, as its note tells, and meeting->mismatch is that thread; or the meeting does not wait, which
 * leaves it -1.
 */
static inline bool intra_await_flag(intra_meeting *meeting, core_flag *flag, uint64_t value, int whom) {
    return core_flag_wait_hot(flag, value, meeting->hot) || intra_await_slow(meeting, flag, value, whom);
}

/** Tells the others that this thread has come to `phase`. Release: pairs with intra_await. */
static inline void intra_post(const intra_meeting *meeting, unsigned phase) {
    core_flag_publish(&meeting->own->flag, intra_value(meeting, phase), &meeting->team->waiting);
}

static inline bool intra_has_posted(const intra_meeting *meeting, int thread, unsigned phase) {
    return core_flag_reached(&meeting->cells[thread].flag, intra_value(meeting, phase));
}

/** Shows the own note to those that wait for this thread, wherever it is in the meeting. Relaxed: the own flag. */
static inline void intra_show_note(const intra_meeting *meeting) {
    if (atomic_load_explicit(&meeting->own->flag.value, memory_order_relaxed) < intra_value(meeting, 0))
        intra_post(meeting, 0);
}

/** The first look of a meeting that does not wait would come too early: it is left to when the thread comes back. Before any await. */
static inline bool intra_has_just_begun(intra_meeting *meeting) {
    if (meeting->waits || meeting->looks > 1 || !meeting->team->waiting.hot || meeting->team->threads == 1)
        return false;
    meeting->looks++;
    return true;
}

/** Waits until `thread` has posted `phase`, in whatever call; false as in intra_await_flag. Acquire: pairs with intra_post. */
static inline bool intra_await_any(intra_meeting *meeting, int thread, unsigned phase) {
    return intra_await_flag(meeting, &meeting->cells[thread].flag, intra_value(meeting, phase), thread);
}

/** Is `thread`, which has posted, in the same call, as its note tells? If not it is meeting->mismatch. Relaxed: its flag was awaited. */
static inline bool intra_is_same(intra_meeting *meeting, int thread) {
    const uint32_t note = atomic_load_explicit(&meeting->cells[thread].flag.note, memory_order_relaxed);
    if (__builtin_expect(note == meeting->note, 1))
        return true;
    meeting->mismatch = thread;
    return false;
}

/** The same of all, who have posted. Not of the own cell: its line has moved to who read it. */
static inline bool intra_are_same(intra_meeting *meeting) {
    for (int thread = 0; thread < meeting->team->threads; thread++)
        if (thread != meeting->member->thread && !intra_is_same(meeting, thread))
            return false;
    return true;
}

/** Waits until `thread` has posted `phase` in the same call; false as in intra_await_flag. Acquire: pairs with intra_post. */
static inline bool intra_await(intra_meeting *meeting, int thread, unsigned phase) {
    return intra_await_any(meeting, thread, phase) && intra_is_same(meeting, thread);
}

/**
 * Every thread is seen to be in the meeting. As long as nobody begins one before he has completed the last, all have completed
 * those before: whoever has not has set `overlaps` before what was seen of him.
 */
static inline bool intra_have_met(intra_meeting *meeting) {
    meeting->met = true;
    if (!atomic_load_explicit(&meeting->team->overlaps, memory_order_relaxed))
        meeting->member->known = meeting->sequence - 1;
    return true;
}

/** Waits until every other thread has posted `phase` in the same call; false as in intra_await_flag. Each begins elsewhere: not all want one line at a time. */
static inline bool intra_await_all(intra_meeting *meeting, unsigned phase) {
    const int own = meeting->member->thread, threads = meeting->team->threads;
    for (int thread = own + 1; thread < threads; thread++)
        if (!intra_await(meeting, thread, phase))
            return false;
    for (int thread = 0; thread < own; thread++)
        if (!intra_await(meeting, thread, phase))
            return false;
    return intra_have_met(meeting);
}

static inline void intra_linger_with(const intra_meeting *meeting, int with, int thread, unsigned phase) {
    core_patience *patience = intra_patience_with(meeting->member, with);
    core_linger(patience);
    core_patience_learn(patience, intra_has_posted(meeting, thread, phase));
}

/** Before the first look at those that post when this thread does. */
static inline void intra_linger(const intra_meeting *meeting, unsigned phase) {
    const int threads = meeting->team->threads, next = meeting->member->thread + 1;
    if (!meeting->hot || threads == 1)
        return;
    if (intra_fills_lines(meeting->member))
        /* Not for order: until the own lines are written the others' are not, either, and looking would only take them away. */
        atomic_thread_fence(memory_order_seq_cst);
    intra_linger_with(meeting, INTRA_TOGETHER, next < threads ? next : 0, phase); /* it is looked at first */
}

/** Before the first look at a thread that posts whatever this one does, and comes later from where both were together. */
static inline void intra_linger_alone(const intra_meeting *meeting, int thread, unsigned phase) {
    if (meeting->hot)
        intra_linger_with(meeting, INTRA_ALONE, thread, phase);
}

/**
 * Waits until every thread has posted `phase` in the same call, this one too; false as in intra_await_flag. In large teams thread 0 tells the others;
 * not by the release cell, to which whoever drives writes at any time.
 */
static inline bool intra_await_sync(intra_meeting *meeting, unsigned phase) {
    if (meeting->team->threads <= INTRA_FLAT_THREADS) {
        intra_linger(meeting, phase);
        return intra_await_all(meeting, phase);
    }
    core_flag *met = intra_counter(meeting, INTRA_MET);
    uint64_t value = intra_value(meeting, phase);
    if (meeting->member->thread != 0) {
        if (!intra_await_flag(meeting, met, value, INTRA_ALL_BY_LEADER))
            return false;
    } else {
        for (int thread = 1; thread < meeting->team->threads; thread++)
            if (!intra_await_any(meeting, thread, phase))
                return false;
        core_flag_publish(met, value, &meeting->team->waiting);
    }
    intra_have_met(meeting);
    return intra_are_same(meeting);
}

/** As intra_await(), where it takes no more than looks at the flag; false says nothing. */
static inline bool intra_is_here(const intra_meeting *meeting, int thread, unsigned phase) {
    const core_flag *flag = &meeting->cells[thread].flag;
    return core_flag_wait_hot(flag, intra_value(meeting, phase), meeting->hot) &&
           atomic_load_explicit(&flag->note, memory_order_relaxed) == meeting->note;
}

/** Likewise as intra_await_all(). */
static inline bool intra_are_here(intra_meeting *meeting, unsigned phase) {
    const int own = meeting->member->thread, threads = meeting->team->threads;
    for (int i = 1, thread = own; i < threads; i++) {
        thread = thread + 1 < threads ? thread + 1 : 0;
        if (!intra_is_here(meeting, thread, phase))
            return false;
    }
    return intra_have_met(meeting);
}

/** Is `thread` in another call in this meeting, or was it, as its note tells? Acquire: pairs with intra_disown. */
bool intra_notes_differ(const intra_meeting *meeting, int thread) __attribute__((cold));

/**
 * This thread has posted that it leaves the call, which went wrong, and looks at nothing of the others' any more: from now on all take it for
 * one that is in another call. True: so does whoever has not taken the collective yet (intra_is_to_come), and then uses nothing that this thread has shown.
 */
bool intra_disown(const intra_meeting *meeting) __attribute__((cold));

/** Has `thread` not taken this collective yet? Relaxed: after intra_disown, whose fence pairs with that in intra_take. */
static inline bool intra_is_to_come(const intra_meeting *meeting, int thread) {
    return intra_taken(&meeting->team->members[thread]) < meeting->sequence;
}

/** The slow part of intra_end. */
void intra_end_overlapping(const intra_meeting *meeting);

/** The thread's part is over: it reads nothing of the slot any more. Release: pairs with intra_is_free. */
static inline void intra_complete(const intra_meeting *meeting) {
    intra_member *member = meeting->member;
    if (meeting->sequence != member->completed + 1 || member->ahead) {
        intra_end_overlapping(meeting);
        return;
    }
    member->completed = meeting->sequence;
    core_flag_publish(&meeting->team->completed[member->thread].flag, meeting->sequence, &meeting->team->waiting);
}

/** The same, where no line of the next cell was cleared before. */
static inline void intra_end(const intra_meeting *meeting) {
    /* Fetched long before it is written, the flag's line is only missed by who looks at it early; nobody looks at the others before it is raised. */
    intra_clear_next(meeting->member, meeting->met || !meeting->team->repeats);
    intra_complete(meeting);
}

static inline bool intra_is_retired(const intra_team *team, int thread) {
    return core_flag_reached(&team->completed[thread].flag, UINT64_MAX); /* acquire: pairs with intra_retire */
}

/** The thread, which is in no collective, comes to none any more: who waits for it, or will, does so in vain. It may be said again. */
static inline void intra_retire(intra_team *team, int thread) {
    if (intra_is_retired(team, thread)) /* already: others look at what it has written then */
        return;
    team->completed[thread].last = intra_taken(&team->members[thread]);
    /* Release: pairs with intra_is_retired, intra_is_free and who looks for what it has completed. */
    core_flag_publish(&team->completed[thread].flag, UINT64_MAX, &team->waiting);
}

/** Shows the others `value` in the field of this thread's offer; they see it once they have awaited what it posts next. */
#define INTRA_SHOW(meeting, field, value) ((meeting)->own->payload.offer.field = (meeting)->mine.field = (value))

/**
 * What a thread, which has posted, has shown. Never from the own cell: the line has moved to the cache of who read it, and reading it
 * would fetch it back.
 */
static inline const intra_offer *intra_offer_of(const intra_meeting *meeting, int thread) {
    return thread == meeting->member->thread ? &meeting->mine : &meeting->cells[thread].payload.offer;
}

#endif
