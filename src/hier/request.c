// SPDX-License-Identifier: BSD-3-Clause
/* Requests of a process communicator: made, started, finished. */
#include <core/error.h>
#include <hier/drive.h>
#include <hier/ledger.h>
#include <hier/observe.h>
#include <hier/request.h>
#include <hier/staging.h>
#include <stdlib.h>
#include <string.h>

static core_pool requests = CORE_POOL_INITIALIZER;

static hier_operation *operation_of(weft_request *request) {
    return (hier_operation *)request;
}

/* One that the communicator keeps, with a schedule of this collective, which is mostly what is called for again; or a new one. */
static hier_operation *take(weft_comm *comm, enum inter_collective collective) {
    weft_request *kept = hier_request_kept(&comm->free_requests[collective]);
    if (kept)
        return operation_of(kept);
    hier_operation *operation = core_pool_take(&requests, sizeof(*operation), HIER_REQUEST_MAGIC);
    if (operation) {
        operation->base.comm = comm;
        operation->collective = collective;
    } else {
        core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a request", comm->rank);
    }
    return operation;
}

void hier_request_give(weft_request *request) {
    weft_comm *comm = request->comm;
    hier_operation *operation = operation_of(request);
    if (operation->staging)
        hier_staging_free(operation->staging);
    operation->staging = NULL;
    if (request->persistent)
        hier_roster_forget(&comm->world->roster, operation);
    comm->world->requests -= request->owned;
    comm->operations -= request->owned;
    hier_request_keep(request, &comm->free_requests[operation->collective]);
}

void hier_requests_free(weft_comm *comm) {
    weft_request *request;
    for (int collective = 0; collective < INTER_COLLECTIVES; collective++)
        while ((request = hier_request_kept(&comm->free_requests[collective]))) {
            inter_execution_free(&operation_of(request)->execution);
            free(operation_of(request)->plan.arrays);
            core_pool_give(&requests, request, HIER_REQUEST_MAGIC);
        }
}

/* hier_event.bytes */
static uint64_t traced_bytes(const inter_view *view) {
    const size_t *counts = view->in_place ? view->recv_counts : view->send_counts;
    uint64_t bytes = 0;
    if (!inter_is(view->collective, INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW)))
        return view->count * view->element_bytes;
    for (int rank = 0; rank < view->size; rank++)
        bytes += counts[rank];
    return bytes;
}

static inline void observe_end(const hier_operation *request) {
    const inter_view *view = &request->plan.view;
    if (!request->began_ticks)
        return;
    hier_observe_finish(request->base.comm,
                        &(hier_event){.call = request->base.call,
                                      .began_ticks = request->began_ticks,
                                      .bytes = traced_bytes(view),
                                      .process = request->plan.algorithm,
                                      .thread = -1,
                                      .root = inter_is(view->collective, INTER_ROOTED) ? view->root : -1,
                                      .peer = -1,
                                      .tag = -1,
                                      .failed = request->error != 0});
}

/* The schedule of a request is done: called by whoever progresses the engine. */
static void finished(void *argument, int error) {
    hier_operation *request = argument;
    weft_comm *comm = request->base.comm;
    request->error = error;
    request->complete = true;
    if (request->id.persistent)
        atomic_store_explicit(&request->ends, atomic_load_explicit(&request->starts, memory_order_relaxed),
                              memory_order_relaxed);
    if (!request->id.persistent && --comm->under_way == 0)
        atomic_store_explicit(&comm->over, atomic_load_explicit(&comm->sequence, memory_order_relaxed),
                              memory_order_relaxed);
    hier_ledger_over(comm->world, comm->layout, &request->execution, error);
    observe_end(request);
    request->base.comm->world->completions++;
}

/* Does the root count as many bytes for this rank as it has? Else the communicator is broken, as by any two calls that differ. */
static int compare_count(const hier_operation *request) {
    weft_comm *comm = request->base.comm;
    const inter_view *view = &request->plan.view;
    size_t counted = view->offsets[comm->rank + 1] - view->offsets[comm->rank];
    if (counted == view->count)
        return WEFT_SUCCESS;
    const bool gathers = view->collective == INTER_GATHERV;
    hier_entry own = {.bytes = view->count, .call = request->base.call, .rank = hier_rank_of(comm)};
    hier_entry of_root = {.bytes = counted, .call = request->base.call, .rank = hier_rank_at(comm, view->root)};
    hier_clash clash = {.calls = {gathers ? own : of_root, gathers ? of_root : own}, .kind = HIER_COUNTS_DIFFER};
    hier_ledger_trip(comm->world, comm->ledger, &clash);
    hier_ledger_tell_trips(comm->world);
    return WEFT_ERR_MISMATCH;
}

static void run_blocks(hier_operation *request) {
    if (request->staging)
        hier_staging_lay_out(request->staging, &request->execution, &request->plan.binding);
    inter_execution_run(&request->execution, request->id, &request->plan.binding);
}

/* The root's counts are there: now the collective itself. */
static void counts_came(void *argument, int error) {
    hier_operation *request = argument;
    inter_execution *execution = &request->execution;
    request->plan.view.offsets = request->plan.arrays; /* which begin with them */
    request->plan.view.contents = 0;
    execution->finished = finished;
    if (!error)
        error = compare_count(request);
    if (!error)
        error = inter_execution_prepare(execution, &request->base.comm->world->engine, request->plan.algorithm,
                                        &request->plan.view);
    if (!error) {
        run_blocks(request);
        return;
    }
    if (error != WEFT_ERR_MISMATCH)
        hier_ledger_fail(request->base.comm, request->id);
    finished(request, error);
}

/* The root's counts, summed up, go round before the blocks do. */
static int prepare_counts(hier_operation *request) {
    weft_comm *comm = request->base.comm;
    inter_view view = {.collective = INTER_BCAST,
                       .rank = comm->rank,
                       .size = comm->size,
                       .root = request->plan.view.root,
                       .count = (size_t)comm->size + 1,
                       .element_bytes = sizeof(size_t)};
    inter_algorithm mst;
    inter_algorithm_find(INTER_BCAST, "MST", &mst);
    return inter_execution_prepare(&request->execution, &comm->world->engine, &mst, &view);
}

/* The counts are known to the root alone: the schedule is another one at each start, whatever the arguments. */
static bool must_ask(const hier_operation *request) {
    const hier_plan *plan = &request->plan;
    return plan->algorithm->needs_counts && request->base.comm->size > 1 &&
           inter_is(plan->view.collective, INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV));
}

static int plan_anew(hier_operation *request, const hier_arguments *arguments) {
    hier_plan *plan = &request->plan;
    weft_comm *comm = request->base.comm;
    request->number = 0;
    int code = hier_plan_make(comm, arguments, plan);
    if (code)
        return code;
    if (!plan->repeated) {
        request->asks_counts = must_ask(request);
        if (request->asks_counts)
            return prepare_counts(request);
        code = inter_execution_prepare(&request->execution, &comm->world->engine, plan->algorithm, &plan->view);
    }
    if (code)
        plan->algorithm = NULL; /* nothing that the next plan could repeat */
    else
        request->number = arguments->number;
    return code;
}

static int prepare(hier_operation *request, const hier_arguments *arguments) {
    request->base.call = arguments->call;
    request->caller = arguments->caller;
    request->blocks = false;
    return arguments->number && request->number == arguments->number ? WEFT_SUCCESS : plan_anew(request, arguments);
}

static void run(hier_operation *request) {
    inter_execution *execution = &request->execution;
    request->base.active = true;
    request->complete = false;
    request->base.comm->under_way += !request->id.persistent;
    if (request->id.persistent) /* by the funnel's holder alone */
        atomic_store_explicit(&request->starts, atomic_load_explicit(&request->starts, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    hier_observe_choice(request->base.comm, request->plan.algorithm, -1);
    request->began_ticks = hier_observe_start(request->base.comm, request->plan.view.collective);
    execution->argument = request;
    if (!request->asks_counts) {
        execution->finished = finished;
        run_blocks(request);
        return;
    }
    inter_binding counts = request->plan.binding;
    memset(counts.layouts, 0, sizeof(counts.layouts)); /* of the blocks, at the start before */
    counts.send = NULL;
    counts.recv = request->plan.arrays;
    counts.counted_as = INTER_COLLECTIVES; /* no user's data */
    execution->finished = counts_came;
    inter_execution_run(execution, request->id, &counts);
}

static int restart(hier_operation *operation) {
    int code = operation->asks_counts ? prepare_counts(operation) : WEFT_SUCCESS;
    if (!code)
        run(operation);
    return code;
}

int hier_request_restart(weft_request *request) {
    hier_operation *operation = operation_of(request);
    if (operation->staging)
        hier_staging_pack(operation->staging);
    hier_funnel_enter(request->comm->world);
    int code = restart(operation);
    hier_funnel_leave(request->comm->world);
    return code;
}

int hier_request_result(const weft_request *request) {
    const hier_operation *operation = (const hier_operation *)request;
    const weft_comm *comm = request->comm;
    if (operation->error)
        return hier_ledger_failed(comm, request->call, operation->error);
    if (operation->staging)
        hier_staging_unpack(operation->staging);
    return WEFT_SUCCESS;
}

/* The numbers of the next calls. Relaxed: only the roster reads them elsewhere than under the funnel. */
static inline _Atomic uint64_t *next_of(weft_comm *comm, bool persistent) {
    return persistent ? &comm->persistent_sequence : &comm->sequence;
}

static inline void set_next(weft_comm *comm, bool persistent, uint64_t number) {
    atomic_store_explicit(next_of(comm, persistent), number, memory_order_relaxed);
}

/* The number of a call. Under the funnel. */
static inline inter_id next_number(weft_comm *comm, const hier_arguments *arguments, bool persistent) {
    inter_id id = {comm->context, atomic_load_explicit(next_of(comm, persistent), memory_order_relaxed), persistent, 0};
    set_next(comm, persistent, id.sequence + 1);
    if (!comm->ledger) /* its process is alone in it */
        return id;
    uint64_t *chains = comm->ledger->chains;
    id.signature = chains[persistent] = hier_chain(chains[persistent], arguments->signature);
    if (persistent) /* whatever order they are started in: the next collective tells different ones apart */
        chains[false] = hier_chain(chains[false], ~arguments->signature);
    hier_ledger_need(comm);
    return id;
}

static inline void note(weft_comm *comm, const hier_arguments *arguments, inter_id id) {
    if (comm->ledger)
        hier_ledger_note(comm, arguments, id);
}

/* Under the funnel. */
static inline int make_numbered(weft_comm *comm, const hier_arguments *arguments, inter_id id, weft_request **request) {
    hier_operation *made = take(comm, arguments->collective);
    if (!made)
        return WEFT_ERR_NOMEM;
    int code = prepare(made, arguments);
    if (code) {
        hier_request_give(&made->base);
        return code;
    }
    made->id = id;
    made->staging = arguments->staging;
    if (id.persistent && arguments->op && arguments->op->kind == CORE_OP_USER) {
        made->op = *arguments->op;
        made->plan.binding.op = &made->op;
    }
    made->base.owned = true;
    made->base.persistent = id.persistent;
    comm->world->requests++;
    comm->operations++;
    *request = &made->base;
    if (made->asks_counts) /* what it notes when it cannot go on must not be written over */
        note(comm, arguments, id);
    if (id.persistent)
        hier_roster_prepare(&comm->world->roster, made);
    else
        run(made);
    return WEFT_SUCCESS;
}

/*
 * The ledger is written while the messages are on their way. A call that could not begin is none: made again it meets those that wait for
 * it, and if something else is called they find that out.
 */
static int make(weft_comm *comm, const hier_arguments *arguments, bool persistent, weft_request **request) {
    uint64_t chains[2] = {0};
    if (comm->ledger)
        memcpy(chains, comm->ledger->chains, sizeof(chains));
    inter_id id = next_number(comm, arguments, persistent);
    int code = make_numbered(comm, arguments, id, request);
    if (!code) {
        const hier_operation *made = operation_of(*request);
        if (!made->asks_counts)
            note(comm, arguments, id);
        if (made->complete && made->error) /* before it was noted */
            hier_ledger_stop(comm->world, comm->layout, &made->execution);
        return WEFT_SUCCESS;
    }
    set_next(comm, persistent, id.sequence);
    if (comm->ledger)
        memcpy(comm->ledger->chains, chains, sizeof(chains));
    return code;
}

/* Packing is no affair of the funnel, which others wait for. */
static int make_staged(weft_comm *comm, const hier_arguments *arguments, bool persistent, bool blocking,
                       weft_request **request) {
    hier_arguments staged = *arguments;
    int code = hier_stage(comm, &staged, blocking);
    if (staged.staging && !persistent)
        hier_staging_pack(staged.staging);
    if (!code) {
        hier_funnel_enter(comm->world);
        code = make(comm, &staged, persistent, request);
        hier_funnel_leave(comm->world);
    }
    if (code)
        hier_staging_free(staged.staging);
    return code;
}

int hier_request_make(weft_comm *comm, const hier_arguments *arguments, bool persistent, weft_request **request) {
    int code = arguments->strided ? WEFT_SUCCESS : make(comm, arguments, persistent, request);
    hier_funnel_leave(comm->world);
    return arguments->strided ? make_staged(comm, arguments, persistent, false, request) : code;
}

int hier_request_reserve(weft_comm *comm, const hier_arguments *arguments) {
    hier_funnel_enter(comm->world);
    hier_operation *made = take(comm, arguments->collective);
    int code = made ? prepare(made, arguments) : WEFT_ERR_NOMEM;
    if (made)
        hier_request_give(&made->base);
    hier_funnel_leave(comm->world);
    return code;
}

bool hier_request_ends_soon(weft_request *request) {
    const hier_operation *operation = operation_of(request);
    hier_world *world = request->comm->world;
    if (!operation->complete && world->waiting.hot)
        hier_look_first(world);
    for (int rounds = hier_looks_in_funnel(&world->waiting); rounds > 0 && !operation->complete; rounds--)
        inter_engine_progress(&world->engine);
    hier_looked_soon(world, operation->complete && operation->error);
    return operation->complete;
}

/* The end of a blocking call. */
static int wait_for(weft_request *request) {
    operation_of(request)->blocks = true;
    return weft_wait(&request, WEFT_STATUS_IGNORE);
}

int hier_process_strided(weft_comm *comm, const hier_arguments *arguments) {
    weft_request *request;
    int code = make_staged(comm, arguments, false, true, &request);
    return code ? code : wait_for(request);
}

int hier_process_collective(weft_comm *comm, const hier_arguments *arguments) {
    hier_funnel_enter(comm->world);
    return hier_process_go_on(comm, arguments);
}

/* As hier_request_make() and weft_wait(), in the one hold of the funnel when it is over soon. */
int hier_process_go_on(weft_comm *comm, const hier_arguments *arguments) {
    weft_request *request;
    hier_world *world = comm->world;
    int code = make(comm, arguments, false, &request);
    bool over = !code && !hier_has_more_to_do(world) && hier_request_ends_soon(request);
    if (over) {
        code = hier_request_result(request);
        hier_request_give(request);
    }
    hier_funnel_leave(world);
    return code || over ? code : wait_for(request);
}
