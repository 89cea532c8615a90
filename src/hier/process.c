// SPDX-License-Identifier: BSD-3-Clause
/* The collectives of a process communicator: the chosen schedule, bound to the user's buffers, run to its end. */
#include <core/error.h>
#include <hier/thread.h>
#include <stdlib.h>
#include <string.h>

static size_t lowest(const ptrdiff_t *displs, const size_t *counts, size_t ranks, ptrdiff_t *low) {
    size_t used = 0;
    *low = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        if (counts[rank] && (!used++ || displs[rank] < *low))
            *low = displs[rank];
    return used;
}

/* Counts and displacements in elements become counts and offsets in bytes from the lowest block; returns its address. */
static char *to_bytes(const void *buffer, const size_t *counts, const ptrdiff_t *displs, size_t size, size_t ranks,
                      size_t *counts_bytes, size_t *offsets_bytes) {
    ptrdiff_t low;
    lowest(displs, counts, ranks, &low);
    for (size_t rank = 0; rank < ranks; rank++) {
        counts_bytes[rank] = counts[rank] * size;
        offsets_bytes[rank] = counts[rank] ? (size_t)(displs[rank] - low) * size : 0;
    }
    return buffer ? (char *)(uintptr_t)buffer + low * (ptrdiff_t)size : NULL;
}

/* In place: what is sent must survive what arrives. Blocks are copied together in rank order. */
static char *copy_blocks(const char *recv, const size_t *counts, const size_t *offsets, size_t ranks, size_t *packed) {
    size_t total = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        packed[rank] = total;
        total += counts[rank];
    }
    char *copy = malloc(total ? total : 1);
    for (size_t rank = 0; copy && rank < ranks; rank++)
        if (counts[rank])
            memcpy(copy + packed[rank], recv + offsets[rank], counts[rank]);
    return copy;
}

static int alltoallv(weft_comm *comm, const hier_arguments *arguments, const inter_algorithm *algorithm) {
    size_t ranks = (size_t)comm->size;
    size_t *arrays = malloc(4 * ranks * sizeof(*arrays));
    if (!arrays)
        return core_error(WEFT_ERR_NOMEM, "rank %d: weft_alltoallv: no memory for %zu counts", comm->rank, ranks);
    size_t *send_counts = arrays, *send_offsets = arrays + ranks;
    size_t *recv_counts = arrays + 2 * ranks, *recv_offsets = arrays + 3 * ranks;
    inter_binding binding = {.element_bytes = 1};
    char *copy = NULL, *recv = to_bytes(arguments->recv, arguments->recv_counts, arguments->recv_displs,
                                        arguments->recv_type->size_bytes, ranks, recv_counts, recv_offsets);
    binding.recv = recv;
    int code = WEFT_SUCCESS;
    if (arguments->in_place) {
        memcpy(send_counts, recv_counts, ranks * sizeof(*send_counts));
        binding.send = copy = copy_blocks(recv, recv_counts, recv_offsets, ranks, send_offsets);
        if (!copy)
            code = core_error(WEFT_ERR_NOMEM, "rank %d: weft_alltoallv: no memory to work in place", comm->rank);
    } else {
        binding.send = to_bytes(arguments->send, arguments->send_counts, arguments->send_displs,
                                arguments->send_type->size_bytes, ranks, send_counts, send_offsets);
    }
    inter_view view = {.rank = comm->rank,
                       .size = comm->size,
                       .send_counts = send_counts,
                       .recv_counts = recv_counts,
                       .send_offsets = send_offsets,
                       .recv_offsets = recv_offsets};
    if (!code && send_counts[comm->rank] != recv_counts[comm->rank])
        code = core_error(WEFT_ERR_MISMATCH, "rank %d: weft_alltoallv: sends itself %zu bytes and expects %zu",
                          comm->rank, send_counts[comm->rank], recv_counts[comm->rank]);
    if (!code)
        code = hier_run(comm, algorithm, &view, &binding);
    free(copy);
    free(arrays);
    return code;
}

static int alltoall_in_place(weft_comm *comm, const hier_arguments *arguments, const inter_algorithm *algorithm,
                             const inter_view *view, inter_binding *binding) {
    size_t all = arguments->bytes * (size_t)comm->size;
    void *copy = malloc(all);
    if (!copy)
        return core_error(WEFT_ERR_NOMEM, "rank %d: weft_alltoall: no memory for %zu bytes in place", comm->rank, all);
    memcpy(copy, arguments->recv, all);
    binding->send = copy;
    int code = hier_run(comm, algorithm, view, binding);
    free(copy);
    return code;
}

int hier_process_collective(weft_comm *comm, const hier_arguments *arguments) {
    bool commutative = !arguments->op || arguments->op->commutative;
    const inter_algorithm *algorithm =
        hier_select(&comm->world->selector, arguments->collective, comm->size, arguments->bytes, commutative).process;
    inter_view view = {.rank = comm->rank, .size = comm->size, .root = arguments->root, .count = 1};
    inter_binding binding = {.send = arguments->send, .recv = arguments->recv, .element_bytes = arguments->bytes};
    switch (arguments->collective) {
    case INTER_ALLTOALLV:
        return alltoallv(comm, arguments, algorithm);
    case INTER_ALLTOALL:
        if (arguments->in_place && arguments->bytes)
            return alltoall_in_place(comm, arguments, algorithm, &view, &binding);
        break;
    case INTER_REDUCE:
    case INTER_ALLREDUCE:
        view.count = arguments->recv_count;
        binding.element_bytes = arguments->recv_type->size_bytes;
        binding.type = arguments->recv_type;
        binding.op = arguments->op;
        break;
    default: /* one element is one rank's contribution */
        break;
    }
    return hier_run(comm, algorithm, &view, &binding);
}
