// SPDX-License-Identifier: BSD-3-Clause
/**
 * Communicators and teams, as the rooms of hier see them.
 */
#ifndef HIER_COMM_H
#define HIER_COMM_H

#include <core/pool.h>
#include <hier/world.h>
#include <intra/mailbox.h>
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
    struct hier_ledger *ledger; /* the world's */
    bool by_lines; /* in every process: nobody sleeps while it waits for the network, or lines wake who does */
    int node;
    hier_layout layout;
    size_t *offsets; /* the layout's */
    intra_team *intra;
    hier_slot *slots;
    intra_mailbox *mailboxes; /* by thread */
    _Atomic bool *taken;      /* by thread: its number is in use */
};

/** A thread that has entered teams: what it sleeps on, and its handles. Its own, but for the bell. */
typedef struct hier_agent {
    core_pooled pooled;
    intra_bell bell;
    struct weft_comm *comms;
    unsigned looks; /* at its own channel */
} hier_agent;

/** Memory for buffered sends, and those that are in it, in the order of their places. */
typedef struct hier_buffer {
    unsigned char *base; /* NULL: none is attached */
    size_t bytes;
    struct hier_message *used;
} hier_buffer;

struct weft_comm {
    core_pooled pooled; /* HIER_COMM_MAGIC */
    hier_world *world;
    const hier_layout *layout;
    int rank, size, node, thread;
    pthread_t owner; /* of a thread communicator's handle: the thread that entered */
    weft_team *team; /* NULL: a process communicator */
    struct hier_ledger *ledger;
    intra_member *member; /* of a thread communicator, as are the next */
    hier_agent *agent;
    weft_comm *next_of_agent;
    bool talks; /* it has messages: who waits looks after them */
    /* Of a thread communicator the thread's own, of a process communicator under the funnel: */
    intra_mailbox *mailbox;
    hier_channel *channel;       /* for messages to other processes */
    weft_request *free_messages; /* for the next operations, as are those below with the memory of their schedules */
    weft_request *sent;          /* stands for sends that are done; NULL until there is one */
    size_t requests;             /* of messages, that a user has handles on, persistent ones included */
    hier_buffer buffer;
    /* Of a process communicator: */
    uint64_t sequence, persistent_sequence; /* its collectives so far */
    weft_request *free_requests;
};

/** A handle, zeroed but for its magic; NULL without memory. */
weft_comm *hier_comm_take(void);
/** Gives a handle back; false when it was given back before. */
bool hier_comm_give(weft_comm *comm);

static inline bool hier_comm_valid(const weft_comm *comm) {
    return core_pooled_valid(comm, HIER_COMM_MAGIC);
}

#endif
