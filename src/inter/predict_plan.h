// SPDX-License-Identifier: BSD-3-Clause
/**
 * The schedules of all ranks in one array, each send knowing the receive that its message ends in: what predict.c runs.
 */
#ifndef INTER_PREDICT_PLAN_H
#define INTER_PREDICT_PLAN_H

#include <inter/predict.h>

typedef struct inter_plan_step {
    size_t bytes;
    uint32_t other; /* of a send: the index of its receive; of a receive: the rank that it belongs to */
    int32_t peer;   /* as the schedule names it */
    uint32_t strand;
    uint8_t kind; /* enum inter_step_kind */
    bool independent : 1;
    bool ends_stage : 1;
    bool between : 1;             /* the peer is on another node */
    bool posted : 1, arrived : 1; /* of a receive, while it runs */
} inter_plan_step;

typedef struct inter_plan {
    int size, ranks; /* ranks 0 … ranks − 1 stand for all `size` */
    bool flipped;    /* when ranks < size: rank r's twin on node k is r xor k · ranks, not r + k · ranks */
    inter_plan_step *steps;
    size_t *first; /* rank r has the steps first[r] … first[r + 1] − 1 */
    size_t capacity, messages;
    uint32_t strands; /* of the rank that has most */
} inter_plan;

/** Builds and matches; what has been allocated is there also after an error, for inter_plan_free(). */
enum inter_predicted inter_plan_make(inter_plan *plan, const inter_machine *machine, const inter_algorithm *algorithm,
                                     const inter_view *view, size_t most_messages);
void inter_plan_free(inter_plan *plan);

#endif
