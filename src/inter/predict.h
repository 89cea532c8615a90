// SPDX-License-Identifier: BSD-3-Clause
/**
 * What a schedule would cost on a machine that is not at hand: a LogGP clock over the schedules of all ranks, without
 * data.
 *
 * Here a *node* is a machine that holds so many processes, one after the other: rank r is on node r / processes. Edges
 * inside a node and between nodes have costs of their own. A rank has one CPU, which does one thing at a time in the
 * order in which things become possible, and for each of the two kinds of edge a port for sending and one for receiving.
 *
 *     CPU of a     ├ o ┤
 *     port of a        ├─ max(g, nG) ─┤                      the message leaves when the port is free
 *     the edge          ╲──────── L + nG ────────╲
 *     port of b                    ├ max(g, nG) ──┤          in the order of arrival, one message at a time
 *     CPU of b                                    ├ o ┤      when the receive has been issued
 *
 *   - A send takes the CPU for o. Then the message leaves as soon as the port is free, and occupies it for max(g, nG).
 *     The send is complete when the message has left the port (eager: nobody waits for the receiver).
 *   - The message arrives L + nG after it began to leave. Arriving has occupied the receiver's port for max(g, nG), so a
 *     message that would overlap the one before it ends so much after that one.
 *   - When it has arrived and the receive is issued, the receiver's CPU is taken for o; then the receive is complete.
 *   - A reduction takes the CPU for its bytes (those of the result), a copy likewise; issuing a receive takes nothing.
 *   - Stages, independent stages and strands are what they are in schedule.h, the window of INTER_STRANDS included. All
 *     ranks begin at 0; a rank whose stage is complete goes on to the next one before it looks at other messages.
 *
 * So with α = L + 2o and β = G an exchange costs α + nβ, as in Chan et al. 2007 and Thakur et al. 2005.
 *
 * Source: Alexandrov, Ionescu, Schauser, Scheiman, "LogGP: incorporating long messages into the LogP model", SPAA 1995;
 * here the gap is that of a port, k bytes take kG and not (k − 1)G, and the receiver's port is modelled like the sender's.
 *
 * This file and those it needs depend on the schedules alone, not on the rest of the library.
 */
#ifndef INTER_PREDICT_H
#define INTER_PREDICT_H

#include <inter/algorithm.h>

/** Of one kind of edge: seconds, and seconds a byte. */
typedef struct inter_edge {
    double latency, overhead, gap, byte; /* L, o (at each side), g (between messages), G */
} inter_edge;

typedef struct inter_machine {
    inter_edge within, between; /* inside a node; between nodes */
    double reduce_byte, copy_byte;
    int processes; /* a node */
} inter_machine;

typedef struct inter_prediction {
    double seconds;                                                        /* until the last rank is done */
    double messages_within, messages_between, bytes_within, bytes_between; /* of all ranks */
    size_t messages_run; /* those of the ranks that were run: what it took to predict */
} inter_prediction;

enum inter_predicted {
    INTER_PREDICTED,
    INTER_PREDICT_TOO_LARGE, /* more messages than allowed */
    INTER_PREDICT_NO_MEMORY,
    INTER_PREDICT_UNMATCHED /* a message without a receive or the reverse, or ranks that wait for each other: a builder is
                               wrong */
};

/**
 * The collective that `view` describes (its rank does not matter: counts and offsets are those of all ranks) by
 * `algorithm`, on `machine`. *prediction is set for INTER_PREDICTED only.
 *
 * Takes time and about 100 bytes for each message, of which there are to be no more than `most_messages`. When all nodes
 * have `processes` ranks and the algorithm is symmetric (it says so, or the schedules show it), only the ranks of one node
 * are run, since the others do the same at the same time, and only their messages count for the limit. In algorithms that
 * say so, blocks of a cut vector may differ by an element from rank to rank: all have what those of the first node have.
 */
enum inter_predicted inter_predict(const inter_machine *machine, const inter_algorithm *algorithm,
                                   const inter_view *view, size_t most_messages, inter_prediction *prediction);

#endif
