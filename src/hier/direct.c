// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/direct.h>
#include <string.h>

/* What lies in no run at the receiver is read by as much, and unpacked from there. */
#define BOUNCE_BYTES ((size_t)32 << 10)

/* First the addresses, then the answers of who has read. */
enum { SEGMENTS = 2 };

/* In the host's memory: what goes to each other node, an address a thread and a word to answer with; and what comes, node by node. */
static uint64_t *outgoing(const hier_call *call) {
    return intra_offer_of(&call->meeting, hier_host_thread(call))->shared;
}

static uint64_t *incoming(const hier_call *call) {
    return outgoing(call) + hier_threads(call) + 1;
}

/* Of a communicator's ranks, and then an answer of each node. */
static size_t incoming_words(const hier_call *call) {
    return (size_t)call->comm->size + (size_t)call->comm->layout->nodes;
}

/* Are the data of one node's threads read by those of another? */
static bool are_read(const hier_call *call, int giver, int reader) {
    if (hier_gathers(call->arguments->collective))
        return reader == call->root_node;
    return !hier_scatters(call->arguments->collective) || giver == call->root_node;
}

/* The threads whose data others may read: all, or those of other nodes than the root's, or the root alone. */
static intra_slice readable(const hier_call *call) {
    const size_t threads = (size_t)hier_threads(call);
    if (hier_gathers(call->arguments->collective))
        return (intra_slice){0, hier_on_root_node(call) ? 0 : threads};
    if (!hier_scatters(call->arguments->collective))
        return (intra_slice){0, threads};
    return (intra_slice){(size_t)call->root_thread, hier_on_root_node(call)};
}

/* The bytes that a node reads here, as if they were sent. */
static size_t bytes_read(const hier_call *call, int node) {
    const size_t each =
        hier_gathers(call->arguments->collective) ? 1 : (size_t)hier_layout_threads(call->comm->layout, node);
    return readable(call).count * each * call->arguments->bytes;
}

static int start(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    const int own = call->comm->node;
    size_t nodes = (size_t)layout->nodes, threads = (size_t)hier_threads(call);
    uint64_t *words = outgoing(call);
    size_t *sent = hier_more_scratch(call, HIER_ARRAYS, 7 * nodes * sizeof(*sent));
    if (!words || !sent)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for %zu nodes", call->comm->rank,
                          call->arguments->call, nodes);
    size_t *received = sent + nodes, *begin = received + nodes, *answers = begin + nodes, *answered = answers + nodes;
    size_t *from = answered + nodes, *to = from + nodes;
    intra_slice shown = readable(call);
    memset(words, 0, (threads + 1) * sizeof(*words));
    for (size_t thread = shown.begin; thread < shown.begin + shown.count; thread++)
        words[thread] = (uintptr_t)intra_offer_of(&call->meeting, (int)thread)->send;
    for (int node = 0; node < layout->nodes; node++) {
        const bool gives = node != own && are_read(call, own, node), gets = node != own && are_read(call, node, own);
        sent[node] = gives ? threads : 0;
        received[node] = gets ? (size_t)hier_layout_threads(layout, node) : 0;
        begin[node] = 0; /* the same to all */
        answers[node] = gets;
        answered[node] = gives;
        from[node] = threads;
        to[node] = (size_t)call->comm->size + (size_t)node;
        if (gives)
            hier_count_sent(call, node, bytes_read(call, node));
    }
    inter_view answer = {.collective = INTER_ALLTOALLV,
                         .rank = own,
                         .size = layout->nodes,
                         .element_bytes = sizeof(*words),
                         .sparse = true,
                         .send_counts = answers,
                         .recv_counts = answered,
                         .send_offsets = from,
                         .recv_offsets = to};
    inter_view view = answer;
    view.send_counts = sent;
    view.recv_counts = received;
    view.send_offsets = begin;
    view.recv_offsets = layout->offsets;
    view.next = &answer;
    inter_binding binding = {.send = words, .recv = incoming(call)};
    return hier_start_uncounted(call, &view, &binding);
}

void hier_direct_offer(hier_call *call, const void *send) {
    const weft_comm *comm = call->comm;
    size_t words = (size_t)hier_threads(call) + 1 + incoming_words(call);
    if (!inter_is(INTER_ALLTOALLV, call->choice.process->collectives))
        call->choice.process =
            hier_select_unfixed(&comm->world->selector, hier_key_without_bytes(INTER_ALLTOALLV, comm->layout)).process;
    INTRA_SHOW(&call->meeting, send, send);
    if (comm->thread == hier_host_thread(call))
        INTRA_SHOW(&call->meeting, shared, hier_scratch(call, words * sizeof(uint64_t)));
    bool all = readable(call).count == (size_t)hier_threads(call);
    hier_network(call, all ? HIER_NEED_ALL : hier_host_thread(call), HIER_OFFERED, start);
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
    return incoming(call)[call->comm->layout->offsets[node] + (size_t)thread];
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
