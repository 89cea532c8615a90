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
    if (!code && arguments->collective != INTER_BARRIER)
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
    hier_arguments arguments = hier_arguments_of(INTER_BARRIER, __func__);
    return run(comm, &arguments);
}

int weft_bcast(void *buffer, size_t count, const weft_datatype *type, int root, weft_comm *comm) {
    hier_arguments arguments = hier_arguments_of(INTER_BCAST, __func__);
    arguments.recv = buffer;
    arguments.recv_count = count;
    arguments.recv_type = type;
    arguments.root = root;
    return run(comm, &arguments);
}

int weft_reduce(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op, int root,
                weft_comm *comm) {
    hier_arguments arguments = hier_arguments_of(INTER_REDUCE, __func__);
    arguments.send = send;
    arguments.recv = recv;
    arguments.recv_count = count;
    arguments.recv_type = type;
    arguments.op = op;
    arguments.root = root;
    return run(comm, &arguments);
}

int weft_allreduce(const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                   weft_comm *comm) {
    hier_arguments arguments = hier_arguments_of(INTER_ALLREDUCE, __func__);
    arguments.send = send;
    arguments.recv = recv;
    arguments.recv_count = count;
    arguments.recv_type = type;
    arguments.op = op;
    return run(comm, &arguments);
}

int weft_gather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv, size_t recv_count,
                const weft_datatype *recv_type, int root, weft_comm *comm) {
    hier_arguments arguments = hier_arguments_of(INTER_GATHER, __func__);
    arguments.send = send;
    arguments.send_count = send_count;
    arguments.send_type = send_type;
    arguments.recv = recv;
    arguments.recv_count = recv_count;
    arguments.recv_type = recv_type;
    arguments.root = root;
    return run(comm, &arguments);
}

int weft_scatter(const void *send, size_t send_count, const weft_datatype *send_type, void *recv, size_t recv_count,
                 const weft_datatype *recv_type, int root, weft_comm *comm) {
    hier_arguments arguments = hier_arguments_of(INTER_SCATTER, __func__);
    arguments.send = send;
    arguments.send_count = send_count;
    arguments.send_type = send_type;
    arguments.recv = recv;
    arguments.recv_count = recv_count;
    arguments.recv_type = recv_type;
    arguments.root = root;
    return run(comm, &arguments);
}

int weft_allgather(const void *send, size_t send_count, const weft_datatype *send_type, void *recv, size_t recv_count,
                   const weft_datatype *recv_type, weft_comm *comm) {
    hier_arguments arguments = hier_arguments_of(INTER_ALLGATHER, __func__);
    arguments.send = send;
    arguments.send_count = send_count;
    arguments.send_type = send_type;
    arguments.recv = recv;
    arguments.recv_count = recv_count;
    arguments.recv_type = recv_type;
    return run(comm, &arguments);
}

int weft_alltoall(const void *send, size_t send_count, const weft_datatype *send_type, void *recv, size_t recv_count,
                  const weft_datatype *recv_type, weft_comm *comm) {
    hier_arguments arguments = hier_arguments_of(INTER_ALLTOALL, __func__);
    arguments.send = send;
    arguments.send_count = send_count;
    arguments.send_type = send_type;
    arguments.recv = recv;
    arguments.recv_count = recv_count;
    arguments.recv_type = recv_type;
    return run(comm, &arguments);
}

int weft_alltoallv(const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
                   const weft_datatype *send_type, void *recv, const size_t *recv_counts, const ptrdiff_t *recv_displs,
                   const weft_datatype *recv_type, weft_comm *comm) {
    hier_arguments arguments = hier_arguments_of(INTER_ALLTOALLV, __func__);
    arguments.send = send;
    arguments.send_counts = send_counts;
    arguments.send_displs = send_displs;
    arguments.send_type = send_type;
    arguments.recv = recv;
    arguments.recv_counts = recv_counts;
    arguments.recv_displs = recv_displs;
    arguments.recv_type = recv_type;
    return run(comm, &arguments);
}
