// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every process has one thread: any collective is its network part, from and into the users' buffers, as that of a process
 * communicator is.
 */
#include <hier/brief.h>

/*
 * Not of buffers that are others each time, nor of calls on another's handle, which counts its own; nor where another thread starts them, which
 * would note that when the call may be over.
 */
static uint64_t number_of(const hier_call *call) {
    const bool differs = call->arguments->staging || call->comm->outer || call->entrusted;
    return differs ? 0 : call->arguments->number;
}

/* Is the slot's execution prepared for such a call? */
static bool is_planned(const hier_call *call, uint64_t number) {
    return number && call->slot->planned == number && call->slot->plan.view.collective == call->arguments->collective;
}

static int start(hier_call *call) {
    hier_slot *slot = call->slot;
    hier_plan *plan = &slot->plan;
    const uint64_t number = number_of(call);
    if (is_planned(call, number) && inter_execution_again(&slot->execution)) {
        hier_start_again(call, &plan->binding);
        return WEFT_SUCCESS;
    }
    slot->planned = 0;
    if (plan->view.collective != call->arguments->collective)
        hier_plan_clear(plan);
    int code = hier_plan_make(call->comm, call->arguments, plan);
    if (!code)
        code = hier_start(call, &plan->view, &plan->binding);
    if (!code && number)
        slot->planned = number;
    return code;
}

bool hier_thread_alone(hier_call *call) {
    HIER_RESUME(call);
    hier_network(call, HIER_NEED_NONE, HIER_READY, start);
    HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}

/* It is not aimed: only hier_start() needs what that finds out. */
int hier_brief_alone(weft_comm *comm, const hier_arguments *arguments) {
    hier_call call;
    hier_take_briefly(&call, comm, arguments);
    hier_begin(&call, true);
    if (!hier_comm_is_alone(comm) || !intra_is_free(&call.meeting) || !is_planned(&call, arguments->number))
        return hier_go_on(&call, 0);
    hier_occupy(&call);
    hier_network(&call, HIER_NEED_NONE, HIER_READY, start);
    if (!hier_network_is_brief(&call))
        return hier_go_on(&call, 0);
    hier_count_brief(comm, arguments);
    (void)hier_end(&call);
    if (hier_traces(comm))
        hier_trace_alone(comm, arguments, call.slot->network_ticks, call.error);
    return call.error;
}
