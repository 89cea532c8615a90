// SPDX-License-Identifier: BSD-3-Clause
/**
 * A lane: the shared memory between a sender and a receiver of one host, in the receiver's segment.
 *
 *     lines   written by the sender, in turn; a line's stamp is written last and tells its number
 *     taken   written by the receiver: how many lines, and how many bytes of the ring, it has taken
 *     pulls   long copies under way (pull.h): set up by the receiver, worked on by both
 *     ring    the bytes of messages that are too long for a line, written by the sender
 */
#ifndef INTER_LANE_H
#define INTER_LANE_H

#include <inter/lines.h>
#include <inter/pull.h>

#define INTER_LANE_LINES 8 /* lines that may be on their way */
#define INTER_LANE_RING  ((size_t)64 << 10)
#define INTER_LANE_ALIGN 4096 /* lanes are mapped one by one */

enum inter_line_kind { INTER_LINE_SHORT, INTER_LINE_EAGER, INTER_LINE_PULL };
#define INTER_LINE_AM 4u /* added to the kind of an active message */

/** The most bytes of an active message that a line carries itself: its second word is in the line too. */
#define INTER_LINE_AM_BYTES (INTER_LINE_BYTES - sizeof(uint64_t))

typedef struct inter_line {
    _Alignas(64) _Atomic uint64_t
        stamp;      /* the number of the message, from 1; written last by the sender, read by the owner */
    uint64_t tag;   /* of an active message the header's first word */
    uint32_t bytes; /* of the payload, or in the ring */
    uint32_t kind;  /* enum inter_line_kind, and INTER_LINE_AM */
    union {
        unsigned char payload[INTER_LINE_BYTES];
        inter_offer offer; /* of a pull */
        struct {
            uint64_t word; /* the header's second */
            union {
                unsigned char payload[INTER_LINE_AM_BYTES];
                inter_offer offer;
            };
        } am;
    };
} inter_line;
_Static_assert(sizeof(inter_line) == 64, "a message is one cache line");

typedef struct inter_lane {
    _Alignas(INTER_LANE_ALIGN) inter_line lines[INTER_LANE_LINES];
    _Alignas(64) _Atomic uint64_t taken; /* lines; the receiver writes, the sender reads, as the next */
    _Atomic uint64_t eaten;              /* bytes of the ring, those skipped at its end included */
    inter_pulls pulls;
    _Alignas(64) unsigned char ring[INTER_LANE_RING];
} inter_lane;

/** What a segment begins with. */
typedef struct inter_head {
    _Alignas(INTER_LANE_ALIGN) uint64_t cookie;
    _Alignas(64) _Atomic uint32_t asleep; /* 1: the owner sleeps on this word, or is about to; who wakes it clears it */
} inter_head;

typedef struct inter_segment {
    inter_head head;
    inter_lane lanes[];
} inter_segment;

/** Where in the ring a message begins when `used` bytes have gone through it: it does not run over the ring's end. */
static inline uint64_t inter_ring_begin(uint64_t used, uint32_t bytes) {
    uint64_t at = used % INTER_LANE_RING;
    return at + bytes > INTER_LANE_RING ? used + INTER_LANE_RING - at : used;
}

/** What has gone through the ring after it: messages begin on cache lines. */
static inline uint64_t inter_ring_end(uint64_t begin, uint32_t bytes) {
    return begin + ((uint64_t)bytes + 63) / 64 * 64;
}

#endif
