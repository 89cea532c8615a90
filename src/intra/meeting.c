// SPDX-License-Identifier: BSD-3-Clause
#include <core/clock.h>
#include <intra/meeting.h>

bool intra_look_at_users(const intra_meeting *meeting) {
    const intra_team *team = meeting->team;
    uint64_t all = meeting->member->completed;
    for (int thread = 0; thread < team->threads; thread++) {
        if (thread == meeting->member->thread)
            continue;
        /* Acquire: pairs with intra_end. Often it is far ahead, and saves the next collectives from looking. */
        uint64_t completed = atomic_load_explicit(&team->completed[thread].flag.value, memory_order_acquire);
        all = completed < all ? completed : all;
    }
    meeting->member->known = all;
    return all >= meeting->sequence - team->slots;
}

void intra_end_overlapping(const intra_meeting *meeting) {
    intra_member *member = meeting->member;
    uint64_t mask = meeting->team->slots - 1;
    member->over[meeting->sequence & mask] = true;
    member->ahead++;
    if (meeting->sequence != member->completed + 1)
        return;
    while (member->ahead && member->over[(member->completed + 1) & mask]) {
        member->over[++member->completed & mask] = false;
        member->ahead--;
    }
    core_flag_publish(&meeting->team->completed[member->thread].flag, member->completed, &meeting->team->waiting);
}

/* A wait that is not over at once looks so often for the flag alone, then also at what those are doing who raise it … */
#define LOOKS_BETWEEN_CHECKS 64
/* … and so often at what all are: two may differ who both wait for a third, who does not come. Those who have come write their lines again. */
#define LOOKS_AT_ALL         1024

typedef struct watch {
    intra_meeting *meeting;
    uint64_t value;
    int whom;
    unsigned looks;
} watch;

/* Has it been through the meeting without coming to where this thread waits for it? */
static bool passed_by(const intra_meeting *meeting, int thread, const core_flag *flag, uint64_t value) {
    return core_flag_reached(&meeting->team->completed[thread].flag, meeting->sequence) &&
           !core_flag_reached(flag, value);
}

/* Has it retired before it came to this meeting? */
static bool stays_away(const intra_meeting *meeting, int thread) {
    return intra_is_retired(meeting->team, thread) && meeting->team->completed[thread].last < meeting->sequence;
}

/* Has it come to this meeting, so that its cell says what for? It may have gone through without posting anything. */
static bool has_shown(const intra_meeting *meeting, int thread) {
    const intra_team *team = meeting->team;
    return core_flag_reached(&meeting->cells[thread].flag, intra_value(meeting, 0)) ||
           (core_flag_reached(&team->completed[thread].flag, meeting->sequence) && !stays_away(meeting, thread));
}

const intra_calling *intra_calling_of(const intra_meeting *meeting, int thread) {
    return has_shown(meeting, thread) ? &meeting->cells[thread].calling : NULL;
}

bool intra_notes_differ(const intra_meeting *meeting, int thread) {
    return has_shown(meeting, thread) &&
           atomic_load_explicit(&meeting->cells[thread].flag.note, memory_order_acquire) != meeting->note;
}

/* The thread that makes the wait vain, or -1; with `all`, what the others do counts even if this thread waits for one alone. */
static int find_mismatch(const watch *by, bool all) {
    const intra_meeting *meeting = by->meeting;
    const int whom = by->whom;
    if (whom == INTRA_ALL_BY_LEADER && passed_by(meeting, 0, intra_counter(meeting, INTRA_MET), by->value))
        return 0;
    if (whom >= 0 &&
        (intra_notes_differ(meeting, whom) || passed_by(meeting, whom, &meeting->cells[whom].flag, by->value)))
        return whom;
    for (int thread = 0; (all || whom < 0) && thread < meeting->team->threads; thread++)
        if (thread != meeting->member->thread && (intra_notes_differ(meeting, thread) || stays_away(meeting, thread)))
            return thread;
    return -1;
}

static enum core_idle watch_and_drive(void *argument, bool tired) {
    watch *by = argument;
    intra_meeting *meeting = by->meeting;
    enum core_idle result = meeting->idle ? meeting->idle(meeting->idle_argument, tired) : CORE_IDLE_NOTHING;
    if (result == CORE_IDLE_MOVED || (!tired && by->looks++ % LOOKS_BETWEEN_CHECKS))
        return result;
    intra_show_note(meeting);
    meeting->mismatch = find_mismatch(by, tired || !meeting->waits || by->looks % LOOKS_AT_ALL == 1);
    return meeting->mismatch >= 0 ? CORE_IDLE_GIVE_UP : result;
}

/* One look of a meeting that does not wait. */
static bool look(watch *by) {
    by->looks = by->meeting->looks++;
    by->meeting->mismatch = -1;
    (void)watch_and_drive(by, false);
    return by->meeting->mismatch < 0 && core_flag_reached(by->meeting->awaited, by->value);
}

bool intra_await_slow(intra_meeting *meeting, core_flag *flag, uint64_t value, int whom) {
    watch by = {.meeting = meeting, .value = value, .whom = whom};
    meeting->awaited = flag;
    meeting->value = value;
    if (!meeting->waits)
        return look(&by);
    uint64_t began = core_ticks();
    bool reached = core_flag_wait_slow(flag, value, &meeting->team->waiting, watch_and_drive, &by);
    meeting->member->waited_ticks += core_ticks() - began;
    return reached;
}

bool intra_disown(const intra_meeting *meeting) {
    /* Release: who takes this thread for one in another call may think that it reads nothing of his. */
    atomic_store_explicit(&meeting->own->flag.note, ~meeting->note, memory_order_release);
    return core_fence_heavy();
}
