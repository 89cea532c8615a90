// SPDX-License-Identifier: BSD-3-Clause
/**
 * Lines: tiny messages between processes of one host, a cache line each, in shared memory.
 *
 * UCX needs more time for a message of a few bytes between two processes of a host than the line of memory that carries it
 * (its queue has a head that every sender changes). So the collectives whose messages all fit a line use this transport on top
 * of UCX's: messages to processes of the same host go through lines, all others through UCX.
 *
 * Every process has a segment of memory without a name (memfd: nothing is left behind), with a *lane* for each other process,
 * a ring of lines that only that process writes. Lanes of processes of other hosts are never touched and take no memory.
 *
 *     line:   | stamp | tag | bytes | payload, up to INTER_LINE_BYTES |      64 bytes; the stamp is written last
 */
#ifndef INTER_LINES_H
#define INTER_LINES_H

#include <inter/transport.h>

/** The most bytes of a message that lines carry. */
#define INTER_LINE_BYTES 40

/** Tells the other processes of the host where the segment is; part of what a process publishes. */
typedef struct inter_lines_card {
    int32_t pid, descriptor; /* descriptor -1: there is none */
    uint64_t cookie;         /* also at the segment's beginning: it is the right one */
} inter_lines_card;

typedef struct inter_lines inter_lines;

/** Makes the segment. *card is filled in; NULL and descriptor -1 where the system does not have what it takes. */
inter_lines *inter_lines_create(int rank, int size, inter_lines_card *card);

/** Maps the segment of a process of this host. Returns a weft error code. */
int inter_lines_map(inter_lines *lines, int peer, const inter_lines_card *card);

/**
 * The transport, when every process has mapped all that it must: messages to processes whose segment is mapped go through
 * lines and have at most INTER_LINE_BYTES bytes, the rest goes through `inner`, which stays the caller's. It belongs to the
 * lines.
 */
inter_transport *inter_lines_transport(inter_lines *lines, inter_transport *inner);

/** Frees it all; nothing is under way. NULL is nothing. */
void inter_lines_free(inter_lines *lines);

#endif
