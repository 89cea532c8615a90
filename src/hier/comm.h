// SPDX-License-Identifier: BSD-3-Clause
/**
 * Communicators and teams, as the rooms of hier see them.
 */
#ifndef HIER_COMM_H
#define HIER_COMM_H

#include <core/binding.h>
#include <core/pool.h>
#include <hier/activity.h>
#include <hier/arguments.h>
#include <hier/leaves.h>
#include <hier/process.h>
#include <hier/world.h>
#include <intra/mailbox.h>
#include <intra/meeting.h>
#include <intra/tree.h>

#define HIER_COMM_MAGIC 0x7774434du
#define HIER_TEAM_MAGIC 0x7774544du

/** The network part of the collective that uses a slot of a team's ring. Under the funnel but where it says otherwise. */
typedef struct hier_slot {
    inter_execution execution;
    hier_world *world; /* that drives it */
    const hier_layout *layout;
    uint64_t started;          /* the sequence of the last collective whose network part was started */
    int driver;                /* the thread that started it, which sleeps on the network when it must … */
    bool left;                 /* … unless it does not wait for that … */
    uint32_t note;             /* … and what it took the meeting for */
    struct hier_call *unnoted; /* the ledger does not know yet that it was started; else NULL */
    intra_cell *release;       /* published when it is done … */
    uint64_t value;            /* … with this value */
    const core_waiting *waiting;
    size_t pieces;           /* of its vector; when there are several (pieces.h): */
    size_t strands, told;    /* strands a piece; pieces that are said to have come … */
    core_flag *arrived;      /* … here … */
    uint64_t base;           /* … above this, as the steps in the threads' cells are */
    const intra_cell *cells; /* these … */
    int threads;             /* … so many … */
    bool in_turn;            /* … the first piece does not wait for theirs, and they come when it is here … */
    bool (*sift)(struct hier_slot *slot); /* … told then, once, if not NULL: true: no thread is awaited for the rest */
    _Atomic int unread; /* why a thread could not read for the root (direct.h); before HIER_READY, read after it */
    uint64_t network_ticks[2]; /* when the network part began and ended, as `error`; 0: not traced */
    int error;                 /* of the network part; written before the release, read after it */
    hier_plan plan;            /* of collectives that are nothing but the network part (thread_alone.c), … */
    uint64_t planned;          /* … and hier_arguments.number of the calls that it is prepared for; 0: of none */
    intra_scratch scratch;     /* for its messages */
    intra_scratch telling;     /* what the nodes last told each other (direct.h), … */
    uint64_t told_in;          /* … in what kind of call, and … */
    uint64_t tellings;         /* … how often that was not as before: contents of sparse views, not the plan's */
} hier_slot;

/** Frees what a slot has, under the funnel or where nobody drives it any more. */
static inline void hier_slot_free(hier_slot *slot) {
    inter_execution_free(&slot->execution);
    hier_plan_clear(&slot->plan);
    intra_scratch_free(&slot->scratch, 1);
    intra_scratch_free(&slot->telling, 1);
}

/*
 * With several of them a start mostly need not look whether all have completed those before. Between processes each keeps a schedule with its
 * memory, and a start takes longer than such a look.
 */
#define HIER_RING_SLOTS        2
#define HIER_RING_SLOTS_INSIDE 8 /* of a single process */

/**
 * Of a persistent collective of a thread communicator: where the threads of this process meet. Made by the first of them that
 * comes, freed when all have freed their requests.
 */
typedef struct hier_ring {
    struct hier_ring *next; /* of the team */
    uint64_t number;        /* of the persistent collective on its team … */
    uint64_t chain;         /* … and what the chain of each start begins with */
    int left;               /* threads that have freed theirs */
    intra_team *intra;
    hier_errand dissolve; /* as that of the team */
    hier_slot slots[HIER_RING_SLOTS];
} hier_ring;

struct weft_team {
    core_pooled pooled; /* HIER_TEAM_MAGIC */
    hier_world *world;
    uint32_t context;
    uint64_t epoch;             /* as the context, of all that is sent (contexts.h) */
    struct hier_ledger *ledger; /* the world's once it is opened */
    core_crowd crowd;           /* of its threads and those of other processes */
    bool by_lines; /* in every process: nobody sleeps while it waits for the network, or lines wake who does */
    int node;
    hier_layout layout;
    intra_team *intra;
    intra_tree tree;
    inter_leaves *leaves; /* of several nodes, when something is combined in the fixed bracketing; else NULL */
    hier_slot *slots;
    intra_mailbox *mailboxes; /* by thread */
    _Atomic bool *taken;      /* by thread: its number is in use */
    /* Of what a communicator that was split or duplicated is in a process: */
    _Atomic int handles;          /* that its threads have not freed */
    hier_errand let_in, dissolve; /* under FUNNELED, of those that no leader is in */
    hier_listed listed;
    hier_ring *rings;           /* of persistent collectives … */
    pthread_mutex_t rings_lock; /* … under this */
};

/** A thread that has entered teams: what it sleeps on, and its handles. Its own, but for the bell. */
typedef struct hier_agent {
    core_pooled pooled;
    intra_bell bell;
    struct hier_world *world;
    core_flag *_Atomic napping; /* it sleeps on this flag though its bell may ring; NULL: it does not */
    uint32_t mark;              /* with this mark */
    unsigned naps;              /* one after the other, in a collective */
    uint64_t rung;              /* its bell, before it last looked at its messages */
    struct weft_comm *comms;
    unsigned looks;       /* while it waits: now and then one goes to the network … */
    unsigned turns;       /* … or to channels that it has not used */
    unsigned short_ways;  /* receives by the short way */
    bool talks;           /* it has used messages: all of its handles look after them */
    size_t parts;         /* in collectives, that it has under way beside its calls (part.h) */
    uint64_t completions; /* of parts, so far */
    unsigned tests;       /* without success one after the other, as far as they are counted (waits.h) … */
    uint64_t tests_since; /* … and when they became many */
    hier_activity activity;
    hier_observer *observer;
    _Atomic int lent; /* with a progress thread: whose it is (lending.h) */
    struct hier_agent *next_of_world;
} hier_agent;

/** Memory for buffered sends, and those that are in it, in the order of their places. */
typedef struct hier_buffer {
    unsigned char *base; /* NULL: none is attached */
    size_t bytes;
    struct hier_message *used;
} hier_buffer;

/** What the rules chose for a call: the same for the next one that asks for it. */
typedef struct hier_chosen {
    hier_choice choice;
    size_t bytes;
    unsigned how; /* 0: nothing was chosen; see hier_choose() */
} hier_chosen;

/** Messages and bytes. */
typedef struct hier_moved {
    uint64_t messages, bytes;
} hier_moved;

/** What a call's arguments were, and what they were found to be: the same for the next call that gives them (checked.h). */
typedef struct hier_checked {
    bool known;
    int (*brief)(weft_comm *comm,
                 const hier_arguments *arguments); /* runs such calls of threads (brief.h); NULL: they are not brief */
    uint64_t number;                               /* of calls that were noted */
    /* As they were given: */
    const void *send;
    void *recv;
    size_t send_count, recv_count;
    const weft_datatype *send_type, *recv_type;
    const weft_op *op;
    int root;
    int sides;            /* whose arrays were looked at, … */
    size_t *entries;      /* … and what was in them, for as many ranks each; NULL: there never were any */
    hier_arguments found; /* and are */
    hier_moved moved;     /* what such a call of threads moves inside the node */
} hier_checked;

struct weft_comm {
    core_pooled pooled; /* HIER_COMM_MAGIC */
    hier_world *world;
    const hier_layout *layout;
    int rank, size, node, thread;
    uintptr_t owner; /* of a thread communicator's handle: core_self() of the thread that entered */
    weft_team *team; /* NULL: a process communicator */
    struct hier_ledger
        *ledger;          /* the team's, or its own; the world's once it is opened; NULL: its process is alone in it */
    int bound;            /* the place, core_bind(): of the handle that weft_team_enter gave */
    intra_member *member; /* of a thread communicator, as are the next */
    hier_agent *agent;
    hier_observer *observer; /* the agent's; NULL: the world's for process communicators */
    weft_comm *next_of_agent;
    bool traces;        /* the world does */
    _Atomic bool talks; /* its thread, or it, has used messages: who waits looks after them … */
    bool minds;         /* … or, in collectives within a process, after messages or the network */
    _Atomic bool plain; /* it talks, and its messages may take the short ways: no traces, no lending */
    bool lends;         /* there is a progress thread: outside of weft threads lend it what they have under way */
    unsigned looks;     /* of the present wait of a blocking collective, as far as they are counted (waits.h) */
    hier_noted noted;   /* of the blocking call that its user is in */
    uint64_t turned;    /* the last meeting in which its thread moved much, and … */
    bool backwards;     /* … which way: hier_backwards() */
    uint32_t context;
    uint64_t epoch;         /* the team's, or its own */
    unsigned context_steps; /* of agreements with it as the parent, of a process communicator: contexts.c */
    /* Of one that was split or duplicated: */
    weft_comm
        *origin;      /* the process communicator, or the handle of weft_team_enter, that it descends from; else NULL */
    weft_comm *inner; /* the same by places, for collectives to run on; NULL: ranks are their places */
    weft_comm *outer; /* of an inner one: the user's, which notes for both; else NULL */
    _Atomic int derived; /* of others: communicators that descend from it and stand */
    /* Of a thread communicator the thread's own, of a process communicator under the funnel: */
    intra_mailbox *mailbox;
    hier_channel *channel;       /* for messages to other processes */
    weft_request *free_messages; /* for the next operations, as are those below with the memory of their schedules */
    weft_request *sent;          /* stands for sends that are done; NULL until there is one */
    size_t requests;             /* of messages, that a user has handles on, persistent ones included */
    size_t sent_handles;         /* of sends that were done when they were started: `sent`, whose copies stay good */
    size_t unheard;              /* bytes sent to other processes since a send looked for what they say */
    hier_buffer buffer;
    weft_request
        *free_requests[INTER_COLLECTIVES]; /* by collective; a thread communicator's are all in the first list */
    /* Of a thread communicator, by collective: of its last call. */
    hier_chosen chosen[INTER_COLLECTIVES];
    hier_checked checked[INTER_COLLECTIVES];
    /* Parts of a thread communicator: */
    weft_request *running;               /* in no order; persistent ones that wait for their slot, too */
    weft_request *queued, **queued_last; /* the others that do, in the order of their calls */
    /* Of a process communicator: */
    /* Its collectives so far, and up to which they are over: written under the funnel, read by the roster, relaxed. */
    _Atomic uint64_t sequence, persistent_sequence, over;
    size_t under_way;                /* of them */
    struct hier_operation *prepared; /* its persistent ones, under the roster's lock */
    size_t operations;               /* collectives that a user has handles on; under the funnel */
    struct hier_derived *own;        /* of one that was split: what layout and mailbox are part of */
    weft_comm *next_of_world;        /* of those that were split */
    hier_listed listed;
};

/** What a process communicator that was split has of its own. */
typedef struct hier_derived {
    intra_mailbox mailbox;
    hier_layout layout;
} hier_derived;

/** A team of a world, zeroed but for its head; NULL and the sentence without memory. */
weft_team *hier_team_take(hier_world *world);
/** What a team needs for the threads of this process. Layout and node are set. */
int hier_team_make_threads(weft_team *team, core_waiting waiting);
/** Of several processes: before the first call on it, what tells its messages from those of other communicators. */
void hier_team_begin(weft_team *team, uint32_t context, uint32_t generation);
/** Where messages to its threads here go. */
hier_boxes hier_team_boxes(const weft_team *team);
/** Frees all of a team, which nobody uses any more. Not under the funnel, where that is a lock. */
void hier_team_give(weft_team *team);
/** The same from any thread: the network is told of it by one that may. */
void hier_team_dissolve(weft_team *team);

/** A handle, zeroed but for its magic; NULL without memory. */
weft_comm *hier_comm_take(void);
/** Gives a handle back; false when it was given back before. */
bool hier_comm_give(weft_comm *comm);

/** The handle that collectives run on. */
static inline weft_comm *hier_comm_inner(const weft_comm *comm) {
    if (!comm->inner)
        return (weft_comm *)(uintptr_t)comm;
    comm->inner->talks = comm->talks;
    comm->inner->minds = comm->minds;
    return comm->inner;
}

/** A thread communicator of several processes with one rank each. */
static inline bool hier_comm_is_alone(const weft_comm *comm) {
    return comm->team && comm->layout->nodes > 1 && comm->size == comm->layout->nodes;
}

/** May a thread that waits on the communicator have to drive what others wait for, though it is within its process? */
static inline bool hier_comm_serves(const weft_comm *comm) {
    return comm->world->transport && hier_is_funneled(comm->world) && hier_is_leader(comm->world);
}

/** A blocking collective is over: it waits for nothing any more (waits.h). */
void hier_comm_waits_no_more(weft_comm *comm) __attribute__((cold));
static inline void hier_comm_goes_on(weft_comm *comm) {
    if (comm->looks)
        hier_comm_waits_no_more(comm);
}

/** Of messages, that a user has: while there are some the communicator is neither left nor freed. */
static inline size_t hier_comm_handles(const weft_comm *comm) {
    return comm->requests + comm->sent_handles;
}

static inline bool hier_comm_valid(const weft_comm *comm) {
    return core_pooled_valid(comm, HIER_COMM_MAGIC);
}

#endif
