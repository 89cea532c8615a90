// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <inter/engine.h>
#include <stdlib.h>
#include <string.h>

static void *address_of(const inter_execution *execution, inter_place place) {
    unsigned char *base = execution->buffers[place.buffer];
    return base ? base + place.offset * execution->element_bytes : NULL;
}

static uint64_t tag_of(const inter_execution *execution, int source) {
    return execution->tag | (uint64_t)source;
}

static int issue(inter_execution *execution, size_t index) {
    inter_transport *transport = execution->transport;
    const inter_step *step = &execution->schedule.steps[index];
    inter_request *request = &execution->requests[index];
    void *left = address_of(execution, step->left), *out = address_of(execution, step->out);
    size_t bytes = step->count * execution->element_bytes;
    request->native = NULL;
    request->completion = &execution->completion;
    switch (step->kind) {
    case INTER_STEP_SEND:
        return transport->send(transport, step->peer, tag_of(execution, transport->rank), left, bytes, request);
    case INTER_STEP_RECV:
        return transport->recv(transport, step->peer, tag_of(execution, step->peer), out, bytes, request);
    case INTER_STEP_REDUCE:
        core_reduce(execution->op, execution->type, left, address_of(execution, step->right), out, step->count);
        return WEFT_SUCCESS;
    case INTER_STEP_COPY:
        if (left != out && bytes)
            memcpy(out, left, bytes);
        return WEFT_SUCCESS;
    }
    return WEFT_SUCCESS;
}

/* Takes back what is still under way; the transport completes it, with an error, in later calls of progress. */
static void cancel_all(inter_execution *execution) {
    inter_transport *transport = execution->transport;
    execution->cancelled = true;
    for (size_t i = 0; i < execution->next; i++)
        if (execution->requests[i].native)
            transport->cancel(transport, &execution->requests[i]);
}

/*
 * Must the schedule stop? Not when a message had the wrong length: it has arrived, and the peers wait for what this process
 * has yet to send. The schedule goes on to its end, with an error to report.
 */
static bool is_fatal(int error) {
    return error && error != WEFT_ERR_TRUNCATE && error != WEFT_ERR_MISMATCH;
}

/* Issues stage after stage until one has something under way. */
static void advance(inter_execution *execution) {
    const inter_schedule *schedule = &execution->schedule;
    inter_completion *completion = &execution->completion;
    while (completion->pending == 0 && !is_fatal(completion->error) && execution->next < schedule->count) {
        unsigned stage = schedule->steps[execution->next].stage;
        while (execution->next < schedule->count && schedule->steps[execution->next].stage == stage) {
            int code = issue(execution, execution->next++);
            if (code && !completion->error)
                completion->error = code;
            if (is_fatal(completion->error))
                break;
        }
        if (is_fatal(completion->error))
            cancel_all(execution);
    }
    execution->done = completion->pending == 0 && (is_fatal(completion->error) || execution->next == schedule->count);
    if (execution->done && execution->finished)
        execution->finished(execution->argument, completion->error);
}

static int reserve(inter_execution *execution) {
    size_t steps = execution->schedule.count;
    if (steps > execution->requests_capacity) {
        inter_request *requests = realloc(execution->requests, steps * sizeof(*requests));
        if (!requests)
            return WEFT_ERR_NOMEM;
        execution->requests = requests;
        execution->requests_capacity = steps;
    }
    size_t temp_bytes;
    if (__builtin_mul_overflow(execution->schedule.temp_count, execution->element_bytes, &temp_bytes))
        return WEFT_ERR_NOMEM;
    if (temp_bytes > execution->temp_capacity_bytes) {
        free(execution->buffers[INTER_TEMP]);
        execution->temp_capacity_bytes = 0;
        execution->buffers[INTER_TEMP] = malloc(temp_bytes);
        if (!execution->buffers[INTER_TEMP])
            return WEFT_ERR_NOMEM;
        execution->temp_capacity_bytes = temp_bytes;
    }
    return WEFT_SUCCESS;
}

int inter_execution_start(inter_execution *execution, inter_engine *engine, inter_id id,
                          const inter_algorithm *algorithm, const inter_view *view, const inter_binding *binding) {
    uint64_t sequence = id.sequence & (((uint64_t)1 << INTER_SEQUENCE_BITS) - 1);
    inter_schedule_clear(&execution->schedule);
    algorithm->build(&execution->schedule, view);
    /* Only read from: the builders' send places. */
    execution->buffers[INTER_SEND] = (unsigned char *)(uintptr_t)binding->send;
    execution->buffers[INTER_RECV] = binding->recv;
    execution->transport = binding->by_lines && engine->lines ? engine->lines : engine->transport;
    execution->element_bytes = binding->element_bytes;
    execution->type = binding->type;
    execution->op = binding->op;
    if (execution->schedule.out_of_memory || reserve(execution))
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for %s %s of %zu elements of %zu bytes", view->rank,
                          inter_collective_name(algorithm->collective), algorithm->name, view->count,
                          binding->element_bytes);
    execution->tag = ((uint64_t)id.context << INTER_SEQUENCE_BITS | sequence) << INTER_SOURCE_BITS;
    execution->completion = (inter_completion){0};
    execution->next = 0;
    execution->cancelled = false;
    advance(execution);
    if (!execution->done) {
        execution->next_active = engine->active;
        engine->active = execution;
    }
    return WEFT_SUCCESS;
}

static void fail_all(inter_engine *engine, int peer) {
    for (inter_execution *execution = engine->active; execution; execution = execution->next_active) {
        if (is_fatal(execution->completion.error))
            continue;
        execution->completion.error = core_error(WEFT_ERR_PROC_FAILED, "rank %d: process %d died or is out of reach",
                                                 engine->transport->rank, peer);
        cancel_all(execution);
    }
}

bool inter_engine_progress(inter_engine *engine) {
    if (!engine->active)
        return false;
    inter_transport *transport = engine->lines ? engine->lines : engine->transport; /* the lines move both on */
    bool moved = transport->progress(transport) != 0;
    if (engine->transport->failed_peer >= 0)
        fail_all(engine, engine->transport->failed_peer);
    inter_execution **link = &engine->active;
    while (*link) {
        inter_execution *execution = *link;
        if (is_fatal(execution->completion.error) && !execution->cancelled)
            cancel_all(execution);
        if (execution->completion.pending == 0)
            advance(execution);
        if (execution->done) {
            *link = execution->next_active;
            moved = true;
        } else {
            link = &execution->next_active;
        }
    }
    return moved;
}

void inter_execution_free(inter_execution *execution) {
    inter_schedule_free(&execution->schedule);
    free(execution->requests);
    free(execution->buffers[INTER_TEMP]);
    *execution = (inter_execution){0};
}
