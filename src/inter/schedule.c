// SPDX-License-Identifier: BSD-3-Clause
#include <inter/schedule.h>
#include <stdlib.h>

#define FIRST_CAPACITY 16

void inter_schedule_clear(inter_schedule *schedule) {
    schedule->count = 0;
    schedule->stage = 0;
    schedule->temp_count = 0;
    schedule->out_of_memory = false;
}

void inter_schedule_free(inter_schedule *schedule) {
    free(schedule->steps);
    *schedule = (inter_schedule){0};
}

static void add(inter_schedule *schedule, inter_step step) {
    if (schedule->count == schedule->capacity) {
        size_t capacity = schedule->capacity ? 2 * schedule->capacity : FIRST_CAPACITY;
        inter_step *steps = realloc(schedule->steps, capacity * sizeof(*steps));
        if (!steps) {
            schedule->out_of_memory = true;
            return;
        }
        schedule->steps = steps;
        schedule->capacity = capacity;
    }
    step.stage = schedule->stage;
    schedule->steps[schedule->count++] = step;
}

void inter_schedule_send(inter_schedule *schedule, int peer, inter_place from, size_t count) {
    add(schedule, (inter_step){.kind = INTER_STEP_SEND, .peer = peer, .left = from, .count = count});
}

void inter_schedule_recv(inter_schedule *schedule, int peer, inter_place to, size_t count) {
    add(schedule, (inter_step){.kind = INTER_STEP_RECV, .peer = peer, .out = to, .count = count});
}

void inter_schedule_reduce(inter_schedule *schedule, inter_place left, inter_place right, inter_place out,
                           size_t count) {
    add(schedule,
        (inter_step){.kind = INTER_STEP_REDUCE, .peer = -1, .left = left, .right = right, .out = out, .count = count});
}

void inter_schedule_copy(inter_schedule *schedule, inter_place from, inter_place to, size_t count) {
    add(schedule, (inter_step){.kind = INTER_STEP_COPY, .peer = -1, .left = from, .out = to, .count = count});
}

void inter_schedule_next_stage(inter_schedule *schedule) {
    if (schedule->count && schedule->steps[schedule->count - 1].stage == schedule->stage)
        schedule->stage++;
}

inter_place inter_schedule_temp(inter_schedule *schedule, size_t count) {
    inter_place place = {INTER_TEMP, schedule->temp_count};
    schedule->temp_count += count;
    return place;
}
