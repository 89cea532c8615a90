// SPDX-License-Identifier: BSD-3-Clause
/**
 * Channels of threads: under MULTIPLE each thread of a team drives a UCX worker of its own for its messages, so that threads that talk
 * to other processes do not wait for each other. Thread t of any team has channel t of its process, modulo INTER_CHANNELS.
 */
#ifndef HIER_CHANNELS_H
#define HIER_CHANNELS_H

#include <hier/agree.h>
#include <hier/comm.h>

/**
 * Bytes that hier_channels_open() needs, at an address for an int64_t. They are had before the first meeting in a call: who has none then has not begun.
 */
size_t hier_channels_room(const weft_comm *parent);

/**
 * Opens channels for `threads` threads of this process, as far as they are missing, and tells those processes of the parent, a process
 * communicator, that do not know them. Nothing below MULTIPLE or in a single process. Collective over the parent; an error of one is an
 * error of all. Several threads may be at it, with other parents.
 */
int hier_channels_open(weft_comm *parent, hier_caller by, int threads, void *room);

/** NULL: there is none, nor of a higher number. Acquire: pairs with who opened it. */
static inline hier_channel *hier_channel_at(hier_world *world, int number) {
    return number < INTER_CHANNELS ? atomic_load_explicit(&world->channels[number], memory_order_acquire) : NULL;
}

/** The channel of a thread's messages to other processes. */
static inline hier_channel *hier_channel_of_thread(hier_world *world, int thread) {
    hier_channel *own = hier_channel_at(world, thread % INTER_CHANNELS);
    return own ? own : &world->channel;
}

/** As hier_channel_open, for all channels; takes the lock of each. */
void hier_channels_let_in(hier_world *world, uint32_t context, hier_boxes boxes);

/** A communicator has gone: its context is given back, or, when it was broken, lost, and what came for it since is dropped. */
void hier_context_left(hier_world *world, uint32_t context, bool whole);

/** Frees them; no messages are under way. */
void hier_channels_close(hier_world *world);

#endif
