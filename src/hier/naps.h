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

/** As the leader on whom others depend, if it is that: sleeps on what is awaited. Others sleep as long as it suits them: NOTHING. */
static inline enum core_idle hier_nap_as_leader(const hier_call *call, core_flag *flag, uint64_t value) {
    hier_world *world = call->comm->world;
    if (!hier_is_funneled(world) || !hier_is_leader(world))
        return CORE_IDLE_NOTHING;
    hier_leader_naps(world, flag, value);
    return CORE_IDLE_SLEPT;
}

/** Until the thread has posted what the network part needs of it: of that nothing tells but its own flag. */
static inline enum core_idle hier_nap_on_missing(const hier_call *call, int thread) {
    core_flag *flag = &call->meeting.cells[thread].flag;
    const uint64_t value = intra_value(&call->meeting, call->need_phase);
    if (hier_nap_as_leader(call, flag, value) == CORE_IDLE_NOTHING)
        core_flag_sleep(flag, value, core_nap(0));
    return CORE_IDLE_SLEPT;
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
