// SPDX-License-Identifier: BSD-3-Clause
/**
 * Communicators and teams, as the rooms of hier see them.
 */
#ifndef HIER_COMM_H
#define HIER_COMM_H

#include <core/pool.h>
#include <hier/world.h>
#include <intra/meeting.h>

#define HIER_COMM_MAGIC 0x7774434du
#define HIER_TEAM_MAGIC 0x7774544du

/** The network part of the collective that uses a slot of a team's ring. Under the funnel but where it says otherwise. */
typedef struct hier_slot {
    inter_execution execution;
    uint64_t started;    /* the sequence of the last collective whose network part was started */
    int driver;          /* the thread that started it, which sleeps on the network when it must */
    intra_cell *release; /* published when it is done … */
    uint64_t value;      /* … with this value */
    const core_waiting *waiting;
    int error; /* of the network part; written before the release, read after it */
} hier_slot;

struct weft_team {
    core_pooled pooled; /* HIER_TEAM_MAGIC */
    hier_world *world;
    uint32_t context;
    bool by_lines; /* in every process: nobody sleeps while it waits for the network, or lines wake who does */
    int node;
    hier_layout layout;
    size_t *offsets; /* the layout's */
    intra_team *intra;
    hier_slot *slots;
    _Atomic bool *taken; /* by thread: its number is in use */
};

struct weft_comm {
    core_pooled pooled; /* HIER_COMM_MAGIC */
    hier_world *world;
    const hier_layout *layout;
    int rank, size, node, thread;
    pthread_t owner;      /* of a thread communicator's handle: the thread that entered */
    weft_team *team;      /* NULL: a process communicator */
    intra_member *member; /* of a thread communicator */
    /* Of a process communicator, under the funnel: */
    uint64_t sequence, persistent_sequence; /* its collectives so far */
    weft_request *free_requests;            /* with the memory of their schedules */
};

/** A handle, zeroed but for its magic; NULL without memory. */
weft_comm *hier_comm_take(void);
/** Gives a handle back; false when it was given back before. */
bool hier_comm_give(weft_comm *comm);

static inline bool hier_comm_valid(const weft_comm *comm) {
    return core_pooled_valid(comm, HIER_COMM_MAGIC);
}

#endif
