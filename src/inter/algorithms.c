// SPDX-License-Identifier: BSD-3-Clause
/* The table of algorithms. One line each; the builders are in algorithms/. */
#include <inter/algorithm.h>
#include <string.h>

const inter_algorithm inter_algorithms[] = {
    {INTER_BARRIER, "DISS", inter_barrier_diss, true},
    {INTER_BCAST, "MST", inter_bcast_mst, true},
    {INTER_BCAST, "nbFT", inter_bcast_nbft, true},
    {INTER_REDUCE, "MST", inter_reduce_mst, true},
    {INTER_ALLREDUCE, "nbBDE", inter_allreduce_nbbde, true},
    {INTER_ALLREDUCE, "MSTReduce+MSTBcast", inter_allreduce_mst_mst, true},
    {INTER_ALLREDUCE, "MSTReduce+nbFTBcast", inter_allreduce_mst_nbft, true},
    {INTER_GATHER, "MST", inter_gather_mst, true},
    {INTER_SCATTER, "MST", inter_scatter_mst, true},
    {INTER_ALLGATHER, "nbBKT", inter_allgather_nbbkt, true},
    {INTER_ALLTOALL, "nb1FT", inter_alltoall_nb1ft, true},
    {INTER_ALLTOALLV, "nb1FT", inter_alltoall_nb1ft, true},
    {INTER_COLLECTIVES, NULL, NULL, false},
};

const char *inter_collective_name(enum inter_collective collective) {
    static const char *const names[INTER_COLLECTIVES] = {
        [INTER_BARRIER] = "barrier",     [INTER_BCAST] = "bcast",       [INTER_REDUCE] = "reduce",
        [INTER_ALLREDUCE] = "allreduce", [INTER_GATHER] = "gather",     [INTER_SCATTER] = "scatter",
        [INTER_ALLGATHER] = "allgather", [INTER_ALLTOALL] = "alltoall", [INTER_ALLTOALLV] = "alltoallv",
    };
    return names[collective];
}

const inter_algorithm *inter_algorithm_find(enum inter_collective collective, const char *name) {
    for (const inter_algorithm *algorithm = inter_algorithms; algorithm->name; algorithm++)
        if (algorithm->collective == collective && strcmp(algorithm->name, name) == 0)
            return algorithm;
    return NULL;
}
