// SPDX-License-Identifier: BSD-3-Clause
/*
 * reduce_scatter, reduce_scatter_block Reduce+Scatterv: any reduce of the whole to rank 0, then any scatterv from it.
 *
 * Cost and memory: the sum of the parts', and the whole at rank 0. Any p, any counts; keeps rank order when the reduce
 * does. Messages of the parts cannot be confused: between two ranks those of the reduce come first at both ends. In place
 * nothing is overwritten too early: results are written by the scatterv only.
 *
 *     ranks ──reduce──▶ 0 ──scatterv──▶ ranks
 */
#include <inter/algorithms.h>

void inter_reduce_scatter_composed(inter_schedule *schedule, const inter_view *view) {
    const inter_algorithm *const *parts = view->algorithm->parts;
    size_t whole = inter_blocks_count(view, 0, view->size - 1);
    inter_place sum = inter_schedule_temp(schedule, view->rank ? 0 : whole);
    inter_view part = *view;
    part.root = 0;
    part.collective = INTER_REDUCE;
    part.algorithm = parts[0];
    part.count = whole;
    part.offsets = NULL;
    inter_frame frame = inter_schedule_move(schedule, INTER_RECV, sum);
    part.algorithm->build(schedule, &part);
    inter_schedule_restore(schedule, frame);
    inter_schedule_next_stage(schedule);
    part.collective = INTER_SCATTERV;
    part.algorithm = parts[1];
    part.count = view->count;
    part.offsets = view->offsets;
    inter_schedule_move(schedule, INTER_SEND, sum);
    part.algorithm->build(schedule, &part);
    inter_schedule_restore(schedule, frame);
}
