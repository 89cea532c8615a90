// SPDX-License-Identifier: BSD-3-Clause
#include <hier/drive.h>
#include <hier/ledger.h>
#include <hier/ring.h>
#include <stddef.h>
#include <stdlib.h>

static void free_ring(hier_ring *ring) {
    if (!ring)
        return;
    for (int slot = 0; slot < HIER_RING_SLOTS; slot++)
        hier_slot_free(&ring->slots[slot]);
    intra_team_free(ring->intra);
    free(ring);
}

static hier_ring *make_ring(const weft_team *team, uint64_t number) {
    int slots = team->layout.nodes > 1 ? HIER_RING_SLOTS : HIER_RING_SLOTS_INSIDE;
    hier_ring *ring = calloc(1, sizeof(*ring));
    if (!ring || intra_team_create(team->intra->threads, slots, team->intra->waiting, &ring->intra)) {
        free(ring);
        return NULL;
    }
    ring->intra->repeats = true;
    ring->number = number;
    ring->chain = hier_chain(hier_ledger_chain(team->ledger), number);
    for (int thread = 0; thread < team->intra->threads; thread++)
        if (intra_is_retired(team->intra, thread))
            intra_retire(ring->intra, thread);
    return ring;
}

hier_ring *hier_ring_join(weft_team *team, uint64_t number) {
    pthread_mutex_lock(&team->rings_lock);
    hier_ring *ring = team->rings;
    while (ring && ring->number != number)
        ring = ring->next;
    if (!ring && (ring = make_ring(team, number))) {
        ring->next = team->rings;
        team->rings = ring;
    }
    pthread_mutex_unlock(&team->rings_lock);
    return ring;
}

static void dissolve(hier_errand *errand) {
    free_ring((hier_ring *)(void *)((char *)errand - offsetof(hier_ring, dissolve)));
}

/* Nobody is in it any more; entering the funnel, or as an errand, whoever drove its last collective is out of it too. */
static void give_ring(weft_team *team, hier_ring *ring) {
    ring->dissolve.run = dissolve;
    if (team->layout.nodes > 1 && !hier_may_drive(team->world)) {
        hier_send_errand(team->world, &ring->dissolve);
        return;
    }
    if (team->layout.nodes > 1) {
        hier_funnel_enter(team->world);
        hier_funnel_leave(team->world);
    }
    free_ring(ring);
}

void hier_ring_leave(weft_team *team, hier_ring *ring) {
    pthread_mutex_lock(&team->rings_lock);
    bool last = ++ring->left == team->intra->threads;
    hier_ring **link = &team->rings;
    while (last && *link != ring)
        link = &(*link)->next;
    if (last)
        *link = ring->next;
    pthread_mutex_unlock(&team->rings_lock);
    if (last)
        give_ring(team, ring);
}

static bool is_under_way(const intra_member *member) {
    return member->completed != intra_taken(member);
}

void hier_retire(weft_comm *comm) {
    weft_team *team = comm->team;
    int thread = comm->thread;
    comm->member->retired = true;
    bool still = is_under_way(comm->member);
    pthread_mutex_lock(&team->rings_lock);
    for (hier_ring *ring = team->rings; ring; ring = ring->next)
        still |= is_under_way(&ring->intra->members[thread]);
    for (hier_ring *ring = team->rings; ring && !still; ring = ring->next)
        intra_retire(ring->intra, thread);
    if (!still)
        intra_retire(team->intra, thread);
    pthread_mutex_unlock(&team->rings_lock);
}

void hier_rings_free(weft_team *team) {
    while (team->rings) {
        hier_ring *ring = team->rings;
        team->rings = ring->next;
        free_ring(ring);
    }
}
