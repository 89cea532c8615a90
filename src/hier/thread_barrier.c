// SPDX-License-Identifier: BSD-3-Clause
/*
 * barrier: DISS/flags, DISS/counter, DISS/tree.
 *
 *     threads ──post or count──▶ leader ──process barrier──▶ release ──▶ threads
 *
 * On one node the threads look at each other's flags (or at the counter) and that is all.
 */
#include <hier/brief.h>
#include <hier/tree.h>

static int start(hier_call *call) {
    inter_view view = {.collective = INTER_BARRIER, .rank = call->comm->node, .size = call->comm->layout->nodes};
    return hier_start(call, &view, &(inter_binding){0});
}

static bool by_counter(hier_call *call) {
    HIER_RESUME(call);
    hier_network(call, 0, HIER_READY, start);
    intra_post(&call->meeting, HIER_OFFERED);
    hier_count(call, HIER_COUNTER_READY, 1);
    if (call->comm->thread == 0 || hier_single_node(call)) {
        HIER_AWAIT(call, hier_await_operands(call)); /* all count, and are in the same call */
        intra_post(&call->meeting, HIER_READY);
    }
    HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}

/* There is nothing but that it has come. */
static inline bool give(hier_call *call) {
    intra_post(&call->meeting, HIER_READY);
    return true;
}

static bool by_flags(hier_call *call) {
    HIER_RESUME(call);
    if (hier_single_node(call)) {
        (void)give(call);
        HIER_ENTRANCE
        HIER_AWAIT(call, hier_await_sync(call, HIER_READY));
    } else {
        hier_network(call, HIER_NEED_ALL, HIER_READY, start);
        intra_post(&call->meeting, HIER_READY);
        HIER_AWAIT(call, hier_await_network(call));
    }
    HIER_OVER;
}

static bool by_tree(hier_call *call) {
    HIER_RESUME(call);
    hier_network(call, 0, HIER_READY, start);
    HIER_AWAIT(call, hier_await_children(call, 0, HIER_READY));
    intra_post(&call->meeting, HIER_READY);
    if (hier_single_node(call)) {
        if (call->comm->thread)
            HIER_AWAIT(call, hier_await_parent(call, 0, HIER_RELEASED));
        intra_post(&call->meeting, HIER_RELEASED);
    } else {
        HIER_AWAIT(call, hier_await_network(call));
    }
    HIER_OVER;
}

static inline bool take(hier_call *call) {
    (void)call;
    return true;
}

HIER_DEFINE_BRIEF(barrier, INTRA_TOGETHER, give, hier_brief_ready, take)

bool hier_thread_barrier(hier_call *call) {
    /* A collective without data comes here too. Once: what is entrusted to the leader it reads. */
    if (!call->at && call->arguments->collective != INTER_BARRIER)
        call->choice =
            hier_select(&call->comm->world->selector, hier_key_without_bytes(INTER_BARRIER, call->comm->layout));
    if (call->choice.thread == HIER_TREE)
        return by_tree(call);
    return call->choice.thread == HIER_COUNTER ? by_counter(call) : by_flags(call);
}
