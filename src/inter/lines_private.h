// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the files of lines share: a process's own side of its lanes. lines.c makes them, lines_transport.c has the tagged
 * messages and moves all on, lines_am.c has the active messages.
 */
#ifndef INTER_LINES_PRIVATE_H
#define INTER_LINES_PRIVATE_H

#include <core/wait.h>
#include <inter/lane.h>
#include <inter/offers.h>
#include <string.h>
#include <weft/error.h>

/** A message: one to send, one that came, one that has to wait for room, for its receive, for a listener or for a pull. */
typedef struct inter_stored {
    struct inter_stored *next;
    inter_request
        *request;  /* of a message to send, of an offer that has its receive; NULL: of an offer that is not wanted */
    uint64_t tag;  /* of an active message the header's first word … */
    uint64_t word; /* … and its second */
    const void *buffer; /* of a message to send: stays the sender's until the request is complete */
    uint64_t bytes;
    uint32_t kind;           /* as a line's */
    inter_offer offer;       /* of one that came */
    unsigned char payload[]; /* of one that came */
} inter_stored;

/** Oldest first; all zeros is empty. */
typedef struct inter_store {
    inter_stored *first, *last;
} inter_store;

/** What this process has to do with another one of its host. */
typedef struct inter_neighbour {
    inter_lane *to, *from;         /* NULL: not of this host, or this process itself */
    uint64_t taken, eaten;         /* lines and bytes of the ring from it */
    uint64_t sent, known_taken;    /* lines to it */
    inter_head *head;              /* of its segment */
    uint64_t ring_sent;            /* bytes in the ring to it */
    inter_store waiting;           /* messages to it without room */
    uint64_t known_eaten;          /* of the ring to it */
    struct inter_neighbour *local; /* the next one of this host */
    int rank, process;             /* its rank and process id */
    bool busy;                     /* in the list of those with something below that needs looking after */
    struct inter_neighbour *next_busy;
    inter_offers offers;                 /* messages to it that are offered, and not copied yet */
    inter_store early, matched;          /* messages from it without a receive, offers without a pull */
    inter_store unheard;                 /* active messages from it that came while nobody listened */
    inter_request *posted, **posted_end; /* receives from it without a message, oldest first */
    unsigned incoming;                   /* pulls under way from it, a bit each … */
    inter_request *pulling[INTER_PULLS]; /* … and their receives */
} inter_neighbour;

struct inter_lines {
    inter_transport base;
    inter_transport *inner;
    inter_segment *own;
    size_t segment_bytes;
    uint64_t cookie;
    int descriptor;
    _Atomic bool wakes; /* processes may sleep while they wait; switched on under the funnel, looked at by anybody */
    bool can_pull;      /* this process can read the memory of all that it has mapped; later: all processes can */
    inter_neighbour *neighbours; /* by rank */
    inter_neighbour *locals;     /* those of this host */
    inter_neighbour *busy;
    inter_listener *listener; /* NULL: nobody listens, and only neighbours that are busy are looked at */
    void *listener_argument;
    unsigned looks;
};

static inline bool inter_lines_wakes(const inter_lines *lines) {
    return atomic_load_explicit(&lines->wakes, memory_order_relaxed);
}

/** A line has this kind or, of an active message, this and INTER_LINE_AM. */
static inline bool inter_line_is(uint32_t kind, enum inter_line_kind which) {
    return (kind & ~INTER_LINE_AM) == (uint32_t)which;
}

static inline void inter_store_append(inter_store *store, inter_stored *item) {
    item->next = NULL;
    if (store->first)
        store->last->next = item;
    else
        store->first = item;
    store->last = item;
}

/** Takes out the item behind `previous`; NULL: the first. It is there. */
static inline inter_stored *inter_store_take(inter_store *store, inter_stored *previous) {
    inter_stored **link = previous ? &previous->next : &store->first, *item = *link;
    *link = item->next;
    if (store->last == item)
        store->last = previous;
    return item;
}

static inline void inter_lines_make_busy(inter_lines *lines, inter_neighbour *of) {
    if (of->busy)
        return;
    of->busy = true;
    of->next_busy = lines->busy;
    lines->busy = of;
}

/** Something is new in a lane that this process shares with a neighbour, who may sleep. */
static inline void inter_lines_wake(const inter_lines *lines, inter_neighbour *neighbour) {
    if (!inter_lines_wakes(lines))
        return;
    atomic_thread_fence(memory_order_seq_cst); /* pairs with that in lines_arm */
    if (!atomic_load_explicit(&neighbour->head->asleep, memory_order_relaxed))
        return;
    atomic_store_explicit(&neighbour->head->asleep, 0, memory_order_relaxed);
    core_word_wake(&neighbour->head->asleep);
}

/** Room for `bytes` bytes in the ring to a neighbour: where they begin. */
static inline bool inter_lines_find_ring(inter_neighbour *to, uint32_t bytes, uint64_t *begin) {
    *begin = inter_ring_begin(to->ring_sent, bytes);
    uint64_t end = inter_ring_end(*begin, bytes);
    if (end - to->known_eaten > INTER_LANE_RING)
        /* Acquire: pairs with the release in inter_lines_took; the bytes have been read. */
        to->known_eaten = atomic_load_explicit(&to->to->eaten, memory_order_acquire);
    return end - to->known_eaten <= INTER_LANE_RING;
}

/** Writes the next line to a neighbour; false when its lane has no room (or this process no memory for the name of an offer). */
static inline bool inter_lines_write(inter_neighbour *to, const inter_stored *message) {
    inter_lane *lane = to->to;
    uint64_t begin = 0;
    bool active = message->kind & INTER_LINE_AM;
    if (to->sent - to->known_taken == INTER_LANE_LINES) {
        /* Acquire: pairs with the release in inter_lines_took; the line has been read. */
        to->known_taken = atomic_load_explicit(&lane->taken, memory_order_acquire);
        if (to->sent - to->known_taken == INTER_LANE_LINES)
            return false;
    }
    inter_line *at = &lane->lines[to->sent % INTER_LANE_LINES];
    if (inter_line_is(message->kind, INTER_LINE_SHORT)) {
        if (message->bytes)
            memcpy(active ? at->am.payload : at->payload, message->buffer, message->bytes);
    } else if (inter_line_is(message->kind, INTER_LINE_EAGER)) {
        if (!inter_lines_find_ring(to, (uint32_t)message->bytes, &begin))
            return false;
        memcpy(&lane->ring[begin % INTER_LANE_RING], message->buffer, message->bytes);
        to->ring_sent = inter_ring_end(begin, (uint32_t)message->bytes);
    } else {
        if (!inter_offers_add(&to->offers, message->request))
            return false;
        *(active ? &at->am.offer : &at->offer) =
            (inter_offer){(uintptr_t)message->buffer, message->bytes, message->request->tag};
    }
    if (active)
        at->am.word = message->word;
    at->kind = message->kind;
    at->tag = message->tag;
    at->bytes = (uint32_t)message->bytes; /* of an offer in it */
    /* Release: pairs with inter_lines_arrived, publishes the rest of the line and what it speaks of. */
    atomic_store_explicit(&at->stamp, ++to->sent, memory_order_release);
    return true;
}

/** A message without room waits. */
int inter_lines_hold(inter_lines *lines, inter_neighbour *to, const inter_stored *message);

/** Sends a message to a neighbour: in a line, or it waits for one. */
static inline int inter_lines_post(inter_lines *lines, inter_neighbour *to, const inter_stored *message) {
    inter_request *request = message->request;
    request->peer = to->rank;
    request->bytes = message->bytes;
    request->native = NULL;
    if (to->waiting.first || !inter_lines_write(to, message))
        return inter_lines_hold(lines, to, message);
    inter_lines_wake(lines, to);
    if (inter_line_is(message->kind, INTER_LINE_PULL)) {
        request->native = request;
        request->completion->pending++;
        inter_lines_make_busy(lines, to);
    }
    return WEFT_SUCCESS;
}

static inline bool inter_lines_arrived(const inter_neighbour *from) {
    const inter_line *at = &from->from->lines[from->taken % INTER_LANE_LINES];
    /* Acquire: pairs with inter_lines_write. */
    return atomic_load_explicit(&at->stamp, memory_order_acquire) == from->taken + 1;
}

/** Takes what has arrived from a neighbour: to its receive, to the listener, or aside. The number of messages. */
unsigned inter_lines_take(inter_lines *lines, inter_neighbour *from);

/** Sets a pull up for an offer that has its receive; false when all are in use. Without a request: of nothing. */
bool inter_lines_begin_pull(const inter_lines *lines, inter_neighbour *from, const inter_offer *offer,
                            inter_request *request);

/** Puts a message aside, with what it has in the line or in the ring; NULL without memory. */
inter_stored *inter_lines_keep(const inter_stored *message);

/** An active message has come; false: there is no memory for it yet, it stays where it is. */
bool inter_lines_am_take(inter_lines *lines, inter_neighbour *from, const inter_stored *message);

/** Fills in the transport's part for active messages. */
void inter_lines_am_open(inter_lines *lines);

#endif
