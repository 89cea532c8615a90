// SPDX-License-Identifier: BSD-3-Clause
/* Handles, and what a communicator knows of its ranks. */
#include <core/error.h>
#include <hier/comm.h>

static core_pool comms = CORE_POOL_INITIALIZER;

weft_comm *hier_comm_take(void) {
    return core_pool_take(&comms, sizeof(weft_comm), HIER_COMM_MAGIC);
}

bool hier_comm_give(weft_comm *comm) {
    return core_pool_give(&comms, comm, HIER_COMM_MAGIC);
}

static int invalid(const char *call) {
    return core_error(WEFT_ERR_ARG, "%s: the communicator is NULL or was given back", call);
}

int weft_rank(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->rank : invalid(__func__);
}

int weft_size(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->size : invalid(__func__);
}

int weft_node(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->node : invalid(__func__);
}

int weft_thread(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->thread : invalid(__func__);
}

int weft_nodes(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->layout->nodes : invalid(__func__);
}

int weft_node_threads(const weft_comm *comm, int node) {
    if (!hier_comm_valid(comm))
        return invalid(__func__);
    if (node < 0 || node >= comm->layout->nodes)
        return core_error(WEFT_ERR_RANK, "rank %d: weft_node_threads: node is %d, expected 0 … %d", comm->rank, node,
                          comm->layout->nodes - 1);
    return hier_layout_threads(comm->layout, node);
}
