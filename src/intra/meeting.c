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

/* A wait that is not over at once looks so often for the flag alone, then also at what the others are doing. */
#define LOOKS_BETWEEN_CHECKS 64

typedef struct watch {
    intra_meeting *meeting;
    uint64_t value;
    int whom;
    unsigned looks;
} watch;

/* Is the thread in another call? Its note tells, once it has posted anything in this meeting. */
static bool notes_differ(const intra_meeting *meeting, int thread) {
    const core_flag *flag = &meeting->cells[thread].flag;
    return core_flag_reached(flag, intra_value(meeting, 0)) && flag->note != meeting->note;
}

/* Has it been through the meeting without coming to where this thread waits for it? */
static bool passed_by(const intra_meeting *meeting, int thread, const core_flag *flag, uint64_t value) {
    return core_flag_reached(&meeting->team->completed[thread].flag, meeting->sequence) &&
           !core_flag_reached(flag, value);
}

/* Has it retired before it came to this meeting? */
static bool stays_away(const intra_meeting *meeting, int thread) {
    return intra_is_retired(meeting->team, thread) && meeting->team->completed[thread].last < meeting->sequence;
}

const intra_calling *intra_calling_of(const intra_meeting *meeting, int thread) {
    const intra_cell *cell = &meeting->cells[thread];
    bool passed = core_flag_reached(&meeting->team->completed[thread].flag, meeting->sequence);
    return core_flag_reached(&cell->flag, intra_value(meeting, 0)) || (passed && !stays_away(meeting, thread))
               ? &cell->calling
               : NULL;
}

/* The thread that makes the wait vain, or -1. */
static int find_mismatch(const watch *by) {
    const intra_meeting *meeting = by->meeting;
    if (by->whom >= 0)
        return notes_differ(meeting, by->whom) ||
                       passed_by(meeting, by->whom, &meeting->cells[by->whom].flag, by->value)
                   ? by->whom
                   : -1;
    if (by->whom == INTRA_ALL_BY_LEADER && passed_by(meeting, 0, intra_counter(meeting, INTRA_MET), by->value))
        return 0;
    for (int thread = 0; thread < meeting->team->threads; thread++)
        if (thread != meeting->member->thread && (notes_differ(meeting, thread) || stays_away(meeting, thread)))
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
    meeting->mismatch = find_mismatch(by);
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
