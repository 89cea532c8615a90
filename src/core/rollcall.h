// SPDX-License-Identifier: BSD-3-Clause
/**
 * The roll-call: what every thread of a job does, as rows, and the report made of them. Pure: the library finds the rows of a
 * process (hier/activity.h), a collector (collector.h) those of all.
 */
#ifndef CORE_ROLLCALL_H
#define CORE_ROLLCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** What became of a row's thread, or of its process. In the order of the report but for what waits. */
enum core_presence {
    CORE_ENDED,       /* the process has ended */
    CORE_LOST,        /* it hung up without a goodbye */
    CORE_NO_ANSWER,   /* it did not answer in time */
    CORE_NOT_IN_WEFT, /* it has not come to the end of weft_init, or is through with weft_finalize */
    CORE_NOT_ENTERED, /* nobody has entered the team under this number, or who had has left */
    CORE_OUTSIDE,     /* the thread waits for nothing in weft */
    CORE_WAITING,
    CORE_BEGUN, /* of each rank of each communicator that stands: what it has begun, wherever its thread is. No line, but it tells who is missing */
    CORE_PRESENCES
};

/** Numbers that a row does not have. */
#define CORE_NO_NUMBER INT32_MIN
#define CORE_NO_BYTES  UINT64_MAX

/** What all ranks of the communicator must come to: a persistent collective is one of many of the same number, and has rounds. */
enum { CORE_COLLECTIVE = 1, CORE_PERSISTENT = 2 };

/** Is it the number of a communicator within one process, which only there is another one's than that? */
static inline bool core_is_local(int32_t comm) {
    return comm < 0;
}

#define CORE_CALL_BYTES  40
#define CORE_PLACE_BYTES 96

typedef struct core_row {
    int32_t presence;
    int32_t process, thread; /* thread CORE_NO_NUMBER: the process's own row, or a thread of no team */
    int32_t home, home_rank; /* the communicator by which the thread is known, CORE_NO_NUMBER: none; its rank there */
    int32_t comm, rank,
        ranks; /* waiting, begun: on which communicator (0: the process communicator), as which rank of how many */
    int32_t root, peer, tag; /* or CORE_NO_NUMBER */
    int32_t collective;      /* as above; 0: it is none */
    int32_t stops;           /* not waiting: under FUNNELED nothing moves between its process and others meanwhile */
    uint64_t identity;       /* tells communicators of one number apart, where they have no process in common */
    uint64_t number;         /* of this wait among those of the process */
    uint64_t sequence;       /* of the collective on its communicator, begun: of the last one; 0: none */
    uint64_t round; /* of a persistent one; begun, of those that are not: how many persistent ones were prepared */
    uint64_t over;  /* begun: up to this one, or this round, they are over as well, as far as is known */
    uint64_t bytes;
    double waited_s;
    char call[CORE_CALL_BYTES];   /* "weft_barrier" */
    char of[CORE_CALL_BYTES];     /* the operation that a call of completion waits for, "weft_irecv"; or "" */
    char place[CORE_PLACE_BYTES]; /* where the program called it, or "" */
} core_row;

/** Rows, grown on demand. */
typedef struct core_roll {
    core_row *rows;
    size_t count, capacity;
} core_roll;

/** Room for one row more, all numbers unset; NULL without memory. */
core_row *core_roll_add(core_roll *roll);
void core_roll_free(core_roll *roll);

/**
 * Makes rows that came from elsewhere safe to print and to sort: texts end and are printable, and numbers are in range. False: they
 * are not the rows of a process `process`.
 */
bool core_roll_check(core_row *rows, size_t count, int process);

/**
 * Sorts: the odd one out first. Processes that are missing, threads that are not in the team, those outside weft, those that are
 * behind the others on the same communicator, in another operation, and last the most that wait for the same.
 */
void core_roll_sort(core_roll *roll);

/** Prints sorted rows, a line each, and, of a `whole` job's, who is missing in which collective. */
void core_roll_print(FILE *file, const core_roll *roll, bool whole);

/** The same of a job of so many processes, with a title: `who` says it, and by_user: nobody has waited too long. */
void core_roll_print_job(FILE *file, const char *who, int processes, const core_roll *roll, bool by_user);

/**
 * Is there a hang in `now` that the report `last` does not tell of: a wait of `now_s` seconds or more that it has not, while not all
 * stand that had lasted `last_s` seconds then? As long as those do it is the same hang, which more come to; and what is left of it when
 * some are over has been told: what had lasted half as long then.
 */
bool core_roll_is_news(const core_roll *last, double last_s, const core_roll *now, double now_s);

/** The longest wait that has lasted, in seconds; 0: nobody waits. */
double core_roll_longest(const core_roll *roll);

#endif
