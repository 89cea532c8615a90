// SPDX-License-Identifier: BSD-3-Clause
/*
 * Communicators made of others:
 *
 *     all ranks say what they want  →  contexts (contexts.h)  →  each makes its own  →  all learn whether all could, and the
 *     threads of a process where what they share is
 *
 * Then it stands everywhere or nowhere, unless the parent breaks in that last step (ledger.h): who has not learned of all then
 * has none, and tells those who wait for it there. Of threads the group's thread 0 in a process makes what they share, a team
 * that no user has a handle on; who frees the last communicator of the process gives it back (comm.c).
 */
#include <core/error.h>
#include <hier/agree.h>
#include <hier/channels.h>
#include <hier/check.h>
#include <hier/drive.h>
#include <hier/ledger.h>
#include <hier/lending.h>
#include <hier/split.h>
#include <stdlib.h>
#include <string.h>
#include <weft/comm.h>

/* What each rank tells when it has made its own. */
typedef struct result {
    uint64_t team; /* the address, for the threads of the process */
    int64_t error;
} result;

/* What a rank has made so far. */
typedef struct making {
    weft_comm *parent;
    hier_caller by;
    hier_split_entry *entries; /* by rank of the parent, as are the next */
    result *results;
    hier_split plan;
    uint32_t context; /* the group's … */
    uint32_t generation;
    uint64_t epoch;
    weft_comm *comm, *inner;
    weft_team *team;   /* of who builds for the process */
    hier_derived *own; /* of a process communicator, as is the next; NULL: it needs none */
    hier_ledger *ledger;
    bool in_doubt; /* others may have the communicator that this rank has not */
} making;

static bool builds(const making *of) {
    return of->plan.group && of->parent->rank == of->plan.builder;
}

/*
 * Making.
 */

/* All ranks' entries; an error of one is an error of all. */
static int exchange_wishes(making *of, const hier_split_entry *own) {
    const weft_comm *parent = of->parent;
    int code = hier_exchange(of->parent, of->by, own, sizeof(*own), of->entries);
    if (code || own->error)
        return own->error ? own->error : code;
    for (int rank = 0; rank < parent->size; rank++)
        if (of->entries[rank].error)
            return core_error(of->entries[rank].error, "rank %d: %s: rank %d passed a bad argument or had no memory",
                              parent->rank, of->by.call, rank);
    return WEFT_SUCCESS;
}

/* The groups' contexts; those that no group of this process uses are given back, by one thread of it. */
static int agree_contexts(making *of) {
    const hier_split *plan = &of->plan;
    weft_comm *parent = of->parent;
    of->context = HIER_NO_CONTEXT;
    if (!plan->context_count)
        return WEFT_SUCCESS;
    int code = hier_contexts_agree(parent, of->by, plan->context_count, plan->contexts, &of->epoch);
    for (int i = 0; !code && parent->thread == 0 && i < plan->context_count; i++)
        if (!(plan->wanted[i / 64] >> i % 64 & 1))
            hier_contexts_return(&parent->world->contexts, plan->contexts[i]);
    if (!code && plan->context >= 0) {
        of->context = plan->contexts[plan->context];
        of->generation = hier_ledger_generation(parent, of->entries[parent->rank].color);
    }
    return code;
}

/* What the threads of the process share. Takes the layout over. */
static int build_team(making *of) {
    weft_team *team = of->team = hier_team_take(of->parent->world);
    if (!team)
        return WEFT_ERR_NOMEM;
    team->node = of->plan.node;
    team->layout = of->plan.layout;
    of->plan.layout = (hier_layout){0};
    team->by_lines = of->parent->team->by_lines;
    atomic_store_explicit(&team->handles, hier_layout_threads(&team->layout, team->node), memory_order_relaxed);
    int code = hier_team_make_threads(team, of->parent->team->intra->waiting);
    if (!code)
        hier_team_begin(team, of->context, of->generation);
    return code;
}

static int build_own(making *of) {
    hier_world *world = of->parent->world;
    hier_derived *own = of->own = aligned_alloc(alignof(hier_derived), sizeof(*own));
    if (!own)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for a mailbox", of->parent->rank, of->by.call);
    memset(own, 0, sizeof(*own));
    own->layout = of->plan.layout;
    of->plan.layout = (hier_layout){0};
    own->layout.places = own->layout.ranks = NULL; /* one rank a node: they are in order */
    own->mailbox.by_lock = true;
    if (of->context != HIER_NO_CONTEXT) {
        of->ledger = hier_ledger_make(of->context, of->generation, of->plan.rank, true, 0);
        if (!of->ledger)
            return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for its calls", of->parent->rank, of->by.call);
    }
    return hier_mailbox_init(&world->channel, &own->mailbox, of->plan.rank, 1, (core_waiting){0});
}

static int make_own(making *of) {
    if (!of->plan.group)
        return WEFT_SUCCESS;
    int code = hier_split_lay_out(&of->plan);
    if (code)
        return code;
    bool mixed = of->plan.layout.places;
    of->comm = hier_comm_take();
    of->inner = mixed ? hier_comm_take() : NULL;
    if (!of->comm || (mixed && !of->inner))
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for a handle", of->parent->rank, of->by.call);
    if (!of->parent->team)
        return build_own(of);
    return builds(of) ? build_team(of) : WEFT_SUCCESS;
}

/* Learns whether all could; *team: that of the process. */
static int exchange_results(making *of, int error, weft_team **team) {
    weft_comm *parent = of->parent;
    result own = {(uint64_t)(uintptr_t)of->team, error};
    hier_caller by = of->by;
    by.step = 1; /* who had no memory for this one and calls again is not to be taken for one of it */
    int code = hier_exchange(parent, by, &own, sizeof(own), of->results);
    of->in_doubt = code;
    for (int rank = 0; !code && !error && rank < parent->size; rank++)
        if (of->results[rank].error)
            code = core_error((int)of->results[rank].error, "rank %d: %s: rank %d had no memory for it", parent->rank,
                              of->by.call, rank);
    if (!code && !error && of->plan.group)
        *team = (weft_team *)(uintptr_t)of->results[of->plan.builder].team; /* NOLINT(performance-no-int-to-ptr) */
    return error ? error : code;
}

static void give_up(making *of) {
    if (of->comm)
        hier_comm_give(of->comm);
    if (of->inner)
        hier_comm_give(of->inner);
    if (of->own) {
        intra_mailbox_free(&of->own->mailbox);
        hier_layout_free(&of->own->layout);
        free(of->own);
    }
    free(of->ledger);
    if (of->team)
        hier_team_give(of->team);
    if (of->in_doubt && builds(of) && of->context != HIER_NO_CONTEXT)
        hier_ledger_abandon(of->parent->world, of->generation, of->plan.rank);
    if (builds(of))
        hier_contexts_return(&of->parent->world->contexts, of->context);
}

/*
 * Opening: messages come in from now on.
 */

static void let_in(hier_errand *errand) {
    const weft_team *team = (const weft_team *)(void *)((char *)errand - offsetof(weft_team, let_in));
    hier_funnel_enter(team->world);
    hier_ledger_open(team->world, team->ledger);
    hier_funnel_leave(team->world);
    hier_channels_let_in(team->world, team->context, hier_team_boxes(team));
}

static void open_team(making *of) {
    weft_team *team = of->team;
    team->context = of->context;
    team->epoch = of->epoch;
    team->listed.team = team;
    hier_roster_list(&team->world->roster, &team->listed);
    if (of->context == HIER_NO_CONTEXT)
        return;
    team->let_in.run = let_in;
    if (hier_may_drive(team->world))
        let_in(&team->let_in);
    else
        hier_send_errand(team->world, &team->let_in);
}

static void open_process(const making *of) {
    weft_comm *comm = of->comm;
    hier_world *world = comm->world;
    comm->listed.comm = comm;
    hier_roster_list(&world->roster, &comm->listed);
    if (of->context == HIER_NO_CONTEXT)
        return;
    hier_funnel_enter(world);
    hier_ledger_open(world, comm->ledger);
    hier_channel_open(&world->channel, of->context, (hier_boxes){comm->mailbox, 1, comm->epoch});
    hier_funnel_leave(world);
}

static void fill_in(const making *of, weft_comm *comm, weft_team *team) {
    weft_comm *parent = of->parent;
    comm->world = parent->world;
    comm->traces = parent->traces;
    comm->lends = parent->lends;
    comm->context = of->context;
    comm->epoch = of->epoch;
    comm->layout = team ? &team->layout : &of->own->layout;
    comm->rank = of->plan.rank;
    comm->size = hier_layout_size(comm->layout);
    comm->node = of->plan.node;
    comm->thread = of->plan.place - (int)comm->layout->offsets[comm->node];
    comm->origin = parent->origin ? parent->origin : parent;
    comm->owner = parent->owner;
    comm->team = team;
    comm->own = of->own;
    comm->ledger = team ? team->ledger : of->ledger;
    comm->channel = team ? hier_channel_of_thread(parent->world, comm->thread) : &parent->world->channel;
    comm->mailbox = team ? &team->mailboxes[comm->thread] : &of->own->mailbox;
    comm->member = team ? &team->intra->members[comm->thread] : NULL;
}

/* From here on nothing can fail: a thread of a team has an agent. */
static weft_comm *open_own(making *of, weft_team *team) {
    weft_comm *comm = of->comm;
    if (!comm)
        return NULL;
    fill_in(of, comm, team);
    atomic_fetch_add_explicit(&comm->origin->derived, 1, memory_order_relaxed);
    if (!team) {
        open_process(of);
        return comm;
    }
    if (builds(of))
        open_team(of);
    (void)hier_agent_join(comm);
    if (of->inner) {
        fill_in(of, of->inner, team);
        of->inner->rank = of->plan.place;
        of->inner->agent = comm->agent;
        of->inner->observer = comm->observer;
        of->inner->outer = comm;
        comm->inner = of->inner;
    }
    return comm;
}

/* All ranks come through every step that all ranks are needed for. *made: NULL for who has no color. */
static int make(making *of, const hier_split_entry *own, weft_comm **made) {
    weft_team *team = NULL;
    int code = exchange_wishes(of, own);
    if (!code)
        code = hier_split_group(&of->plan, of->entries);
    if (!code)
        code = agree_contexts(of);
    if (code)
        return code;
    code = exchange_results(of, make_own(of), &team);
    if (code)
        give_up(of);
    else
        *made = open_own(of, team);
    return code;
}

static int derive(weft_comm *parent, int color, int key, weft_comm **made, hier_caller by) {
    int code = hier_check_comm(parent, by.call);
    if (code)
        return code;
    hier_split_entry own = {
        .color = color, .key = key, .leads = hier_is_funneled(parent->world) && hier_is_leader(parent->world)};
    making of = {.parent = parent, .by = by};
    weft_comm *comm = NULL;
    own.error = hier_split_begin(&of.plan, parent, by.call);
    if (!made)
        own.error = core_error(WEFT_ERR_ARG, "rank %d: %s: made is NULL", parent->rank, by.call);
    if (!own.error && !parent->team)
        own.error = hier_agree_reserve(parent, by, 2); /* of what contexts.c agrees on */
    of.entries = calloc((size_t)parent->size, sizeof(*of.entries) + sizeof(*of.results));
    if (of.entries) {
        of.results = (result *)(of.entries + parent->size);
        code = make(&of, &own, &comm);
    } else {
        code = core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for %d ranks", parent->rank, by.call, parent->size);
    }
    free(of.entries);
    hier_split_end(&of.plan);
    if (!code && made)
        *made = comm;
    return code;
}

int weft_comm_dup(weft_comm *comm, weft_comm **made) {
    return hier_leave(comm, derive(comm, 0, hier_comm_valid(comm) ? comm->rank : 0, made, HIER_CALLER));
}

int weft_comm_split(weft_comm *comm, int color, int key, weft_comm **made) {
    return hier_leave(comm, derive(comm, color, key, made, HIER_CALLER));
}
