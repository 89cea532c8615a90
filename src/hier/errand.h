// SPDX-License-Identifier: BSD-3-Clause
/**
 * Errands: what a thread that may not drive the network (FUNNELED, another thread than the leader) has the leader do there.
 * They are run in the order in which they were sent, when the leader is in weft the next time, and by who may drive at once.
 */
#ifndef HIER_ERRAND_H
#define HIER_ERRAND_H

#include <core/inbox.h>
#include <core/wait.h>

struct hier_world;

/** Part of what it is about, which stays where it is until it has been run. */
typedef struct hier_errand {
    core_link link;
    void (*run)(struct hier_errand *errand); /* under the funnel; may free what the errand is part of */
} hier_errand;

/** Release: pairs with hier_run_errands, publishes all that the caller wrote. From here on the errand is the leader's. */
void hier_send_errand(struct hier_world *world, hier_errand *errand);

/** Runs those that wait; true when there was one. Under the funnel. */
bool hier_run_errands(struct hier_world *world);

/** Wakes the leader, after something was left for it: an errand, or a letter in the outbox. There is a network. */
void hier_wake_leader(struct hier_world *world);

/**
 * The leader waits for a thread of its process, and the others need it for all that goes between processes (FUNNELED): sleeps on the flag, which
 * wakes it, until something is left for it, or for a while, since nothing wakes it here when something comes in.
 */
void hier_leader_naps(struct hier_world *world, core_flag *flag, uint64_t target);

#endif
