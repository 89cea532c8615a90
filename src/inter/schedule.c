// SPDX-License-Identifier: BSD-3-Clause
#include <inter/schedule.h>
#include <stdlib.h>

#define FIRST_CAPACITY 16

void inter_schedule_clear(inter_schedule *schedule) {
    schedule->count = 0;
    schedule->stage_begin = 0;
    schedule->strand = 0;
    schedule->stage = 0;
    for (int buffer = 0; buffer < INTER_BUFFERS; buffer++)
        schedule->frame.origin[buffer] = inter_at((enum inter_buffer)buffer, 0);
    schedule->temp_count = 0;
    schedule->out_of_memory = false;
}

void inter_schedule_free(inter_schedule *schedule) {
    free(schedule->steps);
    *schedule = (inter_schedule){0};
}

static bool grow(inter_schedule *schedule) {
    size_t capacity = schedule->capacity ? 2 * schedule->capacity : FIRST_CAPACITY;
    bool enough = schedule->most_steps && schedule->count >= schedule->most_steps;
    inter_step *steps = enough ? NULL : realloc(schedule->steps, capacity * sizeof(*steps));
    if (!steps) {
        schedule->out_of_memory = true;
        return false;
    }
    schedule->steps = steps;
    schedule->capacity = capacity;
    return true;
}

static inter_place really(const inter_schedule *schedule, inter_place place) {
    return inter_plus(schedule->frame.origin[place.buffer], place.offset);
}

/* A step with nothing in it yet but its stage; NULL without memory. */
static inter_step *add(inter_schedule *schedule, enum inter_step_kind kind, int peer, size_t count) {
    if (schedule->count == schedule->capacity && !grow(schedule))
        return NULL;
    inter_step *step = &schedule->steps[schedule->count++];
    step->kind = (uint8_t)kind;
    step->independent = false;
    step->forgone = false;
    step->peer = peer;
    step->strand = schedule->strand;
    step->stage = schedule->stage;
    step->count = count;
    return step;
}

void inter_schedule_send(inter_schedule *schedule, int peer, inter_place from, size_t count) {
    inter_step *step = add(schedule, INTER_STEP_SEND, peer, count);
    if (step)
        step->left = step->right = step->out = really(schedule, from);
}

void inter_schedule_recv(inter_schedule *schedule, int peer, inter_place to, size_t count) {
    inter_step *step = add(schedule, INTER_STEP_RECV, peer, count);
    if (step)
        step->left = step->right = step->out = really(schedule, to);
}

void inter_schedule_reduce(inter_schedule *schedule, inter_place left, inter_place right, inter_place out,
                           size_t count) {
    inter_step *step = add(schedule, INTER_STEP_REDUCE, -1, count);
    if (!step)
        return;
    step->left = really(schedule, left);
    step->right = really(schedule, right);
    step->out = really(schedule, out);
}

void inter_schedule_copy(inter_schedule *schedule, inter_place from, inter_place to, size_t count) {
    inter_step *step = add(schedule, INTER_STEP_COPY, -1, count);
    if (!step)
        return;
    step->left = step->right = really(schedule, from);
    step->out = really(schedule, to);
}

void inter_schedule_next_stage(inter_schedule *schedule) {
    if (schedule->count == schedule->stage_begin)
        return;
    schedule->stage++;
    schedule->stage_begin = schedule->count;
}

void inter_schedule_next_stage_independent(inter_schedule *schedule) {
    for (size_t i = schedule->stage_begin; i < schedule->count; i++)
        schedule->steps[i].independent = true;
    inter_schedule_next_stage(schedule);
}

void inter_schedule_next_strand(inter_schedule *schedule) {
    schedule->strand++;
    schedule->stage = 0;
    schedule->stage_begin = schedule->count;
}

inter_place inter_schedule_temp(inter_schedule *schedule, size_t count) {
    inter_place place = inter_at(INTER_TEMP, schedule->temp_count);
    schedule->temp_count += count;
    return place;
}

inter_frame inter_schedule_move(inter_schedule *schedule, enum inter_buffer buffer, inter_place place) {
    inter_frame before = schedule->frame;
    schedule->frame.origin[buffer] = really(schedule, place);
    return before;
}
