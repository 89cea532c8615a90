// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <intra/team.h>
#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t count, size_t bytes) {
    void *memory = aligned_alloc(INTRA_LINE, count * bytes);
    if (memory)
        memset(memory, 0, count * bytes);
    return memory;
}

/* Of filled cells, when the next one's lines are fetched is tried, too. Two do not try at the same time, lest what is found of one is the other's. */
static void begin_patience(core_patience *patience) {
    patience[INTRA_TOGETHER + INTRA_FILLED].prepares = patience[INTRA_ALONE + INTRA_FILLED].prepares = true;
    patience[INTRA_ALONE].stretch = patience[INTRA_ALONE + INTRA_FILLED].stretch = CORE_STRETCHES / 2;
}

static bool make_members(intra_team *team) {
    team->members = zeroed((size_t)team->threads, sizeof(intra_member));
    for (int thread = 0; team->members && thread < team->threads; thread++) {
        intra_member *member = &team->members[thread];
        member->team = team;
        member->thread = thread;
        begin_patience(member->patience);
        member->slot = intra_slot_of(team, 1);
        member->over = calloc(team->slots, sizeof(*member->over));
        if (!member->over)
            return false;
    }
    return team->members;
}

/*
 * The numbers' bits in reverse. A processor that saw a thread read slots one behind the other would fetch those ahead, out of the cache of
 * who has them there to write (inter_line_at in inter/lane.h is for that, too).
 */
static bool make_order(intra_team *team) {
    const size_t slots = team->slots;
    team->order = calloc(slots, sizeof(intra_cell *));
    for (size_t at = 0, place = 0; team->order && at < slots; at++) {
        team->order[at] = team->cells + place * (1 + (size_t)team->threads);
        size_t bit = slots / 2; /* one more, from the highest bit on */
        for (; place & bit; bit /= 2)
            place ^= bit;
        place |= bit;
    }
    return team->order;
}

/* Not zeroed: nobody has to touch what no collective uses. */
static bool make_trays(intra_team *team) {
    size_t bytes = (size_t)team->threads * INTRA_TRAY_SHARE;
    team->tray_bytes = bytes < INTRA_TRAY_BYTES ? INTRA_TRAY_BYTES : bytes;
    team->trays = aligned_alloc(INTRA_LINE, team->slots * team->tray_bytes);
    return team->trays;
}

int intra_team_create(int threads, int slots, core_waiting waiting, intra_team **team) {
    intra_team *made = zeroed(1, sizeof(*made));
    if (!made)
        return core_error(WEFT_ERR_NOMEM, "no memory for a team of %d threads", threads);
    made->threads = threads;
    made->slots = (uint64_t)slots;
    made->waiting = waiting;
    made->cells = zeroed((size_t)slots * (1 + (size_t)threads), sizeof(intra_cell));
    made->counters = zeroed(INTRA_COUNTERS * (size_t)slots, sizeof(intra_line));
    made->completed = zeroed((size_t)threads, sizeof(intra_line));
    if (!made->cells || !make_order(made) || !made->counters || !made->completed || !make_trays(made) ||
        !make_members(made)) {
        intra_team_free(made);
        return core_error(WEFT_ERR_NOMEM, "no memory for a team of %d threads with %d slots", threads, slots);
    }
    *team = made;
    return WEFT_SUCCESS;
}

void intra_team_free(intra_team *team) {
    if (!team)
        return;
    for (int thread = 0; team->members && thread < team->threads; thread++) {
        intra_scratch_free(team->members[thread].scratch, INTRA_SCRATCHES);
        free(team->members[thread].over);
    }
    free(team->cells);
    free(team->order);
    free(team->trays);
    free(team->completed);
    free(team->counters);
    free(team->members);
    free(team);
}

static void give_back(intra_scratch *scratch) {
    const intra_source *source = scratch->source;
    if (!source || !scratch->memory || !source->give(source->owner, scratch->memory, scratch->bytes))
        free(scratch->memory);
    scratch->memory = NULL;
    scratch->bytes = 0;
}

void intra_scratch_free(intra_scratch *scratches, int count) {
    for (int i = 0; i < count; i++)
        give_back(&scratches[i]);
}

void *intra_scratch_take(intra_scratch *scratch, size_t bytes) {
    if (bytes <= scratch->bytes && scratch->memory)
        return scratch->memory;
    size_t room = (bytes + 4095) / 4096 * 4096;
    if (room < bytes)
        return NULL;
    if (!room)
        room = 4096;
    give_back(scratch);
    if (scratch->source)
        scratch->memory = scratch->source->take(scratch->source->owner, room);
    if (!scratch->memory)
        scratch->memory = aligned_alloc(4096, room);
    scratch->bytes = scratch->memory ? room : 0;
    return scratch->memory;
}
