// SPDX-License-Identifier: BSD-3-Clause
/**
 * Observers: where what threads do is written down, as numbers (counters.c) and, when WEFT_TRACE asks for it, as a timeline
 * (trace.c).
 *
 * An observer has one writer at a time: a thread that has entered teams has one of its own, and the process communicator's is
 * under the funnel, as are the counters of what the engine sends. They stay until the world ends, and a thread that comes with the
 * rank of one that left goes on in that one's observer. Counters may be read at any time, timelines when all threads have left.
 */
#ifndef HIER_OBSERVER_H
#define HIER_OBSERVER_H

#include <core/config.h>
#include <core/counters.h>
#include <inter/algorithm.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hier_world;
struct hier_event;
struct hier_trace_chunk;

typedef struct hier_observer {
    core_counters counters;
    /* The timeline: */
    struct hier_trace_chunk *first, *last;
    size_t events, dropped;
    /* Under the observation's lock: */
    struct hier_observer *next;
    int rank; /* of the thread in the team that it entered first */
    bool taken;
} hier_observer;

/** What the operation that a communicator's user is in has noted so far; only while traced. */
typedef struct hier_noted {
    uint64_t began_ticks; /* 0: it is not in one */
    uint64_t network_ticks[2];
    const inter_algorithm *process; /* NULL: not chosen */
    int thread;                     /* enum hier_thread_algorithm; −1: none */
} hier_noted;

/** All observers of a world. */
typedef struct hier_observation {
    hier_observer process;    /* of the process communicator and of the engine; under the funnel */
    hier_observer *observers; /* of threads; this list is under the lock */
    pthread_mutex_t lock;
    core_counters start; /* those of `process` when weft_init was through; not counted */
    bool *on_host;       /* the processes of this host, by rank */
    bool traces;
    int session;      /* how often the process has started weft with this time; 0: not by weft_init */
    long child;       /* of a process that was forked from one that had called weft_init: its pid; else 0 */
    int64_t ahead_ns; /* to be added to this process's clock: it is then that of process 0's host */
} hier_observation;

/**
 * Makes the directories of WEFT_COUNTERS and WEFT_TRACE where there are none. Local. WEFT_ERR_CONFIG: one cannot be had, or is
 * not to be written to.
 */
int hier_observation_check(const core_config *config);

/** Begins to observe a zeroed world; its communicator is there. WEFT_ERR_NOMEM. */
int hier_observation_open(struct hier_world *world);

/** What was counted so far was weft's own. */
void hier_observation_start(struct hier_world *world);

/** In a child of fork(), of which there may be several with one number. */
void hier_observation_fork(void);
/** It is the process's next session. Under the lock of weft_init. */
void hier_observation_number(struct hier_world *world);

/** Writes what WEFT_COUNTERS and WEFT_TRACE ask for. All threads have left. WEFT_ERR_CONFIG: it cannot be written. */
int hier_observation_write(struct hier_world *world);

/** Frees all; also of one that was never opened. */
void hier_observation_close(struct hier_world *world);

/** An observer for a thread with this rank in its team; NULL without memory. */
hier_observer *hier_observer_take(struct hier_world *world, int rank);
void hier_observer_give(struct hier_world *world, hier_observer *observer);

/** The sums over all observers. */
void hier_counters_sum(struct hier_world *world, weft_counters *sums);

/**
 * Writes a text file of a whole, DIRECTORY/KIND.RANK: it is there with all that `write` wrote, or not at all. Of a process's later sessions it
 * has their number behind the rank, and of a child of fork() its pid, so that none takes the place of another.
 */
typedef void hier_file_writer(void *file, const void *argument);
int hier_file_write(const struct hier_world *world, const char *variable, const char *directory, const char *kind,
                    const char *ending, hier_file_writer *write, const void *argument);

#endif
