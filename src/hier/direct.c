// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/allgather.h>
#include <hier/direct.h>
#include <string.h>

/* To copy so much at most, for the others to read without a system call, takes less time than that. */
#define WINDOW_MOST           ((size_t)64 << 10)
/* … and where only one process reads it. */
#define WINDOW_MOST_OF_GATHER ((size_t)16 << 10)

/* What lies in no run at the receiver is read by as much, and unpacked from there. */
#define BOUNCE_BYTES ((size_t)32 << 10)

/*
 * In the host's memory: what goes to each other node, an address a thread and a word to answer with; and what comes, node by node, and then
 * the answers.
 */
static uint64_t *outgoing(const hier_call *call) {
    return intra_offer_of(&call->meeting, hier_host_thread(call))->shared;
}

static uint64_t *incoming(const hier_call *call) {
    return outgoing(call) + hier_threads(call) + 1;
}

static bool has_one_reader(const hier_call *call) {
    return inter_is(call->arguments->collective, INTER_GATHERS);
}

bool hier_shows_copies(const hier_call *call, size_t bytes) {
    const size_t most = has_one_reader(call) ? WINDOW_MOST_OF_GATHER : WINDOW_MOST;
    return call->comm->world->window.take && !call->comm->layout->crowded && bytes <= most;
}

/* Are the data of one node's threads read by those of another? */
static bool are_read(const hier_call *call, int giver, int reader) {
    if (has_one_reader(call))
        return reader == call->root_node;
    return !hier_scatters(call->arguments->collective) || giver == call->root_node;
}

/* The threads whose data others may read: all, or those of other nodes than the root's, or the root alone. */
static intra_slice readable(const hier_call *call) {
    const size_t threads = (size_t)hier_threads(call);
    if (has_one_reader(call))
        return (intra_slice){0, hier_on_root_node(call) ? 0 : threads};
    if (!hier_scatters(call->arguments->collective))
        return (intra_slice){0, threads};
    return (intra_slice){(size_t)call->root_thread, hier_on_root_node(call)};
}

/* The bytes that a node reads here, as if they were sent. */
static size_t bytes_read(const hier_call *call, int node) {
    const size_t each = has_one_reader(call) ? 1 : (size_t)hier_layout_threads(call->comm->layout, node);
    size_t bytes = 0;
    if (!inter_is(call->arguments->collective, INTER_ALLGATHERS))
        return readable(call).count * each * call->arguments->bytes;
    for (size_t thread = 0; thread < (size_t)hier_threads(call); thread++)
        bytes += hier_gathered_bytes(call, hier_first_rank(call) + thread);
    return bytes;
}

void *hier_packed(const hier_call *call, core_data block) {
    const size_t bytes = core_data_bytes(block);
    char *copy = hier_more_scratch(call, HIER_COPIES, bytes);
    if (copy)
        core_pack(copy, block.buffer, block.type, block.count, 0, bytes);
    return copy;
}

const void *hier_direct_run(const hier_call *call, core_data block) {
    const bool as_it_lies = block.type->contiguous && !hier_shows_copies(call, core_data_bytes(block));
    return as_it_lies ? block.buffer : hier_packed(call, block);
}

const void *hier_blocks_for_others(const hier_call *call) {
    const size_t bytes = call->arguments->bytes, ranks = (size_t)call->comm->size, first = hier_first_rank(call);
    core_data all = hier_own_sent(call, 0, bytes);
    if (all.type->contiguous && !hier_shows_copies(call, bytes * ranks))
        return call->arguments->send;
    char *copy = hier_more_scratch(call, HIER_COPIES, bytes * ranks);
    if (!copy)
        return NULL;
    all.count *= ranks;
    const size_t begin = bytes * first, end = bytes * (first + (size_t)hier_threads(call));
    core_pack(copy, all.buffer, all.type, all.count, 0, begin);
    core_pack(copy + end, all.buffer, all.type, all.count, end, bytes * ranks);
    return copy;
}

bool hier_telling_take(hier_call *call, hier_telling *telling, size_t from, size_t to) {
    hier_slot *slot = call->slot;
    const size_t nodes = (size_t)call->comm->layout->nodes;
    /* What a node tells follows from these, but for lengths. */
    const uint64_t kind = (uint64_t)call->arguments->root << 32 | ((uint64_t)call->arguments->collective + 1);
    size_t *arrays = intra_scratch_take(&slot->telling, 8 * nodes * sizeof(*arrays));
    if (!arrays)
        return false;
    *telling = (hier_telling){.sent = arrays,
                              .received = arrays + nodes,
                              .send_offsets = arrays + 2 * nodes,
                              .recv_offsets = arrays + 3 * nodes,
                              .answers = arrays + 4 * nodes,
                              .answered = arrays + 5 * nodes,
                              .answer_from = arrays + 6 * nodes,
                              .answer_to = arrays + 7 * nodes,
                              .changed = slot->told_in != kind};
    if (!telling->changed)
        return true;
    slot->told_in = kind;
    memset(arrays, 0, 6 * nodes * sizeof(*arrays));
    for (size_t node = 0; node < nodes; node++) {
        telling->answer_from[node] = from;
        telling->answer_to[node] = to + node;
    }
    return true;
}

static bool any_answers(const hier_telling *telling, int nodes) {
    for (int node = 0; node < nodes; node++)
        if (telling->answers[node] || telling->answered[node])
            return true;
    return false;
}

int hier_telling_start(hier_call *call, const hier_telling *telling, size_t element_bytes, inter_binding *binding) {
    inter_view answer = {.collective = INTER_ALLTOALLV,
                         .rank = call->comm->node,
                         .size = call->comm->layout->nodes,
                         .element_bytes = element_bytes,
                         .sparse = true,
                         .send_counts = telling->answers,
                         .recv_counts = telling->answered,
                         .send_offsets = telling->answer_from,
                         .recv_offsets = telling->answer_to};
    inter_view view = answer;
    view.contents = call->slot->tellings += telling->changed;
    view.send_counts = telling->sent;
    view.recv_counts = telling->received;
    view.send_offsets = telling->send_offsets;
    view.recv_offsets = telling->recv_offsets;
    if (any_answers(telling, answer.size))
        view.next = &answer;
    return hier_start_uncounted(call, &view, binding);
}

void hier_direct_network(hier_call *call, int need_thread, hier_start_function *start) {
    const weft_comm *comm = call->comm;
    if (!inter_is(INTER_ALLTOALLV, call->choice.process->collectives))
        call->choice.process =
            hier_select_unfixed(&comm->world->selector, hier_key_without_bytes(INTER_ALLTOALLV, comm->layout)).process;
    hier_network(call, need_thread, HIER_OFFERED, start);
    hier_cut_in_turn(call, 2);
    hier_gate(call, HIER_OFFERED);
}

static int start(hier_call *call) {
    const hier_layout *layout = call->comm->layout;
    const int own = call->comm->node;
    const size_t threads = (size_t)hier_threads(call);
    uint64_t *words = outgoing(call);
    hier_telling telling;
    if (!words || !hier_telling_take(call, &telling, threads, (size_t)call->comm->size))
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for %d nodes", hier_rank_of(call->comm),
                          call->arguments->call, layout->nodes);
    intra_slice shown = readable(call);
    memset(words, 0, (threads + 1) * sizeof(*words));
    for (size_t thread = shown.begin; thread < shown.begin + shown.count; thread++)
        words[thread] = (uintptr_t)intra_offer_of(&call->meeting, (int)thread)->send;
    for (int node = 0; node < layout->nodes; node++) {
        const bool gives = node != own && are_read(call, own, node), gets = node != own && are_read(call, node, own);
        hier_tell(&telling, &telling.sent[node], gives ? threads : 0); /* from the beginning: the same to all */
        hier_tell(&telling, &telling.received[node], gets ? (size_t)hier_layout_threads(layout, node) : 0);
        hier_tell(&telling, &telling.recv_offsets[node], layout->offsets[node]);
        hier_tell(&telling, &telling.answers[node], gets);
        hier_tell(&telling, &telling.answered[node], gives);
        if (gives)
            hier_count_sent(call, node, bytes_read(call, node));
    }
    return hier_telling_start(call, &telling, sizeof(*words), &(inter_binding){.send = words, .recv = incoming(call)});
}

void hier_direct_offer(hier_call *call, const void *send) {
    const weft_comm *comm = call->comm;
    const size_t threads = (size_t)hier_threads(call);
    const size_t words = threads + 1 + (size_t)comm->size + (size_t)comm->layout->nodes;
    INTRA_SHOW(&call->meeting, send, send);
    if (comm->thread == hier_host_thread(call))
        INTRA_SHOW(&call->meeting, shared, hier_scratch(call, words * sizeof(uint64_t)));
    hier_direct_network(call, readable(call).count == threads ? HIER_NEED_ALL : hier_host_thread(call), start);
    intra_post(&call->meeting, HIER_OFFERED);
}

static void fail(hier_call *call, int code, int process) {
    if (!call->error)
        call->error = core_error(code, "rank %d: %s: the data in the memory of process %d cannot be read: %s",
                                 hier_rank_of(call->comm), call->arguments->call, process, weft_strerror(code));
}

static inter_run run_at(uint64_t address, size_t bytes) {
    return (inter_run){(void *)(uintptr_t)address, bytes}; /* NOLINT(performance-no-int-to-ptr) */
}

uint64_t hier_direct_address(const hier_call *call, int node, int thread) {
    return incoming(call)[call->comm->layout->offsets[node] + (size_t)thread];
}

/* Notes down what is to be read. */
static int note_run(hier_call *call, hier_reads *reads, inter_run from, inter_run to) {
    if (!reads->runs)
        reads->runs = hier_more_scratch(call, HIER_ARRAYS, 2 * reads->most * sizeof(*reads->runs));
    if (!reads->runs)
        return WEFT_ERR_NOMEM;
    reads->runs[reads->count] = from;
    reads->runs[reads->most + reads->count++] = to;
    return WEFT_SUCCESS;
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
        hier_unpack(call, to, bounce, (intra_slice){done, part});
    }
    return WEFT_SUCCESS;
}

void hier_reads_add(hier_call *call, hier_reads *reads, uint64_t address, size_t offset, core_data to) {
    int code = address ? WEFT_SUCCESS : WEFT_ERR_NOMEM;
    if (call->error)
        return;
    if (address && !to.type->contiguous)
        code = read_apart(call, reads->process, address + offset, to);
    else if (address)
        code = note_run(call, reads, run_at(address + offset, core_data_bytes(to)),
                        (inter_run){to.buffer, core_data_bytes(to)});
    if (code)
        fail(call, code, reads->process);
}

void hier_reads_end(hier_call *call, const hier_reads *reads) {
    if (call->error || !reads->count)
        return;
    const inter_transport *transport = call->comm->world->channel.transport;
    int code = transport->read(transport, reads->process, reads->runs, reads->runs + reads->most, reads->count);
    if (code)
        fail(call, code, reads->process);
}

void hier_tell_unread(const hier_call *call) {
    if (call->error)
        atomic_store_explicit(&call->slot->unread, call->error, memory_order_relaxed);
}

void hier_note_unread(hier_call *call) {
    const int code = atomic_load_explicit(&call->slot->unread, memory_order_relaxed);
    if (code && !call->error)
        call->error = core_error(code, "rank %d: %s: the blocks of other processes cannot be read: %s",
                                 hier_rank_of(call->comm), call->arguments->call, weft_strerror(code));
}
