// SPDX-License-Identifier: BSD-3-Clause
/* What is known of executions under way from without: which one it is, and whom it waits for. */
#include <inter/engine.h>

static void tell_awaited(const inter_execution *execution, inter_awaited *tell, void *argument) {
    for (int l = 0; execution->busy_lanes >> l; l++) {
        const inter_lane *lane = &execution->lanes[l];
        for (size_t i = lane->begin; execution->busy_lanes >> l & 1 && i < lane->next; i++)
            if (execution->requests[i].native)
                tell(argument, execution, execution->requests[i].peer);
    }
}

bool inter_engine_survey(inter_engine *engine, inter_awaited *tell, void *argument) {
    bool still = false;
    inter_execution *execution = engine->active;
    while (execution && execution->next_active)
        execution = execution->next_active;
    for (; execution; execution = execution->previous_active) { /* the oldest first */
        if (execution->surveyed != execution->moves) {
            execution->surveyed = execution->moves;
            execution->told = false;
            continue;
        }
        still = true;
        if (!execution->told && !execution->cancelled)
            tell_awaited(execution, tell, argument);
        execution->told = true;
    }
    return still;
}

typedef struct searched {
    int peer;
    bool found;
} searched;

static void compare_awaited(void *argument, const inter_execution *execution, int peer) {
    (void)execution;
    searched *of = argument;
    of->found |= of->peer == peer;
}

bool inter_execution_awaits(const inter_execution *execution, int peer) {
    searched of = {.peer = peer};
    tell_awaited(execution, compare_awaited, &of);
    return of.found;
}

const inter_execution *inter_engine_find(const inter_engine *engine, inter_id id) {
    const inter_execution *execution = engine->active;
    while (execution && (execution->id.context != id.context || execution->id.sequence != id.sequence ||
                         execution->id.persistent != id.persistent))
        execution = execution->next_active;
    return execution;
}
