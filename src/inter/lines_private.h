// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the files of lines share: a process's own side of its lanes. lines.c makes them, lines_packing.h puts messages into
 * lines and takes them out, lines_transport.c has the tagged messages and moves all on, lines_pulls.c has the long ones, lines_am.c the
 * active messages.
 */
#ifndef INTER_LINES_PRIVATE_H
#define INTER_LINES_PRIVATE_H

#include <core/wait.h>
#include <inter/lane.h>
#include <inter/offers.h>
#include <inter/ways.h>
#include <inter/window.h>
#include <string.h>
#include <weft/error.h>

/** A message: one to send, one that came, one that has to wait for room, for its receive, for a listener or for a pull. */
typedef struct inter_stored {
    struct inter_stored *next;
    inter_request
        *request; /* of a message to send, of an offer that has its receive; NULL: of an offer that is not wanted */
    uint64_t tag; /* of an active message the header's first word … */
    const void *buffer; /* of a message to send: stays the sender's until the request is complete */
    uint64_t word; /* … and its second; apart, so that no compiler reads as a pair what was just written word by word */
    uint64_t bytes;
    uint32_t kind;     /* as a line's */
    inter_offer offer; /* of one that came */
} inter_stored;

/** Where the bytes of one that came and waits are: behind it. */
static inline void *inter_stored_payload(inter_stored *stored) {
    return stored + 1;
}

/** Oldest first; all zeros is empty. */
typedef struct inter_store {
    inter_stored *first, *last;
} inter_store;

/** What the receiver knows of a pull. */
typedef struct inter_incoming {
    inter_request *request;
    inter_offer offer;
    size_t bytes;       /* of the offer, as many as there is room for */
    inter_ways *learns; /* NULL: nothing is learned of it … */
    enum inter_way by;  /* … as it is taken by this way … */
    uint64_t since_ns;  /* … from then on */
    size_t read;        /* by INTER_BY_READS: so many bytes, all of them when one could not be */
} inter_incoming;

#define INTER_PULL_KINDS 6

/** What this process has to do with another one of its host. */
typedef struct inter_neighbour {
    /* What comes from it: */
    inter_lane *from;    /* NULL: not of this host, or this process itself; and so is `to` */
    uint64_t taken;      /* lines that are done with */
    uint64_t next_heard; /* as next_said and last_said */
    uint32_t read;       /* bytes of the line after those that were taken */
    int rank;            /* its rank … */
    uint64_t last_heard;
    uint64_t eaten[INTER_RINGS];   /* bytes of each ring that are done with */
    struct inter_neighbour *local; /* the next one of this host */
    int process;                   /* … and its process id */
    const char *window;            /* its window, NULL: not mapped … */
    uint64_t window_at;            /* … which it has there itself */
    /* What goes to it: */
    uint32_t left; /* free bytes of the line that was opened last */
    bool answers;  /* what came from it last was a tagged message, and nothing has gone to it since */
    inter_lane *to;
    uint64_t next_said;   /* the header's first word that an active message need not bring … */
    uint64_t sent;        /* lines that were opened */
    uint64_t last_said;   /* … and the second */
    uint64_t known_taken; /* lines that are done with */
    inter_head *head;     /* of its segment */
    uint64_t ring_sent[INTER_RINGS], known_eaten[INTER_RINGS]; /* bytes in each ring; those that are done with */
    inter_store waiting;                                       /* messages without room */
    /* Both: */
    bool busy; /* in the list of those with something below that needs looking after */
    struct inter_neighbour *next_busy;
    inter_offers offers;                 /* messages to it that are offered, and not copied yet */
    bool withdraws;                      /* it may ask what became of one that was taken back */
    inter_store early, matched;          /* messages from it without a receive, offers without a pull */
    inter_store unheard;                 /* active messages from it that came while nobody listened */
    inter_request *posted, **posted_end; /* receives from it without a message, oldest first */
    unsigned incoming;                   /* pulls under way from it, a bit each … */
    unsigned unwanted;                   /* … those whose receives were taken back meanwhile … */
    inter_incoming pulls[INTER_PULLS];   /* … and what they are of */
    uint64_t dry_since_ns;               /* no part has come since; 0: one had, at the last look … */
    size_t reach;                        /* … and so many bytes are read then at once, the next time */
    inter_ways ways[INTER_PULL_KINDS];   /* of pulls by how long they are, and whether something goes to it meanwhile */
    int turn;                            /* the pull to it that was packed last */
    inter_pace pace;                     /* of what is copied into its ring */
} inter_neighbour;

struct inter_lines {
    inter_transport base;
    inter_transport *inner;
    inter_segment *own;
    size_t segment_bytes; /* with the window behind the lanes */
    inter_window window;
    uint64_t cookie;
    int descriptor;
    _Atomic bool wakes;   /* processes may sleep while they wait; switched on under the funnel, looked at by anybody */
    _Atomic bool roused;  /* by anybody: the next who is about to sleep does not */
    _Atomic bool crowded; /* others may have to wait for a core; as `wakes` */
    bool can_pull;        /* this process can read the memory of all that it has mapped; later: all processes can */
    inter_neighbour *neighbours; /* by rank */
    inter_neighbour *locals;     /* those of this host */
    inter_neighbour *busy;
    inter_listener *listener; /* NULL: nobody listens, and only neighbours that are busy are looked at */
    void *listener_argument;
    unsigned char *scratch;           /* INTER_PART_BYTES, for pulls */
    unsigned looks, looks_a_progress; /* while lines are waited for, and how many to one at the inner transport */
};

static inline bool inter_lines_wakes(const inter_lines *lines) {
    return atomic_load_explicit(&lines->wakes, memory_order_relaxed);
}

static inline bool inter_lines_expects_crowd(const inter_lines *lines) {
    return atomic_load_explicit(&lines->crowded, memory_order_relaxed);
}

/** May a process lose its core, or sleep, while another one waits for what it copies? */
static inline bool inter_lines_is_crowded(const inter_lines *lines) {
    return inter_lines_expects_crowd(lines) || inter_lines_wakes(lines);
}

/**
 * Are data better pulled from and to where they lie than packed before? Not where cores are short: part by part both sides would have to be on
 * one, in turn.
 */
static inline bool inter_lines_pull_layouts(const inter_lines *lines, size_t bytes) {
    return !inter_lines_is_crowded(lines) || bytes > INTER_PACKED_BYTES;
}

/** A line has this kind or, of an active message, this and INTER_LINE_AM. */
static inline bool inter_line_is(uint32_t kind, enum inter_line_kind which) {
    return (kind & INTER_LINE_KIND) == (uint32_t)which;
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
    core_word_rouse(&neighbour->head->asleep);
}

/** A message without room waits. */
int inter_lines_hold(inter_lines *lines, inter_neighbour *to, const inter_stored *message);

/** Takes what has arrived from a neighbour: to its receive, to the listener, or aside. The number of messages. */
unsigned inter_lines_take(inter_lines *lines, inter_neighbour *from);

/** The receive of a tagged message waits for it. */
void inter_lines_await(inter_neighbour *from, inter_request *request);

static inline void inter_lines_finish(inter_request *request, int error) {
    request->native = NULL;
    inter_completed(request, error);
}

static inline int inter_lines_length_error(uint64_t came, uint64_t expected) {
    return came > expected ? WEFT_ERR_TRUNCATE : came < expected ? WEFT_ERR_MISMATCH : WEFT_SUCCESS;
}

/** Sets a pull up for an offer that has its receive; false when all are in use. Without a request: of nothing. */
bool inter_lines_begin_pull(const inter_lines *lines, inter_neighbour *from, const inter_offer *offer,
                            inter_request *request);

/** A receive has met its offer: a pull, now or later. WEFT_ERR_NOMEM. */
int inter_lines_match(const inter_lines *lines, inter_neighbour *from, const inter_offer *of, inter_request *request);

/** Pulls that may begin now, and a part of one that is under way. The number of events. */
unsigned inter_lines_receive_pulls(const inter_lines *lines, inter_neighbour *from);

/** The sender's part in the pulls of what it has offered. The number of events. */
unsigned inter_lines_send_pulls(inter_neighbour *to);

/** Takes a message back that is offered, or being copied: then it completes when the copy is done. False: it is neither. */
bool inter_lines_take_back(inter_neighbour *of, inter_request *request);

/** Puts a message aside, with what it has in the line or in the ring; NULL without memory. */
inter_stored *inter_lines_keep(const inter_stored *message);

/** An active message has come; false: there is no memory for it yet, it stays where it is. */
bool inter_lines_am_take(inter_lines *lines, inter_neighbour *from, const inter_stored *message);

/** Fills in the transport's part for active messages. */
void inter_lines_am_open(inter_lines *lines);

#endif
