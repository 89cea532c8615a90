// SPDX-License-Identifier: BSD-3-Clause
/**
 * A lane: the short way of messages from one thread to another of its process. One writer, one reader.
 *
 *     lines   written by the sender in turn; a line's stamp is written last and tells its number
 *     taken   written by the receiver: how many lines, and how many bytes of the ring, it has taken
 *     ring    the bytes of messages that are too long for a line, written by the sender
 *
 * What finds no room goes by the receiver's list (mailbox.h), and so does everything after it until the receiver has taken all that
 * went there: so the order of sending is kept.
 */
#ifndef INTRA_LANE_H
#define INTRA_LANE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define INTRA_LANE_LINES 32
#define INTRA_LANE_RING  ((size_t)32 << 10)
#define INTRA_MAIL_BYTES 40 /* the most that a line carries itself */

enum intra_mail_kind { INTRA_MAIL_LINE, INTRA_MAIL_RING, INTRA_MAIL_OFFER };

typedef struct intra_mail_line {
    alignas(64) _Atomic uint64_t stamp; /* the number of the message, from 1; released last by the sender */
    int32_t tag;
    uint32_t kind; /* enum intra_mail_kind */
    uint64_t bytes;
    union {
        unsigned char payload[INTRA_MAIL_BYTES];
        struct intra_send *send; /* of an offer */
    };
} intra_mail_line;
_Static_assert(sizeof(intra_mail_line) == 64, "a message is one cache line");

typedef struct intra_lane {
    intra_mail_line lines[INTRA_LANE_LINES];
    /* The receiver writes, the sender reads: */
    alignas(128) _Atomic uint64_t taken; /* lines */
    _Atomic uint64_t eaten;              /* bytes of the ring, those skipped at its end included */
    _Atomic uint64_t fetched;            /* messages that went by the list */
    /* The sender's own: */
    alignas(128) uint64_t sent, known_taken;
    uint64_t ring_sent, known_eaten;
    uint64_t spilled, known_fetched; /* messages that went by the list */
    int32_t source;                  /* the sender's rank; set before the receiver knows the lane */
    alignas(128) unsigned char ring[INTRA_LANE_RING];
} intra_lane;

/** Where in the ring a message begins when `used` bytes have gone through it: it does not run over the ring's end. */
static inline uint64_t intra_ring_begin(uint64_t used, size_t bytes) {
    uint64_t at = used % INTRA_LANE_RING;
    return at + bytes > INTRA_LANE_RING ? used + INTRA_LANE_RING - at : used;
}

/** What has gone through the ring after it: messages begin on cache lines. */
static inline uint64_t intra_ring_end(uint64_t begin, size_t bytes) {
    return begin + (bytes + 63) / 64 * 64;
}

#endif
