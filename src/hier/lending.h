// SPDX-License-Identifier: BSD-3-Clause
/**
 * Lending: with a progress thread (progress.h) what a thread has under way is moved on while the thread computes.
 *
 * A thread's parts and mailboxes have one owner, without locks. So an agent is *kept* while its thread is in weft, and *lent* when it
 * leaves with something under way; the progress thread *borrows* it for a look and gives it back. The thread's next call reclaims it.
 *
 *     kept ──hier_lend──▶ lent ──hier_lent_progress──▶ borrowed
 *       ◀──hier_reclaim──   ◀────────────────────────────
 *
 * Each change that passes the agent on releases, and each that takes it acquires.
 */
#ifndef HIER_LENDING_H
#define HIER_LENDING_H

#include <hier/comm.h>

/** From now on the progress thread looks after the agent, or does not any more. By its thread. */
void hier_lending_join(hier_world *world, hier_agent *agent);
void hier_lending_part(hier_world *world, hier_agent *agent);

/** Before the thread leaves weft: nothing where it has nothing under way. */
void hier_lend(hier_agent *agent);

/**
 * Before the thread uses what is its own; waits for a look that is under way. Without any lock: a look may need the funnel, or a channel. So
 * every public call does it when it checks its communicator (hier_check_comm).
 */
void hier_reclaim(hier_agent *agent);
/** The same of the calling thread's agent, if it has one of that world (drive.c). */
void hier_reclaim_own(const hier_world *world);

/** One look at all that is lent; how many things happened. *under_way: there is something to look after. By the progress thread. */
unsigned hier_lent_progress(hier_world *world, bool *under_way);

/** hier_lend() of the calling thread's agent, if it has one (drive.c). */
void hier_lend_own(void);

/** At the end of a public call on a communicator, which is valid if the call went well; returns `code`. Every way out of one that has reclaimed. */
static inline int hier_leave(const weft_comm *comm, int code) {
    if (code || comm->lends)
        hier_lend_own();
    return code;
}

/** The same where there is no communicator, or none any more. */
static inline int hier_leave_all(int code) {
    hier_lend_own();
    return code;
}

#endif
