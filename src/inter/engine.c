// SPDX-License-Identifier: BSD-3-Clause
#include <core/counters.h>
#include <core/error.h>
#include <inter/engine.h>
#include <stdlib.h>
#include <string.h>

static void *address_of(const inter_execution *execution, inter_place place) {
    unsigned char *base = execution->buffers[place.buffer];
    return base ? base + place.offset * execution->element_bytes : NULL;
}

static uint64_t tag_of(const inter_execution *execution, const inter_step *step, int source) {
    uint64_t strand = step->strand % INTER_STRANDS;
    return execution->tag | strand << INTER_REST_BITS | (uint64_t)source;
}

static void count_send(const inter_execution *execution, int peer, size_t bytes) {
    const inter_engine *engine = execution->engine;
    if (engine->counters && execution->counted_as < INTER_COLLECTIVES)
        core_count_traffic(engine->counters, execution->counted_as,
                           engine->on_host && engine->on_host[peer] ? CORE_ON_HOST : CORE_BETWEEN_HOSTS, 1, bytes);
}

static inter_laid side_of(const inter_execution *execution, inter_place place) {
    return (inter_laid){execution->layouts[place.buffer], address_of(execution, place),
                        place.offset * execution->element_bytes};
}

static void copy(const inter_execution *execution, const inter_step *step, size_t bytes) {
    const void *from = address_of(execution, step->left);
    void *to = address_of(execution, step->out);
    if (execution->layouts[step->left.buffer] || execution->layouts[step->out.buffer])
        inter_laid_copy(side_of(execution, step->out), side_of(execution, step->left), bytes);
    else if (from != to && bytes)
        memcpy(to, from, bytes);
}

/* The buffer of a message; NULL: the request has its data. */
static inline void *message_at(const inter_execution *execution, inter_place place, size_t bytes,
                               inter_request *request) {
    const inter_layout *layout = execution->layouts[place.buffer];
    if (__builtin_expect(!layout || !bytes, true))
        return address_of(execution, place);
    request->data_whole = layout->whole;
    request->data = inter_layout_find(layout, place.offset * execution->element_bytes, bytes, &request->data_from);
    return NULL;
}

static inline int issue(inter_lane *lane, const inter_step *step, inter_request *request) {
    inter_execution *execution = lane->execution;
    inter_transport *transport = execution->transport;
    size_t bytes = step->count * execution->element_bytes;
    int peer = execution->processes ? execution->processes[step->peer] : step->peer;
    request->native = NULL;
    request->data = NULL;
    request->completion = step->independent ? &lane->whole : &lane->stage;
    switch ((enum inter_step_kind)step->kind) {
    case INTER_STEP_SEND: {
        if (step->forgone || execution->forgoes_all)
            return WEFT_SUCCESS;
        int code = transport->send(transport, peer, tag_of(execution, step, transport->rank),
                                   message_at(execution, step->left, bytes, request), bytes, request);
        if (!code)
            count_send(execution, peer, bytes); /* while it is on its way */
        return code;
    }
    case INTER_STEP_RECV:
        return transport->recv(transport, peer, tag_of(execution, step, peer),
                               message_at(execution, step->out, bytes, request), bytes, request);
    case INTER_STEP_REDUCE:
        return core_reduce(execution->op, execution->type, address_of(execution, step->left),
                           address_of(execution, step->right), address_of(execution, step->out), step->count);
    case INTER_STEP_COPY:
        copy(execution, step, bytes);
        return WEFT_SUCCESS;
    }
    return WEFT_SUCCESS;
}

/*
 * Must the schedule stop? Not when a message had the wrong length: it has arrived, and the peers wait for what this process
 * has yet to send. The schedule goes on to its end, with an error to report.
 */
static bool is_fatal(int error) {
    return error && error != WEFT_ERR_TRUNCATE && error != WEFT_ERR_MISMATCH;
}

/* Takes back what is still under way; the transport completes it, with an error, in later calls of progress. */
static void cancel_all(inter_execution *execution) {
    inter_transport *transport = execution->transport;
    execution->cancelled = true;
    for (int l = 0; execution->busy_lanes >> l; l++)
        for (size_t i = execution->lanes[l].begin; execution->busy_lanes >> l & 1 && i < execution->lanes[l].next; i++)
            if (execution->requests[i].native)
                transport->cancel(transport, &execution->requests[i]);
}

static void take_note(inter_execution *execution, int error, const inter_request *of) {
    if (error == WEFT_ERR_MISMATCH && execution->at_most)
        return;
    if (!execution->error) {
        execution->error = error;
        execution->wrong = is_fatal(error) ? NULL : of;
    }
    if (is_fatal(error) && !execution->cancelled) {
        execution->error = error;
        cancel_all(execution);
    }
}

static inline void note_error(inter_execution *execution, int error) {
    if (__builtin_expect(error, WEFT_SUCCESS))
        take_note(execution, error, NULL);
}

static inline void note_errors(inter_execution *execution, const inter_completion *of) {
    if (__builtin_expect(of->error, WEFT_SUCCESS))
        take_note(execution, of->error, of->failed);
}

static void issue_stage(inter_lane *lane) {
    inter_execution *execution = lane->execution;
    const inter_step *step = &execution->schedule.steps[lane->next], *end = &execution->schedule.steps[lane->end];
    inter_request *request = &execution->requests[lane->next];
    unsigned stage = step->stage;
    do {
        lane->next++;
        note_error(execution, issue(lane, step++, request++));
    } while (step < end && step->stage == stage && !execution->cancelled);
    /* Of messages that were complete at once. */
    note_errors(execution, &lane->stage);
    note_errors(execution, &lane->whole);
}

/* Nothing is under way, and the engine's list of what is ready does not know it. */
static bool is_idle(const inter_completion *completion) {
    return !completion->pending && !completion->queued;
}

/* So many of the first strands are done. */
static size_t strands_done(const inter_execution *execution) {
    const inter_schedule *schedule = &execution->schedule;
    size_t done = execution->next < schedule->count ? schedule->steps[execution->next].strand : schedule->strand + 1;
    for (int l = 0; execution->busy_lanes >> l; l++) {
        size_t strand = schedule->steps[execution->lanes[l].begin].strand;
        done = (execution->busy_lanes >> l & 1) && strand < done ? strand : done;
    }
    return done;
}

/* A strand is done. After an error nobody is told that its data is there: the end tells of both. */
static void tell_arrived(inter_execution *execution) {
    size_t here = strands_done(execution);
    if (execution->error || here == execution->here)
        return;
    execution->here = here;
    execution->arrived(execution->argument, here);
}

/* All of the strand's stages are complete. */
static void end_lane(inter_lane *lane) {
    inter_execution *execution = lane->execution;
    if (!is_idle(&lane->whole))
        return;
    execution->busy_lanes &= ~lane->bit;
    if (execution->arrived)
        tell_arrived(execution);
}

/* Issues stage after stage until one has something under way. */
static void advance_lane(inter_lane *lane) {
    inter_execution *execution = lane->execution;
    while (is_idle(&lane->stage)) {
        if (lane->next == lane->end || execution->cancelled) {
            end_lane(lane);
            return;
        }
        issue_stage(lane);
    }
}

/* Field by field: copied as a whole it would be read at once in other pieces than it was written in, which waits for all stores. */
static inline void clear(inter_completion *completion, inter_completion **list, inter_lane *lane) {
    completion->pending = 0;
    completion->error = WEFT_SUCCESS;
    completion->queued = false;
    completion->list = list;
    completion->next = NULL;
    completion->owner = lane;
}

static void begin_strand(inter_execution *execution, unsigned strand) {
    const inter_schedule *schedule = &execution->schedule;
    inter_lane *lane = &execution->lanes[strand % INTER_STRANDS];
    lane->execution = execution;
    lane->bit = 1u << strand % INTER_STRANDS;
    lane->begin = lane->next = execution->next;
    clear(&lane->stage, &execution->engine->ready, lane);
    clear(&lane->whole, &execution->engine->ready, lane);
    execution->busy_lanes |= lane->bit;
    if (schedule->strand == strand)
        execution->next = schedule->count; /* the last one */
    while (execution->next < schedule->count && schedule->steps[execution->next].strand == strand)
        execution->next++;
    lane->end = execution->next;
    advance_lane(lane);
}

static bool may_begin(inter_execution *execution, unsigned strand) {
    if (execution->gate && strand >= execution->admitted)
        execution->admitted = execution->gate(execution->argument);
    return !execution->gate || strand < execution->admitted;
}

static inline bool is_over(const inter_execution *execution) {
    return !execution->busy_lanes && (execution->cancelled || execution->next == execution->schedule.count);
}

/* Begins the strands that may begin, in their order. Is it done? */
static inline bool advance(inter_execution *execution) {
    const inter_schedule *schedule = &execution->schedule;
    while (execution->next < schedule->count && !execution->cancelled) {
        unsigned strand = schedule->steps[execution->next].strand;
        if (execution->busy_lanes >> strand % INTER_STRANDS & 1 || !may_begin(execution, strand))
            break;
        begin_strand(execution, strand);
    }
    return is_over(execution);
}

static void give_temp(inter_execution *execution) {
    inter_engine *engine = execution->engine;
    execution->temp->next = engine->spare;
    engine->spare = execution->temp;
    execution->temp = NULL;
}

static void finish(inter_execution *execution) {
    execution->done = true;
    if (execution->temp)
        give_temp(execution);
    if (execution->finished)
        execution->finished(execution->argument, execution->error);
}

static uint64_t context_tag(uint32_t context) {
    return (uint64_t)context << (64 - INTER_CONTEXT_BITS);
}

static uint64_t tag_base(const inter_engine *engine, const inter_id *id) {
    unsigned most = engine->transport ? (unsigned)engine->transport->size - 1 : 0; /* the highest source */
    int source_bits = most ? 32 - __builtin_clz(most) : 0;
    uint64_t sequence =
        (uint64_t)id->persistent << INTER_SEQUENCE_BITS | (id->sequence & (((uint64_t)1 << INTER_SEQUENCE_BITS) - 1));
    uint64_t signature = id->signature >> (64 - INTER_REST_BITS + source_bits) << source_bits;
    return context_tag(id->context) | sequence << (INTER_STRAND_BITS + INTER_REST_BITS) | signature;
}

/* The peer's death ends all: each needs every process. */
static int peer_error(const inter_engine *engine) {
    return core_error(WEFT_ERR_PROC_FAILED, "rank %d: process %d died or is out of reach", engine->transport->rank,
                      engine->transport->failed_peer);
}

/* The schedule is used again, as it was built. */
static void forgo_nothing(inter_execution *execution) {
    for (size_t i = 0; i < execution->schedule.count; i++)
        execution->schedule.steps[i].forgone = false;
    execution->forgoes = false;
}

void inter_execution_launch(inter_execution *execution, const inter_binding *binding) {
    inter_engine *engine = execution->engine;
    /* Only read from: the builders' send places. */
    execution->buffers[INTER_SEND] = (unsigned char *)(uintptr_t)binding->send;
    execution->buffers[INTER_RECV] = binding->recv;
    for (int i = 0; i < INTER_BUFFERS; i++)
        execution->layouts[i] = binding->layouts[i];
    execution->transport = inter_engine_carrier(engine, binding);
    execution->type = binding->type;
    execution->op = binding->op;
    execution->counted_as = binding->counted_as;
    execution->processes = binding->processes;
    execution->tag = tag_base(engine, &execution->id);
    if (execution->forgoes)
        forgo_nothing(execution);
    execution->forgoes_all = false;
    execution->next = 0;
    execution->admitted = execution->here = 0;
    execution->busy_lanes = 0;
    execution->error = WEFT_SUCCESS;
    execution->wrong = NULL;
    execution->at_most = binding->at_most;
    execution->cancelled = false;
    execution->done = false;
    execution->told = false;
    execution->surveyed = execution->moves++;
    /* Then nothing is sent: who else has gone since may not be known yet. */
    bool in_vain = engine->transport && engine->transport->failed_peer >= 0;
    if (in_vain) {
        execution->error = peer_error(engine);
    } else if (inter_engine_is_broken(engine, execution->id.context)) {
        execution->error = WEFT_ERR_MISMATCH;
        in_vain = true;
    }
    if (in_vain || advance(execution)) {
        finish(execution);
        return;
    }
    execution->previous_active = NULL;
    execution->next_active = engine->active;
    if (engine->active)
        engine->active->previous_active = execution;
    engine->active = execution;
    engine->gated += execution->gate != NULL;
}

int inter_execution_start(inter_execution *execution, inter_engine *engine, inter_id id,
                          const inter_algorithm *algorithm, const inter_view *view, const inter_binding *binding) {
    int code = inter_execution_prepare(execution, engine, algorithm, view);
    if (!code)
        inter_execution_run(execution, id, binding);
    return code;
}

void inter_execution_forgo(inter_execution *execution, int peer) {
    for (size_t i = execution->next; i < execution->schedule.count; i++) {
        inter_step *step = &execution->schedule.steps[i];
        step->forgone |= step->kind == INTER_STEP_SEND && step->peer == peer;
    }
    execution->forgoes = true;
}

/* Again at each look: more may be known to be out of reach, and what a transport could not take back, it may now. */
static __attribute__((cold)) void fail_all(inter_engine *engine) {
    for (inter_execution *execution = engine->active; execution; execution = execution->next_active)
        if (execution->cancelled)
            cancel_all(execution);
        else
            note_error(execution, peer_error(engine));
}

static void forget(inter_execution *execution) {
    inter_execution *previous = execution->previous_active, *next = execution->next_active;
    if (previous)
        previous->next_active = next;
    else
        execution->engine->active = next;
    if (next)
        next->previous_active = previous;
    execution->engine->gated -= execution->gate != NULL;
}

/* Not in place: mostly the launch has begun all strands. */
static __attribute__((noinline)) bool advance_later(inter_execution *execution) {
    return advance(execution);
}

/* Is it over? Then it is ended. */
static bool end_if_over(inter_execution *execution) {
    if (!is_over(execution) && !advance_later(execution))
        return false;
    forget(execution); /* before `finished` is told, which may start it again */
    finish(execution);
    return true;
}

static void move_on(inter_completion *completion) {
    inter_lane *lane = completion->owner;
    inter_execution *execution = lane->execution;
    completion->queued = false;
    execution->moves++;
    note_errors(execution, completion);
    advance_lane(lane);
    (void)end_if_over(execution);
}

/* Asks at the gates. One that was cancelled in front of its gate ends here. */
static __attribute__((noinline)) bool look_at_gates(inter_engine *engine) {
    bool moved = false;
    for (inter_execution *execution = engine->active, *following; execution; execution = following) {
        following = execution->next_active;
        if (!execution->gate || (!execution->cancelled && !inter_execution_is_gated(execution)))
            continue;
        size_t next = execution->next;
        if (end_if_over(execution)) {
            moved = true;
        } else if (execution->next != next) {
            execution->moves++;
            moved = true;
        }
    }
    return moved;
}

void inter_engine_break(inter_engine *engine, uint32_t context) {
    engine->broken[context / 64] |= (uint64_t)1 << context % 64;
    engine->breaks = true;
    for (inter_execution *execution = engine->active; execution; execution = execution->next_active) {
        if (execution->cancelled || execution->id.context != context)
            continue;
        execution->error = WEFT_ERR_MISMATCH;
        cancel_all(execution);
    }
}

static void sweep(inter_engine *engine, uint32_t context) {
    if (engine->transport->discard)
        engine->transport->discard(engine->transport, context_tag(context), context_tag(INTER_CONTEXTS - 1));
}

/* Looks after one broken context, and takes another one the next time. */
static __attribute__((cold)) void sweep_next(inter_engine *engine) {
    do
        engine->swept = (engine->swept + 1) % INTER_CONTEXTS;
    while (!inter_engine_is_broken(engine, engine->swept));
    sweep(engine, engine->swept);
}

void inter_engine_sweep(inter_engine *engine) {
    for (uint32_t context = 0; engine->breaks && context < INTER_CONTEXTS; context++)
        if (inter_engine_is_broken(engine, context))
            sweep(engine, context);
}

bool inter_engine_progress(inter_engine *engine) {
    inter_transport *own = engine->transport;
    if (!own || (!engine->active && !engine->listens && !engine->breaks && own->failed_peer < 0))
        return false;
    if (engine->breaks)
        sweep_next(engine);
    inter_transport *transport = inter_engine_top(engine);
    bool moved = transport->progress(transport) != 0;
    if (own->failed_peer >= 0) {
        fail_all(engine);
        if (own->discard) /* nobody receives any more what others, who know less, have sent */
            own->discard(own, 0, 0);
    }
    if (engine->gated)
        moved |= look_at_gates(engine);
    while (engine->ready) {
        inter_completion *completion = engine->ready;
        engine->ready = completion->next;
        move_on(completion);
        moved = true;
    }
    return moved;
}

void inter_execution_free(inter_execution *execution) {
    free(execution->temp);
    inter_schedule_free(&execution->schedule);
    *execution = (inter_execution){0};
}

void inter_engine_close(inter_engine *engine) {
    for (inter_spare *spare; (spare = engine->spare); free(spare))
        engine->spare = spare->next;
}
