// SPDX-License-Identifier: BSD-3-Clause
/**
 * The timeline of WEFT_TRACE: one event an operation, in memory until weft_finalize, then a file in the Trace Event Format that
 * Chrome and Perfetto show.
 *
 * Each observer is a track. A timeline holds HIER_TRACE_MOST events a track (36 MiB); later ones are dropped, counted, and the file
 * says how many.
 */
#ifndef HIER_TRACE_H
#define HIER_TRACE_H

#include <core/clock.h>
#include <hier/observer.h>

#define HIER_TRACE_MOST ((size_t)1 << 19)

enum hier_event_kind {
    HIER_EVENT_CALL, /* a blocking call: nothing else happens on its track meanwhile */
    HIER_EVENT_ASYNC, /* from start to completion, or a call on processes, of which several threads may be in some: others overlap */
};

typedef struct hier_event {
    const char *call; /* "weft_allreduce"; static */
    uint64_t began_ticks, ended_ticks;
    uint64_t network_ticks[2];      /* of the part between processes; 0, 0: none that the track's rank waited for */
    const inter_algorithm *process; /* the selector's, or NULL */
    uint64_t bytes; /* of a message, a vector or a block; of alltoallv and alltoallw of all that the rank sends */
    int32_t root, peer, tag; /* −1: it has none */
    int8_t thread;           /* enum hier_thread_algorithm, or −1 */
    uint8_t kind;            /* enum hier_event_kind */
    bool failed, message;    /* a message's, else a collective's */
} hier_event;

/** A chunk has 64 pages of 4 KiB. */
#define HIER_TRACE_CHUNK 3640

typedef struct hier_trace_chunk {
    struct hier_trace_chunk *next;
    size_t count;
    hier_event events[HIER_TRACE_CHUNK];
} hier_trace_chunk;
_Static_assert(sizeof(hier_trace_chunk) <= (size_t)64 * 4096, "whole pages");

/** The place of the next event, by the observer's writer; NULL: without memory, or when there are too many, it is dropped. */
hier_event *hier_trace_place(hier_observer *observer);

/** Frees a timeline. */
void hier_trace_free(hier_observer *observer);

/**
 * Finds what this process's clock is behind that of process 0's host. Collective; before it every process has said that it traces. The
 * processes leave a barrier together, as exactly as that is: some microseconds, more over a slow network.
 */
int hier_trace_align(struct hier_world *world);

/** trace_file.c: writes the file. */
int hier_trace_write(const struct hier_world *world);

#endif
