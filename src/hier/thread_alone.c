// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every process has one thread: any collective is its network part, from and into the users' buffers, as that of a process
 * communicator is.
 */
#include <hier/thread.h>

/* Not of buffers that are others each time, nor of calls on another's handle, which counts its own. */
static uint64_t number_of(const hier_call *call) {
    return call->arguments->staging || call->comm->outer ? 0 : call->arguments->number;
}

static int start(hier_call *call) {
    hier_slot *slot = call->slot;
    hier_plan *plan = &slot->plan;
    const uint64_t number = number_of(call);
    const bool same = plan->view.collective == call->arguments->collective;
    if (number && slot->planned == number && same && inter_execution_again(&slot->execution)) {
        hier_start_again(call, &plan->binding);
        return WEFT_SUCCESS;
    }
    slot->planned = 0;
    if (!same)
        hier_plan_clear(plan);
    int code = hier_plan_make(call->comm, call->arguments, plan);
    if (!code)
        code = hier_start(call, &plan->view, &plan->binding);
    if (!code)
        slot->planned = number; /* nothing of the call is used any more: see there */
    return code;
}

bool hier_thread_alone(hier_call *call) {
    HIER_RESUME(call);
    hier_network(call, HIER_NEED_NONE, HIER_READY, start);
    HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}
