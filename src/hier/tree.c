// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/tree.h>
#include <string.h>

/*
 * A thread looks at its neighbours only. One of them may have failed, since one further away is in another collective: then it has
 * left, which else nobody does before his neighbours have done with him. When the network part failed all learn it from there.
 */
static bool is_well(hier_call *call, int thread, unsigned phase) {
    if (phase == HIER_LEFT || !intra_has_posted(&call->meeting, thread, HIER_LEFT))
        return true;
    bool released = !hier_single_node(call) &&
                    core_flag_reached(&call->meeting.release->flag, intra_value(&call->meeting, HIER_RELEASED));
    if (released)
        return true;
    /* Relaxed: it has tripped the ledger, if that is why, or found it tripped, before it left. */
    if (atomic_load_explicit(&call->comm->ledger->tripped, memory_order_relaxed) != HIER_TRIP_NONE ||
        hier_ledger_is_broken(call->comm->ledger))
        return hier_mismatch(call, thread);
    hier_no_sum(call); /* nor has it, which is all that is left */
    return false;
}

bool hier_await_well(hier_call *call, int thread, unsigned phase) {
    return hier_await(call, thread, phase) && is_well(call, thread, phase);
}

bool hier_await_parent(hier_call *call, int host, unsigned phase) {
    return hier_await_well(call, hier_tree_parent(call, host), phase);
}

bool hier_await_children(hier_call *call, int host, unsigned phase) {
    for (int i = 0, count = hier_tree_children(call, host); i < count; i++)
        if (!hier_await_well(call, hier_tree_child(call, host, i), phase))
            return false;
    return true;
}

static const void *sum_of(const hier_call *call, int child) {
    return intra_offer_of(&call->meeting, hier_tree_child(call, 0, child))->send;
}

static bool all_there(const hier_call *call, int children) {
    for (int i = 0; i < children; i++)
        if (!sum_of(call, i))
            return false;
    return true;
}

/* From the last one down, as in intra/combine.c; only the last step writes to `out`, where an operand may be. */
static int combine(hier_call *call, int children, void *work, void *out) {
    const hier_arguments *arguments = call->arguments;
    const void *sum = sum_of(call, children - 1);
    int code = WEFT_SUCCESS;
    for (int i = children - 2; i >= 0 && !code; i--) {
        code = core_reduce(arguments->op, arguments->recv_type, sum_of(call, i), sum, work, arguments->recv_count);
        sum = work;
    }
    return code ? code
                : core_reduce(arguments->op, arguments->recv_type, arguments->send, sum, out, arguments->recv_count);
}

void hier_tree_combine(hier_call *call, void *out) {
    const hier_arguments *arguments = call->arguments;
    int children = hier_tree_children(call, 0), code = WEFT_SUCCESS;
    if (!children && call->comm->thread) {
        INTRA_SHOW(&call->meeting, send, arguments->send);
        return;
    }
    void *work = children > 1 ? hier_scratch(call, arguments->bytes) : out;
    if (!out || !work || !all_there(call, children))
        code = WEFT_ERR_NOMEM;
    else if (children)
        code = combine(call, children, work, out);
    else if (out != arguments->send)
        memcpy(out, arguments->send, arguments->bytes);
    INTRA_SHOW(&call->meeting, send, code ? NULL : out);
    if (code && !call->error)
        call->error = core_error(code, "rank %d: %s: no memory for a sum of %zu bytes", hier_rank_of(call->comm),
                                 arguments->call, arguments->bytes);
}
