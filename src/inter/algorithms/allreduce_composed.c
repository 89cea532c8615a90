// SPDX-License-Identifier: BSD-3-Clause
/*
 * allreduce Reduce+Bcast: a reduce to rank 0, then a bcast from it.
 *
 * Cost: the sum of the parts'; the least traffic between nodes for few nodes and block placement. Any p; keeps rank
 * order when the reduce does. The parts' messages cannot be confused: between two ranks they run in opposite
 * directions.
 *
 *     ranks ──reduce──▶ 0 ──bcast──▶ ranks
 */
#include <inter/algorithm.h>

static void compose(inter_schedule *schedule, const inter_view *view, inter_builder *reduce, inter_builder *bcast) {
    inter_view part = *view;
    part.root = 0;
    reduce(schedule, &part);
    inter_schedule_next_stage(schedule);
    bcast(schedule, &part);
}

void inter_allreduce_mst_mst(inter_schedule *schedule, const inter_view *view) {
    compose(schedule, view, inter_reduce_mst, inter_bcast_mst);
}

void inter_allreduce_mst_nbft(inter_schedule *schedule, const inter_view *view) {
    compose(schedule, view, inter_reduce_mst, inter_bcast_nbft);
}
