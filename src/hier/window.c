// SPDX-License-Identifier: BSD-3-Clause
#include <hier/waits.h>
#include <hier/window.h>

/* A send, or a receive, of that handle that is complete; false: nothing was done. */
static inline bool take(const weft_comm *comm, weft_request **place) {
    const weft_request *request = *place;
    if (!hier_is_request(request) || request->comm != comm)
        return false;
    if (request->kind != HIER_SENT)
        return hier_take_plainly(place);
    hier_take_sent(place);
    return true;
}

size_t hier_take_window(size_t count, weft_request *requests[]) {
    size_t taken = 0, before;
    if (count < 2 || !requests || !hier_is_request(requests[0]))
        return 0;
    weft_comm *comm = requests[0]->comm;
    if (!hier_comm_valid(comm) || !comm->team || !atomic_load_explicit(&comm->plain, memory_order_relaxed) ||
        comm->owner != core_self() || comm->agent->parts)
        return 0;
    hier_agent *agent = comm->agent;
    bool looks = true; /* as long as that brings what stands next */
    while (taken < count) {
        for (before = taken; taken < count && take(comm, &requests[taken]);)
            taken++;
        if (taken == count || !(looks || taken > before) || !hier_agent_progress(agent))
            break;
        looks = false;
    }
    if (taken && agent->tests)
        hier_tests_no_more(agent);
    if (taken && ++agent->short_ways % HIER_SHORT_WAYS == 0)
        hier_serve(comm);
    return taken;
}
