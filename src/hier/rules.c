// SPDX-License-Identifier: BSD-3-Clause
/*
 * The built-in rules. A row serves up to so many nodes, threads a node, and bytes that one rank contributes; the first that
 * fits wins, and the last of a collective fits everything. Rows name algorithms and never number them.
 *
 * HIER_MODEL: the limits are where the prediction changes its winner, on the machine of weft-bench --simulate (1 us, 12.5
 * GB/s) with one process on each host. tests/hier/test_rules.cpp holds every choice against the best of all. Where threads
 * matter it is because a node's block is that of all its threads: a limit in bytes falls as they become more.
 *
 * HIER_HOST: up to four nodes, which mostly are processes of one host and may share its cores. The rows of two processes were
 * measured there; those of three and four are as old and stay until somebody measures: the model would take RAB for two, and
 * chains of short segments for more, but knows nothing of memory that is shared, nor of a wake-up for each segment. Of two with
 * several threads each, vectors of more than half a mebibyte are cut, so that threads and network overlap (pieces.h): into
 * segments that take longer than to wake who waits for one.
 *
 * HIER_STRUCTURE: one node, where the process level does nothing; or collectives whose counts only some ranks know, so that
 * no row may ask for bytes, nor name an algorithm that must know all counts.
 *
 * The thread level's limits are measured: what fits a cell goes inline, on one node sums up to 256 bytes.
 */
#include <hier/select.h>
#include <intra/team.h>
#include <limits.h>

#define ANY         INT_MAX
#define ALL         SIZE_MAX
#define INLINE      INTRA_INLINE_BYTES
#define KIB(number) ((size_t)(number) << 10)
#define MIB(number) ((size_t)(number) << 20)

// clang-format off
const hier_rule hier_rules[] = {
    /* of                      nodes thrds bytes     process                   segment   threads      from */
    {INTER_BARRIER,              ANY, ANY, ALL,      "DISS",                   0,        HIER_FLAGS,  HIER_MODEL},

    {INTER_BCAST,                 24, ANY, INLINE,   "nbFT",                   0,        HIER_INLINE, HIER_MODEL},
    {INTER_BCAST,                ANY, ANY, INLINE,   "bFaT",                   0,        HIER_INLINE, HIER_MODEL},
    {INTER_BCAST,                  2,   1, ALL,      "nbFT",                   0,        HIER_FLAGS,  HIER_HOST},
    {INTER_BCAST,                  2, ANY, KIB(512), "nbFT",                   0,        HIER_FLAGS,  HIER_HOST},
    {INTER_BCAST,                  2, ANY, ALL,      "nbFT",                   KIB(512), HIER_FLAGS,  HIER_HOST},
    {INTER_BCAST,                  4, ANY, KIB(128), "MST",                    0,        HIER_FLAGS,  HIER_HOST},
    {INTER_BCAST,                  4, ANY, ALL,      "CHAIN",                  KIB(64),  HIER_FLAGS,  HIER_HOST},
    {INTER_BCAST,                 12, ANY, KIB(8),   "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                ANY, ANY, KIB(16),  "bFaT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                ANY, ANY, KIB(64),  "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                 16, ANY, ALL,      "CHAIN",                  KIB(16),  HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                ANY, ANY, KIB(128), "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                 48, ANY, ALL,      "CHAIN",                  KIB(16),  HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                ANY, ANY, KIB(256), "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                128, ANY, MIB(2),   "SAG",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                128, ANY, ALL,      "CHAIN",                  KIB(16),  HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                ANY, ANY, KIB(512), "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                ANY, ANY, MIB(4),   "SAG",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                256, ANY, ALL,      "CHAIN",                  KIB(16),  HIER_FLAGS,  HIER_MODEL},
    {INTER_BCAST,                ANY, ANY, ALL,      "SAG",                    0,        HIER_FLAGS,  HIER_MODEL},

    {INTER_SCATTER,               32, ANY, ALL,      "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_SCATTER,              ANY,   1, KIB(1),   "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_SCATTER,              ANY,   4, 256,      "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_SCATTER,              ANY,  16, 64,       "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_SCATTER,              ANY, ANY, 16,       "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_SCATTER,              ANY, ANY, ALL,      "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_SCATTERV,             ANY, ANY, ALL,      "nbFT",                   0,        HIER_FLAGS,  HIER_STRUCTURE},

    {INTER_GATHER,                32, ANY, ALL,      "nb1FT",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_GATHER,               ANY,   1, KIB(1),   "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_GATHER,               ANY,   4, 256,      "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_GATHER,               ANY,  16, 64,       "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_GATHER,               ANY, ANY, 16,       "MST",                    0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_GATHER,               ANY, ANY, ALL,      "nb1FT",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_GATHERV,              ANY, ANY, ALL,      "nb1FT",                  0,        HIER_FLAGS,  HIER_STRUCTURE},

    {INTER_ALLGATHER,             24, ANY, ALL,      "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,             48,   1, KIB(1),   "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,             48,   4, 256,      "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,             48,  16, 64,       "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,             48, ANY, 16,       "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,             48, ANY, KIB(4),   "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,            ANY,   1, KIB(2),   "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,            ANY,   4, 512,      "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,            ANY,  16, 128,      "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,            ANY, ANY, 32,       "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,            ANY,   1, KIB(64),  "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,            ANY,   4, KIB(16),  "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,            ANY, ANY, KIB(4),   "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHER,            ANY, ANY, ALL,      "nbBKT",                  0,        HIER_FLAGS,  HIER_MODEL},

    {INTER_ALLGATHERV,            24, ANY, ALL,      "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,            48,   1, KIB(1),   "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,            48,   4, 256,      "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,            48,  16, 64,       "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,            48, ANY, 16,       "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,            48, ANY, KIB(4),   "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,           ANY,   1, KIB(2),   "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,           ANY,   4, 512,      "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,           ANY,  16, 128,      "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,           ANY, ANY, 32,       "nbBDE",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,           ANY,   1, KIB(64),  "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,           ANY,   4, KIB(16),  "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,           ANY, ANY, KIB(4),   "nbFT",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLGATHERV,           ANY, ANY, ALL,      "nbBKT",                  0,        HIER_FLAGS,  HIER_MODEL},

    {INTER_ALLTOALL,              16, ANY, ALL,      "nb1FT",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALL,              32,   1, KIB(4),   "BRUCK",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALL,              32, ANY, MIB(16),  "nb1FT",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALL,              64,   1, KIB(16),  "BRUCK",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALL,              64, ANY, MIB(16),  "nb1FT",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALL,             128,   1, KIB(32),  "BRUCK",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALL,             128, ANY, MIB(16),  "nb1FT",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALL,             ANY,   1, KIB(64),  "BRUCK",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALL,             ANY, ANY, MIB(16),  "nb1FT",                  0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALL,             ANY, ANY, ALL,      "PAIR",                   0,        HIER_FLAGS,  HIER_MODEL},
    {INTER_ALLTOALLV,            ANY, ANY, ALL,      "nb1FT",                  0,        HIER_FLAGS,  HIER_STRUCTURE},
    {INTER_ALLTOALLW,            ANY, ANY, ALL,      "nb1FT",                  0,        HIER_FLAGS,  HIER_STRUCTURE},

    {INTER_REDUCE,                 4, ANY, INLINE,   "MST",                    0,        HIER_INLINE, HIER_HOST},
    {INTER_REDUCE,                24, ANY, INLINE,   "nbFT",                   0,        HIER_INLINE, HIER_MODEL},
    {INTER_REDUCE,               ANY, ANY, INLINE,   "MST",                    0,        HIER_INLINE, HIER_MODEL},
    {INTER_REDUCE,                 2,   1, MIB(2),   "MST",                    0,        HIER_SLICES, HIER_HOST},
    {INTER_REDUCE,                 2,   1, ALL,      "MST",                    KIB(256), HIER_SLICES, HIER_HOST},
    {INTER_REDUCE,                 2, ANY, KIB(512), "MST",                    0,        HIER_SLICES, HIER_HOST},
    {INTER_REDUCE,                 2, ANY, ALL,      "MST",                    KIB(512), HIER_SLICES, HIER_HOST},
    {INTER_REDUCE,                 4, ANY, KIB(8),   "MST",                    0,        HIER_SLICES, HIER_HOST},
    {INTER_REDUCE,                 4, ANY, MIB(2),   "RAB",                    0,        HIER_SLICES, HIER_HOST},
    {INTER_REDUCE,                 4, ANY, ALL,      "RAB",                    MIB(1),   HIER_SLICES, HIER_HOST},
    {INTER_REDUCE,                 8, ANY, KIB(4),   "nbFT",                   0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,               ANY, ANY, KIB(16),  "MST",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,                 6, ANY, ALL,      "CHAIN",                  KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,               ANY, ANY, KIB(64),  "RAB",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,               ANY, ANY, KIB(128), "RAB",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,                12, ANY, ALL,      "CHAIN",                  KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,               ANY, ANY, MIB(1),   "RAB",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,                48, ANY, ALL,      "CHAIN",                  KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,               ANY, ANY, MIB(4),   "RAB",                    KIB(256), HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,               192, ANY, ALL,      "CHAIN",                  KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE,               ANY, ANY, ALL,      "RAB",                    KIB(256), HIER_SLICES, HIER_MODEL},

    {INTER_ALLREDUCE,              1, ANY, 256,      "nbBDE",                  0,        HIER_INLINE, HIER_STRUCTURE},
    {INTER_ALLREDUCE,              1, ANY, ALL,      "nbBDE",                  0,        HIER_SLICES, HIER_STRUCTURE},
    {INTER_ALLREDUCE,              4, ANY, INLINE,   "nbBDE",                  0,        HIER_INLINE, HIER_HOST},
    {INTER_ALLREDUCE,             12, ANY, INLINE,   "nbFT",                   0,        HIER_INLINE, HIER_MODEL},
    {INTER_ALLREDUCE,            ANY, ANY, INLINE,   "nbBDE",                  0,        HIER_INLINE, HIER_MODEL},
    {INTER_ALLREDUCE,              2,   1, MIB(2),   "nbBDE",                  0,        HIER_SLICES, HIER_HOST},
    {INTER_ALLREDUCE,              2,   1, ALL,      "nbBDE",                  KIB(256), HIER_SLICES, HIER_HOST},
    {INTER_ALLREDUCE,              2, ANY, KIB(512), "nbBDE",                  0,        HIER_SLICES, HIER_HOST},
    {INTER_ALLREDUCE,              2, ANY, ALL,      "nbBDE",                  KIB(512), HIER_SLICES, HIER_HOST},
    {INTER_ALLREDUCE,              4, ANY, KIB(8),   "nbBDE",                  0,        HIER_SLICES, HIER_HOST},
    {INTER_ALLREDUCE,              4, ANY, MIB(2),   "RAB",                    0,        HIER_SLICES, HIER_HOST},
    {INTER_ALLREDUCE,              4, ANY, ALL,      "RAB",                    MIB(1),   HIER_SLICES, HIER_HOST},
    {INTER_ALLREDUCE,              6, ANY, KIB(16),  "nbFT",                   0,        HIER_SLICES, HIER_MODEL},
    {INTER_ALLREDUCE,             12, ANY, KIB(4),   "nbFT",                   0,        HIER_SLICES, HIER_MODEL},
    {INTER_ALLREDUCE,            ANY, ANY, KIB(8),   "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_ALLREDUCE,              6, ANY, MIB(1),   "BKT",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_ALLREDUCE,            ANY, ANY, KIB(64),  "RAB",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_ALLREDUCE,             12, ANY, MIB(1),   "BKT",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_ALLREDUCE,            ANY, ANY, KIB(256), "RAB",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_ALLREDUCE,            ANY, ANY, MIB(1),   "RAB",                    KIB(256), HIER_SLICES, HIER_MODEL},
    {INTER_ALLREDUCE,             96, ANY, ALL,      "BKT",                    MIB(1),   HIER_SLICES, HIER_MODEL},
    {INTER_ALLREDUCE,            ANY, ANY, ALL,      "RAB",                    KIB(256), HIER_SLICES, HIER_MODEL},

    {INTER_REDUCE_SCATTER,       ANY, ANY, INLINE,   "nbBDE",                  0,        HIER_INLINE, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       ANY, ANY, INLINE,   "MSTReduce+MSTScatterv",  0,        HIER_INLINE, HIER_MODEL},
    {INTER_REDUCE_SCATTER,         3, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       ANY, ANY, KIB(16),  "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,         6, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       ANY, ANY, KIB(32),  "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,        12, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       ANY, ANY, KIB(128), "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,        24, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       ANY, ANY, KIB(256), "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,        48, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       ANY, ANY, MIB(1),   "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       128, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       ANY, ANY, MIB(4),   "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       ANY, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER,       ANY, ANY, ALL,      "MSTReduce+MSTScatterv",  0,        HIER_SLICES, HIER_MODEL},

    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, INLINE,   "nbBDE",                  0,        HIER_INLINE, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, INLINE,   "MSTReduce+MSTScatterv",  0,        HIER_INLINE, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK,   3, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, KIB(16),  "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK,   6, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, KIB(32),  "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK,  12, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, KIB(128), "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK,  24, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, KIB(256), "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK,  48, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, MIB(1),   "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, 128, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, MIB(4),   "nbBDE",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, ALL,      "nbBKT",                  0,        HIER_SLICES, HIER_MODEL},
    {INTER_REDUCE_SCATTER_BLOCK, ANY, ANY, ALL,      "MSTReduce+MSTScatterv",  0,        HIER_SLICES, HIER_MODEL},

    {INTER_SCAN,                   4, ANY, INLINE,   "BDE",                    0,        HIER_INLINE, HIER_HOST},
    {INTER_SCAN,                  24, ANY, INLINE,   "nbFT",                   0,        HIER_INLINE, HIER_MODEL},
    {INTER_SCAN,                 ANY, ANY, INLINE,   "BDE",                    0,        HIER_INLINE, HIER_MODEL},
    {INTER_SCAN,                   4, ANY, ALL,      "BDE",                    0,        HIER_SLICES, HIER_HOST},
    {INTER_SCAN,                   8, ANY, KIB(4),   "nbFT",                   0,        HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                 ANY, ANY, KIB(32),  "BDE",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                   6, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                 ANY, ANY, KIB(64),  "BDE",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                  12, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                 ANY, ANY, KIB(256), "BDE",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                  64, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                 ANY, ANY, KIB(512), "BDE",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                 128, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                 ANY, ANY, MIB(1),   "BDE",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                 256, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                 ANY, ANY, MIB(2),   "BDE",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_SCAN,                 ANY, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},

    {INTER_EXSCAN,                 4, ANY, INLINE,   "BDE",                    0,        HIER_INLINE, HIER_HOST},
    {INTER_EXSCAN,                24, ANY, INLINE,   "nbFT",                   0,        HIER_INLINE, HIER_MODEL},
    {INTER_EXSCAN,               ANY, ANY, INLINE,   "BDE",                    0,        HIER_INLINE, HIER_MODEL},
    {INTER_EXSCAN,                 4, ANY, ALL,      "BDE",                    0,        HIER_SLICES, HIER_HOST},
    {INTER_EXSCAN,                 8, ANY, KIB(4),   "nbFT",                   0,        HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,               ANY, ANY, KIB(32),  "BDE",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,                 6, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,               ANY, ANY, KIB(64),  "BDE",                    0,        HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,                12, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,               ANY, ANY, KIB(256), "BDE",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,                64, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,               ANY, ANY, KIB(512), "BDE",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,               128, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,               ANY, ANY, MIB(1),   "BDE",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,               256, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,               ANY, ANY, MIB(2),   "BDE",                    KIB(64),  HIER_SLICES, HIER_MODEL},
    {INTER_EXSCAN,               ANY, ANY, ALL,      "linear",                 KIB(16),  HIER_SLICES, HIER_MODEL},
};
// clang-format on
const size_t hier_rules_count = sizeof(hier_rules) / sizeof(hier_rules[0]);
