// SPDX-License-Identifier: BSD-3-Clause
/**
 * The builders: one algorithm a file, in algorithms/. Where two collectives share a file, the view says which it is;
 * where variants share one, the algorithm's `issue` does.
 */
#ifndef INTER_ALGORITHMS_H
#define INTER_ALGORITHMS_H

#include <inter/algorithm.h>

inter_builder inter_barrier_diss;
inter_builder inter_bcast_mst, inter_bcast_ft, inter_bcast_fat, inter_bcast_bt, inter_bcast_sag, inter_bcast_chain;
inter_builder inter_scatter_mst, inter_scatter_ft;
inter_builder inter_gather_mst, inter_gather_ft;
inter_builder inter_allgather_bkt, inter_allgather_ft, inter_allgather_bt, inter_allgather_bte, inter_allgather_bde,
    inter_allgather_bruck, inter_allgather_composed;
inter_builder inter_alltoall_ft, inter_alltoall_pair, inter_alltoall_bruck;
inter_builder inter_reduce_mst, inter_reduce_ft, inter_reduce_rab, inter_reduce_chain;
inter_builder inter_allreduce_bde, inter_allreduce_ft, inter_allreduce_bt, inter_allreduce_bte, inter_allreduce_rab,
    inter_allreduce_bkt, inter_allreduce_composed;
inter_builder inter_reduce_scatter_bde, inter_reduce_scatter_bkt, inter_reduce_scatter_composed;
inter_builder inter_scan_bde, inter_scan_ft, inter_scan_linear;
inter_builder inter_reduction_fold, inter_reduction_sfold;

#endif
