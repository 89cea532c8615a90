// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/direct.h>
#include <string.h>

/* What lies in no run at the receiver is read by as much, and unpacked from there. */
#define BOUNCE_BYTES ((size_t)32 << 10)

/* The second segment has as many words as the first, and says nothing but that it comes. */
enum { SEGMENTS = 2 };

/* In the host's memory: what goes to each other node, then what comes, node by node. */
static uint64_t *outgoing(const hier_call *call) {
    return intra_offer_of(&call->meeting, hier_host_thread(call))->shared;
}

static uint64_t *incoming(const hier_call *call) {
    return outgoing(call) + SEGMENTS * (size_t)hier_threads(call);
}

/* The threads whose data others may read: all, or the root alone. */
static intra_slice readable(const hier_call *call) {
    if (!inter_is(call->arguments->collective, INTER_ROOTED))
        return (intra_slice){0, (size_t)hier_threads(call)};
    return (intra_slice){(size_t)call->root_thread, hier_on_root_node(call)};
}

static int start(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    size_t nodes = (size_t)layout->nodes, threads = (size_t)hier_threads(call);
    uint64_t *words = outgoing(call);
    size_t *counts = hier_more_scratch(call, HIER_ARRAYS, 4 * nodes * sizeof(*counts));
    if (!words || !counts)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for %zu nodes", call->comm->rank,
                          call->arguments->call, nodes);
    size_t *send_counts = counts, *send_offsets = counts + nodes;
    size_t *recv_counts = send_offsets + nodes, *recv_offsets = recv_counts + nodes;
    intra_slice shown = readable(call);
    memset(words, 0, SEGMENTS * threads * sizeof(*words));
    for (size_t thread = shown.begin; thread < shown.begin + shown.count; thread++)
        words[thread] = (uintptr_t)intra_offer_of(&call->meeting, (int)thread)->send;
    for (int node = 0; node < layout->nodes; node++) {
        bool other = node != call->comm->node;
        send_counts[node] = other ? SEGMENTS * threads : 0;
        recv_counts[node] = other ? SEGMENTS * (size_t)hier_layout_threads(layout, node) : 0;
        send_offsets[node] = 0; /* the same to all */
        recv_offsets[node] = SEGMENTS * layout->offsets[node];
        if (other) /* what is read there, as if it were sent */
            hier_count_sent(call, node,
                            shown.count * (size_t)hier_layout_threads(layout, node) * call->arguments->bytes);
    }
    inter_view view = {.collective = INTER_ALLTOALLV,
                       .rank = call->comm->node,
                       .size = layout->nodes,
                       .element_bytes = sizeof(*words),
                       .cuts = SEGMENTS,
                       .send_counts = send_counts,
                       .recv_counts = recv_counts,
                       .send_offsets = send_offsets,
                       .recv_offsets = recv_offsets};
    inter_binding binding = {.send = words, .recv = incoming(call)};
    return hier_start_uncounted(call, &view, &binding);
}

void hier_direct_offer(hier_call *call, const void *send) {
    const weft_comm *comm = call->comm;
    size_t words = SEGMENTS * ((size_t)hier_threads(call) + (size_t)comm->size);
    if (!inter_is(INTER_ALLTOALLV, call->choice.process->collectives))
        call->choice.process =
            hier_select_unfixed(&comm->world->selector, hier_key_without_bytes(INTER_ALLTOALLV, comm->layout)).process;
    INTRA_SHOW(&call->meeting, send, send);
    INTRA_SHOW(&call->meeting, laid_out, NULL);
    if (comm->thread == hier_host_thread(call))
        INTRA_SHOW(&call->meeting, shared, hier_scratch(call, words * sizeof(uint64_t)));
    bool rooted = inter_is(call->arguments->collective, INTER_ROOTED);
    hier_network(call, rooted ? hier_host_thread(call) : HIER_NEED_ALL, HIER_OFFERED, start);
    hier_cut_in_turn(call, SEGMENTS);
    hier_gate(call, HIER_OFFERED);
    intra_post(&call->meeting, HIER_OFFERED);
}

static void fail(hier_call *call, int code, int process) {
    if (!call->error)
        call->error = core_error(code, "rank %d: %s: the data in the memory of process %d cannot be read: %s",
                                 call->comm->rank, call->arguments->call, process, weft_strerror(code));
}

static inter_run run_at(uint64_t address, size_t bytes) {
    return (inter_run){(void *)(uintptr_t)address, bytes}; /* NOLINT(performance-no-int-to-ptr) */
}

uint64_t hier_direct_address(const hier_call *call, int node, int thread) {
    return incoming(call)[SEGMENTS * call->comm->layout->offsets[node] + (size_t)thread];
}

void hier_reads_begin(hier_call *call, hier_reads *reads, int node, size_t most) {
    reads->process = hier_layout_process(call->comm->layout, node);
    reads->count = 0;
    reads->from =
        hier_more_scratch(call, HIER_ARRAYS, 2 * most * sizeof(*reads->from)); /* the network part has started */
    reads->to = reads->from + (reads->from ? most : 0);
    if (!reads->from)
        fail(call, WEFT_ERR_NOMEM, reads->process);
}

/* What lies in no run. */
static int read_apart(hier_call *call, int process, uint64_t address, core_data to) {
    const inter_transport *transport = call->comm->world->channel.transport;
    const size_t bytes = core_data_bytes(to);
    char *bounce = hier_more_scratch(call, HIER_PLAN, BOUNCE_BYTES);
    for (size_t done = 0, part; done < bytes; done += part) {
        part = bytes - done < BOUNCE_BYTES ? bytes - done : BOUNCE_BYTES;
        inter_run from = run_at(address + done, part), own = {bounce, part};
        int code = bounce ? transport->read(transport, process, &from, &own, 1) : WEFT_ERR_NOMEM;
        if (code)
            return code;
        core_unpack(to.buffer, bounce, to.type, to.count, done, done + part);
    }
    return WEFT_SUCCESS;
}

void hier_reads_add(hier_call *call, hier_reads *reads, uint64_t address, size_t offset, core_data to) {
    int code = address ? WEFT_SUCCESS : WEFT_ERR_NOMEM;
    if (call->error)
        return;
    if (address && !to.type->contiguous) {
        code = read_apart(call, reads->process, address + offset, to);
    } else {
        reads->from[reads->count] = run_at(address + offset, core_data_bytes(to));
        reads->to[reads->count++] = (inter_run){to.buffer, core_data_bytes(to)};
    }
    if (code)
        fail(call, code, reads->process);
}

void hier_reads_end(hier_call *call, const hier_reads *reads) {
    const inter_transport *transport = call->comm->world->channel.transport;
    if (call->error || !reads->count)
        return;
    int code = transport->read(transport, reads->process, reads->from, reads->to, reads->count);
    if (code)
        fail(call, code, reads->process);
}
