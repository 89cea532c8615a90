// SPDX-License-Identifier: BSD-3-Clause
/**
 * Messages in lines: how the sender writes them and how the receiver reads them. (What a line looks like: lane.h.) Inline, since it is all
 * that lies between a short message and its cache line.
 */
#ifndef INTER_LINES_PACKING_H
#define INTER_LINES_PACKING_H

#include <core/clock.h>
#include <core/short.h>
#include <inter/lines_private.h>

/** Room for `bytes` bytes in a ring to a neighbour: where they begin. */
static inline bool inter_lines_find_ring(inter_neighbour *to, enum inter_ring ring, uint32_t bytes, uint64_t *begin) {
    *begin = inter_ring_begin(ring, to->ring_sent[ring], bytes);
    const uint64_t all = inter_ring_bytes(ring), end = inter_ring_end(*begin, bytes);
    if (end - to->known_eaten[ring] > all)
        /* Acquire: pairs with the release in inter_lines_took; the bytes have been read. */
        to->known_eaten[ring] = atomic_load_explicit(&to->to->eaten[ring], memory_order_acquire);
    return end - to->known_eaten[ring] <= all;
}

/** Fetches those lines of a ring for writing which the next messages will have, if they are as long as that which begins there. */
static inline void inter_lines_fetch_ring(const inter_neighbour *to, enum inter_ring ring, uint64_t begin) {
    const uint64_t most = begin + INTER_RING_FETCHED, end = to->ring_sent[ring] < most ? to->ring_sent[ring] : most;
    for (uint64_t ahead = begin + INTER_RING_AHEAD; ahead < end + INTER_RING_AHEAD; ahead += 64)
        if (ahead + 64 - to->known_eaten[ring] <= inter_ring_bytes(ring))
            __builtin_prefetch(inter_ring_at(to->to, ring, ahead), 1);
}

/** The kind of a message with what may be left out of its header. */
static inline uint32_t inter_lines_abridge(const inter_neighbour *to, const inter_stored *message) {
    uint32_t kind = message->kind;
    if (!(kind & INTER_LINE_AM))
        return kind;
    kind |= message->tag == to->next_said ? INTER_LINE_NEXT : 0;
    kind |= message->word == to->last_said ? INTER_LINE_SAME : 0;
    return kind;
}

/** What a message of that kind takes of a line. */
static inline uint32_t inter_lines_room(uint32_t kind, uint64_t bytes) {
    uint32_t room = INTER_LINE_STEP + (kind & INTER_LINE_NEXT ? 0 : 8);
    if ((kind & (INTER_LINE_AM | INTER_LINE_SAME)) == INTER_LINE_AM)
        room += 8;
    if (inter_line_is(kind, INTER_LINE_SHORT))
        return room + inter_line_steps((uint32_t)bytes);
    return inter_line_is(kind, INTER_LINE_PULL) ? room + (uint32_t)sizeof(inter_offer) : room;
}

static inline unsigned char *inter_lines_put(unsigned char *at, const void *from, size_t bytes) {
    if (bytes)
        memcpy(at, from, bytes);
    return at + bytes;
}

/** May another line to a neighbour be opened? */
static inline bool inter_lines_find_line(inter_neighbour *to) {
    if (to->sent - to->known_taken == INTER_LANE_LINES)
        /* Acquire: pairs with the release in inter_lines_leave; the line has been read. */
        to->known_taken = atomic_load_explicit(&to->to->taken, memory_order_acquire);
    return to->sent - to->known_taken < INTER_LANE_LINES;
}

/** Copies a message into the ring; some of the longer ones are timed. */
static inline void inter_lines_copy(inter_neighbour *to, void *at, const void *from, size_t bytes) {
    if (bytes <= INTER_FAR_BYTES || !inter_pace_is_timed(&to->pace)) {
        memcpy(at, from, bytes);
        return;
    }
    const uint64_t since = core_now_ns();
    memcpy(at, from, bytes);
    inter_pace_learn(&to->pace, core_now_ns() - since, bytes);
}

/**
 * Writes a message to a neighbour; false when its lane has no room (or this process no memory for the name of an offer). In place, whatever the
 * compiler thinks of its length: else the message would go to memory on its way.
 */
__attribute__((always_inline)) static inline bool inter_lines_write(inter_neighbour *to, const inter_stored *message) {
    inter_lane *lane = to->to;
    uint32_t kind = inter_lines_abridge(to, message), bytes = (uint32_t)message->bytes; /* of an offer in it */
    uint32_t room = inter_lines_room(kind, bytes), left = to->left;
    uint64_t number = to->sent, begin = 0;
    const bool fits = room <= left;
    /* In an exchange the receiver has read the line, and it would have to come back: the next one is here. */
    if (!fits || (to->answers && !(message->kind & INTER_LINE_AM))) {
        if (inter_lines_find_line(to)) {
            left = INTER_LINE_ROOM;
            number++;
            __builtin_prefetch(&lane->lines[inter_line_at(number - 1 + INTER_LINES_AHEAD)], 1);
        } else if (!fits) {
            return false;
        }
    }
    if (inter_line_is(kind, INTER_LINE_EAGER)) {
        enum inter_ring ring = INTER_NEAR;
        if (bytes > INTER_NEAR_BYTES || !inter_lines_find_ring(to, ring, bytes, &begin)) {
            ring = INTER_WIDE;
            kind |= INTER_LINE_WIDE;
            if (!inter_lines_find_ring(to, ring, bytes, &begin))
                return false;
        }
        inter_lines_copy(to, inter_ring_at(lane, ring, begin), message->buffer, bytes);
        to->ring_sent[ring] = inter_ring_end(begin, bytes);
        inter_lines_fetch_ring(to, ring, begin);
    } else if (inter_line_is(kind, INTER_LINE_PULL)) {
        if (!inter_offers_add(&to->offers, message->request))
            return false;
        message->request->buffer = (void *)(uintptr_t)message->buffer; /* it is packed from there */
    }
    inter_line *line = &lane->lines[inter_line_at(number - 1)];
    uint32_t filled = INTER_LINE_ROOM - left;
    unsigned char *at = &line->room[filled + INTER_LINE_STEP];
    atomic_store_explicit(&line->controls[filled / INTER_LINE_STEP], inter_line_control(kind, bytes),
                          memory_order_relaxed);
    if (!(kind & INTER_LINE_NEXT))
        at = inter_lines_put(at, &message->tag, sizeof(message->tag));
    if ((kind & (INTER_LINE_AM | INTER_LINE_SAME)) == INTER_LINE_AM)
        at = inter_lines_put(at, &message->word, sizeof(message->word));
    if (inter_line_is(kind, INTER_LINE_SHORT)) {
        core_copy_short(at, message->buffer, bytes);
    } else if (inter_line_is(kind, INTER_LINE_PULL)) {
        const uint64_t offer[] = {(uintptr_t)message->buffer, message->bytes, message->request->tag};
        for (int i = 0; i < 3; i++)
            at = inter_lines_put(at, &offer[i], sizeof(offer[i]));
    }
    left -= room;
    const bool closed = left < room;
    /* Release: pairs with inter_lines_stamp, publishes the message and what it speaks of. */
    atomic_store_explicit(&line->stamp, inter_line_stamp(number, (filled + room) | (closed ? INTER_LINE_CLOSED : 0)),
                          memory_order_release);
    to->sent = number;
    to->left = closed ? 0 : left;
    to->answers = false;
    if (kind & INTER_LINE_AM) {
        to->next_said = message->tag + 1;
        to->last_said = message->word;
    }
    return true;
}

/** Sends a message to a neighbour: in a line, or it waits for one. In place, as inter_lines_write. */
__attribute__((always_inline)) static inline int inter_lines_post(inter_lines *lines, inter_neighbour *to,
                                                                  const inter_stored *message) {
    inter_request *request = message->request;
    request->peer = to->rank;
    request->bytes = message->bytes;
    request->native = NULL;
    if (to->waiting.first || !inter_lines_write(to, message)) {
        inter_stored held = *message; /* what is written at once is never in memory itself */
        return inter_lines_hold(lines, to, &held);
    }
    inter_lines_wake(lines, to);
    if (inter_line_is(message->kind, INTER_LINE_PULL)) {
        request->native = request;
        request->completion->pending++;
        inter_lines_make_busy(lines, to);
    }
    return WEFT_SUCCESS;
}

/** The stamp of a line from a neighbour; 0: it is not open. Acquire: pairs with inter_lines_write. */
static inline uint32_t inter_lines_stamp(const inter_neighbour *from, uint64_t number) {
    uint32_t stamp = atomic_load_explicit(&from->from->lines[inter_line_at(number - 1)].stamp, memory_order_acquire);
    return inter_line_is_open(stamp, number) ? stamp : 0;
}

/** Is the line that is being read over? Only when the next one is open nothing more comes. */
static inline bool inter_lines_is_over(const inter_neighbour *from) {
    return from->read && inter_lines_stamp(from, from->taken + 2);
}

static inline bool inter_lines_arrived(const inter_neighbour *from) {
    return inter_line_filled(inter_lines_stamp(from, from->taken + 1)) > from->read || inter_lines_is_over(from);
}

/** The next bytes of a line, as far as it has them. */
static inline void inter_lines_get(const inter_line *line, uint32_t *at, void *to, uint32_t bytes) {
    if (bytes > INTER_LINE_ROOM - *at) { /* nobody writes that */
        *at = INTER_LINE_ROOM;
        return;
    }
    memcpy(to, &line->room[*at], bytes);
    *at += bytes;
}

/**
 * The message that stands *at, which is then moved behind it. Nothing that the other side wrote is trusted for a length or a place:
 * too long a one becomes a wrong one. What is neither in the line nor in the ring is an offer, and has no buffer.
 */
static inline inter_stored inter_lines_read(const inter_neighbour *from, const inter_line *line, uint32_t *at) {
    uint32_t control = atomic_load_explicit(&line->controls[*at / INTER_LINE_STEP], memory_order_relaxed);
    uint32_t kind = inter_line_kind_of(control), bytes = inter_line_bytes_of(control);
    inter_stored message = {.tag = from->next_heard, .word = from->last_heard, .kind = kind & INTER_LINE_AM};
    *at += INTER_LINE_STEP;
    if (!(kind & INTER_LINE_NEXT))
        inter_lines_get(line, at, &message.tag, sizeof(message.tag));
    if ((kind & (INTER_LINE_AM | INTER_LINE_SAME)) == INTER_LINE_AM)
        inter_lines_get(line, at, &message.word, sizeof(message.word));
    if (inter_line_is(kind, INTER_LINE_SHORT)) {
        uint32_t most = INTER_LINE_ROOM - *at;
        message.bytes = bytes < most ? bytes : most;
        message.buffer = &line->room[*at];
        message.kind |= INTER_LINE_SHORT;
        *at += inter_line_steps((uint32_t)message.bytes);
    } else if (inter_line_is(kind, INTER_LINE_EAGER)) {
        const enum inter_ring ring = inter_line_ring(kind);
        const uint32_t most = ring == INTER_NEAR ? INTER_NEAR_BYTES : INTER_CROWDED_BYTES;
        message.bytes = bytes < most ? bytes : most;
        message.buffer =
            inter_ring_at(from->from, ring, inter_ring_begin(ring, from->eaten[ring], (uint32_t)message.bytes));
        message.kind |= kind & (INTER_LINE_KIND | INTER_LINE_WIDE);
    } else {
        inter_lines_get(line, at, &message.offer, sizeof(message.offer));
        message.bytes = message.offer.bytes;
        message.kind |= INTER_LINE_PULL;
    }
    return message;
}

/** A message was taken, and ended there in its line; its part of the ring may be written again. */
static inline void inter_lines_took(inter_neighbour *from, const inter_stored *message, uint32_t end) {
    from->read = end;
    from->answers = !(message->kind & INTER_LINE_AM);
    if (message->kind & INTER_LINE_AM) {
        from->next_heard = message->tag + 1;
        from->last_heard = message->word;
    }
    if (inter_line_is(message->kind, INTER_LINE_EAGER)) {
        const enum inter_ring ring = inter_line_ring(message->kind);
        const uint32_t bytes = (uint32_t)message->bytes;
        from->eaten[ring] = inter_ring_end(inter_ring_begin(ring, from->eaten[ring], bytes), bytes);
        /* Release: pairs with inter_lines_find_ring. */
        atomic_store_explicit(&from->from->eaten[ring], from->eaten[ring], memory_order_release);
    }
}

/** All of a line was taken and nothing will be added: it may be written again. */
static inline void inter_lines_leave(inter_neighbour *from) {
    from->read = 0;
    /* Release: pairs with inter_lines_find_line. */
    atomic_store_explicit(&from->from->taken, ++from->taken, memory_order_release);
}

#endif
