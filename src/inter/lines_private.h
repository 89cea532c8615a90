// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the files of lines share: a process's own side of its lanes.
 */
#ifndef INTER_LINES_PRIVATE_H
#define INTER_LINES_PRIVATE_H

#include <inter/lane.h>

/** A message that has to wait: one that came before its receive, one without room in its lane, an offer without a pull. */
typedef struct inter_stored {
    struct inter_stored *next;
    inter_request *request; /* of a message to send, of an offer that has its receive */
    uint64_t tag;
    const void *buffer; /* of a message to send: stays the sender's until the request is complete */
    uint64_t bytes;
    uint32_t kind; /* enum inter_line_kind, of one that came */
    inter_offer offer;
    unsigned char payload[]; /* of one that came */
} inter_stored;

/** What this process has to do with another one of its host. */
typedef struct inter_neighbour {
    inter_lane *to, *from; /* NULL: not of this host, or this process itself */
    inter_head *head;      /* of its segment */
    int process;           /* its process id */
    bool busy;             /* in the list of those with something below that needs looking after */
    struct inter_neighbour *next_busy;
    uint64_t sent, known_taken;          /* lines to it */
    uint64_t ring_sent, known_eaten;     /* bytes in the ring to it */
    inter_stored *waiting;               /* messages to it without room, oldest first */
    inter_request *offered;              /* messages to it that are offered, and not copied yet */
    uint64_t taken, eaten;               /* lines and bytes of the ring from it */
    inter_stored *early, *matched;       /* messages from it without a receive, offers without a pull; oldest first */
    inter_request *posted, **posted_end; /* receives from it without a message, oldest first */
    unsigned incoming;                   /* pulls under way from it, a bit each … */
    inter_request *pulling[INTER_PULLS]; /* … and their receives */
} inter_neighbour;

struct inter_lines {
    inter_transport base;
    inter_transport *inner;
    inter_segment *own;
    size_t segment_bytes;
    uint64_t cookie;
    int descriptor;
    bool wakes;    /* processes may sleep while they wait */
    bool can_pull; /* this process can read the memory of all that it has mapped; later: all processes can */
    inter_neighbour *neighbours; /* by rank */
    inter_neighbour *busy;
    unsigned looks;
};

#endif
