// SPDX-License-Identifier: BSD-3-Clause
/**
 * How the processes of a job and their collector (collector.h) talk to each other: packets over a stream socket, a Unix one under
 * weftrun, TCP under other launchers.
 *
 * A process says hello when it connects, and is welcomed; later it says that one of its waits is too long. The collector asks; the process
 * answers with packets of rows, the last of which has fewer than CORE_PACKET_ROWS of them. It says goodbye in weft_finalize.
 */
#ifndef CORE_ROLLCALL_SOCKET_H
#define CORE_ROLLCALL_SOCKET_H

#include <core/rollcall.h>

/** JOB:DIRECTORY, the job's PMIx namespace and where weftrun's socket is. */
#define CORE_ROLLCALL_VARIABLE "WEFTRUN_SESSION"
#define CORE_ROLLCALL_SOCKET   "rollcall"
#define CORE_PACKET_ROWS       32
#define CORE_PACKET_VERSION    5
#define CORE_KEY_BYTES         16

enum core_packet_kind {
    CORE_PACKET_HELLO = 1,
    CORE_PACKET_WELCOME,
    CORE_PACKET_HANG,
    CORE_PACKET_ASK,
    CORE_PACKET_ROWS_OF,
    CORE_PACKET_GOODBYE
};

typedef struct core_packet_head {
    uint32_t version;   /* CORE_PACKET_VERSION */
    uint32_t row_bytes; /* sizeof(core_row): of the same build */
    uint32_t kind;
    uint32_t question;                 /* which one is asked or answered; of a hang: what is too long, in seconds */
    int32_t process;                   /* of who sends, where it is not the collector */
    uint32_t count;                    /* of rows, which follow */
    unsigned char key[CORE_KEY_BYTES]; /* of a hello: what only processes of the job know */
} core_packet_head;

typedef struct core_packet {
    core_packet_head head;
    core_row rows[CORE_PACKET_ROWS];
} core_packet;

static inline size_t core_packet_bytes(uint32_t rows) {
    return sizeof(core_packet_head) + rows * sizeof(core_row);
}

static inline core_packet_head core_packet_head_of(enum core_packet_kind kind, uint32_t question, int process) {
    return (core_packet_head){CORE_PACKET_VERSION, sizeof(core_row), kind, question, process, 0, {0}};
}

/** Is it of this build, with as many rows as a packet may have? */
bool core_packet_valid(const core_packet_head *head);

/**
 * A socket bound to, or connected to, the socket CORE_ROLLCALL_SOCKET in a directory, whatever the length of its path; close-on-exec. -1 and
 * errno.
 */
int core_rollcall_listen(const char *directory);
int core_rollcall_connect(const char *directory);

/** Where a collector without a directory listens: one that other hosts reach. All 0: there is none. */
typedef struct core_rollcall_address {
    unsigned char key[CORE_KEY_BYTES]; /* a connection that does not say it is cut off */
    uint16_t port;                     /* of TCP */
    uint16_t count;                    /* of the next */
    unsigned char hosts[6][16]; /* IPv6 addresses of the host, or IPv4 ones mapped to such (RFC 4291 section 2.5.5.2) */
} core_rollcall_address;

/** A socket as above that listens on every address of this host, at a port and with a key of its own. -1 and errno. */
int core_rollcall_listen_far(core_rollcall_address *address);

/**
 * A socket connected to it; every address has `limit_ms` milliseconds. Loopback addresses are for callers on the collector's host
 * (`same_host`). -1: none could be reached, or the descriptor `over` became readable meanwhile.
 */
int core_rollcall_connect_far(const core_rollcall_address *address, bool same_host, int limit_ms, int over);

#endif
