// SPDX-License-Identifier: BSD-3-Clause
#include <inter/predict_events.h>
#include <inter/predict_plan.h>
#include <stdlib.h>

enum event_kind {
    ARRIVES,  /* a message, of receive `what` */
    IS_THERE, /* it, behind those that the port took before it */
    GOES_ON   /* lane `what`, numbered through all ranks: its sends have left */
};

/* Where a strand is run: as in the engine. */
typedef struct lane_state {
    uint32_t next, end;
    uint32_t stage, whole;         /* receives under way: of the last stage issued; independent ones */
    double stage_left, whole_left; /* when the sends of either have left */
    bool busy;
} lane_state;

typedef struct rank_state {
    double cpu;                  /* busy until */
    double sends[2], arrives[2]; /* the ports' ends of their last messages, within a node and between nodes */
    uint32_t next, end;          /* the first step of the strands that have not begun; behind the last step */
} rank_state;

typedef struct clock_state {
    const inter_machine *machine;
    inter_plan plan;
    rank_state *ranks;
    lane_state *lanes;
    uint32_t lanes_each, busy_lanes;
    inter_events events;
    inter_prediction totals;
} clock_state;

static double larger(double a, double b) {
    return a > b ? a : b;
}

static const inter_edge *edge_of(const clock_state *clock, const inter_plan_step *step) {
    return step->between ? &clock->machine->between : &clock->machine->within;
}

static void send_step(clock_state *clock, rank_state *rank, lane_state *lane, const inter_plan_step *step) {
    const inter_edge *edge = edge_of(clock, step);
    double wire = (double)step->bytes * edge->byte, *port = &rank->sends[step->between];
    rank->cpu += edge->overhead;
    double leaves = larger(rank->cpu, *port);
    *port = leaves + larger(edge->gap, wire);
    double *left = step->independent ? &lane->whole_left : &lane->stage_left;
    *left = larger(*left, *port);
    inter_events_add(&clock->events, leaves + edge->latency + wire, ARRIVES, step->other);
    *(step->between ? &clock->totals.messages_between : &clock->totals.messages_within) += 1;
    *(step->between ? &clock->totals.bytes_between : &clock->totals.bytes_within) += (double)step->bytes;
}

static void issue_stage(clock_state *clock, rank_state *rank, lane_state *lane) {
    for (bool more = true; more;) {
        inter_plan_step *step = &clock->plan.steps[lane->next++];
        more = !step->ends_stage;
        switch ((enum inter_step_kind)step->kind) {
        case INTER_STEP_SEND:
            send_step(clock, rank, lane, step);
            break;
        case INTER_STEP_RECV:
            step->posted = true;
            if (step->arrived)
                rank->cpu += edge_of(clock, step)->overhead;
            else
                ++*(step->independent ? &lane->whole : &lane->stage);
            break;
        case INTER_STEP_REDUCE:
            rank->cpu += (double)step->bytes * clock->machine->reduce_byte;
            break;
        case INTER_STEP_COPY:
            rank->cpu += (double)step->bytes * clock->machine->copy_byte;
            break;
        }
    }
}

/* Are the sends of a lane gone? If not, it goes on when they are. */
static bool have_left(clock_state *clock, const rank_state *rank, const lane_state *lane, double time) {
    if (time <= rank->cpu)
        return true;
    inter_events_add(&clock->events, time, GOES_ON, (uint32_t)(lane - clock->lanes));
    return false;
}

/* Issues stage after stage until one has something under way. Calling it once more than needed does nothing. */
static void advance_lane(clock_state *clock, rank_state *rank, lane_state *lane) {
    if (!lane->busy)
        return;
    while (!lane->stage && have_left(clock, rank, lane, lane->stage_left)) {
        if (lane->next < lane->end) {
            issue_stage(clock, rank, lane);
            continue;
        }
        if (!lane->whole && have_left(clock, rank, lane, lane->whole_left)) {
            lane->busy = false;
            clock->busy_lanes--;
        }
        return;
    }
}

/* Begins the strands that may begin, in their order. */
static void begin_strands(clock_state *clock, rank_state *rank) {
    lane_state *lanes = clock->lanes + (size_t)(rank - clock->ranks) * clock->lanes_each;
    while (rank->next < rank->end) {
        uint32_t strand = clock->plan.steps[rank->next].strand;
        lane_state *lane = &lanes[strand % clock->lanes_each];
        if (lane->busy)
            return;
        lane->next = rank->next;
        while (rank->next < rank->end && clock->plan.steps[rank->next].strand == strand)
            rank->next++;
        lane->end = rank->next;
        lane->busy = true;
        clock->busy_lanes++;
        advance_lane(clock, rank, lane);
    }
}

/* What the CPU does next begins at `time` or, when it is busy, later. */
static void at(rank_state *rank, double time) {
    rank->cpu = larger(rank->cpu, time);
}

static void is_there(clock_state *clock, double time, inter_plan_step *step) {
    rank_state *rank = &clock->ranks[step->other];
    step->arrived = true;
    if (!step->posted)
        return;
    at(rank, time);
    rank->cpu += edge_of(clock, step)->overhead;
    lane_state *lane = clock->lanes + (size_t)step->other * clock->lanes_each + step->strand % clock->lanes_each;
    if (--*(step->independent ? &lane->whole : &lane->stage))
        return;
    advance_lane(clock, rank, lane);
    begin_strands(clock, rank);
}

static void arrives(clock_state *clock, double time, uint32_t index) {
    inter_plan_step *step = &clock->plan.steps[index];
    const inter_edge *edge = edge_of(clock, step);
    double *port = &clock->ranks[step->other].arrives[step->between];
    *port = larger(time, *port + larger(edge->gap, (double)step->bytes * edge->byte));
    if (*port > time)
        inter_events_add(&clock->events, *port, IS_THERE, index);
    else
        is_there(clock, time, step);
}

static void goes_on(clock_state *clock, double time, uint32_t index) {
    rank_state *rank = &clock->ranks[index / clock->lanes_each];
    at(rank, time);
    advance_lane(clock, rank, &clock->lanes[index]);
    begin_strands(clock, rank);
}

static bool take_memory(clock_state *clock) {
    size_t ranks = (size_t)clock->plan.ranks;
    clock->lanes_each = clock->plan.strands < INTER_STRANDS ? clock->plan.strands : INTER_STRANDS;
    clock->ranks = calloc(ranks, sizeof(*clock->ranks));
    clock->lanes = calloc(ranks * clock->lanes_each, sizeof(*clock->lanes));
    return clock->ranks && clock->lanes;
}

/* Runs until nothing happens any more. */
static enum inter_predicted run(clock_state *clock) {
    double time;
    inter_event event;
    for (int r = 0; r < clock->plan.ranks; r++) {
        rank_state *rank = &clock->ranks[r];
        rank->arrives[0] = -clock->machine->within.gap; /* the first message finds the port free */
        rank->arrives[1] = -clock->machine->between.gap;
        rank->next = (uint32_t)clock->plan.first[r];
        rank->end = (uint32_t)clock->plan.first[r + 1];
        begin_strands(clock, rank);
    }
    while (inter_events_take(&clock->events, &time, &event)) {
        if (event.kind == ARRIVES)
            arrives(clock, time, event.what);
        else if (event.kind == IS_THERE)
            is_there(clock, time, &clock->plan.steps[event.what]);
        else
            goes_on(clock, time, event.what);
    }
    if (clock->events.out_of_memory)
        return INTER_PREDICT_NO_MEMORY;
    return clock->busy_lanes ? INTER_PREDICT_UNMATCHED : INTER_PREDICTED;
}

enum inter_predicted inter_predict(const inter_machine *machine, const inter_algorithm *algorithm,
                                   const inter_view *view, size_t most_messages, inter_prediction *prediction) {
    clock_state clock = {.machine = machine};
    enum inter_predicted code = inter_plan_make(&clock.plan, machine, algorithm, view, most_messages);
    if (code == INTER_PREDICTED)
        code = take_memory(&clock) ? run(&clock) : INTER_PREDICT_NO_MEMORY;
    if (code == INTER_PREDICTED) {
        int copies = clock.plan.size / clock.plan.ranks;
        *prediction = clock.totals;
        prediction->messages_run = clock.plan.messages;
        prediction->messages_within *= copies;
        prediction->messages_between *= copies;
        prediction->bytes_within *= copies;
        prediction->bytes_between *= copies;
        for (int rank = 0; rank < clock.plan.ranks; rank++)
            prediction->seconds = larger(prediction->seconds, clock.ranks[rank].cpu);
    }
    inter_plan_free(&clock.plan);
    inter_events_free(&clock.events);
    free(clock.ranks);
    free(clock.lanes);
    return code;
}
