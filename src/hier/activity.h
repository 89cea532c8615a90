// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the threads of a process wait in, for the roll-call.
 *
 * A thread that has entered teams has an *activity*, in its agent. It writes there only when a wait becomes long, and when such a wait is
 * over; the fast path of a call knows nothing of it. Who tests again and again waits too, until it has not tested for a while. The watcher (watch.h) reads it without a lock, at any time. The *roster* of a world
 * lists the activities and the teams of the process. A thread without an agent that waits on the process communicator is listed for as
 * long as a long wait lasts.
 */
#ifndef HIER_ACTIVITY_H
#define HIER_ACTIVITY_H

#include <core/rollcall.h>
#include <pthread.h>
#include <stdatomic.h>

/** A wait is long after so many looks that went beyond the flag alone, or when the thread is about to sleep. */
#define HIER_LOOKS_OF_A_LONG_WAIT 64

struct weft_comm;
struct weft_team;

/** How reports name a communicator: by its context; one within a process, which has none, by a negative number. */
int32_t hier_comm_number(const struct weft_comm *comm);
int32_t hier_team_number(const struct weft_team *team);

/** What a thread waits in. Numbers as in core_row. Texts live as long as the library. All members have 8 bytes. */
typedef struct hier_doing {
    const char *call; /* NULL: it waits for nothing */
    const char *of;   /* or NULL */
    const void *caller;
    uint64_t since_ns;
    uint64_t tested_ns; /* it tests again and again, when last; 0: it is in a call that waits */
    uint64_t identity, sequence, round, bytes;
    int64_t comm, rank, ranks, root, peer, tag, collective;
} hier_doing;

enum { HIER_DOING_WORDS = 16 };
_Static_assert(sizeof(hier_doing) == HIER_DOING_WORDS * sizeof(uint64_t), "words without padding");

/**
 * One writer, the thread; readers at any time. `turn` is odd while the words change.
 *
 * Writer: turn (odd), words (release), turn (even, release). Reader: turn (acquire), words (acquire), turn. The first load of turn
 * acquires what the even store released: the words are not older than that. A word that is younger was stored with release after
 * its writer made turn odd, and its load acquires that, so the second load of turn cannot return the first value any more
 * (Boehm, "Can seqlocks get along with programming language memory models?", 2012).
 */
typedef struct hier_activity {
    _Atomic uint64_t turn;
    _Atomic uint64_t words[HIER_DOING_WORDS];
    /* Under the roster's lock: */
    uint64_t id; /* among those of the process */
    int thread, home, home_rank;
    struct hier_activity *next;
} hier_activity;

/** A communicator of a process: the team of its threads, or (NULL) that of processes. Part of either. */
typedef struct hier_listed {
    struct weft_team *team;
    struct weft_comm *comm;
    struct hier_listed *next;
} hier_listed;

/** Of the threads without an agent, which are told of together: who tests again and again on process communicators. */
typedef struct hier_testers {
    _Atomic unsigned tests; /* in vain, as far as they are counted; relaxed, and some may be lost */
    pthread_mutex_t lock;   /* of the next */
    bool listed;
    uint64_t since_ns;
    hier_activity activity;
} hier_testers;

typedef struct hier_roster {
    pthread_mutex_t lock;
    hier_testers testers;
    bool watched;  /* somebody reads; set before there are handles */
    bool funneled; /* one thread drives the network, which there is */
    uint64_t ids;
    hier_activity *first;
    hier_listed *listed;
} hier_roster;

/** A description with nothing in it but the communicator and the call. */
hier_doing hier_doing_on(const struct weft_comm *comm, const char *call);

/** By the activity's thread. `begin` says since when, unless `doing` does; `change` leaves that as it was, and a wait that is the same its number. */
void hier_activity_begin(hier_activity *activity, const hier_doing *doing);
void hier_activity_change(hier_activity *activity, const hier_doing *doing);
void hier_activity_end(hier_activity *activity);

/** By anybody: one consistent state, and its number. False: the thread has been writing whenever it was looked at. */
bool hier_activity_read(const hier_activity *activity, hier_doing *doing, uint64_t *number);

void hier_roster_init(hier_roster *roster);
void hier_roster_destroy(hier_roster *roster);

/** Lists an activity, known by a handle or (comm NULL) not by one; takes it from the list. */
void hier_roster_add(hier_roster *roster, hier_activity *activity, const struct weft_comm *comm);
void hier_roster_remove(hier_roster *roster, hier_activity *activity);

/** One that is known by `left` is known by `other` from now on. */
void hier_roster_rename(hier_roster *roster, hier_activity *activity, const struct weft_comm *left,
                        const struct weft_comm *other);

/** The same for a communicator: who has not entered it is told, and what has been begun on it. */
void hier_roster_list(hier_roster *roster, hier_listed *listed);
void hier_roster_unlist(hier_roster *roster, hier_listed *listed);

/** And for a persistent collective of a process communicator: who has started it how often. */
struct hier_operation;
void hier_roster_prepare(hier_roster *roster, struct hier_operation *operation);
void hier_roster_forget(hier_roster *roster, struct hier_operation *operation);

/** Adds a row for each thread of the process, and those of what they have begun. False: without memory. Any thread. */
bool hier_roster_call(hier_roster *roster, int process, core_roll *roll);

#endif
