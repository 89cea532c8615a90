// SPDX-License-Identifier: BSD-3-Clause
/* Network parts: how they are started, by whoever may, and what becomes known when they are over. */
#include <hier/drive.h>
#include <hier/pieces.h>
#include <hier/ring.h>
#include <hier/staging.h>
#include <hier/thread.h>
#include <stddef.h>

/* The network part is done: called by whoever progresses the engine. Release: pairs with hier_await_network. */
static void release(void *argument, int error) {
    hier_slot *slot = argument;
    slot->error = error;
    slot->network_ticks[1] = slot->network_ticks[0] ? core_ticks() : 0;
    if (slot->pieces > 1)
        hier_pieces_end(slot);
    core_flag_publish(&slot->release->flag, slot->value, slot->waiting);
}

static inter_id id_of(const hier_call *call) {
    uint64_t number = call->ring ? call->ring->number : call->meeting.sequence;
    return (inter_id){call->comm->context, number, call->ring, call->chain};
}

static inline void note(hier_slot *slot) {
    const hier_call *call = slot->unnoted;
    slot->unnoted = NULL;
    hier_ledger_note(call->comm, call->arguments, id_of(call));
}

/* As the engine says: others may wait for what this process has not sent. */
static void network_over(void *argument, int error) {
    hier_slot *slot = argument;
    if (error && slot->unnoted)
        note(slot);
    hier_ledger_over(slot->world, slot->layout, &slot->execution, error);
    release(slot, error);
}

int hier_missing_thread(const hier_call *call) {
    if (call->need_thread == HIER_NEED_NONE)
        return -1;
    if (call->need_thread != HIER_NEED_ALL)
        return intra_has_posted(&call->meeting, call->need_thread, call->need_phase) ? -1 : call->need_thread;
    for (int thread = 0; thread < hier_threads(call); thread++)
        if (!intra_has_posted(&call->meeting, thread, call->need_phase))
            return thread;
    return -1;
}

/* The other processes do not wait for this one any longer. */
static void fail_between(const hier_call *call) {
    hier_ledger_need(call->comm);
    hier_ledger_note(call->comm, call->arguments, id_of(call));
    hier_ledger_fail(call->comm, id_of(call));
}

static void start_network(hier_call *call, int error) {
    hier_slot *slot = call->slot;
    slot->world = call->comm->world;
    slot->layout = call->comm->layout;
    slot->started = call->meeting.sequence;
    slot->driver = call->meeting.member->thread;
    slot->left = false;
    slot->note = call->meeting.note;
    slot->network_ticks[0] = hier_trace_now(call->comm);
    slot->release = call->meeting.release;
    slot->value = intra_value(&call->meeting, HIER_RELEASED);
    slot->waiting = &call->meeting.team->waiting;
    slot->execution.finished = network_over;
    slot->execution.gate = NULL;
    slot->execution.arrived = NULL;
    slot->execution.argument = slot;
    slot->pieces = call->pieces.number;
    if (slot->pieces > 1)
        hier_pieces_begin(call);
    int code = error ? error : call->start(call);
    if (code && code != WEFT_ERR_MISMATCH)
        fail_between(call);
    if (code)
        release(slot, code);
}

/*
 * What keeps the network part from starting, as one of those that it is for. In a call that went wrong the threads' offers are not what
 * this one takes them for.
 */
static int obstacle(hier_call *call) {
    intra_meeting *meeting = &call->meeting;
    bool same = true;
    if (call->need_thread == HIER_NEED_ALL)
        same = intra_are_same(meeting);
    else if (call->need_thread != HIER_NEED_NONE && call->need_thread != meeting->member->thread)
        same = intra_is_same(meeting, call->need_thread);
    if (!same && !call->error)
        hier_mismatch(call, meeting->mismatch);
    if (inter_is(call->arguments->collective, INTER_REDUCTIONS))
        hier_note_undone(call);
    return call->error;
}

void hier_check_and_start(hier_call *call) {
    start_network(call, obstacle(call));
}

static void start_entrusted(hier_errand *errand) {
    hier_call *call = (hier_call *)(void *)((char *)errand - offsetof(hier_call, errand));
    start_network(call, call->entrusted_error);
}

void hier_entrust(hier_call *call) {
    intra_show_note(&call->meeting);        /* it looks at nothing more */
    call->entrusted_error = obstacle(call); /* here, where its sentence belongs; this thread may still find another */
    call->entrusted = true;
    call->errand.run = start_entrusted;
    hier_send_errand(call->comm->world, &call->errand);
}

/*
 * Others wait for the messages, so the ledger is written when they are on their way; where all is over at once, and went wrong, before anybody
 * is told. Once it runs an entrusted call may be over, and gone from the stack of the thread that entrusted it to this one: of that one first.
 */
static void run(hier_call *call, inter_binding *binding, unsigned row) {
    hier_slot *slot = call->slot;
    const weft_comm *comm = call->comm;
    binding->processes = comm->layout->processes;
    binding->by_lines = comm->team->by_lines;
    binding->counted_as = row;
    binding->uneven = inter_is(call->arguments->collective, INTER_UNEVEN);
    hier_ledger_need(call->comm);
    slot->unnoted = call;
    if (call->entrusted)
        note(slot);
    inter_execution_run(&slot->execution, id_of(call), binding);
    if (slot->unnoted)
        note(slot);
}

static int start_counted(hier_call *call, const inter_view *view, inter_binding *binding, unsigned row) {
    inter_execution *execution = &call->slot->execution;
    call->slot->planned = 0;
    execution->lends = true; /* of all slots few are in use at a time */
    int code = inter_execution_prepare(execution, &call->comm->world->engine, call->choice.process, view);
    if (code)
        return code;
    if (call->arguments->staging)
        hier_staging_lay_out(call->arguments->staging, execution, binding);
    run(call, binding, row);
    return WEFT_SUCCESS;
}

void hier_start_again(hier_call *call, inter_binding *binding) {
    run(call, binding, call->arguments->row);
}

int hier_start(hier_call *call, const inter_view *view, inter_binding *binding) {
    return start_counted(call, view, binding, call->arguments->row);
}

int hier_start_uncounted(hier_call *call, const inter_view *view, inter_binding *binding) {
    return start_counted(call, view, binding, INTER_COLLECTIVES);
}

void hier_count_sent(const hier_call *call, int node, size_t bytes) {
    const weft_comm *comm = call->comm;
    const inter_engine *engine = &comm->world->engine;
    int process = hier_layout_process(comm->layout, node);
    if (engine->counters && bytes)
        core_count_traffic(engine->counters, call->arguments->row,
                           engine->on_host && engine->on_host[process] ? CORE_ON_HOST : CORE_BETWEEN_HOSTS, 1, bytes);
}
