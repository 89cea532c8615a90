// SPDX-License-Identifier: BSD-3-Clause
/*
 * allgather, allgatherv, barrier Gather+Bcast: a gather to rank 0, then a bcast of the whole from it.
 *
 * Cost: the sum of the parts'. Any p, any counts. Memory: the gather's. Messages of the parts cannot be confused: every
 * rank is done with its part of the gather before it begins the bcast. A barrier is this with nothing in it: when rank 0
 * has heard from all it lets all go.
 *
 *     ranks ──gather──▶ 0 ──bcast──▶ ranks
 */
#include <inter/algorithms.h>

void inter_allgather_composed(inter_schedule *schedule, const inter_view *view) {
    inter_view part = *view;
    part.root = 0;
    part.collective = view->collective == INTER_ALLGATHERV ? INTER_GATHERV : INTER_GATHER;
    part.algorithm = view->algorithm->parts[0];
    part.algorithm->build(schedule, &part);
    inter_schedule_next_stage(schedule);
    part.collective = INTER_BCAST;
    part.algorithm = view->algorithm->parts[1];
    part.count = inter_blocks_count(view, 0, view->size - 1);
    part.offsets = NULL;
    part.cut = false;
    part.algorithm->build(schedule, &part);
}
