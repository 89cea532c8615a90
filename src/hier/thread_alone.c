// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every process has one thread: any collective is its network part, from and into the users' buffers, as that of a process
 * communicator is.
 */
#include <hier/thread.h>

static int start(hier_call *call) {
    hier_plan *plan = &call->slot->plan;
    if (plan->view.collective != call->arguments->collective)
        hier_plan_clear(plan);
    int code = hier_plan_make(call->comm, call->arguments, plan);
    return code ? code : hier_start(call, &plan->view, &plan->binding);
}

bool hier_thread_alone(hier_call *call) {
    HIER_RESUME(call);
    hier_network(call, HIER_NEED_NONE, HIER_READY, start);
    HIER_AWAIT(call, hier_await_network(call));
    HIER_OVER;
}
