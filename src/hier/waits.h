// SPDX-License-Identifier: BSD-3-Clause
/**
 * When a wait becomes long, its thread says what it waits in (activity.h): the hooks in the loops that wait, and in calls that test.
 */
#ifndef HIER_WAITS_H
#define HIER_WAITS_H

#include <hier/message.h>
#include <hier/network.h>

/** Says what a call waits in: of its first long wait. */
void hier_call_waits(hier_call *call) __attribute__((cold));

/** One look of a call that waits: a blocking one. */
static inline void hier_call_looks(hier_call *call, bool tired) {
    weft_comm *comm = call->comm;
    if (comm->looks >= HIER_LOOKS_OF_A_LONG_WAIT)
        return;
    comm->looks = tired ? HIER_LOOKS_OF_A_LONG_WAIT : comm->looks + 1;
    if (comm->looks == HIER_LOOKS_OF_A_LONG_WAIT)
        hier_call_waits(call);
}

/** Says what a thread tests, and that it still does; and that it has found something. */
void hier_tests_in_vain(const hier_wait *wait) __attribute__((cold));
void hier_tests_no_more(hier_agent *agent) __attribute__((cold));

/** The next, of a thread that has none. */
void hier_tested_without_agent(const hier_wait *wait, bool found);

/** A call that waits or tests is over. */
static inline void hier_tested(const hier_wait *wait, bool found) {
    hier_agent *agent = wait->agent;
    if (!wait->world->roster.watched)
        return;
    if (!agent)
        hier_tested_without_agent(wait, found);
    else if (found && agent->tests)
        hier_tests_no_more(agent);
    else if (!found && ++agent->tests >= HIER_LOOKS_OF_A_LONG_WAIT)
        hier_tests_in_vain(wait);
}

/** Of a message or a collective's request that is waited for, by `call`. */
hier_doing hier_doing_request(const weft_request *request, const char *call);

#endif
