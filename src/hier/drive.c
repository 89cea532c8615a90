// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/drive.h>
#include <hier/ledger.h>
#include <hier/lending.h>
#include <hier/observe.h>
#include <hier/part.h>
#include <sched.h>
#include <string.h>

#define AGENT_MAGIC 0x77744147u
#define PAUSE_NS    50000L
/* Who has a channel of his own looks so seldom at the main one, which all threads share, or at his own until he uses it. */
#define MAIN_EVERY  64
/* Who only tests moves on what he can, since it may be long until he comes again: a socket brings a message in many small steps. */
#define MOST_LOOKS  64

static core_pool agents = CORE_POOL_INITIALIZER;

/* The calling thread's; its memory is never given back, since others may still ring its bell. */
static _Thread_local hier_agent *self;

/* Of a thread that lies, or has just risen. */
static void rouse(void *argument) {
    hier_agent *agent = argument;
    inter_transport *transport = agent->world->channel.transport;
    if (atomic_load_explicit(&agent->napping, memory_order_relaxed))
        core_flag_wake_napping(&agent->napping, agent->mark);
    else if (transport)
        transport->rouse(transport);
}

bool hier_agent_lies_down(hier_agent *agent, enum intra_bed bed, core_flag *flag, uint64_t rung) {
    intra_bell *bell = &agent->bell;
    atomic_store_explicit(&agent->napping, flag, memory_order_relaxed);
    /* Sequentially consistent, as is the look at it in intra_mail_ring: either who rings rouses, or the ring is seen. */
    atomic_store_explicit(&bell->bed, (uint8_t)bed, memory_order_seq_cst);
    if (atomic_load_explicit(&bell->flag.value, memory_order_seq_cst) == rung)
        return true;
    hier_agent_rises(agent);
    return false;
}

void hier_agent_rises(hier_agent *agent) {
    atomic_store_explicit(&agent->bell.bed, INTRA_ON_BELL, memory_order_relaxed);
    atomic_store_explicit(&agent->napping, NULL, memory_order_relaxed);
}

int hier_agent_join(weft_comm *comm) {
    if (!self) {
        self = core_pool_take(&agents, sizeof(*self), AGENT_MAGIC);
        if (!self)
            return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a thread", comm->rank);
        self->observer = hier_observer_take(comm->world, comm->rank);
        if (!self->observer) {
            core_pool_give(&agents, self, AGENT_MAGIC);
            self = NULL;
            return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a thread", comm->rank);
        }
        self->bell.rouse = rouse;
        self->bell.argument = self;
        self->world = comm->world;
        self->mark = CORE_MARK(comm->rank);
        hier_roster_add(&comm->world->roster, &self->activity, comm);
        if (comm->world->progresses)
            hier_lending_join(comm->world, self);
    }
    hier_reclaim(self);
    comm->lends = comm->world->progresses;
    comm->agent = self;
    comm->observer = self->observer;
    comm->traces = comm->world->observation.traces;
    comm->next_of_agent = self->comms;
    comm->queued_last = &comm->queued;
    comm->talks = self->talks;
    comm->plain = comm->talks && !comm->traces && !comm->lends;
    comm->minds = comm->talks || (comm->layout->nodes == 1 && hier_comm_serves(comm));
    self->comms = comm;
    /* Release: pairs with intra_mail_ring. */
    atomic_store_explicit(&comm->mailbox->bell, &self->bell, memory_order_release);
    return WEFT_SUCCESS;
}

hier_agent *hier_agent_of_caller(const hier_world *world) {
    if (!self || self->comms->world != world)
        return NULL;
    return self->parts || self->talks ? self : NULL;
}

void hier_lend_own(void) {
    if (self && self->comms->world->progresses)
        hier_lend(self);
}

void hier_reclaim_own(const hier_world *world) {
    if (self && self->comms->world == world)
        hier_reclaim(self);
}

bool hier_has_more_to_do(const hier_world *world) {
    /* Relaxed: it decides how it is waited, no more. */
    return atomic_load_explicit(&world->channel.listens, memory_order_relaxed) ||
           atomic_load_explicit(&world->carrier.wanted, memory_order_relaxed) || hier_agent_of_caller(world);
}

/* The handle that the thread has had for longest. */
static const weft_comm *oldest_of(const hier_agent *agent) {
    const weft_comm *oldest = agent->comms;
    while (oldest->next_of_agent)
        oldest = oldest->next_of_agent;
    return oldest;
}

void hier_agent_part(weft_comm *comm) {
    hier_agent *agent = comm->agent;
    weft_comm **link = &agent->comms;
    while (*link != comm)
        link = &(*link)->next_of_agent;
    *link = comm->next_of_agent;
    atomic_store_explicit(&comm->mailbox->bell, &comm->mailbox->spare, memory_order_release);
    if (agent->comms) {
        hier_roster_rename(&comm->world->roster, &agent->activity, comm, oldest_of(agent));
        return;
    }
    if (self == agent) /* not that of a thread that has ended, for which its heir leaves */
        self = NULL;
    if (comm->world->progresses)
        hier_lending_part(comm->world, agent);
    hier_roster_remove(&comm->world->roster, &agent->activity);
    hier_observer_give(comm->world, agent->observer);
    core_pool_give(&agents, agent, AGENT_MAGIC);
}

void hier_void_handles(hier_world *world) {
    for (hier_listed *listed = world->roster.listed; listed; listed = listed->next)
        core_pooled_void(listed->team ? (void *)listed->team : listed->comm);
    for (weft_comm *comm = self ? self->comms : NULL; comm; comm = comm->next_of_agent)
        core_pooled_void(comm);
    self = NULL;
}

unsigned hier_look_at(hier_channel *channel, const intra_bell *bell) {
    if (!hier_channel_try(channel))
        return 0;
    atomic_store_explicit(&channel->driver, bell, memory_order_relaxed);
    unsigned events = channel->transport->progress(channel->transport);
    events += hier_channel_progress(channel);
    atomic_store_explicit(&channel->driver, NULL, memory_order_relaxed);
    hier_channel_leave(channel);
    return events;
}

/* The thread's own channel, if this handle has one and messages. */
static hier_channel *own_channel(const weft_comm *comm) {
    return comm->talks && comm->channel != &comm->world->channel ? comm->channel : NULL;
}

unsigned hier_agent_progress(hier_agent *agent) {
    unsigned events = 0;
    const hier_channel *last = NULL; /* its handles mostly have the same */
    /* Acquire: what came before this ring is seen by the looks that follow. */
    agent->rung = atomic_load_explicit(&agent->bell.flag.value, memory_order_acquire);
    for (weft_comm *comm = agent->comms; comm; comm = comm->next_of_agent) {
        hier_channel *own = own_channel(comm);
        if (own && own != last)
            events += hier_look_at(own, &agent->bell);
        last = own;
        events += intra_mail_progress(comm->mailbox);
        if (comm->running || comm->queued)
            events += hier_parts_progress(comm);
    }
    return events;
}

void hier_look_at_unused(hier_agent *agent, bool now) {
    const hier_channel *last = NULL;
    if (!now && agent->turns++ % MAIN_EVERY)
        return;
    for (const weft_comm *comm = agent->comms; comm; comm = comm->next_of_agent) {
        if (!comm->talks && comm->channel != &comm->world->channel && comm->channel != last)
            hier_look_at(comm->channel, &agent->bell);
        last = comm->channel;
    }
}

bool hier_arm(hier_channel *channel, hier_bed *bed) {
    inter_bed one;
    if (channel == &channel->world->channel) /* who sleeps looks seldom */
        hier_ledger_watch(channel->world);
    if (!channel->transport->arm(channel->transport, &one))
        return false;
    if (one.word) {
        bed->word = one.word;
        bed->value = one.value;
    } else {
        bed->sleepers[bed->count] = one.sleepers;
        bed->descriptors[bed->count++] = (struct pollfd){.fd = one.descriptor, .events = POLLIN};
    }
    return true;
}

void hier_bed_leave(hier_bed *bed) {
    for (; bed->count; bed->count--)
        atomic_fetch_sub_explicit((_Atomic unsigned *)bed->sleepers[bed->count - 1], 1, memory_order_relaxed);
}

void hier_sleep(hier_bed *bed) {
    if (bed->word)
        core_word_sleep(bed->word, bed->value, bed->milliseconds * 1000000L);
    else
        poll(bed->descriptors, bed->count, bed->milliseconds);
    hier_bed_leave(bed);
}

bool hier_arm_own(const hier_agent *agent, hier_bed *bed) {
    const hier_channel *last = NULL;
    bool armed = true;
    for (const weft_comm *comm = agent->comms; comm && armed; comm = comm->next_of_agent) {
        hier_channel *own = own_channel(comm);
        if (own && own != last && bed->count < 1 + INTER_CHANNELS) {
            hier_channel_enter(own);
            armed = hier_arm(own, bed);
            hier_channel_leave(own);
        }
        last = own;
    }
    return armed;
}

static bool may_drive(const hier_wait *wait) {
    return wait->network && hier_may_drive(wait->world);
}

/* Some looks at the network by who holds the funnel. True when look(), which needs it, says so. With `once`, as long as something
 * happens, and when it has, once more after that. */
static bool drive(const hier_wait *wait, bool once, bool *moved) {
    hier_world *world = wait->world;
    bool done = wait->funnel && wait->look(wait->argument);
    int rounds = once ? MOST_LOOKS : hier_looks_in_funnel(wait->waiting), idle = 0;
    for (int round = 0; round < rounds && !done; round++) {
        if (hier_progress(world) || (wait->agent && hier_agent_progress(wait->agent))) {
            *moved = true;
            done = !wait->funnel || wait->look(wait->argument);
        } else if (once && (!*moved || idle++)) {
            break;
        }
    }
    return done && wait->funnel;
}

void hier_look_beside(hier_world *world) {
    if (!hier_may_drive(world) || !hier_funnel_try(world))
        return;
    hier_progress(world);
    hier_funnel_leave(world);
}

void hier_serve(const weft_comm *comm) {
    hier_agent_progress(comm->agent);
    if (comm->world->transport)
        hier_look_beside(comm->world);
}

/* Sleeps until something comes, by the network or from a thread of the process. `rung`: the bell before the last look; `nap`: for so long. */
static void sleep_a_while(const hier_wait *wait, uint64_t rung, long nap) {
    intra_bell *bell = wait->agent ? &wait->agent->bell : NULL;
    bool parts = wait->agent && wait->agent->parts;
    if (!may_drive(wait)) {
        if (wait->beside)
            hier_look_beside(wait->world);
        if (parts && hier_parts_sleep(wait->agent, rung, HIER_BESIDE_NS))
            return;
        if (bell)
            core_flag_sleep(&bell->flag, rung + 1, parts || wait->beside ? HIER_BESIDE_NS : nap);
        else
            sched_yield();
        return;
    }
    if (bell && !hier_agent_lies_down(wait->agent, INTRA_ELSEWHERE, NULL, rung))
        return;
    if (hier_funnel_try(wait->world)) {
        hier_bed bed;
        hier_bed_clear(&bed);
        hier_bed_sleeps(&bed, parts ? HIER_BESIDE_NS : nap);
        bool armed = hier_arm(&wait->world->channel, &bed);
        /* Another thread may have been roused in place of this one, which armed just now. */
        bool rings = bell && atomic_load_explicit(&bell->flag.value, memory_order_seq_cst) != rung;
        if (!armed && wait->own) /* which the looks before may have left out */
            hier_progress(wait->world);
        hier_funnel_leave(wait->world);
        if (armed && !rings && (!wait->agent || hier_arm_own(wait->agent, &bed)))
            hier_sleep(&bed);
        else
            hier_bed_leave(&bed);
        if (bell && !armed) /* nothing would wake this thread when something comes: not for long */
            core_flag_sleep(&bell->flag, rung + 1, PAUSE_NS);
    } else {
        sched_yield(); /* who holds the funnel may be without a core */
    }
    if (bell)
        hier_agent_rises(wait->agent);
}

/* Into the funnel. A test waits for it: what was complete at an earlier call is so at this one. */
static bool comes_in(const hier_wait *wait, bool drives, bool once) {
    if (once && wait->funnel) {
        hier_funnel_enter(wait->world);
        return true;
    }
    return (drives || wait->funnel) && hier_funnel_try(wait->world);
}

/* One round; true when what is waited for is there. */
static bool look_once(const hier_wait *wait, bool once, bool *moved) {
    *moved = wait->agent && hier_agent_progress(wait->agent);
    if (!wait->funnel && wait->look(wait->argument))
        return true;
    bool seldom = wait->own && wait->agent;
    bool drives = may_drive(wait) && (!seldom || wait->agent->looks++ % MAIN_EVERY == 0);
    if (comes_in(wait, drives, once)) {
        hier_channel *channel =
            &wait->world->channel; /* what is looked at is this thread's, and it holds the lock already */
        atomic_store_explicit(&channel->driver, wait->agent ? &wait->agent->bell : NULL, memory_order_relaxed);
        bool done = drives ? drive(wait, once, moved) : (hier_progress(wait->world), wait->look(wait->argument));
        atomic_store_explicit(&channel->driver, NULL, memory_order_relaxed);
        hier_funnel_leave(wait->world);
        if (done)
            return true;
    }
    if (!drives && wait->beside && wait->agent && (!wait->waiting->hot || wait->agent->looks++ % MAIN_EVERY == 0))
        hier_look_beside(wait->world);
    return *moved && !wait->funnel && wait->look(wait->argument);
}

/* Of the calling thread, also when it waits on processes. */
static void look_at_unused(const hier_wait *wait, bool now) {
    hier_agent *agent = wait->agent ? wait->agent : self;
    if (agent && !agent->talks && agent->comms->world == wait->world)
        hier_look_at_unused(agent, now);
}

/* A wait of which the roll-call will be told once it is long. */
typedef struct long_wait {
    uint64_t since; /* when it was not over after the first looks; 0: it was */
    unsigned looks;
    hier_activity *activity; /* NULL: it is not long yet */
    hier_activity own;       /* of a thread without an agent */
} long_wait;

static void begin_long(long_wait *of, const hier_wait *wait) {
    hier_roster *roster = &wait->world->roster;
    hier_agent *agent = wait->agent ? wait->agent : self;
    if (!wait->describe || !roster->watched)
        return;
    hier_doing doing = wait->describe(wait->argument);
    of->activity = agent ? &agent->activity : &of->own;
    if (!agent) {
        memset(&of->own, 0, sizeof(of->own));
        hier_roster_add(roster, &of->own, NULL);
    }
    hier_activity_begin(of->activity, &doing);
}

static void end_long(long_wait *of, const hier_wait *wait) {
    if (of->since)
        hier_observe_waited(wait->world, wait->agent, wait->row, core_ticks() - of->since);
    if (!of->activity)
        return;
    hier_activity_end(of->activity);
    if (of->activity == &of->own)
        hier_roster_remove(&wait->world->roster, &of->own);
}

static inline void look_long(long_wait *of, const hier_wait *wait, bool tired, bool moved) {
    if (of->looks < HIER_LOOKS_OF_A_LONG_WAIT) {
        of->looks = tired ? HIER_LOOKS_OF_A_LONG_WAIT : of->looks + 1;
        if (of->looks == HIER_LOOKS_OF_A_LONG_WAIT)
            begin_long(of, wait);
    } else if (moved && of->activity) { /* it may wait for the next of several requests now */
        hier_doing doing = wait->describe(wait->argument);
        hier_activity_change(of->activity, &doing);
    }
}

bool hier_drive_until(const hier_wait *wait, bool once) {
    long_wait of;
    of.since = 0;
    of.looks = 0;
    of.activity = NULL;
    unsigned looks = 0, rounds = 0, naps = 0;
    bool tired = false, moved = false;
    for (;;) {
        /* Acquire: what came before this ring is seen by the looks that follow. */
        uint64_t rung = wait->agent ? atomic_load_explicit(&wait->agent->bell.flag.value, memory_order_acquire) : 0;
        if (look_once(wait, once, &moved)) {
            end_long(&of, wait);
            if (wait->agent && wait->world->transport && ++wait->agent->short_ways % HIER_SHORT_WAYS == 0) {
                hier_look_beside(wait->world);
                look_at_unused(wait, true);
            }
            return true;
        }
        look_at_unused(wait, once || tired); /* who tests may come again late, who sleeps looks seldom */
        if (once)
            return false;
        if (rounds <= wait->waiting->hot && rounds++ == wait->waiting->hot)
            of.since = core_ticks();
        look_long(&of, wait, tired, moved);
        if (moved)
            looks = naps = 0;
        else if (tired)
            sleep_a_while(wait, rung, core_nap(naps++));
        tired = core_backoff(wait->waiting, &looks);
    }
}
