// SPDX-License-Identifier: BSD-3-Clause
/* The public collectives: check, then the composition for thread ranks or the schedule for process ranks. */
#include <hier/thread.h>

static hier_collective *const thread_collectives[INTER_COLLECTIVES] = {
    [INTER_BARRIER] = hier_thread_barrier,     [INTER_BCAST] = hier_thread_bcast,
    [INTER_REDUCE] = hier_thread_reduce,       [INTER_ALLREDUCE] = hier_thread_allreduce,
    [INTER_GATHER] = hier_thread_gather,       [INTER_SCATTER] = hier_thread_scatter,
    [INTER_ALLGATHER] = hier_thread_allgather, [INTER_ALLTOALL] = hier_thread_alltoall,
    [INTER_ALLTOALLV] = hier_thread_alltoallv,
};

static int run(weft_comm *comm, hier_arguments *arguments) {
    int code = hier_check_comm(comm, arguments->call);
    if (!code)
        code = hier_check_arguments(comm, arguments);
    if (code)
        return code;
    if (!comm->team)
        return hier_process_collective(comm, arguments);
    /* Nothing to move: the ranks still meet, lest one that calls something else waits for ever. */
    bool empty = !arguments->bytes && arguments->collective != INTER_ALLTOALLV;
    return thread_collectives[empty ? INTER_BARRIER : arguments->collective](comm, arguments);
}

int weft_barrier(weft_comm *comm) {
    return run(comm, &(hier_arguments){.collective = INTER_BARRIER, .call = __func__});
}

int weft_bcast(void *buffer, size_t count, const weft_datatype *type, int root, weft_comm *comm) {
    return run(comm, &(hier_arguments){.collective = INTER_BCAST,
                                       .call = __func__,
                                       .recv = buffer,
                                       .recv_count = count,
                                       .recv_type = type,
                                       .root = root});
}

int weft_reduce(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op, int root,
                weft_comm *comm) {
    return run(comm, &(hier_arguments){.collective = INTER_REDUCE,
                                       .call = __func__,
                                       .send = send,
                                       .recv = recv,
                                       .recv_count = count,
                                       .recv_type = type,
                                       .op = op,
                                       .root = root});
}

int weft_allreduce(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                   weft_comm *comm) {
    return run(comm, &(hier_arguments){.collective = INTER_ALLREDUCE,
                                       .call = __func__,
                                       .send = send,
                                       .recv = recv,
                                       .recv_count = count,
                                       .recv_type = type,
                                       .op = op});
}

int weft_gather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv, size_t recv_count,
                const weft_datatype *recv_type, int root, weft_comm *comm) {
    return run(comm, &(hier_arguments){.collective = INTER_GATHER,
                                       .call = __func__,
                                       .send = send,
                                       .send_count = send_count,
                                       .send_type = send_type,
                                       .recv = recv,
                                       .recv_count = recv_count,
                                       .recv_type = recv_type,
                                       .root = root});
}

int weft_scatter(const void *send, size_t send_count, const weft_datatype *send_type, void *recv, size_t recv_count,
                 const weft_datatype *recv_type, int root, weft_comm *comm) {
    return run(comm, &(hier_arguments){.collective = INTER_SCATTER,
                                       .call = __func__,
                                       .send = send,
                                       .send_count = send_count,
                                       .send_type = send_type,
                                       .recv = recv,
                                       .recv_count = recv_count,
                                       .recv_type = recv_type,
                                       .root = root});
}

int weft_allgather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv, size_t recv_count,
                   const weft_datatype *recv_type, weft_comm *comm) {
    return run(comm, &(hier_arguments){.collective = INTER_ALLGATHER,
                                       .call = __func__,
                                       .send = send,
                                       .send_count = send_count,
                                       .send_type = send_type,
                                       .recv = recv,
                                       .recv_count = recv_count,
                                       .recv_type = recv_type});
}

int weft_alltoall(const void *send, size_t send_count, const weft_datatype *send_type, void *recv, size_t recv_count,
                  const weft_datatype *recv_type, weft_comm *comm) {
    return run(comm, &(hier_arguments){.collective = INTER_ALLTOALL,
                                       .call = __func__,
                                       .send = send,
                                       .send_count = send_count,
                                       .send_type = send_type,
                                       .recv = recv,
                                       .recv_count = recv_count,
                                       .recv_type = recv_type});
}

int weft_alltoallv(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                   const weft_datatype *send_type, void *recv, const size_t *recv_counts, const ptrdiff_t *recv_displs,
                   const weft_datatype *recv_type, weft_comm *comm) {
    return run(comm, &(hier_arguments){.collective = INTER_ALLTOALLV,
                                       .call = __func__,
                                       .send = send,
                                       .send_counts = send_counts,
                                       .send_displs = send_displs,
                                       .send_type = send_type,
                                       .recv = recv,
                                       .recv_counts = recv_counts,
                                       .recv_displs = recv_displs,
                                       .recv_type = recv_type});
}
