// SPDX-License-Identifier: BSD-3-Clause
/**
 * Lines: messages between processes of one host through shared memory, several short ones in a cache line.
 *
 * UCX needs more time for a message of a few bytes between two processes of a host than the line of memory that carries it
 * (its queue has a head that every sender changes), and lets one of two waiting processes do all of a long copy. So where
 * nobody sleeps while it waits, this transport stands on top of UCX's: messages to processes of the same host go through
 * lines, all others through UCX.
 *
 * Every process has a segment of memory without a name (memfd: nothing is left behind), with a *lane* (lane.h) for each other
 * process, of which that process writes most. Lanes of processes of other hosts are never touched and take no memory.
 *
 *     up to INTER_LINE_BYTES    in a line, beside others that find room there
 *     up to INTER_EAGER_BYTES   copied into the lane's ring, and out of it; where cores are short up to INTER_CROWDED_BYTES
 *     longer                    the line offers them; part by part they go through the lane, or the receiver copies them from
 *                               buffer to buffer (pull.h)
 */
#ifndef INTER_LINES_H
#define INTER_LINES_H

#include <inter/transport.h>

/** The most bytes of a message that a line carries itself. */
#define INTER_LINE_BYTES    40
/** The most bytes of a message that is copied twice … */
#define INTER_EAGER_BYTES   16384
/** … and of a tagged one that may be pulled, where cores are far apart (inter_pace in ways.h) … */
#define INTER_FAR_BYTES     4096
/** … and of one where cores are short: a second copy takes less time than to have both sides on a core, in turn. */
#define INTER_CROWDED_BYTES 32768

/** Tells the other processes of the host where the segment is; part of what a process publishes. */
typedef struct inter_lines_card {
    int32_t pid, descriptor; /* descriptor -1: there is none */
    uint64_t cookie;         /* also at the segment's beginning: it is the right one */
    uint64_t probe;          /* where in the process's memory the cookie stands too */
} inter_lines_card;

typedef struct inter_lines inter_lines;

/** Makes the segment. *card is filled in; NULL and descriptor -1 where the system does not have what it takes. */
inter_lines *inter_lines_create(int rank, int size, inter_lines_card *card);

/** Maps the lane in the segment of a process of this host. Returns a weft error code. */
int inter_lines_map(inter_lines *lines, int peer, const inter_lines_card *card);

/** Can this process read the memory of all that it has mapped? Not everywhere is that allowed. */
bool inter_lines_can_pull(const inter_lines *lines);

/**
 * The transport, when every process has mapped all that it must: messages to processes whose segment is mapped go through
 * lines, the rest goes through `inner`, which stays the caller's; unless `pulls` (all processes can), longer messages do too. With
 * `wakes` a process may sleep while it waits for a message through lines; then all messages must go through lines. It belongs to
 * the lines.
 */
inter_transport *inter_lines_transport(inter_lines *lines, inter_transport *inner, bool pulls, bool wakes);

/** As if `wakes` had been asked for; from now on. In all processes, who may sleep for a moment too long until all have done so. */
void inter_lines_let_sleep(inter_lines *lines);

/** From now on the others may have to wait for a core. In any process, whatever the others do. */
void inter_lines_expect_crowd(inter_lines *lines);

/** Nothing goes by the inner transport, now or later: it is looked at seldom. Under the funnel. */
void inter_lines_carry_all(inter_lines *lines);

/** Frees it all; nothing is under way. NULL is nothing. */
void inter_lines_free(inter_lines *lines);

#endif
