// SPDX-License-Identifier: BSD-3-Clause
/* The table of the operations, and the sizes that follow from it. */
#include "operations.h"

#include <string.h>

#define NOTHING  BENCH_NOTHING
#define BLOCK    BENCH_BLOCK
#define BLOCKS   BENCH_BLOCK_A_RANK
#define SPREADS  (BENCH_ROOTED | BENCH_ONE_WAY)
#define COLLECTS (BENCH_ROOTED | BENCH_TO_ROOT | BENCH_ONE_WAY)
#define PAIRS    BENCH_PAIRS

static const bench_shape shapes[] = {
    [BENCH_BARRIER] = {"barrier", NOTHING, NOTHING, 0},
    [BENCH_BCAST] = {"bcast", NOTHING, BLOCK, SPREADS},
    [BENCH_SCATTER] = {"scatter", BLOCKS, BLOCK, SPREADS},
    [BENCH_SCATTERV] = {"scatterv", BLOCKS, BLOCK, SPREADS},
    [BENCH_GATHER] = {"gather", BLOCK, BLOCKS, COLLECTS},
    [BENCH_GATHERV] = {"gatherv", BLOCK, BLOCKS, COLLECTS},
    [BENCH_ALLGATHER] = {"allgather", BLOCK, BLOCKS, 0},
    [BENCH_ALLGATHERV] = {"allgatherv", BLOCK, BLOCKS, 0},
    [BENCH_ALLTOALL] = {"alltoall", BLOCKS, BLOCKS, BENCH_WHOLE},
    [BENCH_ALLTOALLV] = {"alltoallv", BLOCKS, BLOCKS, BENCH_WHOLE},
    [BENCH_ALLTOALLW] = {"alltoallw", BLOCKS, BLOCKS, BENCH_WHOLE},
    [BENCH_REDUCE] = {"reduce", BLOCK, BLOCK, COLLECTS | BENCH_REDUCES},
    [BENCH_ALLREDUCE] = {"allreduce", BLOCK, BLOCK, BENCH_REDUCES},
    [BENCH_REDUCE_SCATTER] = {"reduce_scatter", BLOCKS, BLOCK, BENCH_WHOLE | BENCH_REDUCES},
    [BENCH_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", BLOCKS, BLOCK, BENCH_WHOLE | BENCH_REDUCES},
    [BENCH_SCAN] = {"scan", BLOCK, BLOCK, BENCH_ONE_WAY | BENCH_REDUCES},
    [BENCH_EXSCAN] = {"exscan", BLOCK, BLOCK, BENCH_ONE_WAY | BENCH_REDUCES},
    [BENCH_LIMITS] = {"limits", NOTHING, NOTHING, 0},
    [BENCH_PINGPONG] = {"pingpong", BLOCK, BLOCK, PAIRS},
    [BENCH_STREAM] = {"stream", BLOCK, BLOCK, PAIRS},
    [BENCH_MESSAGE_RATE] = {"message-rate", BLOCK, BLOCK, PAIRS},
    [BENCH_MULTI_PAIR] = {"multi-pair", BLOCK, BLOCK, PAIRS},
    [BENCH_OVERLAP] = {"overlap", BLOCK, BLOCK, PAIRS},
    [BENCH_DATATYPES] = {"datatypes", BLOCK, BLOCK, PAIRS | BENCH_STRIDED},
};

const bench_shape *bench_shape_of(enum bench_operation operation) {
    return &shapes[operation];
}

bool bench_has(enum bench_operation operation, enum bench_trait trait) {
    return shapes[operation].traits & (unsigned)trait;
}

const char *bench_operation_name(enum bench_operation operation) {
    return shapes[operation].name;
}

int bench_operation_of(const char *name) {
    for (int operation = 0; operation < BENCH_OPERATIONS; operation++)
        if (strcmp(name, shapes[operation].name) == 0)
            return operation;
    return -1;
}

const char *bench_mode_name(enum bench_mode mode) {
    static const char *const names[] = {"blocking", "nonblocking", "persistent"};
    return names[mode];
}

int bench_messages_of(enum bench_motion motion) {
    return motion == BENCH_ROUND_TRIP ? 2 : motion == BENCH_ONE_WINDOW ? BENCH_WINDOW : 1;
}

size_t bench_unit_bytes(enum bench_operation operation) {
    return bench_has(operation, BENCH_REDUCES)   ? sizeof(double)
           : bench_has(operation, BENCH_STRIDED) ? BENCH_STRIDED_BYTES
                                                 : 1;
}

size_t bench_block_bytes(enum bench_operation operation, size_t bytes, int size) {
    size_t unit = bench_unit_bytes(operation), blocks = bench_has(operation, BENCH_WHOLE) ? (size_t)size : 1;
    return ((bytes - 1) / (unit * blocks) + 1) * unit;
}

size_t bench_contributed_bytes(const bench_call *call, int size) {
    return bench_has(call->operation, BENCH_WHOLE) ? call->block * (size_t)size : call->block;
}

static size_t extent_bytes(enum bench_extent extent, size_t block, int size) {
    return extent == BENCH_NOTHING ? 0 : extent == BENCH_BLOCK ? block : block * (size_t)size;
}

size_t bench_send_bytes(const bench_call *call, int size) {
    return extent_bytes(shapes[call->operation].send, call->block, size);
}

size_t bench_recv_bytes(const bench_call *call, int size) {
    return extent_bytes(shapes[call->operation].recv, call->block, size);
}
