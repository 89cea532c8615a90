// SPDX-License-Identifier: BSD-3-Clause
/**
 * How a thread sleeps that waits in a collective: on the flag of who keeps it waiting, and not for long where it has more to look after
 * than what wakes it.
 */
#ifndef HIER_NAPS_H
#define HIER_NAPS_H

#include <hier/drive.h>
#include <hier/network.h>

/* Who waits for a thread's pieces, with some on the wire, sleeps so long at most. */
#define HIER_PIECES_NS 1000000L

/** For how long at most, having slept so often one after the other; parts in other collectives than this wake nobody here. */
static inline long hier_nap_ns(const hier_call *call) {
    hier_agent *agent = call->comm->agent;
    const unsigned naps = agent->naps++;
    const bool parts = agent->parts > (call->request != NULL);
    return parts && core_nap(naps) == core_nap(0) ? HIER_BESIDE_NS : core_nap(parts ? 0 : naps);
}

/** On the flag, which wakes the thread, as does its bell for what needs it; the leader on whom others depend is woken for these too, and sleeps as long as it suits them. */
static inline enum core_idle hier_nap(const hier_call *call, core_flag *flag, uint64_t value, long nanoseconds) {
    hier_agent *agent = call->comm->agent;
    const bool rings = hier_is_busy(call->comm); /* else it has not looked at its messages, and need not */
    if (rings && !hier_agent_lies_down(agent, INTRA_IN_COLLECTIVE, flag, agent->rung))
        return CORE_IDLE_MOVED;
    if (hier_comm_serves(call->comm))
        hier_leader_naps(call->comm->world, flag, value);
    else
        core_flag_sleep_marked(flag, value, nanoseconds, agent->mark);
    if (rings)
        hier_agent_rises(agent);
    return CORE_IDLE_SLEPT;
}

/** On the network, for which the bed is ready, and the bell. */
static inline enum core_idle hier_nap_on_network(const hier_call *call, hier_bed *bed) {
    hier_agent *agent = call->comm->agent;
    const bool rings = hier_is_busy(call->comm);
    hier_bed_sleeps(bed, hier_nap_ns(call));
    const bool sleeps =
        !rings || (hier_agent_lies_down(agent, INTRA_IN_COLLECTIVE, NULL, agent->rung) && hier_arm_own(agent, bed));
    if (sleeps)
        hier_sleep(bed);
    else
        hier_bed_leave(bed);
    if (rings)
        hier_agent_rises(agent);
    return sleeps ? CORE_IDLE_SLEPT : CORE_IDLE_MOVED;
}

/** Until the thread has posted what the network part needs of it: of that nothing tells but its own flag. */
static inline enum core_idle hier_nap_on_missing(const hier_call *call, int thread) {
    return hier_nap(call, &call->meeting.cells[thread].flag, intra_value(&call->meeting, call->need_phase),
                    core_nap(0));
}

/** Until a thread has done its last piece: only then all may be admitted that waits for threads. */
static inline enum core_idle hier_nap_on_pieces(const hier_call *call) {
    const uint64_t value = intra_value(&call->meeting, HIER_READY);
    for (int thread = 0; thread < hier_threads(call); thread++) {
        if (!intra_has_posted(&call->meeting, thread, HIER_READY)) {
            core_flag_sleep(&call->meeting.cells[thread].flag, value, HIER_PIECES_NS);
            return CORE_IDLE_SLEPT;
        }
    }
    return CORE_IDLE_MOVED; /* since the last look */
}

#endif
