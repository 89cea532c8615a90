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

int intra_team_create(int threads, int slots, core_waiting waiting, intra_team **team) {
    intra_team *made = zeroed(1, sizeof(*made));
    if (!made)
        return core_error(WEFT_ERR_NOMEM, "no memory for a team of %d threads", threads);
    made->threads = threads;
    made->slots = (uint64_t)slots;
    made->waiting = waiting;
    made->cells = zeroed((size_t)slots * (1 + (size_t)threads), sizeof(intra_cell));
    made->completed = zeroed((size_t)threads, sizeof(intra_line));
    made->members = zeroed((size_t)threads, sizeof(intra_member));
    if (!made->cells || !made->completed || !made->members) {
        intra_team_free(made);
        return core_error(WEFT_ERR_NOMEM, "no memory for a team of %d threads with %d slots", threads, slots);
    }
    made->cells_end = made->cells + (size_t)slots * (1 + (size_t)threads);
    for (int thread = 0; thread < threads; thread++) {
        made->members[thread].team = made;
        made->members[thread].thread = thread;
        made->members[thread].slot = made->cells + (1 + (size_t)threads); /* that of sequence 1 */
    }
    *team = made;
    return WEFT_SUCCESS;
}

void intra_team_free(intra_team *team) {
    if (!team)
        return;
    for (int thread = 0; team->members && thread < team->threads; thread++)
        free(team->members[thread].scratch);
    free(team->cells);
    free(team->completed);
    free(team->members);
    free(team);
}

void *intra_scratch(intra_member *member, size_t bytes) {
    if (bytes <= member->scratch_bytes && member->scratch)
        return member->scratch;
    size_t room = (bytes + 4095) / 4096 * 4096;
    if (room < bytes)
        return NULL;
    if (!room)
        room = 4096;
    free(member->scratch);
    member->scratch = aligned_alloc(4096, room);
    member->scratch_bytes = member->scratch ? room : 0;
    return member->scratch;
}
