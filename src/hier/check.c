// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/ledger.h>
#include <hier/lending.h>
#include <hier/staging.h>
#include <stdio.h>

int hier_no_comm(const char *call) {
    return core_error(WEFT_ERR_ARG, "%s: the communicator is NULL or was given back, or weft_init was not called",
                      call);
}

int hier_check_comm(const weft_comm *comm, const char *call) {
    if (!hier_comm_valid(comm))
        return hier_no_comm(call);
    if (comm->team) {
        if (comm->owner != core_self())
            return core_error(WEFT_ERR_THREAD,
                              "rank %d: %s: this handle belongs to the thread that entered the team with it, another "
                              "one used it",
                              comm->rank, call);
        if (comm->lends)
            hier_reclaim(comm->agent);
    } else if (!hier_may_drive(comm->world)) {
        return core_error(
            WEFT_ERR_THREAD,
            "rank %d: %s: under FUNNELED only the thread that called weft_init uses a process communicator", comm->rank,
            call);
    } else if (comm->lends) {
        hier_reclaim_own(comm->world);
    }
    return WEFT_SUCCESS;
}

int hier_check_type(const weft_comm *comm, const char *call, const weft_datatype *type, const char *name) {
    if (!core_datatype_valid(type))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is not a datatype, or was freed", comm->rank, call, name);
    if (!core_datatype_committed(type))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is not committed (weft_type_commit)", comm->rank, call, name);
    return WEFT_SUCCESS;
}

static int check_type(const weft_comm *comm, hier_arguments *a, const weft_datatype *type, const char *name) {
    int code = hier_check_type(comm, a->call, type, name);
    if (!code) {
        a->strided |= !type->contiguous;
        a->derived |= type->kind == CORE_KIND_DERIVED;
    }
    return code;
}

int hier_check_bytes(const weft_comm *comm, const char *call, size_t count, const weft_datatype *type, int ranks,
                     size_t *bytes) {
    size_t all, elements;
    if (__builtin_mul_overflow(count, type->size_bytes, bytes) || __builtin_mul_overflow(*bytes, (size_t)ranks, &all) ||
        all > PTRDIFF_MAX || __builtin_mul_overflow(count, (size_t)ranks, &elements) ||
        !core_datatype_has_room(type, elements))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %zu elements of %s from %d ranks are more than memory can hold",
                          comm->rank, call, count, type->name, ranks);
    return WEFT_SUCCESS;
}

/* Whatever the bytes: who may have its part in place has been asked before. */
static int check_not_in_place(const weft_comm *comm, const char *call, const void *buffer, const char *name) {
    if (buffer == WEFT_IN_PLACE)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is WEFT_IN_PLACE, expected a buffer", comm->rank, call, name);
    return WEFT_SUCCESS;
}

int hier_check_buffer(const weft_comm *comm, const char *call, const void *buffer, size_t bytes, bool absolute,
                      const char *name) {
    if (bytes && !buffer && !absolute)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is NULL, expected a buffer of %zu bytes", comm->rank, call,
                          name, bytes);
    return check_not_in_place(comm, call, buffer, name);
}

static int check_reduction(const weft_comm *comm, hier_arguments *arguments, bool here) {
    const weft_datatype *type = arguments->recv_type;
    int code = check_type(comm, arguments, type, "type");
    if (code)
        return code;
    arguments->strided |= type->kind == CORE_KIND_DERIVED;
    if (!core_op_valid(arguments->op))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: op is not an operation, or was freed", comm->rank,
                          arguments->call);
    if (!core_op_defined(arguments->op, type))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is not defined for %s", comm->rank, arguments->call,
                          arguments->op->name, type->kind == CORE_KIND_DERIVED ? "a derived type" : type->name);
    code = hier_check_bytes(comm, arguments->call, arguments->recv_count, type, 1, &arguments->bytes);
    if (!code && here)
        code = hier_check_buffer(comm, arguments->call, arguments->recv, arguments->bytes,
                                 core_datatype_has_addresses(type), "recv");
    if (!code && here && arguments->send == WEFT_IN_PLACE)
        arguments->send = arguments->recv;
    if (!code)
        code = hier_check_buffer(comm, arguments->call, arguments->send, arguments->bytes,
                                 core_datatype_has_addresses(type), "send");
    return code;
}

/* Odd, and of many bits. */
#define SPREAD 0xbf58476d1ce4e5b9u

/* What all ranks have to agree on beside the bytes. */
static void set_content(hier_arguments *a, const weft_datatype *type, size_t count) {
    a->content = core_datatype_hash(type, count);
    a->element = core_datatype_element(type);
}

static int check_bcast(const weft_comm *comm, hier_arguments *arguments) {
    int code = check_type(comm, arguments, arguments->recv_type, "type");
    if (!code)
        code =
            hier_check_bytes(comm, arguments->call, arguments->recv_count, arguments->recv_type, 1, &arguments->bytes);
    if (!code)
        code = hier_check_buffer(comm, arguments->call, arguments->recv, arguments->bytes,
                                 core_datatype_has_addresses(arguments->recv_type), "buffer");
    if (!code)
        set_content(arguments, arguments->recv_type, arguments->recv_count);
    return code;
}

/* One side of a collective of equal blocks: `ranks` blocks, whose size goes to *bytes. */
static int check_side(const weft_comm *comm, hier_arguments *a, const void *buffer, size_t count,
                      const weft_datatype *type, int ranks, bool send, size_t *bytes) {
    const char *name = send ? "send" : "recv";
    int code = check_not_in_place(comm, a->call, buffer, name); /* the count and type beside it may be anything */
    if (!code)
        code = check_type(comm, a, type, send ? "send_type" : "recv_type");
    if (!code)
        code = hier_check_bytes(comm, a->call, count, type, ranks, bytes);
    if (!code)
        code = hier_check_buffer(comm, a->call, buffer, *bytes, core_datatype_has_addresses(type), name);
    return code;
}

static void *block_at(const void *base, int rank, size_t bytes) {
    return base ? (char *)(uintptr_t)base + (size_t)rank * bytes : NULL;
}

/* A block that a rank sends itself. */
typedef struct block {
    size_t bytes, count;
    const weft_datatype *type;
} block;

static const char *name_of(const weft_datatype *type) {
    const char *name = core_datatype_element(type);
    return name ? name : type->name;
}

static int unequal(const weft_comm *comm, const char *call, block sent, block received) {
    return core_error(WEFT_ERR_ARG,
                      "rank %d: %s: a block of %zu bytes of %s is sent where one of %zu of %s is expected", comm->rank,
                      call, sent.bytes, name_of(sent.type), received.bytes, name_of(received.type));
}

static inline int check_equal(const weft_comm *comm, const char *call, block sent, block received) {
    bool equal = sent.bytes == received.bytes &&
                 (sent.type == received.type ||
                  core_datatype_hash(sent.type, sent.count) == core_datatype_hash(received.type, received.count));
    return equal ? WEFT_SUCCESS : unequal(comm, call, sent, received);
}

/* Gather, allgather, alltoall: the whole in recv; the own part (alltoall: as much) in send, or in place. */
static int check_gathering(const weft_comm *comm, hier_arguments *a, bool here, int send_ranks) {
    size_t send_bytes = 0;
    int code = WEFT_SUCCESS;
    if (here)
        code = check_side(comm, a, a->recv, a->recv_count, a->recv_type, comm->size, false, &a->bytes);
    if (code)
        return code;
    if (here)
        set_content(a, a->recv_type, a->recv_count);
    if (here && a->send == WEFT_IN_PLACE) {
        a->in_place = true;
        a->send = block_at(a->recv, comm->rank, a->bytes);
        return WEFT_SUCCESS;
    }
    code = check_side(comm, a, a->send, a->send_count, a->send_type, send_ranks, true, &send_bytes);
    if (code)
        return code;
    if (here)
        return check_equal(comm, a->call, (block){send_bytes, a->send_count, a->send_type},
                           (block){a->bytes, a->recv_count, a->recv_type});
    a->bytes = send_bytes;
    set_content(a, a->send_type, a->send_count);
    return WEFT_SUCCESS;
}

static int check_scatter(const weft_comm *comm, hier_arguments *a, bool here) {
    size_t recv_bytes = 0;
    int code = WEFT_SUCCESS;
    if (here)
        code = check_side(comm, a, a->send, a->send_count, a->send_type, comm->size, true, &a->bytes);
    if (code)
        return code;
    if (here)
        set_content(a, a->send_type, a->send_count);
    if (here && a->recv == WEFT_IN_PLACE) {
        a->in_place = true;
        a->recv = block_at(a->send, comm->rank, a->bytes);
        return WEFT_SUCCESS;
    }
    code = check_side(comm, a, a->recv, a->recv_count, a->recv_type, 1, false, &recv_bytes);
    if (code)
        return code;
    if (here)
        return check_equal(comm, a->call, (block){a->bytes, a->send_count, a->send_type},
                           (block){recv_bytes, a->recv_count, a->recv_type});
    a->bytes = recv_bytes;
    set_content(a, a->recv_type, a->recv_count);
    return WEFT_SUCCESS;
}

/* A displacement in bytes, of a block that is not empty: so that differences of two are none that overflow. */
static int check_displ(const weft_comm *comm, const char *call, ptrdiff_t displ, ptrdiff_t extent, const char *side,
                       int rank) {
    ptrdiff_t bytes;
    if (!__builtin_mul_overflow(displ, extent, &bytes) && bytes <= PTRDIFF_MAX / 4 && bytes >= -(PTRDIFF_MAX / 4))
        return WEFT_SUCCESS;
    return core_error(WEFT_ERR_ARG, "rank %d: %s: %s_displs[%d] is %td times %td bytes, more than memory can hold",
                      comm->rank, call, side, rank, displ, extent);
}

/* The blocks of one side. */
typedef struct side {
    bool sends;
    const size_t *counts;
    const ptrdiff_t *displs;
    const weft_datatype *type;         /* of all blocks … */
    const weft_datatype *const *types; /* … or of each */
    size_t bytes;                      /* of all of them … */
    bool absolute;                     /* … some of which are addresses */
} side;

/* Of counts, ranks, and the bytes of an element: the product is less than 2^63. */
#define SMALL_BITS  31
#define SMALL_RANKS (1 << 20)
#define SMALL_TYPE  (1 << 12)

/* Most counts are so small that it takes no look at each to know that nothing overflows. */
static inline bool check_small(const weft_comm *comm, side *of) {
    size_t counts = 0, displs = 0, sum = 0;
    for (int rank = 0; rank < comm->size; rank++) {
        counts |= of->counts[rank];
        displs |= (size_t)(of->displs[rank] < 0 ? ~of->displs[rank] : of->displs[rank]);
        sum += of->counts[rank];
    }
    if ((counts | displs) >> SMALL_BITS || comm->size > SMALL_RANKS || of->type->size_bytes >= SMALL_TYPE ||
        !of->type->contiguous)
        return false;
    of->bytes = sum * of->type->size_bytes;
    return true;
}

static int check_type_of(const weft_comm *comm, hier_arguments *a, const side *of, int rank) {
    int code = check_type(comm, a, of->types[rank], "");
    if (code) { /* the sentence anew, with a name */
        char name[32];
        snprintf(name, sizeof(name), "%s_types[%d]", of->sends ? "send" : "recv", rank);
        code = check_type(comm, a, of->types[rank], name);
    }
    return code;
}

static int check_each(const weft_comm *comm, hier_arguments *a, side *of) {
    const char *name = of->sends ? "send" : "recv";
    for (int rank = 0; rank < comm->size; rank++) {
        size_t bytes;
        const weft_datatype *type = of->types ? of->types[rank] : of->type;
        int code = of->types ? check_type_of(comm, a, of, rank) : WEFT_SUCCESS;
        if (!code)
            code = hier_check_bytes(comm, a->call, of->counts[rank], type, 1, &bytes);
        if (!code && bytes)
            code = check_displ(comm, a->call, of->displs[rank], of->types ? 1 : type->extent, name, rank);
        if (code)
            return code;
        if (__builtin_add_overflow(of->bytes, bytes, &of->bytes) || of->bytes > PTRDIFF_MAX)
            return core_error(WEFT_ERR_ARG, "rank %d: %s: the blocks of the %s_counts are more than memory can hold",
                              comm->rank, a->call, name);
        of->absolute |= core_datatype_has_addresses(type);
    }
    return WEFT_SUCCESS;
}

static side side_of(const hier_arguments *a, bool sends) {
    bool many = a->collective == INTER_ALLTOALLW;
    return (side){.sends = sends,
                  .counts = sends ? a->send_counts : a->recv_counts,
                  .displs = sends ? a->send_displs : a->recv_displs,
                  .type = many    ? NULL
                          : sends ? a->send_type
                                  : a->recv_type,
                  .types = !many   ? NULL
                           : sends ? a->send_types
                                   : a->recv_types};
}

/* One side's counts and displacements. */
static int check_counts(const weft_comm *comm, hier_arguments *a, bool sends, size_t *total_bytes) {
    side of = side_of(a, sends);
    const char *name = sends ? "send" : "recv";
    bool many = a->collective == INTER_ALLTOALLW;
    if (!of.counts || !of.displs || (many && !of.types))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s_%s is NULL, expected %d entries", comm->rank, a->call, name,
                          !of.counts   ? "counts"
                          : !of.displs ? "displs"
                                       : "types",
                          comm->size);
    int code = many ? WEFT_SUCCESS : check_type(comm, a, of.type, sends ? "send_type" : "recv_type");
    if (!code && (many || !check_small(comm, &of)))
        code = check_each(comm, a, &of);
    *total_bytes = of.bytes;
    return code ? code : hier_check_buffer(comm, a->call, sends ? a->send : a->recv, of.bytes, of.absolute, name);
}

/* The block that the rank sends itself, or expects from itself. */
static block own_block(const weft_comm *comm, const hier_arguments *a, bool sends) {
    const size_t count = (sends ? a->send_counts : a->recv_counts)[comm->rank];
    const weft_datatype *type = sends ? a->send_type : a->recv_type;
    if (a->collective == INTER_ALLTOALLW)
        type = (sends ? a->send_types : a->recv_types)[comm->rank];
    return (block){count * type->size_bytes, count, type};
}

static int check_alltoallv(const weft_comm *comm, hier_arguments *a) {
    size_t total;
    int code = check_counts(comm, a, false, &total);
    if (code)
        return code;
    if (a->send == WEFT_IN_PLACE) {
        a->in_place = true;
        return WEFT_SUCCESS;
    }
    code = check_counts(comm, a, true, &total);
    return code ? code : check_equal(comm, a->call, own_block(comm, a, true), own_block(comm, a, false));
}

/* Gatherv, allgatherv, scatterv: the whole (here: this rank has it) and the own block, which may be in place. */
static int check_blocks(const weft_comm *comm, hier_arguments *a, bool here) {
    bool scatters = a->collective == INTER_SCATTERV;
    const void *own = scatters ? a->recv : a->send;
    const weft_datatype *type = scatters ? a->send_type : a->recv_type;
    block expected = {0, 0, type};
    size_t total = 0;
    int code = here ? check_counts(comm, a, scatters, &total) : WEFT_SUCCESS;
    if (code)
        return code;
    if (here) {
        expected.count = (scatters ? a->send_counts : a->recv_counts)[comm->rank];
        expected.bytes = expected.count * type->size_bytes;
    }
    if (a->collective == INTER_ALLGATHERV) { /* all ranks know all blocks */
        a->bytes = total / (size_t)comm->size;
        a->element = core_datatype_element(type);
        for (int rank = 0; rank < comm->size; rank++)
            a->counted = hier_chain(a->counted, a->recv_counts[rank] * type->size_bytes +
                                                    core_datatype_hash(type, a->recv_counts[rank]) * SPREAD);
    }
    if (here && own == WEFT_IN_PLACE) {
        ptrdiff_t displ = (scatters ? a->send_displs : a->recv_displs)[comm->rank];
        char *whole = scatters ? (char *)(uintptr_t)a->send : a->recv;
        char *place = expected.bytes && type->contiguous ? whole + displ * (ptrdiff_t)type->size_bytes : NULL;
        a->in_place = true;
        a->own_bytes = expected.bytes;
        if (scatters)
            a->recv = place;
        else
            a->send = place;
        return WEFT_SUCCESS;
    }
    block mine = {0, scatters ? a->recv_count : a->send_count, scatters ? a->recv_type : a->send_type};
    code = check_side(comm, a, own, mine.count, mine.type, 1, !scatters, &mine.bytes);
    a->own_bytes = mine.bytes;
    if (code || !here)
        return code;
    return scatters ? check_equal(comm, a->call, expected, mine) : check_equal(comm, a->call, mine, expected);
}

/* The operand is all blocks together. */
static int check_reduce_scatter(const weft_comm *comm, hier_arguments *a) {
    size_t total = 0;
    bool equal = a->collective == INTER_REDUCE_SCATTER_BLOCK;
    if (!equal && !a->recv_counts)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: recv_counts is NULL, expected %d entries", comm->rank, a->call,
                          comm->size);
    bool too_many = equal && __builtin_mul_overflow(a->recv_count, (size_t)comm->size, &total);
    for (int rank = 0; !equal && rank < comm->size; rank++) {
        too_many |= __builtin_add_overflow(total, a->recv_counts[rank], &total);
        a->counted = hier_chain(a->counted, a->recv_counts[rank]);
    }
    if (too_many)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: all blocks together have more elements than a size_t can count",
                          comm->rank, a->call);
    size_t own = equal ? a->recv_count : a->recv_counts[comm->rank];
    bool in_place = a->send == WEFT_IN_PLACE;
    a->recv_count = total;
    int code = check_reduction(comm, a, in_place);
    if (!code && !in_place)
        code = hier_check_buffer(comm, a->call, a->recv, own * a->recv_type->size_bytes,
                                 core_datatype_has_addresses(a->recv_type), "recv");
    if (equal)
        a->recv_count = own;
    return code;
}

/* Ranks may use different types for the same data, except in reductions. */
static void sign(hier_arguments *a) {
    uint64_t op = 0, type = 0, bracketed = a->bracketed;
    if (a->op) { /* one that does not commute is done by other algorithms */
        op = ((uint64_t)a->op->kind + 1) * 2 + a->op->commutative;
        type = (uint64_t)a->recv_type->kind + 1;
        set_content(a, a->recv_type, 1);
        if (a->recv_type->kind == CORE_KIND_DERIVED)
            a->counted = hier_chain(a->counted, hier_hash_of_elements(a->recv_type));
    }
    uint64_t what =
        (uint64_t)(uint32_t)a->root << 32 | bracketed << 31 | op << 16 | type << 8 | ((uint64_t)a->collective + 1);
    a->signature = (a->bytes + 1) * 0x9e3779b97f4a7c15u ^ what * 0xd6e8feb86659fd93u ^ a->content * SPREAD ^ a->counted;
}

int hier_sides_with_arrays(const weft_comm *comm, const hier_arguments *arguments) {
    const bool root = comm->rank == arguments->root;
    switch (arguments->collective) {
    case INTER_GATHERV:
        return root ? HIER_RECEIVES : 0;
    case INTER_SCATTERV:
        return root ? HIER_SENDS : 0;
    case INTER_ALLGATHERV:
    case INTER_REDUCE_SCATTER:
        return HIER_RECEIVES;
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW:
        return arguments->in_place ? HIER_RECEIVES : HIER_SENDS | HIER_RECEIVES;
    default:
        return 0;
    }
}

/* `here`: this rank has the whole. */
static int check_rest(const weft_comm *comm, hier_arguments *arguments, bool here) {
    switch (arguments->collective) {
    case INTER_BCAST:
        return check_bcast(comm, arguments);
    case INTER_REDUCE:
        return check_reduction(comm, arguments, here);
    case INTER_ALLREDUCE:
    case INTER_SCAN:
        return check_reduction(comm, arguments, true);
    case INTER_EXSCAN: /* rank 0 receives nothing */
        return check_reduction(comm, arguments, comm->rank || arguments->send == WEFT_IN_PLACE);
    case INTER_GATHER:
        return check_gathering(comm, arguments, here, 1);
    case INTER_SCATTER:
        return check_scatter(comm, arguments, here);
    case INTER_ALLGATHER:
        return check_gathering(comm, arguments, true, 1);
    case INTER_ALLTOALL:
        return check_gathering(comm, arguments, true, comm->size);
    case INTER_GATHERV:
    case INTER_SCATTERV:
        return check_blocks(comm, arguments, here);
    case INTER_ALLGATHERV:
        return check_blocks(comm, arguments, true);
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW:
        return check_alltoallv(comm, arguments);
    case INTER_REDUCE_SCATTER:
    case INTER_REDUCE_SCATTER_BLOCK:
        return check_reduce_scatter(comm, arguments);
    case INTER_BARRIER:
    case INTER_COLLECTIVES:
        break;
    }
    return WEFT_SUCCESS;
}

int hier_check_arguments(const weft_comm *comm, hier_arguments *arguments) {
    bool here = comm->rank == arguments->root;
    if (arguments->collective == INTER_BARRIER) /* it is signed already */
        return WEFT_SUCCESS;
    if (inter_is(arguments->collective, INTER_ROOTED) && (arguments->root < 0 || arguments->root >= comm->size))
        return core_error(WEFT_ERR_RANK, "rank %d: %s: root is %d, expected 0 … %d", comm->rank, arguments->call,
                          arguments->root, comm->size - 1);
    int code = check_rest(comm, arguments, here);
    if (code)
        return code;
    if (arguments->op && comm->world->config.reproducible)
        arguments->bracketed = core_op_depends_on_brackets(arguments->op, arguments->recv_type);
    sign(arguments);
    return WEFT_SUCCESS;
}
