// SPDX-License-Identifier: BSD-3-Clause
/**
 * Who calls the roll of a job: all processes are asked what their threads do, when one says that one of its waits is too long or when the
 * user wishes, and one report is made of their answers. weftrun has one, and process 0 of a job that another launcher has started.
 *
 * What processes send is checked: who sends nonsense is cut off, as if it had hung up. One thread uses it.
 */
#ifndef CORE_COLLECTOR_H
#define CORE_COLLECTOR_H

#include <core/rollcall_socket.h>

typedef struct core_collector core_collector;

/**
 * `listener`, a socket to which the processes connect, is taken over, also when it fails. `key`: CORE_KEY_BYTES bytes that they must say, or
 * NULL: who reaches the socket may. Connections whose descriptor would be `most` or more are refused. NULL and errno.
 */
core_collector *core_collector_open(int processes, int listener, const unsigned char *key, int most);
void core_collector_close(core_collector *collector);

/** Readable when there is something to move. */
int core_collector_fd(const core_collector *collector);
/** How long poll may sleep before things must be moved all the same, in ms; -1: for ever. */
int core_collector_wait_ms(const core_collector *collector);
/** Calls the roll, for the user. */
void core_collector_ask(core_collector *collector);

/** What there is to report: sorted rows, valid until things are moved again. NULL: nothing. */
typedef struct core_report {
    const core_roll *roll;
    bool by_user;
} core_report;

/**
 * Takes what came. There is something to report when all have answered or had the time to. `ended`: by process, who has ended; NULL: the
 * caller does not know.
 */
core_report core_collector_move(core_collector *collector, const bool *ended);

/** Has the process said hello, by what was moved? */
bool core_collector_knows(const core_collector *collector, int process);

/** Has the process been through weft_finalize, and not called weft_init again, by what was moved? */
bool core_collector_through(const core_collector *collector, int process);

#endif
