// SPDX-License-Identifier: BSD-3-Clause
/**
 * The world: what weft_init makes of a process. The library has one; tests make several in one process over the sim
 * transport.
 */
#ifndef HIER_WORLD_H
#define HIER_WORLD_H

#include <core/binding.h>
#include <core/config.h>
#include <core/rollcall_socket.h>
#include <core/self.h>
#include <core/wait.h>
#include <hier/activity.h>
#include <hier/carrier.h>
#include <hier/contexts.h>
#include <hier/errand.h>
#include <hier/layout.h>
#include <hier/observer.h>
#include <hier/select.h>
#include <inter/engine.h>
#include <inter/lines.h>
#include <intra/team.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <weft/weft.h>

/** Threads that a host, and this process's cores, have to carry: zeroed, and then each process of the host is added. */
typedef struct hier_load {
    int64_t on_host;
    core_crowd on_cores;
} hier_load;

/** What a process tells the others, in front of its address: those of its host its cores, and where its lines are. */
typedef struct hier_card {
    int32_t cores; /* that the process may use */
    int32_t host_cores;
    uint64_t cores_hash;          /* equal for processes that may use the same cores */
    uint64_t algorithm;           /* WEFT_ALGORITHM, hashed: … */
    int32_t reproducible, unused; /* … the same in all processes, as this is */
    inter_lines_card lines;
    core_rollcall_address collector; /* of process 0: where roll-calls are collected, if they are (collect.h) */
} hier_card;

typedef struct hier_world {
    core_config config;
    hier_card card;
    core_cpu_set allowed;       /* the cores that the card tells of; empty: unknown */
    inter_bootstrap *bootstrap; /* NULL in tests, and where a process is alone: … */
    inter_bootstrap *launcher;  /* … then this one has it, which is told when it leaves; or NULL */
    inter_transport *transport; /* NULL: one process */
    inter_lines *lines;         /* NULL: not in use */
    bool lines_may_wake;        /* nothing goes by UCX, so that who waits could sleep on the lines … */
    bool lines_wake;            /* … and may: they wake him */
    inter_engine engine;        /* under the funnel, as are the next */
    hier_channel channel;       /* the main one: over the transport, or over the lines on top of it */
    intra_source window;        /* memory that others of the host read (window.h); without `take`: there is none */
    hier_carrier carrier;
    hier_channel
        *_Atomic channels[INTER_CHANNELS]; /* of threads (channels.h), by number; NULL: not open, nor are the next */
    inter_directory *directory;            /* of their addresses; NULL: none was opened */
    intra_mailbox mailbox;                 /* of the process communicator */
    struct hier_ledgers *ledgers;          /* what is called on the communicators; under the funnel */
    hier_selector selector;
    core_waiting waiting;    /* of one thread a process */
    _Atomic bool may_sleep;  /* the leader, or the threads of some team, so far */
    core_patience patience;  /* with processes that send when this one does; under the funnel */
    uintptr_t init_thread;   /* core_self() */
    size_t requests;         /* of collectives, that users have handles on; under the funnel, as is the next */
    uint64_t completions;    /* of these, so far */
    unsigned soon;           /* how often something was waited for in a short way (hier_looked_soon) */
    size_t *node_offsets;    /* 0, 1, 2, … size */
    hier_load load;          /* with one thread a process … */
    core_crowd crowd;        /* … and so is this … */
    bool crowded;            /* … which may be more than cores */
    core_places places;      /* of threads in teams: this process's share */
    hier_layout layout;      /* of the process communicator: every node has one rank */
    weft_comm *process_comm; /* … and the first of a list: those that were split and have messages, under the funnel */
    hier_contexts contexts;
    pthread_mutex_t channels_lock; /* who opens channels, or adds to the directory */
    core_inbox errands;            /* anybody puts in, who holds the funnel takes out */
    core_flag
        *_Atomic napping; /* FUNNELED: the leader sleeps on this flag of a thread (errand.h); NULL: it does not … */
    unsigned naps;        /* … and for the how manyth time since something happened; the leader's */
    _Atomic int teams;    /* that stand */
    hier_observation observation;
    hier_roster roster;           /* of its threads */
    struct hier_watch *watch;     /* NULL: nobody asks for it */
    struct hier_collect *collect; /* NULL: not here */
    bool progresses;              /* there is a progress thread … */
    pthread_t progress_thread;    /* … this one … */
    _Atomic bool progress_over;   /* … that is to end … */
    _Atomic bool progress_sleeps;
    _Atomic uint32_t lendings;   /* so far (lending.h) */
    pthread_mutex_t agents_lock; /* of the next: the threads that lend */
    struct hier_agent *agents;
} hier_world;

/**
 * Makes a world over a bootstrap and a transport (both may be NULL: one process), which it takes over, also when it fails; and then makes
 * this process known to the others. Collective: when it has failed before that the others wait for the call to be made again.
 * Errors: WEFT_ERR_CONFIG (WEFT_ALGORITHM), WEFT_ERR_NOMEM, WEFT_ERR_BOOTSTRAP.
 */
int hier_world_create(const core_config *config, const hier_card *card, inter_bootstrap *bootstrap,
                      inter_transport *transport, hier_world **world);

/**
 * Puts lines between the processes of each host to use, if all processes of the job can; takes `lines` (may be NULL) over. `caller`: where
 * weft_init was called, for roll-calls. Collective. Returns an error only when the processes cannot talk to each other.
 */
int hier_world_use_lines(hier_world *world, inter_lines *lines, const void *caller);

/**
 * Has every process started? `code`: what this one has to say. Collective over the processes; an error in one is an error in all: its own,
 * or else WEFT_ERR_PROC_FAILED. `met`: have they all come here?
 */
int hier_world_started(hier_world *world, int code, const void *caller, bool *met);

/** The longest message that is copied on its way: the user's, or what was measured. */
size_t hier_eager_limit(const hier_world *world, size_t measured);

/** Makes the mailbox of a rank, in zeroed memory. `threads` of the process send to it, others by the channel. */
int hier_mailbox_init(hier_channel *channel, intra_mailbox *mailbox, int rank, int threads, core_waiting waiting);

/** Frees it; nothing is under way on it. Local: whoever ends a job lets the processes meet first. */
void hier_world_destroy(hier_world *world);

/** What process `process` told. Errors: WEFT_ERR_BOOTSTRAP. */
int hier_world_card(const hier_world *world, int process, hier_card *card);

/** A number that is equal for the processes of one host. */
int hier_world_host(const hier_world *world, int process);

static inline void hier_load_add(hier_load *load, int64_t threads, bool shares_cores, bool before) {
    load->on_host += threads;
    load->on_cores.all += shares_cores ? threads : 0;
    load->on_cores.before += shares_cores && before ? threads : 0;
}

/** Does a core have to carry several? *crowd: who shares them, if the process's own do. */
static inline bool hier_is_overloaded(const hier_load *load, int host_cores, int cores, core_crowd *crowd) {
    bool crowded = load->on_cores.all > cores;
    *crowd = (core_crowd){load->on_cores.before, crowded ? load->on_cores.all : 0};
    return crowded || load->on_host > host_cores;
}

/**
 * Sets what a layout tells the selector, `threads`, `one_host` and `reads`, when the rest stands; the same in every process. `crowded` its
 * maker sets, before the first collective on it: choices are kept (hier_choose, hier_plan).
 */
void hier_world_survey(const hier_world *world, hier_layout *layout);

/** Is it the thread that called weft_init? */
static inline bool hier_is_leader(const hier_world *world) {
    return world->init_thread == core_self();
}

static inline bool hier_is_funneled(const hier_world *world) {
    return world->config.thread_level == WEFT_THREAD_FUNNELED;
}

/** May the calling thread drive the network, when it has the funnel? */
static inline bool hier_may_drive(const hier_world *world) {
    return !hier_is_funneled(world) || hier_is_leader(world);
}

/**
 * The funnel: true when the caller may drive the network until hier_funnel_leave(). Never waits.
 * Acquire: pairs with hier_funnel_leave, publishes the engine, its executions and the transport.
 */
static inline bool hier_funnel_try(hier_world *world) {
    return hier_channel_try(&world->channel); /* FUNNELED: only the leader comes here, without a lock */
}

/** Waits for the funnel: for as long as somebody else looks at the network. */
static inline void hier_funnel_enter(hier_world *world) {
    hier_channel_enter(&world->channel);
}

static inline void hier_funnel_leave(hier_world *world) {
    hier_channel_leave(&world->channel);
}

#endif
