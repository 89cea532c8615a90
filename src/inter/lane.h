// SPDX-License-Identifier: BSD-3-Clause
/**
 * A lane: the shared memory between a sender and a receiver of one host, in the receiver's segment.
 *
 *     lines   written by the sender, in the order of inter_line_at; several short messages share one
 *     taken   written by the receiver: how many lines, and how many bytes of the rings, it is done with
 *     pulls   long copies under way (pull.h): set up by the receiver, worked on by both
 *     rings   the bytes of messages that are too long for a line, written by the sender: one that the cache next to a core holds,
 *             for the shorter ones, and a wide one for the others, and for what finds no room in the first
 *
 * A line is filled from its beginning, and its stamp, which tells its number and how much of it is filled, is written anew after
 * each message:
 *
 *     | stamp | control, first word, second word, payload | control, payload | control, payload | free … |
 *
 * A message that finds no room opens the next line; to the one before nothing is added from then on. A line with no room for another message
 * like its last is closed at once, and its stamp says so: the receiver goes on to the next. Of one that is not, when it has read all, it
 * looks at the next one too, and once that is open it takes what was added last and goes on.
 * Stamps have fixed places: what stands in one is a stamp, of this lap of the lines or of the lap before.
 *
 * Each message has a word that is found by who receives it: the tag, or the first one of an active message's header. That
 * has a second word, and does without either when it follows from the active message before (INTER_LINE_NEXT, INTER_LINE_SAME),
 * as it does in a run of messages to one receiver: five of 8 bytes then share a line.
 */
#ifndef INTER_LANE_H
#define INTER_LANE_H

#include <inter/lines.h>
#include <inter/pull.h>

#define INTER_LANE_LINES   64 /* lines that may be on their way */
#define INTER_NEAR_RING    ((size_t)16 << 10)
#define INTER_WIDE_RING    ((size_t)64 << 10)
/** The longest message in the near ring. */
#define INTER_NEAR_BYTES   4096
/*
 * So far ahead a sender fetches what it will write: else each store waits until the line of the one before has come. Longer copies fetch
 * for themselves.
 */
#define INTER_LINES_AHEAD  4
#define INTER_RING_AHEAD   384
#define INTER_RING_FETCHED 512
#define INTER_LANE_ALIGN   4096 /* lanes are mapped one by one */
_Static_assert(INTER_CROWDED_BYTES <= INTER_WIDE_RING / 2, "one message goes in while another comes out");

enum inter_ring { INTER_NEAR, INTER_WIDE, INTER_RINGS };
enum inter_line_kind { INTER_LINE_SHORT, INTER_LINE_EAGER, INTER_LINE_PULL };
#define INTER_LINE_KIND 3u
#define INTER_LINE_AM   4u /* added to the kind of an active message … */
#define INTER_LINE_NEXT 8u /* … and to that: without the header's first word, which is one more than that before … */
#define INTER_LINE_SAME 16u /* … without the second, which is that before */
#define INTER_LINE_WIDE 32u /* added to INTER_LINE_EAGER: it is in the wide ring */

/** What messages have of a line. */
#define INTER_LINE_ROOM 60u
/** Control words begin on so many bytes. */
#define INTER_LINE_STEP 4u

typedef struct inter_line {
    _Alignas(64) _Atomic uint32_t stamp; /* written last by the sender, read by the owner: inter_line_stamp */
    union {
        _Atomic uint32_t controls[INTER_LINE_ROOM / INTER_LINE_STEP]; /* where messages begin: inter_line_control */
        unsigned char room[INTER_LINE_ROOM];
    };
} inter_line;
_Static_assert(sizeof(inter_line) == 64, "a line is a cache line");

/** The header of an active message with as many bytes in the line as any; of a tagged one there is more room. */
_Static_assert(INTER_LINE_STEP + 2 * sizeof(uint64_t) + INTER_LINE_BYTES <= INTER_LINE_ROOM,
               "the longest short message");
_Static_assert(INTER_LINE_STEP + 2 * sizeof(uint64_t) + sizeof(inter_offer) <= INTER_LINE_ROOM,
               "an offer fits in a line");

/** In a stamp: nothing will be added. */
#define INTER_LINE_CLOSED 0x80u

/** The line of a number, from 1, with so many bytes filled, and INTER_LINE_CLOSED or not. */
static inline uint32_t inter_line_stamp(uint64_t number, uint32_t filled) {
    return (uint32_t)number << 8 | filled;
}

/**
 * Which line comes so many behind the first: the bits of the number in reverse. A processor that saw lines read one behind the other would
 * fetch those ahead, out of the cache of the sender, who has them there to write.
 */
static inline unsigned inter_line_at(uint64_t behind) {
    static const unsigned char reversed[] = {
        0,  32, 16, 48, 8,  40, 24, 56, 4,  36, 20, 52, 12, 44, 28, 60, 2,  34, 18, 50, 10, 42,
        26, 58, 6,  38, 22, 54, 14, 46, 30, 62, 1,  33, 17, 49, 9,  41, 25, 57, 5,  37, 21, 53,
        13, 45, 29, 61, 3,  35, 19, 51, 11, 43, 27, 59, 7,  39, 23, 55, 15, 47, 31, 63,
    };
    _Static_assert(sizeof(reversed) == INTER_LANE_LINES, "six bits are in a line's number");
    return reversed[behind % INTER_LANE_LINES];
}

static inline bool inter_line_is_open(uint32_t stamp, uint64_t number) {
    return ((stamp ^ inter_line_stamp(number, 0)) >> 8) == 0;
}

/** How much is filled. What the other side wrote is not trusted. */
static inline uint32_t inter_line_filled(uint32_t stamp) {
    uint32_t filled = stamp & (INTER_LINE_CLOSED - 1);
    return filled < INTER_LINE_ROOM ? filled : INTER_LINE_ROOM;
}

/** What a message begins with: its kind (enum inter_line_kind and what is added) and length; an offer has its length itself. */
static inline uint32_t inter_line_control(uint32_t kind, uint32_t bytes) {
    return bytes << 8 | kind;
}

static inline uint32_t inter_line_kind_of(uint32_t control) {
    return control & 0xff;
}

static inline uint32_t inter_line_bytes_of(uint32_t control) {
    return control >> 8;
}

/** Which ring the bytes of a message of that kind are in. */
static inline enum inter_ring inter_line_ring(uint32_t kind) {
    return kind & INTER_LINE_WIDE ? INTER_WIDE : INTER_NEAR;
}

/** What bytes take of a line. */
static inline uint32_t inter_line_steps(uint32_t bytes) {
    return (bytes + INTER_LINE_STEP - 1) / INTER_LINE_STEP * INTER_LINE_STEP;
}

typedef struct inter_lane {
    _Alignas(INTER_LANE_ALIGN) inter_line lines[INTER_LANE_LINES];
    _Alignas(
        64) _Atomic uint64_t taken; /* lines that are done with; the receiver writes, the sender reads, as the next */
    _Atomic uint64_t eaten[INTER_RINGS]; /* bytes of each ring, those skipped at its end included */
    inter_pulls pulls;
    _Alignas(64) unsigned char near[INTER_NEAR_RING];
    unsigned char wide[INTER_WIDE_RING];
} inter_lane;

/** What a segment begins with. */
typedef struct inter_head {
    _Alignas(INTER_LANE_ALIGN) uint64_t cookie;
    uint64_t window;                      /* where the owner has its window (window.h) */
    _Alignas(64) _Atomic uint32_t asleep; /* odd: the owner sleeps on this word, or is about to (core_word_arm) */
} inter_head;

typedef struct inter_segment {
    inter_head head;
    inter_lane lanes[];
} inter_segment;

static inline size_t inter_ring_bytes(enum inter_ring ring) {
    return ring == INTER_NEAR ? INTER_NEAR_RING : INTER_WIDE_RING;
}

static inline unsigned char *inter_ring_at(inter_lane *lane, enum inter_ring ring, uint64_t place) {
    return ring == INTER_NEAR ? &lane->near[place % INTER_NEAR_RING] : &lane->wide[place % INTER_WIDE_RING];
}

/** Where in a ring a message begins when `used` bytes have gone through it: it does not run over the ring's end. */
static inline uint64_t inter_ring_begin(enum inter_ring ring, uint64_t used, uint32_t bytes) {
    const uint64_t all = inter_ring_bytes(ring), at = used % all;
    return at + bytes > all ? used + all - at : used;
}

/** What has gone through the ring after it: messages begin on cache lines. */
static inline uint64_t inter_ring_end(uint64_t begin, uint32_t bytes) {
    return begin + ((uint64_t)bytes + 63) / 64 * 64;
}

#endif
