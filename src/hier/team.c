// SPDX-License-Identifier: BSD-3-Clause
/* Teams: made by all processes together, entered and left by each thread on its own. */
#include <core/error.h>
#include <core/topology.h>
#include <hier/channels.h>
#include <hier/check.h>
#include <hier/checked.h>
#include <hier/ledger.h>
#include <hier/lending.h>
#include <hier/message.h>
#include <hier/part.h>
#include <hier/ring.h>
#include <stdlib.h>
#include <string.h>

static core_pool teams = CORE_POOL_INITIALIZER;

/* Words that are agreed on at once when a team is made, at most. */
#define MOST_AGREED 3

/* What each process tells the others when a team is made. */
typedef struct entry {
    int64_t threads; /* negative: the error code of a process that cannot take part */
    int32_t host, cores, host_cores;
    uint64_t cores_hash;
} entry;

static bool team_valid(const weft_team *team) {
    return core_pooled_valid(team, HIER_TEAM_MAGIC) &&
           !team->dissolve.run; /* else it is freed, as soon as somebody can */
}

weft_team *hier_team_take(hier_world *world) {
    weft_team *team = core_pool_take(&teams, sizeof(*team), HIER_TEAM_MAGIC);
    if (!team) {
        core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a team", world->process_comm->rank);
        return NULL;
    }
    team->world = world;
    team->context = HIER_NO_CONTEXT;
    pthread_mutex_init(&team->rings_lock, NULL);
    return team;
}

/* False when it is broken. */
static bool close_ledger(weft_team *team) {
    hier_ledger *ledger = team->ledger;
    if (!ledger || !ledger->opened) {
        free(ledger);
        return true;
    }
    hier_funnel_enter(team->world);
    bool whole = hier_ledger_close(team->world, ledger);
    hier_funnel_leave(team->world);
    return whole;
}

void hier_team_give(weft_team *team) {
    uint32_t context = team->context;
    hier_world *world = team->world;
    /* Nobody is in them any more; entering the funnel, whoever drove the last collective is out of them too. */
    if (context != HIER_NO_CONTEXT)
        hier_channels_let_in(world, context, (hier_boxes){0});
    bool whole = close_ledger(team);
    for (uint64_t slot = 0; team->slots && slot < (uint64_t)team->world->config.slots; slot++)
        hier_slot_free(&team->slots[slot]);
    for (int thread = 0; team->mailboxes && thread < hier_layout_threads(&team->layout, team->node); thread++)
        intra_mailbox_free(&team->mailboxes[thread]);
    free(team->mailboxes);
    hier_rings_free(team);
    pthread_mutex_destroy(&team->rings_lock);
    intra_team_free(team->intra);
    free(team->slots);
    free((void *)team->taken);
    free(team->leaves);
    hier_layout_free(&team->layout);
    core_pool_give(&teams, team, HIER_TEAM_MAGIC);
    hier_context_left(world, context, whole);
}

/* Does a core have to carry more than one of the threads of all processes on this host? Then the team is told which. Those that do not
 * make the team have one at least. */
static bool oversubscribed(weft_team *team, const weft_comm *parent, const entry *entries) {
    const entry *own = &entries[parent->rank];
    hier_load load = team->world->load;
    for (int process = 0; process < parent->size; process++)
        if (entries[process].host == own->host)
            hier_load_add(&load, entries[process].threads - 1, entries[process].cores_hash == own->cores_hash,
                          hier_layout_process(parent->layout, process) < team->world->process_comm->rank);
    return hier_is_overloaded(&load, own->host_cores, own->cores, &team->crowd);
}

static int make_layout(weft_team *team, const weft_comm *parent, const entry *entries) {
    hier_layout_parts parts;
    int64_t ranks = 0;
    for (int node = 0; node < parent->size; node++)
        ranks += entries[node].threads;
    if (ranks > INT32_MAX)
        return core_error(WEFT_ERR_ARG, "rank %d: weft_team_create: %lld threads in all, at most %d can be ranks",
                          parent->rank, (long long)ranks, INT32_MAX);
    if (!hier_layout_make(&team->layout, &parts, parent->size, 0))
        return core_error(WEFT_ERR_NOMEM, "rank %d: weft_team_create: no memory for %d nodes", parent->rank,
                          parent->size);
    for (int node = 0; node < parent->size; node++) {
        parts.offsets[node + 1] = parts.offsets[node] + (size_t)entries[node].threads;
        parts.processes[node] = hier_layout_process(parent->layout, node);
    }
    hier_world_survey(team->world, &team->layout);
    team->layout.places = team->layout.ranks = NULL;
    if (!parent->layout->processes)
        team->layout.processes = NULL;
    return WEFT_SUCCESS;
}

static int make_mailboxes(weft_team *team, int threads, core_waiting waiting) {
    size_t bytes = (size_t)threads * sizeof(intra_mailbox);
    int first = (int)team->layout.offsets[team->node], code = WEFT_SUCCESS;
    hier_world *world = team->world;
    team->mailboxes = aligned_alloc(alignof(intra_mailbox), bytes);
    if (!team->mailboxes)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for the mailboxes of %d threads",
                          world->process_comm->rank, threads);
    memset(team->mailboxes, 0, bytes);
    for (int thread = 0; thread < threads && !code; thread++)
        code = hier_mailbox_init(hier_channel_of_thread(world, thread), &team->mailboxes[thread],
                                 hier_layout_rank(&team->layout, first + thread), threads, waiting);
    return code;
}

/* Looking at the machine takes milliseconds: only where it may matter. */
static void make_tree(weft_team *team, int threads) {
    int groups[INTRA_TREE_LEVELS];
    bool used = hier_selects(&team->world->selector, HIER_TREE);
    int count = used ? core_topology_groups(&team->world->allowed, groups, INTRA_TREE_LEVELS) : 0;
    intra_tree_build(&team->tree, threads, groups, count);
}

int hier_team_make_threads(weft_team *team, core_waiting waiting) {
    const core_config *config = &team->world->config;
    int threads = hier_layout_threads(&team->layout, team->node);
    int rank = hier_layout_rank(&team->layout, (int)team->layout.offsets[team->node]);
    bool between = team->layout.nodes > 1;
    make_tree(team, threads);
    if (waiting.may_sleep)
        atomic_store_explicit(&team->world->may_sleep, true, memory_order_relaxed); /* before any of them waits */
    team->ledger = hier_ledger_make(HIER_NO_CONTEXT, 0, rank, between, (uint32_t)config->slots);
    team->slots = calloc((size_t)config->slots, sizeof(*team->slots));
    team->taken = calloc((size_t)threads, sizeof(*team->taken));
    int code = make_mailboxes(team, threads, waiting);
    if (code)
        return code;
    bool brackets = between && (config->reproducible || team->layout.places);
    if (brackets)
        team->leaves = hier_leaves_make(&team->layout, team->node);
    if (!team->slots || !team->taken || !team->ledger || (brackets && !team->leaves))
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a team of %d threads",
                          team->world->process_comm->rank, threads);
    code = intra_team_create(threads, config->slots, waiting, &team->intra);
    for (int thread = 0; !code && thread < threads; thread++)
        hier_scratch_opens(team->world, team->intra->members[thread].scratch);
    return code;
}

void hier_team_begin(weft_team *team, uint32_t context, uint32_t generation) {
    hier_ledger *ledger = team->ledger;
    if (!ledger->between)
        return;
    ledger->context = context;
    ledger->generation = generation;
    for (int thread = 0; thread < team->intra->threads; thread++)
        team->intra->members[thread].chain = hier_ledger_chain(ledger);
}

/* Everybody learns what everybody brings; an error of one is an error of all. */
static int exchange_entries(weft_comm *parent, hier_caller by, int threads, bool has_place, entry *entries) {
    const hier_world *world = parent->world;
    int code = WEFT_SUCCESS;
    if (!has_place)
        code = core_error(WEFT_ERR_ARG, "rank %d: weft_team_create: team is NULL", parent->rank);
    else if (threads < 0 || threads > WEFT_MAX_TEAM_THREADS)
        code = core_error(WEFT_ERR_ARG, "rank %d: weft_team_create: nthreads is %d, expected 0 … %d", parent->rank,
                          threads, WEFT_MAX_TEAM_THREADS);
    if (!threads)
        threads = world->config.threads ? world->config.threads : world->card.cores;
    if (threads > WEFT_MAX_TEAM_THREADS)
        threads = WEFT_MAX_TEAM_THREADS;
    entry own = {.threads = code ? code : threads,
                 .host = hier_world_host(world, world->process_comm->rank),
                 .cores = world->card.cores,
                 .host_cores = world->card.host_cores,
                 .cores_hash = world->card.cores_hash};
    int met = hier_exchange(parent, by, &own, sizeof(own), entries);
    if (code || met)
        return code ? code : met;
    for (int process = 0; process < parent->size; process++)
        if (entries[process].threads < 1)
            return core_error((int)entries[process].threads,
                              "rank %d: weft_team_create: process %d passed a bad argument", parent->rank, process);
    return WEFT_SUCCESS;
}

/*
 * Do all make the team? `usable` false: this process will not, and then nobody does. `awake`: no thread of this process sleeps, and
 * on return, none of any process does; `roomy`: likewise, each has a core of its own. Every process comes here or none.
 */
static int agree(weft_comm *parent, hier_caller by, bool usable, bool *awake, bool *roomy) {
    uint64_t says[MOST_AGREED] = {usable, *awake, *roomy};
    int code = hier_agree(parent, by, says, MOST_AGREED, WEFT_BAND);
    if (code)
        return code;
    *awake = says[1];
    *roomy = says[2];
    if (!says[0])
        return usable ? core_error(WEFT_ERR_NOMEM, "rank %d: weft_team_create: another process has no memory for it",
                                   parent->rank)
                      : WEFT_ERR_NOMEM;
    return WEFT_SUCCESS;
}

hier_boxes hier_team_boxes(const weft_team *team) {
    return (hier_boxes){team->mailboxes, team->intra->threads, team->epoch};
}

static void open_to_messages(weft_team *team, bool awake) {
    hier_world *world = team->world;
    hier_funnel_enter(world);
    if (team->ledger->between)
        hier_ledger_open(world, team->ledger);
    if (!awake && world->lines_may_wake && !world->lines_wake) {
        inter_lines_let_sleep(world->lines);
        world->lines_wake = true;
    }
    if (world->lines && !team->intra->waiting.hot)
        inter_lines_expect_crowd(world->lines);
    team->by_lines = awake || world->lines_wake;
    hier_funnel_leave(world);
    hier_channels_let_in(world, team->context, hier_team_boxes(team));
}

/* What comes from another host takes longer than to wake who sleeps, and needs a core where it arrives. */
#define YIELDS_BETWEEN_HOSTS 30u

static core_waiting waiting_of(const weft_team *team, bool crowded) {
    core_waiting waiting = core_waiting_resolve(team->world->config.wait_policy, crowded);
    if (!team->layout.one_host && waiting.yields > YIELDS_BETWEEN_HOSTS)
        waiting.yields = YIELDS_BETWEEN_HOSTS;
    return waiting;
}

/* Builds what is this process's own; then all agree, and then it stands everywhere or nowhere. */
static int build(weft_comm *parent, hier_caller by, const entry *entries, weft_team **made) {
    weft_team *team = hier_team_take(parent->world);
    bool roomy = false;
    int code = team ? WEFT_SUCCESS : WEFT_ERR_NOMEM;
    if (team) {
        team->node = parent->rank;
        code = make_layout(team, parent, entries);
    }
    if (!code) {
        roomy = !oversubscribed(team, parent, entries);
        code = hier_team_make_threads(team, waiting_of(team, !roomy));
    }
    bool awake = !code && !team->intra->waiting.may_sleep;
    int agreed = agree(parent, by, code == WEFT_SUCCESS, &awake, &roomy);
    uint32_t context = HIER_NO_CONTEXT; /* without an agreement it is given back */
    if (!agreed)
        agreed = hier_contexts_agree(parent, by, 1, &context, &team->epoch);
    if (agreed == WEFT_ERR_MISMATCH && !code && team->ledger->between) /* the parent broke: others may have got it */
        hier_ledger_abandon(team->world, hier_ledger_generation(parent, 0), team->ledger->rank);
    if (agreed || code) {
        if (team)
            hier_team_give(team);
        return code ? code : agreed;
    }
    team->context = context;
    hier_team_begin(team, context, hier_ledger_generation(parent, 0));
    team->layout.crowded = !roomy;
    open_to_messages(team, awake);
    team->listed.team = team;
    hier_roster_list(&team->world->roster, &team->listed);
    *made = team;
    return WEFT_SUCCESS;
}

static int create(weft_comm *parent, int nthreads, weft_team **team, hier_caller by) {
    int code = hier_check_comm(parent, by.call);
    if (code)
        return code;
    if (parent->team)
        return core_error(WEFT_ERR_ARG,
                          "rank %d: weft_team_create: parent is a thread communicator, expected a process "
                          "communicator",
                          parent->rank);
    hier_funnel_enter(parent->world);
    hier_run_errands(parent->world); /* of teams that were freed: their contexts may be needed */
    hier_funnel_leave(parent->world);
    entry *entries = malloc((size_t)parent->size * sizeof(*entries) + hier_channels_room(parent));
    if (!entries)
        return core_error(WEFT_ERR_NOMEM, "rank %d: weft_team_create: no memory for %d processes", parent->rank,
                          parent->size);
    code = hier_agree_reserve(parent, by, MOST_AGREED);
    weft_team *made = NULL;
    if (!code)
        code = exchange_entries(parent, by, nthreads, team != NULL, entries);
    if (!code)
        code = hier_channels_open(parent, by, (int)entries[parent->rank].threads, entries + parent->size);
    if (!code)
        code = build(parent, by, entries, &made);
    free(entries);
    if (code || !team) /* exchange_entries made an error of that */
        return code;
    atomic_fetch_add_explicit(&parent->world->teams, 1, memory_order_relaxed);
    *team = made;
    return WEFT_SUCCESS;
}

int weft_team_create(weft_comm *parent, int nthreads, weft_team **team) {
    return hier_leave(parent, create(parent, nthreads, team, HIER_CALLER));
}

/* Takes a thread number, the one wanted or any; -1 when it is not to be had. Under FUNNELED thread 0 is the leader, and the leader
 * is thread 0. */
static int take_number(weft_team *team, int wanted) {
    int first = wanted, last = wanted;
    if (wanted == WEFT_ANY_THREAD) {
        bool funneled = team->world->config.thread_level == WEFT_THREAD_FUNNELED;
        bool leads = funneled && hier_is_leader(team->world);
        first = funneled && !leads;
        last = leads ? 0 : team->intra->threads - 1;
    }
    for (int thread = first; thread <= last; thread++)
        /* Acquire: pairs with the release in weft_team_leave; the member's state comes from the thread before. */
        if (!atomic_exchange_explicit(&team->taken[thread], true, memory_order_acquire))
            return thread;
    return -1;
}

static int check_number(const weft_team *team, int thread) {
    const hier_world *world = team->world;
    int threads = team->intra->threads;
    if (thread != WEFT_ANY_THREAD && (thread < 0 || thread >= threads))
        return core_error(WEFT_ERR_THREAD,
                          "process %d: weft_team_enter: thread is %d, expected 0 … %d or WEFT_ANY_THREAD", team->node,
                          thread, threads - 1);
    if (thread == 0 && world->config.thread_level == WEFT_THREAD_FUNNELED && !hier_is_leader(world))
        return core_error(WEFT_ERR_THREAD,
                          "process %d: weft_team_enter: under FUNNELED thread 0 is the thread that called weft_init",
                          team->node);
    return WEFT_SUCCESS;
}

static int enter(weft_team *team, int thread, weft_comm **comm) {
    if (!team_valid(team))
        return core_error(WEFT_ERR_ARG, "weft_team_enter: the team is NULL or was freed");
    if (!comm)
        return core_error(WEFT_ERR_ARG, "process %d: weft_team_enter: comm is NULL", team->node);
    int code = check_number(team, thread);
    if (code)
        return code;
    int number = take_number(team, thread);
    if (number < 0)
        return core_error(WEFT_ERR_THREAD, "process %d: weft_team_enter: %s %d %s", team->node,
                          thread == WEFT_ANY_THREAD ? "all" : "thread",
                          thread == WEFT_ANY_THREAD ? team->intra->threads : thread,
                          thread != WEFT_ANY_THREAD ? "is in the team already"
                          : team->world->config.thread_level == WEFT_THREAD_FUNNELED && !hier_is_leader(team->world)
                              ? "threads of the team are in it, or wait for the leader as thread 0"
                              : "threads of the team are in it");
    weft_comm *made = hier_comm_take();
    if (!made) {
        atomic_store_explicit(&team->taken[number], false, memory_order_release);
        return core_error(WEFT_ERR_NOMEM, "process %d: weft_team_enter: no memory for a handle", team->node);
    }
    made->world = team->world;
    made->layout = &team->layout;
    made->context = team->context;
    made->epoch = team->epoch;
    made->rank = (int)team->layout.offsets[team->node] + number;
    made->size = hier_layout_size(&team->layout);
    made->node = team->node;
    made->thread = number;
    made->owner = core_self();
    made->team = team;
    made->ledger = team->ledger;
    made->member = &team->intra->members[number];
    made->mailbox = &team->mailboxes[number];
    made->channel = hier_channel_of_thread(team->world, number);
    code = hier_agent_join(made);
    if (code) {
        hier_comm_give(made);
        atomic_store_explicit(&team->taken[number], false, memory_order_release);
        return code;
    }
    core_settle(team->crowd, number);
    made->bound = team->crowd.all ? -1 : core_bind(&team->world->places, number);
    *comm = made;
    return WEFT_SUCCESS;
}

int weft_team_enter(weft_team *team, int thread, weft_comm **comm) {
    return hier_leave_all(enter(team, thread, comm));
}

static int leave(weft_comm **comm) {
    if (!comm)
        return core_error(WEFT_ERR_ARG, "weft_team_leave: comm is NULL");
    int code = hier_check_comm(*comm, "weft_team_leave");
    if (code)
        return code;
    weft_comm *leaving = *comm;
    if (!leaving->team || leaving->origin)
        return core_error(WEFT_ERR_ARG, "rank %d: weft_team_leave: %s is not left", leaving->rank,
                          leaving->team ? "a communicator that was split or duplicated (weft_comm_free)"
                                        : "a process communicator");
    int derived = atomic_load_explicit(&leaving->derived, memory_order_relaxed); /* the thread's own */
    if (derived)
        return core_error(WEFT_ERR_BUSY,
                          "rank %d: weft_team_leave: %d communicators that descend from this one are not freed "
                          "(weft_comm_free)",
                          leaving->rank, derived);
    const size_t requests = hier_comm_handles(leaving);
    if (requests || leaving->buffer.base)
        return core_error(WEFT_ERR_BUSY, "rank %d: weft_team_leave: %zu requests are not completed or freed%s",
                          leaving->rank, requests, leaving->buffer.base ? ", a buffer is attached" : "");
    _Atomic bool *taken = &leaving->team->taken[leaving->thread];
    core_unbind(&leaving->world->places, leaving->bound);
    core_settle(hier_is_leader(leaving->world) ? leaving->world->crowd : (core_crowd){0}, 0);
    hier_agent_part(leaving);
    hier_messages_free(leaving);
    hier_parts_free(leaving);
    hier_checked_free(leaving);
    hier_comm_give(leaving);
    *comm = NULL;
    atomic_store_explicit(taken, false, memory_order_release); /* pairs with take_number and weft_team_free */
    return WEFT_SUCCESS;
}

int weft_team_leave(weft_comm **comm) {
    return hier_leave_all(leave(comm));
}

int weft_team_free(weft_team **team) {
    if (!team || !team_valid(*team))
        return core_error(WEFT_ERR_ARG, "weft_team_free: the team is NULL or was freed");
    weft_team *freed = *team;
    for (int thread = 0; thread < freed->intra->threads; thread++)
        if (atomic_load_explicit(&freed->taken[thread], memory_order_acquire)) /* pairs with weft_team_leave */
            return core_error(WEFT_ERR_BUSY, "process %d: weft_team_free: thread %d has not left the team", freed->node,
                              thread);
    hier_world *world = freed->world;
    hier_team_dissolve(freed);
    atomic_fetch_sub_explicit(&world->teams, 1, memory_order_release); /* pairs with weft_finalize */
    *team = NULL;
    return WEFT_SUCCESS;
}

int weft_team_threads(const weft_team *team) {
    return team_valid(team) ? team->intra->threads
                            : core_error(WEFT_ERR_ARG, "weft_team_threads: the team is NULL or was freed");
}
