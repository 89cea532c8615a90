// SPDX-License-Identifier: BSD-3-Clause
#include <hier/network.h>
#include <hier/sides.h>
#include <hier/thread.h>

bool hier_gathers(enum inter_collective collective) {
    return inter_is(collective, INTER_GATHERS | INTER_ALLGATHERS);
}

bool hier_scatters(enum inter_collective collective) {
    return inter_is(collective, INTER_SCATTERS);
}

hier_side hier_side_sent(const weft_comm *comm, const hier_arguments *a) {
    hier_side made = {.buffer = a->send};
    bool scatters = hier_scatters(a->collective);
    if (a->collective == INTER_BCAST || (scatters ? comm->rank != a->root : a->in_place))
        return made;
    made.blocks = hier_gathers(a->collective) ? 1 : (size_t)comm->size;
    if (a->collective == INTER_ALLTOALLW)
        made.types = a->send_types;
    else
        made.type = a->send_type;
    if (inter_is(a->collective, INTER_BIT(INTER_SCATTERV) | INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW))) {
        made.counts = a->send_counts;
        made.displs = a->send_displs;
    } else {
        made.count = a->send_count;
    }
    return made;
}

hier_side hier_side_received(const weft_comm *comm, const hier_arguments *a) {
    hier_side made = {.buffer = a->recv};
    bool scatters = hier_scatters(a->collective);
    if ((scatters && a->in_place) || (inter_is(a->collective, INTER_GATHERS) && comm->rank != a->root))
        return made;
    made.blocks = scatters || a->collective == INTER_BCAST ? 1 : (size_t)comm->size;
    if (a->collective == INTER_ALLTOALLW)
        made.types = a->recv_types;
    else
        made.type = a->recv_type;
    if (inter_is(a->collective, INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_ALLGATHERV) | INTER_BIT(INTER_ALLTOALLV) |
                                    INTER_BIT(INTER_ALLTOALLW))) {
        made.counts = a->recv_counts;
        made.displs = a->recv_displs;
    } else {
        made.count = a->recv_count;
    }
    return made;
}

size_t hier_side_bytes(const hier_side *side) {
    size_t bytes = 0;
    if (!side->counts)
        return side->blocks ? side->blocks * core_data_bytes(hier_side_block(side, 0)) : 0;
    for (size_t i = 0; i < side->blocks; i++)
        bytes += core_data_bytes(hier_side_block(side, i));
    return bytes;
}

size_t hier_bytes_moved(const weft_comm *comm, const hier_arguments *a) {
    const hier_side out = hier_side_sent(comm, a), in = hier_side_received(comm, a);
    const size_t half = hier_side_bytes(&out) / 2 + hier_side_bytes(&in) / 2; /* each fits a size_t */
    return comm->layout->crowded ? 2 * half : half;
}

/* The thread whose buffers the network works in; of those without a root, which is 0, the leader. */
static bool is_host(const weft_comm *comm, const hier_arguments *a) {
    const hier_layout *layout = comm->layout;
    int root_node = hier_layout_node(layout, a->root);
    return comm->thread == (comm->node == root_node ? a->root - (int)layout->offsets[root_node] : 0);
}

/* What is in place is the own block of the other side. An alltoall's is copied before it is shown. */
static void resolve_in_place(const weft_comm *comm, hier_arguments *a) {
    if (inter_is(a->collective, INTER_ALLTOALLS)) {
        a->send_type = WEFT_BYTE;
        a->send_count = a->bytes;
        return;
    }
    bool scatters = hier_scatters(a->collective);
    hier_side whole = scatters ? hier_side_sent(comm, a) : hier_side_received(comm, a);
    core_data own = hier_side_block(&whole, (size_t)comm->rank);
    if (scatters) {
        a->recv = own.buffer;
        a->recv_type = own.type;
        a->recv_count = own.count;
    } else {
        a->send = own.buffer;
        a->send_type = own.type;
        a->send_count = own.count;
    }
}

/*
 * Is this rank's data in the hands of the network, not of threads? What the root of a scatterv has is read as one run. Gather and
 * scatter pack and unpack themselves what goes by the network.
 */
static bool is_carried(const weft_comm *comm, const hier_arguments *a, enum hier_thread_algorithm by) {
    const unsigned themselves = INTER_BIT(INTER_SCATTER) | INTER_BIT(INTER_GATHER);
    if (comm->layout->nodes == 1 || inter_is(a->collective, INTER_ALLTOALLS | themselves) || !is_host(comm, a))
        return false;
    return by != HIER_DIRECT || (hier_scatters(a->collective) && comm->rank == a->root);
}

bool hier_lay_out(weft_comm *comm, hier_arguments *a) {
    if (inter_is(a->collective, INTER_REDUCTIONS) || comm->inner ||
        hier_thread_collective(comm, a) == hier_thread_alone)
        return false;
    /* Its type has addresses; shown, that would say that there is no memory. */
    bool nowhere = inter_is(a->collective, INTER_ALLTOALLS) && !a->send;
    const hier_choice choice = hier_choose(comm, a); /* which the call will have, too */
    if (nowhere || choice.thread == HIER_INLINE || is_carried(comm, a, choice.thread))
        return false;
    a->moved = hier_bytes_moved(comm, a);
    if (a->in_place)
        resolve_in_place(comm, a);
    a->laid_out = true;
    return true;
}

typedef void type_function(const weft_datatype *type);

static void for_types(const weft_comm *comm, const hier_arguments *a, type_function *call) {
    if (inter_is(a->collective, INTER_REDUCTIONS)) {
        call(a->recv_type);
        return;
    }
    hier_side sides[] = {hier_side_sent(comm, a), hier_side_received(comm, a)};
    for (int i = 0; i < 2; i++) {
        size_t types = sides[i].types ? sides[i].blocks : sides[i].type != NULL; /* a side of no blocks has neither */
        for (size_t block = 0; block < types; block++)
            call(sides[i].types ? sides[i].types[block] : sides[i].type);
    }
}

void hier_types_retain(const weft_comm *comm, const hier_arguments *arguments) {
    for_types(comm, arguments, core_datatype_retain);
}

void hier_types_release(const weft_comm *comm, const hier_arguments *arguments) {
    for_types(comm, arguments, core_datatype_release);
}
