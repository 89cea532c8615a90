// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/order.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Operands of all ranks are gathered in pieces of so many bytes together. */
#define PIECE_BYTES ((size_t)1 << 20)

/* Blocks by rank: counts and displacements in elements (types: bytes), or, without counts, `count` elements each, one behind the other. */
typedef struct given {
    size_t count;
    const size_t *counts;
    const ptrdiff_t *displs;
    const weft_datatype *const *types; /* or NULL */
} given;

/* The same by place; one allocation. */
typedef struct blocks {
    size_t *counts;
    ptrdiff_t *displs;
    const weft_datatype **types;
} blocks;

static int no_memory(const weft_comm *comm, const hier_arguments *arguments) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory to put what %d ranks have into their order", comm->rank,
                      arguments->call, comm->size);
}

static bool blocks_make(const weft_comm *comm, const given *from, blocks *made) {
    size_t ranks = (size_t)comm->size;
    made->counts = malloc(ranks * (sizeof(*made->counts) + sizeof(*made->displs) + sizeof(*made->types)));
    if (!made->counts)
        return false;
    made->displs = (ptrdiff_t *)(made->counts + ranks);
    made->types = (const weft_datatype **)(made->displs + ranks);
    for (int place = 0; place < comm->size; place++) {
        int rank = hier_layout_rank(comm->layout, place);
        made->counts[place] = from->counts ? from->counts[rank] : from->count;
        made->displs[place] = from->counts ? from->displs[rank] : rank * (ptrdiff_t)from->count;
        if (from->types)
            made->types[place] = from->types[rank];
    }
    return true;
}

/* On the inner handle, whose errors count ranks by place. */
static int run_inner(const weft_comm *comm, const hier_arguments *arguments) {
    char sentence[256];
    int code = hier_thread_run(hier_comm_inner(comm), arguments);
    if (!code)
        return WEFT_SUCCESS;
    if (comm->member->retired)
        return hier_ledger_error(comm, arguments->call);
    strncpy(sentence, weft_last_error(), sizeof(sentence) - 1);
    sentence[sizeof(sentence) - 1] = 0;
    return core_error(code, "rank %d: %s failed; with ranks numbered node by node, where this one is %d: %s",
                      comm->rank, arguments->call, comm->inner->rank, sentence);
}

static void map_root(const weft_comm *comm, hier_arguments *mapped) {
    if (inter_is(mapped->collective, INTER_ROOTED))
        mapped->root = hier_layout_place(comm->layout, mapped->root);
}

/*
 * Movement.
 */

static bool has_sent_blocks(const weft_comm *comm, const hier_arguments *a) {
    if (inter_is(a->collective, INTER_BIT(INTER_SCATTER) | INTER_BIT(INTER_SCATTERV)))
        return comm->rank == a->root;
    return inter_is(a->collective, INTER_ALLTOALLS) && !a->in_place;
}

static bool has_received_blocks(const weft_comm *comm, const hier_arguments *a) {
    if (inter_is(a->collective, INTER_BIT(INTER_GATHER) | INTER_BIT(INTER_GATHERV)))
        return comm->rank == a->root;
    return inter_is(a->collective, INTER_ALLGATHERS | INTER_ALLTOALLS);
}

/* That with counts, which takes blocks wherever they are. */
static enum inter_collective with_counts(enum inter_collective collective) {
    switch (collective) {
    case INTER_GATHER:
        return INTER_GATHERV;
    case INTER_SCATTER:
        return INTER_SCATTERV;
    case INTER_ALLGATHER:
        return INTER_ALLGATHERV;
    case INTER_ALLTOALL:
        return INTER_ALLTOALLV;
    default:
        return collective;
    }
}

int hier_order_map(const weft_comm *comm, hier_arguments *a, void *arrays[2]) {
    blocks sent = {0}, received = {0};
    bool equal = inter_is(a->collective, INTER_BIT(INTER_GATHER) | INTER_BIT(INTER_SCATTER) |
                                             INTER_BIT(INTER_ALLGATHER) | INTER_BIT(INTER_ALLTOALL));
    bool types = a->collective == INTER_ALLTOALLW, sends = has_sent_blocks(comm, a), room = true;
    bool receives = has_received_blocks(comm, a);
    if (sends) {
        given from = {.count = a->send_count};
        if (!equal)
            from = (given){0, a->send_counts, a->send_displs, types ? a->send_types : NULL};
        room = blocks_make(comm, &from, &sent);
    }
    if (receives) {
        given from = {.count = a->recv_count};
        if (!equal)
            from = (given){0, a->recv_counts, a->recv_displs, types ? a->recv_types : NULL};
        room &= blocks_make(comm, &from, &received);
    }
    if (!room) {
        free(sent.counts);
        free(received.counts);
        return no_memory(comm, a);
    }
    arrays[0] = sent.counts;
    arrays[1] = received.counts;
    a->send_counts = sent.counts;
    a->send_displs = sent.displs;
    a->send_types = sent.types;
    a->recv_counts = received.counts;
    a->recv_displs = received.displs;
    a->recv_types = received.types;
    a->collective = with_counts(a->collective);
    if (equal)
        a->own_bytes = a->bytes;
    map_root(comm, a);
    return WEFT_SUCCESS;
}

static int run_mapped(const weft_comm *comm, const hier_arguments *arguments) {
    hier_arguments mapped = *arguments;
    void *arrays[2] = {NULL, NULL};
    int code = hier_order_map(comm, &mapped, arrays);
    if (code)
        return code;
    code = run_inner(comm, &mapped);
    free(arrays[0]);
    free(arrays[1]);
    return code;
}

/*
 * Operands that must meet in the order of the ranks.
 */

/* Combines the first `operands` of those in memory, `count` elements each, one behind the other, which are lost, into `to`. */
static int fold(const weft_comm *comm, const hier_arguments *a, char *memory, int operands, size_t count, void *to) {
    size_t bytes = count * a->recv_type->size_bytes;
    int code = WEFT_SUCCESS;
    for (int rank = 1; rank < operands && !code; rank++)
        code = core_reduce(a->op, a->recv_type, memory, memory + (size_t)rank * bytes, memory, count);
    if (code)
        return no_memory(comm, a);
    if (operands)
        memcpy(to, memory, bytes);
    return WEFT_SUCCESS;
}

/* Those of a piece, in rank order, at the root or, in all but a reduce, everywhere. */
static int gather_piece(const weft_comm *comm, const hier_arguments *a, size_t at, size_t bytes, void *memory) {
    bool rooted = a->collective == INTER_REDUCE;
    hier_arguments piece = hier_arguments_of(rooted ? INTER_GATHER : INTER_ALLGATHER, a->call);
    piece.signature = a->signature; /* it stands for the user's call, in which the ranks must agree */
    piece.send = (const char *)a->send + at;
    piece.recv = memory;
    piece.send_type = piece.recv_type = WEFT_BYTE;
    piece.send_count = piece.recv_count = piece.bytes = bytes;
    piece.root = a->root;
    return run_mapped(comm, &piece);
}

/* How many operands a rank's result is made of. */
static int operands_of(const weft_comm *comm, const hier_arguments *a) {
    switch (a->collective) {
    case INTER_SCAN:
        return comm->rank + 1;
    case INTER_EXSCAN:
        return comm->rank;
    case INTER_REDUCE:
        return comm->rank == a->root ? comm->size : 0;
    default:
        return comm->size;
    }
}

static int reduce_in_order(const weft_comm *comm, const hier_arguments *a) {
    size_t size = a->recv_type->size_bytes, ranks = (size_t)comm->size, count = a->recv_count;
    size_t most = PIECE_BYTES / ranks / size + 1, room = count < most ? count : most;
    char *memory = malloc(room * size * ranks);
    if (!memory)
        return no_memory(comm, a);
    int code = WEFT_SUCCESS, operands = operands_of(comm, a);
    for (size_t done = 0; done < count && !code; done += room) {
        size_t elements = count - done < room ? count - done : room;
        code = gather_piece(comm, a, done * size, elements * size, memory);
        if (!code && operands)
            code = fold(comm, a, memory, operands, elements, (char *)a->recv + done * size);
    }
    free(memory);
    return code;
}

static size_t block_count(const hier_arguments *a, int rank) {
    return a->collective == INTER_REDUCE_SCATTER ? a->recv_counts[rank] : a->recv_count;
}

/* Every rank gets its block of all operands into `memory`. `counts`: room for 2 entries a rank, with as many displacements behind. */
static int exchange_blocks(const weft_comm *comm, const hier_arguments *a, size_t own, size_t *counts, char *memory) {
    size_t size = a->recv_type->size_bytes, ranks = (size_t)comm->size;
    ptrdiff_t *displs = (ptrdiff_t *)(counts + 2 * ranks), next = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        counts[rank] = block_count(a, (int)rank) * size;
        displs[rank] = next;
        next += (ptrdiff_t)counts[rank];
        counts[ranks + rank] = own;
        displs[ranks + rank] = (ptrdiff_t)(rank * own);
    }
    hier_arguments exchange = hier_arguments_of(INTER_ALLTOALLV, a->call);
    exchange.signature = a->signature;
    exchange.send = a->send;
    exchange.recv = memory;
    exchange.send_type = exchange.recv_type = WEFT_BYTE;
    exchange.send_counts = counts;
    exchange.send_displs = displs;
    exchange.recv_counts = counts + ranks;
    exchange.recv_displs = displs + ranks;
    return run_mapped(comm, &exchange);
}

static int reduce_scatter_in_order(const weft_comm *comm, const hier_arguments *a) {
    size_t ranks = (size_t)comm->size, count = block_count(a, comm->rank), own = count * a->recv_type->size_bytes;
    size_t *counts = malloc(2 * ranks * (sizeof(size_t) + sizeof(ptrdiff_t)));
    char *memory = malloc(own * ranks + 1);
    int code;
    if (counts && memory) {
        code = exchange_blocks(comm, a, own, counts, memory);
        if (!code && own)
            code = fold(comm, a, memory, comm->size, count, a->recv);
    } else {
        code = no_memory(comm, a);
    }
    free(counts);
    free(memory);
    return code;
}

/* The blocks of the operand, in the order of the ranks, copied into that of the places. */
static void order_blocks(const weft_comm *comm, const hier_arguments *a, size_t *begins, size_t *counts, char *to) {
    size_t size = a->recv_type->size_bytes, next = 0;
    for (int rank = 0; rank < comm->size; rank++) {
        begins[rank] = next;
        next += block_count(a, rank);
    }
    for (int place = 0; place < comm->size; place++) {
        int rank = hier_layout_rank(comm->layout, place);
        counts[place] = block_count(a, rank);
        memcpy(to, (const char *)a->send + begins[rank] * size, counts[place] * size);
        to += counts[place] * size;
    }
}

static int reduce_scatter(const weft_comm *comm, const hier_arguments *a) {
    size_t ranks = (size_t)comm->size;
    size_t *begins = malloc(2 * ranks * sizeof(*begins));
    char *operand = malloc(a->bytes);
    int code;
    if (begins && operand) {
        hier_arguments mapped = *a;
        mapped.send = operand;
        mapped.recv_counts = begins + ranks;
        order_blocks(comm, a, begins, begins + ranks, operand);
        code = run_inner(comm, &mapped);
    } else {
        code = no_memory(comm, a);
    }
    free(begins);
    free(operand);
    return code;
}

bool hier_order_is_one(const hier_arguments *arguments) {
    if (inter_is(arguments->collective, INTER_BIT(INTER_REDUCE) | INTER_BIT(INTER_ALLREDUCE)))
        return arguments->op->commutative;
    return !inter_is(arguments->collective, INTER_REDUCTIONS);
}

int hier_ordered(weft_comm *comm, const hier_arguments *arguments) {
    if (hier_order_is_one(arguments))
        return run_mapped(comm, arguments);
    if (!inter_is(arguments->collective, INTER_BIT(INTER_REDUCE_SCATTER) | INTER_BIT(INTER_REDUCE_SCATTER_BLOCK)))
        return reduce_in_order(comm, arguments);
    return arguments->op->commutative ? reduce_scatter(comm, arguments) : reduce_scatter_in_order(comm, arguments);
}
