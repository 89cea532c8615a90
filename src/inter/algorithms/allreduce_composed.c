// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce Reduce+Bcast: any reduce to rank 0, then any bcast from it.
 *
 * Cost and memory: the sum of the parts'. Any p; keeps rank order when the reduce does. Messages of the parts cannot be
 * confused: between two ranks those of the reduce come first at both ends. In place nothing is overwritten too early: no
 * rank but 0 writes the result before the bcast. When the vector is cut into segments, each has both parts, and one
 * segment goes down while the next comes up.
 *
 *     ranks ──reduce──▶ 0 ──bcast──▶ ranks
 */
#include <inter/algorithms.h>

void inter_allreduce_composed(inter_schedule *schedule, const inter_view *view) {
    const inter_algorithm *const *parts = view->algorithm->parts;
    inter_view part = *view;
    part.root = 0;
    part.collective = INTER_REDUCE;
    part.algorithm = parts[0];
    part.algorithm->build(schedule, &part);
    inter_schedule_next_stage(schedule);
    part.collective = INTER_BCAST;
    part.algorithm = parts[1];
    part.algorithm->build(schedule, &part);
}
