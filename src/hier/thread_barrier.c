// SPDX-License-Identifier: BSD-3-Clause
/*
 * barrier: DISS/flags, DISS/counter.
 *
 *     threads ──post or count──▶ leader ──process barrier──▶ release ──▶ threads
 *
 * On one node the threads look at each other's flags (or at the counter) and that is all.
 */
#include <hier/thread.h>

static int start(hier_call *call) {
    inter_view view = {.collective = INTER_BARRIER, .rank = call->comm->node, .size = call->comm->layout->nodes};
    return hier_start(call, &view, &(inter_binding){0});
}

static void by_counter(hier_call *call) {
    intra_team *team = call->meeting.team;
    uint64_t use = ++call->meeting.member->counter_uses;
    hier_network(call, 0, HIER_READY, start);
    hier_counter_add(call, &team->ready, 1);
    if (call->comm->thread == 0 || hier_single_node(call)) {
        hier_counter_await(call, &team->ready, use);
        intra_post(&call->meeting, HIER_READY);
    }
    /* Unused here, but every use raises both; not before all have come, and with that have done what the last use was for. */
    if (call->comm->thread == 0)
        hier_counter_add(call, &team->done, (uint64_t)hier_threads(call));
    hier_await_network(call);
}

int hier_thread_barrier(weft_comm *comm, const hier_arguments *arguments) {
    hier_call call;
    hier_begin(&call, comm, arguments);
    /* A collective without data comes here too. */
    call.choice = hier_select(&comm->world->selector, hier_key_without_bytes(INTER_BARRIER, comm->layout));
    if (call.choice.thread == HIER_COUNTER) {
        by_counter(&call);
    } else if (hier_single_node(&call)) {
        hier_sync(&call, HIER_READY);
    } else {
        hier_network(&call, HIER_NEED_ALL, HIER_READY, start);
        intra_post(&call.meeting, HIER_READY);
        hier_await_network(&call);
    }
    return hier_end(&call);
}
