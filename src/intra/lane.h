// SPDX-License-Identifier: BSD-3-Clause
/**
 * A lane: the short way of messages from one thread to another of its process. A ring of bytes with one writer and one reader.
 *
 *     | word | bytes … | word | bytes … | 0 |        a message begins on 16 bytes: four of 8 bytes share a cache line
 *
 * The word is what the message is, its length and its tag; it is written last and is never 0. Before it stands, the word behind it
 * is 0: the reader goes on until he finds one. A message does not run over the ring's end: a word that says so stands for the rest.
 *
 * What finds no room goes by the receiver's list (mailbox.h), and so does everything after it until the receiver has taken all that
 * went there: so the order of sending is kept.
 */
#ifndef INTRA_LANE_H
#define INTRA_LANE_H

#include <core/short.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTRA_LANE_BYTES   ((size_t)32 << 10)
#define INTRA_LANE_STEP    16
/** The sender takes the lines of the ring back so many bytes together: see intra_lane_send. */
#define INTRA_LANE_STRETCH 512
/** So much behind a message must be free: the next word, and what is taken back, since what has not been read is the receiver's. */
#define INTRA_LANE_MARGIN  (2 * INTRA_LANE_STRETCH + 64)
/** The longest message in a lane. */
#define INTRA_LANE_LONGEST (INTRA_LANE_BYTES / 4)

enum intra_lane_kind { INTRA_LANE_COPY = 1, INTRA_LANE_OFFER, INTRA_LANE_SKIP };

typedef struct intra_lane {
    alignas(128) unsigned char ring[INTRA_LANE_BYTES];
    /* The receiver writes, the sender reads: */
    alignas(128) _Atomic uint64_t taken; /* bytes, those skipped included */
    _Atomic uint64_t fetched;            /* messages that went by the list */
    int32_t source; /* the sender's rank; set before the receiver knows the lane, and read by him with every message */
    /* The sender's own: */
    alignas(128) uint64_t sent, known_taken; /* bytes */
    uint64_t spilled, known_fetched;         /* messages that went by the list */
} intra_lane;

static inline uint64_t intra_lane_word(enum intra_lane_kind kind, size_t bytes, int32_t tag) {
    return (uint64_t)kind << 56 | (uint64_t)bytes << 32 | (uint32_t)tag;
}

static inline enum intra_lane_kind intra_lane_kind_of(uint64_t word) {
    return (enum intra_lane_kind)(word >> 56);
}

static inline size_t intra_lane_bytes_of(uint64_t word) {
    return word >> 32 & 0xffffff;
}

static inline int32_t intra_lane_tag_of(uint64_t word) {
    return (int32_t)(uint32_t)word;
}

static inline _Atomic uint64_t *intra_lane_at(intra_lane *lane, uint64_t place) {
    return (_Atomic uint64_t *)(void *)&lane->ring[place % INTRA_LANE_BYTES];
}

/** The bytes of the message that begins at `place`. */
static inline unsigned char *intra_lane_payload(intra_lane *lane, uint64_t place) {
    return &lane->ring[place % INTRA_LANE_BYTES + sizeof(uint64_t)];
}

/** What a message of so many bytes takes. */
static inline uint64_t intra_lane_room(size_t bytes) {
    return (sizeof(uint64_t) + bytes + INTRA_LANE_STEP - 1) / INTRA_LANE_STEP * INTRA_LANE_STEP;
}

/** intra_lane_has_room as far as the sender knows without a look at the receiver's side, and as the ring does not end before. */
static inline bool intra_lane_is_open(const intra_lane *lane, size_t bytes) {
    uint64_t room = intra_lane_room(bytes);
    return room <= INTRA_LANE_BYTES - lane->sent % INTRA_LANE_BYTES &&
           lane->sent + room + INTRA_LANE_MARGIN - lane->known_taken <= INTRA_LANE_BYTES;
}

/** Can the next message have `bytes` bytes? By the sender. Where the ring ends before, he goes to its beginning. */
bool intra_lane_has_room(intra_lane *lane, size_t bytes, bool patient);

/**
 * Sends what was written to the payload at lane->sent. Release: pairs with intra_lane_look.
 *
 * The receiver has read the lines of the ring, and the first store to one takes it back from him: a trip. Stores to several lines in a row
 * make their trips together, but those of messages one after the other, lest the second be seen first. So, with each stretch
 * that is begun, the next one is written to. (A prefetch for writing does not do it: some processors leave a line that they have to
 * read as it is.)
 */
static inline void intra_lane_send(intra_lane *lane, enum intra_lane_kind kind, size_t bytes, int32_t tag) {
    uint64_t place = lane->sent;
    lane->sent = place + intra_lane_room(bytes);
    atomic_store_explicit(intra_lane_at(lane, lane->sent), 0, memory_order_relaxed);
    atomic_store_explicit(intra_lane_at(lane, place), intra_lane_word(kind, bytes, tag), memory_order_release);
    const uint64_t stretch = lane->sent / INTRA_LANE_STRETCH + 1;
    if (place / INTRA_LANE_STRETCH + 1 != stretch)
        for (uint64_t line = stretch * INTRA_LANE_STRETCH; line < (stretch + 1) * INTRA_LANE_STRETCH; line += 64)
            atomic_store_explicit(intra_lane_at(lane, line), 0, memory_order_relaxed);
}

/**
 * Sends a copy, for which there is room. Release: as intra_lane_send. The bytes beside the word come last: a receiver who looks for it
 * takes their cache line away again and again.
 */
static inline void intra_lane_send_copy(intra_lane *lane, int32_t tag, const void *buffer, size_t bytes) {
    unsigned char *payload = intra_lane_payload(lane, lane->sent);
    const size_t beside = 64 - sizeof(uint64_t);
    if (bytes > beside) {
        memcpy(payload + beside, (const unsigned char *)buffer + beside, bytes - beside);
        memcpy(payload, buffer, beside);
    } else {
        core_copy_short(payload, buffer, bytes);
    }
    intra_lane_send(lane, INTRA_LANE_COPY, bytes, tag);
}

/** The word of the next message, or 0; by the receiver, who has taken `taken` bytes. Acquire: pairs with intra_lane_send. */
static inline uint64_t intra_lane_look(intra_lane *lane, uint64_t taken) {
    return atomic_load_explicit(intra_lane_at(lane, taken), memory_order_acquire);
}

#endif
