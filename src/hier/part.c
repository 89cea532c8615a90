// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/drive.h>
#include <hier/order.h>
#include <hier/part.h>
#include <hier/staging.h>
#include <string.h>

static core_pool parts = CORE_POOL_INITIALIZER;

static hier_part *part_of(weft_request *request) {
    return (hier_part *)request;
}

int hier_thread_run(weft_comm *comm, const hier_arguments *arguments) {
    hier_call call;
    hier_take(&call, comm, NULL, arguments, true);
    call.scratch = &comm->member->scratch;
    if (!intra_is_free(&call.meeting))
        hier_await_slot(&call);
    intra_occupy(&call.meeting);
    (void)hier_thread_collective(arguments)(&call); /* it waits, so it is over */
    if (call.error)
        hier_await_settled(&call);
    hier_comm_goes_on(comm);
    hier_observe_choice(comm, call.choice.process, (int)call.choice.thread);
    hier_end(&call);
    return call.error;
}

/*
 * Making a part. The user's arrays need not stay, nor his types: movement is of bytes from here on.
 */

enum { SEND = 1, RECV = 2 };

/* Which arrays the rank gives. */
static int arrays_of(const weft_comm *comm, const hier_arguments *arguments) {
    bool root = comm->rank == arguments->root;
    switch (arguments->collective) {
    case INTER_GATHERV:
        return root ? RECV : 0;
    case INTER_SCATTERV:
        return root ? SEND : 0;
    case INTER_ALLGATHERV:
    case INTER_REDUCE_SCATTER:
        return RECV;
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW:
        return arguments->in_place ? RECV : SEND | RECV;
    default:
        return 0;
    }
}

typedef struct arrays {
    const size_t *counts;
    const ptrdiff_t *displs;
    const weft_datatype *const *types;
} arrays;

/* Copies one side's to `memory`, in bytes; where its end is. */
static void *copy_side(arrays *side, size_t ranks, const weft_datatype *type, void *memory) {
    size_t *counts = memory;
    ptrdiff_t *displs = (ptrdiff_t *)(counts + ranks);
    const weft_datatype **types = (const weft_datatype **)(displs + ranks);
    for (size_t rank = 0; rank < ranks; rank++) {
        size_t size = side->types ? side->types[rank]->size_bytes : type->size_bytes;
        counts[rank] = side->counts[rank] * size;
        displs[rank] = side->displs[rank] * (side->types ? 1 : (ptrdiff_t)size);
        types[rank] = WEFT_BYTE;
    }
    *side = (arrays){counts, displs, side->types ? types : NULL};
    return types + ranks;
}

static int copy_arrays(const weft_comm *comm, hier_part *part) {
    hier_arguments *a = &part->arguments;
    size_t ranks = (size_t)comm->size;
    int which = arrays_of(comm, a);
    bool typed = a->collective == INTER_ALLTOALLW;
    if (!which)
        return WEFT_SUCCESS;
    void *memory = part->arrays = malloc(6 * ranks * sizeof(size_t));
    if (!memory)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for the counts of %zu ranks", comm->rank, a->call,
                          ranks);
    if (a->collective == INTER_REDUCE_SCATTER) {
        a->recv_counts = memcpy(memory, a->recv_counts, ranks * sizeof(size_t));
        return WEFT_SUCCESS;
    }
    if (which & SEND) {
        arrays side = {a->send_counts, a->send_displs, typed ? a->send_types : NULL};
        memory = copy_side(&side, ranks, typed ? NULL : a->send_type, memory);
        a->send_counts = side.counts;
        a->send_displs = side.displs;
        a->send_types = side.types;
        a->send_type = WEFT_BYTE;
    }
    if (which & RECV) {
        arrays side = {a->recv_counts, a->recv_displs, typed ? a->recv_types : NULL};
        copy_side(&side, ranks, typed ? NULL : a->recv_type, memory);
        a->recv_counts = side.counts;
        a->recv_displs = side.displs;
        a->recv_types = side.types;
        a->recv_type = WEFT_BYTE;
    }
    return WEFT_SUCCESS;
}

static void free_ring(hier_ring *ring) {
    if (!ring)
        return;
    /* A thread that did not stay in the last call to its end may be making its release. Acquire: pairs with release(). */
    for (int slot = 0; slot < HIER_RING_SLOTS; slot++)
        while (atomic_load_explicit(&ring->slots[slot].releasing, memory_order_acquire))
            sched_yield();
    for (int slot = 0; slot < HIER_RING_SLOTS; slot++)
        inter_execution_free(&ring->slots[slot].execution);
    intra_team_free(ring->intra);
    free(ring);
}

static hier_ring *make_ring(const weft_team *team, uint64_t number) {
    hier_ring *ring = calloc(1, sizeof(*ring));
    if (!ring || intra_team_create(team->intra->threads, HIER_RING_SLOTS, team->intra->waiting, &ring->intra)) {
        free(ring);
        return NULL;
    }
    ring->number = number;
    for (int thread = 0; thread < team->intra->threads; thread++)
        if (intra_is_retired(team->intra, thread))
            intra_retire(ring->intra, thread);
    return ring;
}

/* The ring of a persistent collective, whoever of the process's threads comes first; NULL without memory. */
static hier_ring *join_ring(weft_team *team, uint64_t number) {
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

/* Others may still read what this thread has shown there: it goes when all have freed theirs. */
static void leave_ring(weft_team *team, hier_ring *ring) {
    pthread_mutex_lock(&team->rings_lock);
    bool last = ++ring->left == team->intra->threads;
    hier_ring **link = &team->rings;
    while (last && *link != ring)
        link = &(*link)->next;
    if (last)
        *link = ring->next;
    pthread_mutex_unlock(&team->rings_lock);
    if (last)
        free_ring(ring);
}

static bool is_under_way(const intra_member *member) {
    return member->completed != member->sequence;
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

static hier_part *take(weft_comm *comm) {
    weft_request *request = comm->free_requests;
    if (request) {
        comm->free_requests = request->next_free;
        return part_of(request);
    }
    hier_part *part = core_pool_take(&parts, sizeof(*part), HIER_REQUEST_MAGIC);
    if (part)
        part->base = (weft_request){.pooled = part->base.pooled, .kind = HIER_PART, .comm = comm};
    else
        core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a request", comm->rank);
    return part;
}

void hier_part_give(weft_request *request) {
    hier_part *part = part_of(request);
    weft_comm *comm = request->comm;
    if (part->ring)
        leave_ring(comm->team, part->ring);
    hier_staging_free(part->arguments.staging);
    free(part->arrays);
    free(part->sentence);
    part->ring = NULL;
    part->arguments.staging = NULL;
    part->arrays = part->sentence = NULL;
    comm->requests -= request->owned;
    request->owned = request->active = request->persistent = false;
    request->next_free = comm->free_requests;
    comm->free_requests = request;
}

void hier_parts_free(weft_comm *comm) {
    while (comm->free_requests) {
        weft_request *request = comm->free_requests;
        comm->free_requests = request->next_free;
        free(part_of(request)->scratch.memory);
        part_of(request)->scratch = (intra_scratch){0};
        core_pool_give(&parts, request, HIER_REQUEST_MAGIC);
    }
}

/*
 * Moving parts on.
 */

/* What goes wrong here is told when the user asks for it. */
static void keep_sentence(hier_part *part) {
    free(part->sentence);
    part->sentence = strdup(weft_last_error());
}

static void fail(hier_part *part) {
    keep_sentence(part);
    hier_fail(&part->call);
    part->state = HIER_SETTLING;
}

static void observe_end(const hier_part *part) {
    weft_comm *comm = part->base.comm;
    const hier_call *call = &part->call;
    enum inter_collective collective = part->arguments.collective;
    hier_observe_part(comm, collective, &call->meeting, part->moved, call->error);
    hier_observe_finish(comm, &(hier_event){.call = part->base.call,
                                            .began_ns = part->began_ns,
                                            .bytes = part->bytes,
                                            .process = call->choice.process,
                                            .thread = (int8_t)call->choice.thread,
                                            .root = inter_is(collective, INTER_ROOTED) ? part->arguments.root : -1,
                                            .peer = -1,
                                            .tag = -1,
                                            .failed = call->error != 0});
}

/* True when it is complete. */
static bool advance(hier_part *part) {
    hier_call *call = &part->call;
    if (part->state == HIER_QUEUED) {
        if (!intra_is_free(&call->meeting))
            return false;
        intra_occupy(&call->meeting);
        part->state = HIER_RUNNING;
    }
    if (part->state == HIER_RUNNING) {
        if (!part->run(call))
            return false;
        if (call->error)
            fail(part);
    }
    if (part->state == HIER_SETTLING && !hier_settle(call))
        return false;
    hier_end(call);
    if (call->comm->member->retired)
        keep_sentence(part); /* that of the communicator, which hier_end has written */
    observe_end(part);
    part->state = HIER_COMPLETE;
    part->base.comm->agent->parts--;
    part->base.comm->agent->completions++;
    return true;
}

static void link_to(weft_request **list, hier_part *part) {
    part->base.next_free = *list;
    *list = &part->base;
}

unsigned hier_parts_progress(weft_comm *comm) {
    unsigned complete = 0;
    for (weft_request **link = &comm->running; *link;) {
        hier_part *part = part_of(*link);
        if (advance(part)) {
            *link = part->base.next_free;
            complete++;
        } else {
            link = &part->base.next_free;
        }
    }
    /* Slots are given in the order of the calls: behind one that waits for its slot all do. */
    while (comm->queued) {
        hier_part *part = part_of(comm->queued);
        weft_request *next = part->base.next_free;
        bool over = advance(part);
        if (part->state == HIER_QUEUED)
            break;
        comm->queued = next;
        if (over)
            complete++;
        else
            link_to(&comm->running, part);
    }
    if (!comm->queued)
        comm->queued_last = &comm->queued;
    return complete;
}

void hier_part_wait(weft_request *request, const void *caller) {
    hier_part *part = part_of(request);
    weft_comm *comm = request->comm;
    if (part->state == HIER_COMPLETE)
        return;
    comm->running = comm->queued = NULL; /* where it was alone */
    comm->queued_last = &comm->queued;
    comm->agent->parts--;
    hier_let_wait(&part->call);
    part->call.request = request;
    part->call.caller = caller;
    if (part->state == HIER_QUEUED && !intra_is_free(&part->call.meeting))
        hier_await_slot(&part->call);
    comm->agent->parts++;
    while (!advance(part)) { /* it failed */
        hier_agent_progress(comm->agent);
        sched_yield();
    }
    hier_comm_goes_on(part->call.comm);
}

bool hier_parts_sleep(const hier_agent *agent, long nanoseconds) {
    for (const weft_comm *comm = agent->comms; comm; comm = comm->next_of_agent) {
        const intra_meeting *meeting = comm->running ? &part_of(comm->running)->call.meeting : NULL;
        if (!meeting || !meeting->awaited)
            continue;
        core_flag_sleep(meeting->awaited, meeting->value, nanoseconds);
        return true;
    }
    return false;
}

/* This thread comes to no collective of the team any more: the request is complete at once. */
static void refuse(hier_part *part) {
    part->call.error = hier_ledger_error(part->base.comm, part->base.call);
    keep_sentence(part);
    part->state = HIER_COMPLETE;
    part->base.active = true;
    part->base.comm->agent->completions++;
}

static void start(hier_part *part) {
    weft_comm *comm = part->base.comm, *on = hier_comm_inner(comm);
    hier_ring *ring = part->ring;
    hier_call *call = &part->call;
    if (comm->member->retired) {
        refuse(part);
        return;
    }
    if (part->arguments.staging)
        hier_staging_pack(part->arguments.staging);
    hier_take(call, on, ring, &part->arguments, false);
    call->scratch = &part->scratch;
    part->state = HIER_QUEUED;
    part->base.active = true;
    part->began_ns = hier_observe_start(comm, part->arguments.collective);
    comm->agent->parts++;
    if (ring) {
        link_to(&comm->running, part);
    } else {
        part->base.next_free = NULL;
        *comm->queued_last = &part->base;
        comm->queued_last = &part->base.next_free;
    }
    hier_parts_progress(comm);
}

/* Of ranks that have places. */
static int prepare_in_order(const weft_comm *comm, hier_part *part) {
    void *mapped[2];
    if (!hier_order_is_one(&part->arguments))
        return core_error(WEFT_ERR_UNSUPPORTED,
                          "rank %d: %s: ranks that are not in the order of their nodes have the blocking form only",
                          comm->rank, part->arguments.call);
    int code = hier_order_map(comm, &part->arguments, mapped);
    if (code)
        return code;
    code = copy_arrays(comm->inner, part);
    free(mapped[0]);
    free(mapped[1]);
    return code;
}

static int prepare(weft_comm *comm, hier_part *part, bool persistent) {
    /* Counted whatever comes of the call: the other ranks count it too. */
    uint64_t number = persistent ? comm->member->rings++ : 0;
    int code = WEFT_SUCCESS;
    if (part->arguments.strided)
        code = hier_stage(comm, &part->arguments);
    if (!code && comm->inner)
        code = prepare_in_order(comm, part);
    else if (!code && !part->arguments.staging)
        code = copy_arrays(comm, part);
    if (!code && persistent) {
        part->ring = join_ring(comm->team, number);
        if (!part->ring)
            code = core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for a persistent collective", comm->rank,
                              part->arguments.call);
    }
    return code;
}

int hier_part_make(weft_comm *comm, const hier_arguments *arguments, bool persistent, weft_request **request) {
    hier_part *part = take(comm);
    if (!part)
        return WEFT_ERR_NOMEM;
    part->arguments = *arguments;
    part->base.call = arguments->call;
    part->moved = hier_moved_inside(comm, arguments);
    part->bytes = arguments->bytes ? arguments->bytes : arguments->own_bytes;
    int code = prepare(comm, part, persistent);
    if (code) {
        hier_part_give(&part->base);
        return code;
    }
    part->run = hier_thread_collective(&part->arguments);
    part->base.owned = true;
    part->base.persistent = persistent;
    comm->requests++;
    *request = &part->base;
    if (!persistent)
        start(part);
    return WEFT_SUCCESS;
}

void hier_part_restart(weft_request *request) {
    start(part_of(request));
}

int hier_part_result(const weft_request *request) {
    const hier_part *part = (const hier_part *)request;
    if (!part->call.error && part->arguments.staging)
        hier_staging_unpack(part->arguments.staging);
    return part->call.error ? core_error(part->call.error, "%s", part->sentence ? part->sentence : part->base.call)
                            : WEFT_SUCCESS;
}
