// SPDX-License-Identifier: BSD-3-Clause
/**
 * The sim transport: ranks in the memory of one process, for tests.
 *
 * Every send is a rendezvous: it completes only when its receiver has taken the message, so a schedule that counts on
 * buffering deadlocks here, where a real network would hide it. With a seed, messages are held back at random (those of
 * equal source and tag keep their order), so that schedules meet deliveries in many orders, and some short ones are over when they are
 * sent, as in a real network. Ranks may be driven by different threads, which may sleep on it.
 */
#ifndef INTER_TRANSPORT_SIM_H
#define INTER_TRANSPORT_SIM_H

#include <inter/transport.h>

typedef struct inter_sim inter_sim;

typedef struct inter_sim_counts {
    size_t messages, bytes;  /* sent so far by all */
    size_t waiting_messages; /* sent and not received */
    size_t waiting_receives; /* posted and not matched */
} inter_sim_counts;

/** `size` ranks; seed 0: messages are delivered at once, and none is over before. Errors: WEFT_ERR_NOMEM. */
int inter_sim_create(int size, uint64_t seed, inter_sim **sim);

/** A rank's transport. Closing it does nothing: it belongs to the sim. */
inter_transport *inter_sim_transport(inter_sim *sim, int rank);

inter_sim_counts inter_sim_count(inter_sim *sim);

/** Frees all, unmatched messages too. */
void inter_sim_destroy(inter_sim *sim);

#endif
