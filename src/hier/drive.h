// SPDX-License-Identifier: BSD-3-Clause
/**
 * Waiting for messages and for the network: what requests, messages and thread-rank collectives have in common.
 *
 * An *agent* is a thread that has entered teams. While it waits for anything it looks after the messages of all its handles, and,
 * where the level allows, after the network for all of the process.
 */
#ifndef HIER_DRIVE_H
#define HIER_DRIVE_H

#include <hier/comm.h>
#include <poll.h>

/**
 * Who holds the funnel looks so often before letting others try; each look takes some tens of nanoseconds. Where cores are short,
 * who is waited for needs this one.
 */
static inline int hier_looks_in_funnel(const core_waiting *waiting) {
    return waiting->hot ? 16 : 1;
}

/** The first look at the engine of who has just sent what others wait for, where all have cores. With the funnel. */
static inline void hier_look_first(hier_world *world) {
    core_linger(&world->patience);
    core_patience_learn(&world->patience, inter_engine_progress(&world->engine));
}

#define HIER_ALL_EVERY 64

/** Who is always served at once looks after all else that he has under way, and the network, now and then: after so many short ways. */
#define HIER_SHORT_WAYS 64
/** By the thread of a thread communicator: does so. */
void hier_serve(const weft_comm *comm);

/**
 * After looks at the engine alone, for what may be over soon: all else that a wait moves on has its turn now and then, and others are
 * told of a process that is out of reach. With the funnel.
 */
static inline void hier_looked_soon(hier_world *world, bool failed) {
    if (world->soon++ % HIER_ALL_EVERY == 0 || failed)
        hier_progress(world);
}

/** Makes a handle one of the calling thread's, or takes it from them. WEFT_ERR_NOMEM. */
int hier_agent_join(weft_comm *comm);
void hier_agent_part(weft_comm *comm);

/** In a process that fork() has made: its one thread has no valid handle of the parent's. */
void hier_void_handles(hier_world *world) __attribute__((cold));

/** Moves the messages of a thread's handles on; how many things happened. By that thread. */
unsigned hier_agent_progress(hier_agent *agent);

/**
 * The thread goes to sleep, but not on its bell (`bed`), which wakes it all the same: on the flag, by core_flag_sleep_marked(), or, NULL, on the
 * network. False: it does not, since the bell was rung after `rung`. Else it is hier_agent_rises() afterwards.
 */
bool hier_agent_lies_down(hier_agent *agent, enum intra_bed bed, core_flag *flag, uint64_t rung);
void hier_agent_rises(hier_agent *agent);

/** Where to sleep until something happens on one of several channels; a clear one: for the time only. */
typedef struct hier_bed {
    struct pollfd descriptors[1 + INTER_CHANNELS];
    void *sleepers[1 + INTER_CHANNELS]; /* inter_bed.sleepers */
    nfds_t count;
    void *word;       /* instead: inter_bed.word … */
    uint32_t value;   /* … and .value */
    int milliseconds; /* at most */
} hier_bed;

static inline void hier_bed_clear(hier_bed *bed) {
    bed->count = 0;
    bed->word = NULL;
    bed->milliseconds = 10;
}

static inline void hier_bed_sleeps(hier_bed *bed, long nanoseconds) {
    bed->milliseconds = (int)(nanoseconds / 1000000L);
}

/** Gets ready to sleep on the channels that are a thread's own, too; as hier_arm. */
bool hier_arm_own(const hier_agent *agent, hier_bed *bed);

/** Gets ready to sleep on a channel too; false when something can be done now. With the channel's lock. */
bool hier_arm(hier_channel *channel, hier_bed *bed);

/** Sleeps until something happens, and leaves the bed. Without a lock. */
void hier_sleep(hier_bed *bed);

/** Instead of it: others are not told for this thread's sake any more. */
void hier_bed_leave(hier_bed *bed);

/** One look at a thread's channel, unless another thread has it just now; how many things happened. `bell`: the caller's, or NULL. */
unsigned hier_look_at(hier_channel *channel, const intra_bell *bell);

/**
 * The same of a thread that has used no messages, at its channels where it has some (MULTIPLE): who sends to it the first one may need that, be it to
 * connect. For whoever waits or tests; each look, but for one `now` and then, is none.
 */
void hier_look_at_unused(hier_agent *agent, bool now);

/** One look at the network for others, if the thread may, where what it waits for does not come by it. There is a network. */
void hier_look_beside(hier_world *world);

/**
 * So long at most sleeps who has more under way than what wakes it: parts in collectives, of which not all that they wait for does, or the
 * network, for others.
 */
#define HIER_BESIDE_NS 2000000L

/** Is there what the caller waits for? */
typedef bool hier_look(void *argument);

/** Says what is waited for, when that takes long. By who waits; without the funnel. */
typedef hier_doing hier_describe(void *argument);

/** Who waits, and for what. */
typedef struct hier_wait {
    hier_world *world;
    hier_agent *agent; /* NULL: the thread has none */
    const core_waiting *waiting;
    bool network;     /* what is waited for may come from another process … */
    bool own;         /* … by the thread's own channel */
    bool beside;      /* it comes from the process, which has others to serve meanwhile */
    bool funnel;      /* look() needs the funnel */
    weft_counted row; /* of the operation that is waited for */
    hier_look *look;
    hier_describe *describe; /* NULL: nobody needs to know */
    void *argument;
} hier_wait;

/** Moves things on until look() says true: then, true. With `once`, after one try, whatever it says. */
bool hier_drive_until(const hier_wait *wait, bool once);

/** The calling thread's, when it has messages or parts of this world to look after; else NULL. */
hier_agent *hier_agent_of_caller(const hier_world *world);

/** Is there anything that a wait of the calling thread would move on, but what is between processes in collectives? */
bool hier_has_more_to_do(const hier_world *world);

/** A wait for something of a communicator: of processes, its thread looks after what it has on others all the same. */
static inline hier_wait hier_wait_on(const weft_comm *comm, hier_look *look, hier_describe *describe, void *argument) {
    return (hier_wait){.world = comm->world,
                       .agent = comm->agent ? comm->agent : hier_agent_of_caller(comm->world),
                       .waiting = comm->team ? &comm->team->intra->waiting : &comm->world->waiting,
                       .network = comm->layout->nodes > 1 || hier_comm_serves(comm),
                       .own = comm->channel != &comm->world->channel,
                       .beside = comm->world->transport && comm->layout->nodes == 1,
                       .funnel = !comm->team,
                       .row = WEFT_COUNTED_MESSAGES,
                       .look = look,
                       .describe = describe,
                       .argument = argument};
}

#endif
