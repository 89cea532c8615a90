// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/arguments.h>

int hier_check_comm(const weft_comm *comm, const char *call) {
    if (!hier_comm_valid(comm))
        return core_error(WEFT_ERR_ARG, "%s: the communicator is NULL or was given back", call);
    if (comm->team) {
        if (!pthread_equal(comm->owner, pthread_self()))
            return core_error(WEFT_ERR_THREAD,
                              "rank %d: %s: this handle belongs to the thread that entered the team with it, another "
                              "one used it",
                              comm->rank, call);
    } else if (comm->world->config.thread_level == WEFT_THREAD_FUNNELED &&
               !pthread_equal(comm->world->init_thread, pthread_self())) {
        return core_error(
            WEFT_ERR_THREAD,
            "rank %d: %s: under FUNNELED only the thread that called weft_init uses a process communicator", comm->rank,
            call);
    }
    return WEFT_SUCCESS;
}

static int check_type(const weft_comm *comm, const char *call, const weft_datatype *type, const char *name) {
    if (core_datatype_valid(type))
        return WEFT_SUCCESS;
    return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is not a datatype", comm->rank, call, name);
}

static int check_bytes(const weft_comm *comm, const char *call, size_t count, const weft_datatype *type, int ranks,
                       size_t *bytes) {
    size_t all;
    if (__builtin_mul_overflow(count, type->size_bytes, bytes) || __builtin_mul_overflow(*bytes, (size_t)ranks, &all) ||
        all > PTRDIFF_MAX)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %zu elements of %s from %d ranks are more than memory can hold",
                          comm->rank, call, count, type->name, ranks);
    return WEFT_SUCCESS;
}

/* A buffer that is read or written: real memory when there is something in it. */
static int check_buffer(const weft_comm *comm, const char *call, const void *buffer, size_t bytes, const char *name) {
    if (bytes && (!buffer || buffer == WEFT_IN_PLACE))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is %s, expected a buffer of %zu bytes", comm->rank, call, name,
                          buffer ? "WEFT_IN_PLACE" : "NULL", bytes);
    return WEFT_SUCCESS;
}

static bool has_root(enum inter_collective collective) {
    return collective == INTER_BCAST || collective == INTER_REDUCE || collective == INTER_GATHER ||
           collective == INTER_SCATTER;
}

static int check_reduction(const weft_comm *comm, hier_arguments *arguments, bool here) {
    const weft_datatype *type = arguments->recv_type;
    int code = check_type(comm, arguments->call, type, "type");
    if (code)
        return code;
    if (!core_op_valid(arguments->op))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: op is not an operation, or was freed", comm->rank,
                          arguments->call);
    if (!core_op_defined(arguments->op, type))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is not defined for %s", comm->rank, arguments->call,
                          arguments->op->name, type->name);
    code = check_bytes(comm, arguments->call, arguments->recv_count, type, 1, &arguments->bytes);
    if (!code && here)
        code = check_buffer(comm, arguments->call, arguments->recv, arguments->bytes, "recv");
    if (!code && here && arguments->send == WEFT_IN_PLACE)
        arguments->send = arguments->recv;
    if (!code)
        code = check_buffer(comm, arguments->call, arguments->send, arguments->bytes, "send");
    return code;
}

static int check_bcast(const weft_comm *comm, hier_arguments *arguments) {
    int code = check_type(comm, arguments->call, arguments->recv_type, "type");
    if (!code)
        code = check_bytes(comm, arguments->call, arguments->recv_count, arguments->recv_type, 1, &arguments->bytes);
    if (!code)
        code = check_buffer(comm, arguments->call, arguments->recv, arguments->bytes, "buffer");
    return code;
}

/* One side of a collective of equal blocks: `ranks` blocks, whose size goes to *bytes. */
static int check_side(const weft_comm *comm, const char *call, const void *buffer, size_t count,
                      const weft_datatype *type, int ranks, bool send, size_t *bytes) {
    int code = check_type(comm, call, type, send ? "send_type" : "recv_type");
    if (!code)
        code = check_bytes(comm, call, count, type, ranks, bytes);
    if (!code)
        code = check_buffer(comm, call, buffer, *bytes, send ? "send" : "recv");
    return code;
}

static void *block_at(const void *base, int rank, size_t bytes) {
    return base ? (char *)(uintptr_t)base + (size_t)rank * bytes : NULL;
}

static int check_equal(const weft_comm *comm, const char *call, size_t send_bytes, size_t recv_bytes) {
    if (send_bytes == recv_bytes)
        return WEFT_SUCCESS;
    return core_error(WEFT_ERR_ARG, "rank %d: %s: a block of %zu bytes is sent where one of %zu is expected",
                      comm->rank, call, send_bytes, recv_bytes);
}

/* Gather, allgather, alltoall: the whole in recv; the own part (alltoall: as much) in send, or in place. */
static int check_gathering(const weft_comm *comm, hier_arguments *a, bool here, int send_ranks) {
    size_t send_bytes = 0;
    int code = WEFT_SUCCESS;
    if (here)
        code = check_side(comm, a->call, a->recv, a->recv_count, a->recv_type, comm->size, false, &a->bytes);
    if (code)
        return code;
    if (here && a->send == WEFT_IN_PLACE) {
        a->in_place = true;
        a->send = block_at(a->recv, comm->rank, a->bytes);
        return WEFT_SUCCESS;
    }
    code = check_side(comm, a->call, a->send, a->send_count, a->send_type, send_ranks, true, &send_bytes);
    if (code)
        return code;
    if (!here)
        a->bytes = send_bytes;
    return check_equal(comm, a->call, send_bytes, a->bytes);
}

static int check_scatter(const weft_comm *comm, hier_arguments *a, bool here) {
    size_t recv_bytes = 0;
    int code = WEFT_SUCCESS;
    if (here)
        code = check_side(comm, a->call, a->send, a->send_count, a->send_type, comm->size, true, &a->bytes);
    if (code)
        return code;
    if (here && a->recv == WEFT_IN_PLACE) {
        a->recv = block_at(a->send, comm->rank, a->bytes);
        return WEFT_SUCCESS;
    }
    code = check_side(comm, a->call, a->recv, a->recv_count, a->recv_type, 1, false, &recv_bytes);
    if (code)
        return code;
    if (!here)
        a->bytes = recv_bytes;
    return check_equal(comm, a->call, a->bytes, recv_bytes);
}

static int check_counts(const weft_comm *comm, const char *call, const void *buffer, const size_t *counts,
                        const ptrdiff_t *displs, const weft_datatype *type, bool send) {
    const char *side = send ? "send" : "recv";
    int code = check_type(comm, call, type, send ? "send_type" : "recv_type");
    if (code)
        return code;
    if (!counts || !displs)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s_%s is NULL, expected %d entries", comm->rank, call, side,
                          counts ? "displs" : "counts", comm->size);
    size_t total = 0, bytes;
    for (int rank = 0; rank < comm->size; rank++)
        if (__builtin_add_overflow(total, counts[rank], &total))
            return core_error(WEFT_ERR_ARG, "rank %d: %s: the %s_counts add up to more than a size_t", comm->rank, call,
                              side);
    code = check_bytes(comm, call, total, type, 1, &bytes);
    if (!code)
        code = check_buffer(comm, call, buffer, bytes, side);
    return code;
}

static int check_alltoallv(const weft_comm *comm, hier_arguments *a) {
    int code = check_counts(comm, a->call, a->recv, a->recv_counts, a->recv_displs, a->recv_type, false);
    if (code)
        return code;
    if (a->send == WEFT_IN_PLACE) {
        a->in_place = true;
        return WEFT_SUCCESS;
    }
    return check_counts(comm, a->call, a->send, a->send_counts, a->send_displs, a->send_type, true);
}

int hier_check_arguments(const weft_comm *comm, hier_arguments *arguments) {
    bool here = comm->rank == arguments->root; /* this rank has the whole */
    if (has_root(arguments->collective) && (arguments->root < 0 || arguments->root >= comm->size))
        return core_error(WEFT_ERR_RANK, "rank %d: %s: root is %d, expected 0 … %d", comm->rank, arguments->call,
                          arguments->root, comm->size - 1);
    switch (arguments->collective) {
    case INTER_BCAST:
        return check_bcast(comm, arguments);
    case INTER_REDUCE:
        return check_reduction(comm, arguments, here);
    case INTER_ALLREDUCE:
        return check_reduction(comm, arguments, true);
    case INTER_GATHER:
        return check_gathering(comm, arguments, here, 1);
    case INTER_SCATTER:
        return check_scatter(comm, arguments, here);
    case INTER_ALLGATHER:
        return check_gathering(comm, arguments, true, 1);
    case INTER_ALLTOALL:
        return check_gathering(comm, arguments, true, comm->size);
    case INTER_ALLTOALLV:
        return check_alltoallv(comm, arguments);
    case INTER_BARRIER:
    case INTER_COLLECTIVES:
        break;
    }
    return WEFT_SUCCESS;
}
