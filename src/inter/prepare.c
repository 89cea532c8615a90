// SPDX-License-Identifier: BSD-3-Clause
/* An execution made ready: its schedule built, or kept, its memory laid out, and said of which layouts it takes as they are. */
#include <core/error.h>
#include <inter/engine.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64 /* of the cache */

static size_t round_up(size_t bytes) {
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* The spare memory that was used last, which the cache has, if it is large enough. */
static inter_spare *take_spare(inter_engine *engine, size_t bytes) {
    inter_spare *spare = engine->spare;
    if (spare) {
        engine->spare = spare->next;
        if (spare->bytes >= bytes)
            return spare;
        free(spare);
    }
    spare = bytes > SIZE_MAX - 2 * (size_t)LINE_BYTES ? NULL : aligned_alloc(LINE_BYTES, LINE_BYTES + round_up(bytes));
    if (!spare)
        return NULL;
    spare->bytes = bytes;
    engine->allocations++;
    return spare;
}

/* Of one that lends: what it has given back when it was done, or as much. */
static int take_temp(inter_execution *execution, inter_engine *engine) {
    const size_t bytes = execution->schedule.temp_count * execution->element_bytes;
    if (!execution->lends || !bytes || execution->temp)
        return WEFT_SUCCESS;
    execution->temp = take_spare(engine, bytes);
    if (!execution->temp)
        return WEFT_ERR_NOMEM;
    execution->buffers[INTER_TEMP] = (unsigned char *)execution->temp + LINE_BYTES;
    return WEFT_SUCCESS;
}

/* Lays the memory out: steps, requests, temporary buffer. */
static int lay_out(inter_execution *execution, inter_engine *engine) {
    inter_schedule *schedule = &execution->schedule;
    size_t steps = round_up(schedule->capacity * sizeof(inter_step));
    size_t requests = round_up(schedule->count * sizeof(inter_request)), temp, bytes;
    if (__builtin_mul_overflow(schedule->temp_count, execution->element_bytes, &temp) ||
        __builtin_add_overflow(steps + requests + LINE_BYTES, execution->lends ? 0 : temp, &bytes))
        return WEFT_ERR_NOMEM;
    if (execution->laid_out_capacity != schedule->capacity || execution->memory_bytes < bytes) {
        void *memory = realloc(schedule->steps, bytes);
        if (!memory)
            return WEFT_ERR_NOMEM;
        schedule->steps = memory;
        execution->laid_out_capacity = schedule->capacity;
        execution->memory_bytes = bytes;
        engine->allocations++;
    }
    unsigned char *memory = (unsigned char *)schedule->steps;
    execution->requests = (inter_request *)(void *)(memory + steps);
    memory += steps + requests;
    execution->buffers[INTER_TEMP] = memory + (LINE_BYTES - (uintptr_t)memory % LINE_BYTES) % LINE_BYTES;
    return take_temp(execution, engine);
}

/* Is the schedule there already? Short collectives are repeated more often than built. */
static bool is_prepared(const inter_execution *execution, const inter_algorithm *algorithm, const inter_view *view) {
    const inter_view *a = &execution->view;
    const inter_algorithm *b = &execution->algorithm;
    return a->collective == view->collective && a->count == view->count && a->element_bytes == view->element_bytes &&
           a->root == view->root && a->contents == view->contents && a->in_place == view->in_place &&
           a->rank == view->rank && a->size == view->size && a->leaves == view->leaves && a->stride == view->stride &&
           a->typical == view->typical && a->sparse == view->sparse && !a->next == !view->next &&
           b->build == algorithm->build && b->issue == algorithm->issue &&
           b->segment_bytes == algorithm->segment_bytes && b->parts[0] == algorithm->parts[0] &&
           b->parts[1] == algorithm->parts[1];
}

/* Arrays may be the same the next time with other contents, unless the view tells. */
static bool can_be_repeated(const inter_view *view) {
    return view->contents || !(view->offsets || view->displs || view->send_counts || view->recv_counts);
}

int inter_execution_prepare(inter_execution *execution, inter_engine *engine, const inter_algorithm *algorithm,
                            const inter_view *view) {
    if (execution->engine == engine && can_be_repeated(view) && is_prepared(execution, algorithm, view) &&
        !take_temp(execution, engine))
        return WEFT_SUCCESS;
    execution->view.collective = INTER_COLLECTIVES;
    free(execution->temp); /* of one that was prepared and never run */
    execution->temp = NULL;
    inter_build(&execution->schedule, algorithm, view);
    execution->element_bytes = view->element_bytes;
    execution->engine = engine;
    if (execution->schedule.out_of_memory || lay_out(execution, engine))
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for %s %s of %zu elements of %zu bytes", view->rank,
                          inter_collective_name(view->collective), algorithm->name, view->count, view->element_bytes);
    if (can_be_repeated(view)) {
        execution->view = *view;
        execution->algorithm = *algorithm;
    }
    return WEFT_SUCCESS;
}

bool inter_execution_again(inter_execution *execution) {
    return !take_temp(execution, execution->engine);
}

/* Can a message go from or to where its data lie? */
static bool is_carried(const inter_execution *execution, const inter_binding *binding, const inter_step *step) {
    const bool sends = step->kind == INTER_STEP_SEND;
    const inter_transport *transport = inter_engine_carrier(execution->engine, binding);
    const inter_place place = sends ? step->left : step->out;
    const inter_layout *layout = binding->layouts[place.buffer];
    const size_t bytes = step->count * execution->element_bytes;
    const int peer = binding->processes ? binding->processes[step->peer] : step->peer;
    size_t from;
    return !layout || !bytes ||
           (inter_layout_find(layout, place.offset * execution->element_bytes, bytes, &from) &&
            transport->carries_layouts && transport->carries_layouts(transport, peer, bytes));
}

static bool is_copied(const inter_execution *execution, const inter_binding *binding, const inter_step *step) {
    const size_t size = execution->element_bytes;
    const inter_laid to = {binding->layouts[step->out.buffer], NULL, step->out.offset * size};
    const inter_laid from = {binding->layouts[step->left.buffer], NULL, step->left.offset * size};
    return inter_laid_match(to, from, step->count * size);
}

void inter_execution_lay_out(const inter_execution *execution, inter_binding *binding) {
    for (size_t i = 0; i < execution->schedule.count; i++) {
        const inter_step *step = &execution->schedule.steps[i];
        switch ((enum inter_step_kind)step->kind) {
        case INTER_STEP_SEND:
            if (!is_carried(execution, binding, step))
                binding->layouts[step->left.buffer] = NULL;
            break;
        case INTER_STEP_RECV:
            if (!is_carried(execution, binding, step))
                binding->layouts[step->out.buffer] = NULL;
            break;
        case INTER_STEP_COPY:
            if (!is_copied(execution, binding, step))
                binding->layouts[step->left.buffer] = binding->layouts[step->out.buffer] = NULL;
            break;
        case INTER_STEP_REDUCE: /* of operands that are one run each */
            memset(binding->layouts, 0, sizeof(binding->layouts));
            break;
        }
    }
}
