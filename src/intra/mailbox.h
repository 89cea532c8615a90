// SPDX-License-Identifier: BSD-3-Clause
/**
 * Mailboxes: messages to one rank. Any thread of the process puts messages in (mail_send.c), the owner alone takes them out and
 * matches them with its receives (mailbox.c, matching.h).
 *
 *     lanes   from threads of the process, one a sender (lane.h): what is short and finds room
 *     list    all the rest: messages without room in a lane or without a lane, messages that came over the network, and word of
 *             what became of the owner's own sends. Pushed by anyone (compare and swap), taken as a whole by the owner
 *
 * A message up to the eager limit is copied on its way; a longer one, or a synchronous one, is *offered*: the receiver copies
 * straight from the sender's buffer, and a sender that waits meanwhile takes its share (handover.h).
 *
 * intra_mail_push releases, and so does the word of a message in a lane; the owner's look acquires: what the sender wrote before it sent is seen by
 * who received.
 *
 * The owner is one thread at a time: that which entered the team, or, of a process communicator's mailbox, who holds the funnel.
 */
#ifndef INTRA_MAILBOX_H
#define INTRA_MAILBOX_H

#include <core/inbox.h>
#include <core/layout.h>
#include <core/wait.h>
#include <intra/handover.h>
#include <intra/lane.h>
#include <intra/matching.h>
#include <stdalign.h>
#include <stdbool.h>
#include <weft/error.h>

/** So many senders have lanes to a rank; what others send goes by the list. */
#define INTRA_LANES 64

/** How a mailbox treats the messages that it is sent. */
typedef struct intra_mail_limits {
    size_t eager_bytes;      /* the longest message that is copied on its way */
    size_t unexpected_bytes; /* the memory that messages without a receive may take; past it senders offer theirs */
} intra_mail_limits;

/** Where a thread sleeps, if it does: on its bell, or not: then it is to be roused, in a collective only for what needs it. */
enum intra_bed { INTRA_ON_BELL, INTRA_ELSEWHERE, INTRA_IN_COLLECTIVE };

/** What threads that wait sleep on: rung when there is something for them. */
typedef struct intra_bell {
    core_flag flag;      /* counts what came; written by who rings */
    _Atomic uint8_t bed; /* enum intra_bed */
    void (*rouse)(void *argument);
    void *argument;
} intra_bell;

/** What stands in a mailbox's list. */
enum intra_mail_word { INTRA_PARCEL, INTRA_SEND_BEGUN, INTRA_SEND_ENDED, INTRA_RECEIVE_ENDED };
typedef struct intra_mail {
    core_link link;
    enum intra_mail_word kind;
} intra_mail;

/** A message that is not in a lane: on its way by the list, or without a receive. Its bytes follow, unless it is offered. */
typedef struct intra_parcel {
    alignas(16) intra_mail mail; /* INTRA_PARCEL */
    intra_unexpected match;
    intra_lane *lane;        /* it would have gone by this one (NULL: by none), after … */
    uint64_t after;          /* … so many bytes of it */
    size_t bytes, room;      /* of the message; of what follows */
    struct intra_send *send; /* an offer of a thread of the process: this is part of it */
    void *foreign;           /* one of another process, which mailbox->fetch knows */
} intra_parcel;

static inline void *intra_parcel_payload(intra_parcel *parcel) {
    return parcel + 1;
}

/** A receive. The caller's memory, which stays where it is until it is done. */
typedef struct intra_receive {
    intra_posted match; /* source and tag, or wildcards; set by the caller, as are the next */
    void *buffer;
    const weft_datatype *type;
    size_t count, bytes; /* the room: of all elements */
    /* What came: */
    int32_t source, tag;
    size_t got_bytes; /* at most `bytes` */
    int error;        /* WEFT_SUCCESS, WEFT_ERR_TRUNCATE, or the network's */
    bool posted, done, cancelled;
    /* Of one that takes longer: */
    struct intra_send *from; /* being copied from … */
    struct intra_receive *next_copying;
    intra_mail ended; /* its bytes come from another process */
} intra_receive;

/** A send that is not done at once. The caller's memory, which stays where it is until it is done. */
typedef struct intra_send {
    intra_mail begun, ended;
    struct intra_mailbox *home; /* the sender's */
    const void *buffer;
    const weft_datatype *type;
    size_t count, bytes;
    int error;
    bool done;
    bool helps; /* in the sender's list of those that it helps with */
    struct intra_send *next_helping;
    intra_handover handover;
    intra_parcel parcel; /* it goes by the list */
} intra_send;

typedef struct intra_mailbox {
    /* Anybody writes: */
    alignas(128) core_inbox list; /* of intra_mail */
    _Atomic int lane_count;
    intra_lane *_Atomic lanes[INTRA_LANES]; /* to this rank; a sender sets its own once */
    /* Rarely written, read by all: */
    alignas(128) core_waiting waiting;
    intra_mail_limits limits;
    int32_t rank;
    intra_bell *_Atomic bell; /* the owner's, which no other thread has … */
    intra_bell spare;         /* … or this one, while nobody is in */
    /* Bytes of parcels that are in the list or without a receive. Senders add, the owner subtracts. */
    alignas(128) _Atomic size_t parcel_bytes;
    /* The owner's own: */
    alignas(128) intra_matching matching;
    bool takes_all;         /* somebody looks for messages that no receive is posted for */
    core_link *held;        /* taken from the list, and not looked at yet */
    intra_lane **ways;      /* by thread: the lane from this rank to that; NULL: none yet */
    intra_lane *last;       /* that intra_mail_find_lane found; NULL: none yet */
    intra_receive *copying; /* receives that are being copied */
    intra_send *helping;    /* own sends whose copying this rank takes part in */
    uint64_t completions;   /* of own sends and receives so far */
    /** Gets a message of another process that has met its receive. May complete it at once, or later by the list. */
    void (*fetch)(void *argument, intra_parcel *parcel, intra_receive *receive);
    void (*drop)(void *argument, intra_parcel *parcel); /* nobody wants it any more */
    void *argument;
    bool by_lock; /* the owner is whoever holds a lock, not a thread; set once, read by all */
} intra_mailbox;

/** `threads` of the process send to each other; 0: messages only come by intra_mail_push. Errors: WEFT_ERR_NOMEM. */
int intra_mailbox_init(intra_mailbox *mailbox, int32_t rank, int threads, core_waiting waiting,
                       intra_mail_limits limits);
/** Frees what it holds, unreceived messages too. Nobody sends to it any more. The lanes from it belong to their receivers. */
void intra_mailbox_free(intra_mailbox *mailbox);

/** Wakes the owner, should it sleep, and should what came need it or be what it waits for. */
static inline void intra_mail_ring(intra_mailbox *mailbox, bool needs_owner) {
    if (!mailbox->waiting.may_sleep)
        return;
    /* Acquire: pairs with who set it, publishes the bell. */
    intra_bell *bell = atomic_load_explicit(&mailbox->bell, memory_order_acquire);
    core_flag_add(&bell->flag, 1, &mailbox->waiting);
    /* Sequentially consistent, as is the sleeper's store before it looks at the flag: one of the two sees the other. */
    const uint8_t bed = atomic_load_explicit(&bell->bed, memory_order_seq_cst);
    if (bed == INTRA_ELSEWHERE || (bed == INTRA_IN_COLLECTIVE && needs_owner))
        bell->rouse(bell->argument);
}

/**
 * Sends to thread `thread` of the process, whose mailbox is `to`. True: done, the buffer is the caller's again. False: the send is
 * under way in *send until send->done. `bytes` is that of all elements. By the owner of `from`. Takes no memory that could
 * be missing.
 */
bool intra_mail_send(intra_mailbox *from, intra_mailbox *to, int thread, int32_t tag, const void *buffer,
                     const weft_datatype *type, size_t count, size_t bytes, bool synchronous, intra_send *send);

/**
 * The lane to that thread, in which a message of `bytes` bytes has its place; NULL: intra_mail_send finds a way. By the owner of `from`. Then
 * intra_lane_send_copy and intra_mail_ring.
 */
static inline intra_lane *intra_mail_open_lane(const intra_mailbox *from, const intra_mailbox *to, int thread,
                                               size_t bytes) {
    intra_lane *lane = from->ways[thread];
    /* Relaxed: a bound, not a promise. */
    return lane && lane->spilled == lane->known_fetched && bytes <= to->limits.eager_bytes &&
                   bytes <= INTRA_LANE_LONGEST && intra_lane_is_open(lane, bytes) &&
                   atomic_load_explicit(&to->parcel_bytes, memory_order_relaxed) <= to->limits.unexpected_bytes
               ? lane
               : NULL;
}

/** Sets what a send that is not done at once begins with. */
static inline void intra_send_begin(intra_send *send) {
    send->begun.kind = INTRA_SEND_BEGUN;
    send->ended.kind = INTRA_SEND_ENDED;
    send->error = WEFT_SUCCESS;
    send->done = send->helps = false;
}

/** Serves a receive with a message that is there already; false: there is none. By the owner. */
bool intra_mail_receive_old(intra_mailbox *mailbox, intra_receive *receive);

/** Sets what a receive begins with. */
static inline void intra_receive_begin(intra_receive *receive) {
    receive->error = WEFT_SUCCESS;
    receive->posted = true;
    receive->done = receive->cancelled = false;
}

/** Posts a receive, or serves it with a message that is there already. By the owner. */
static inline void intra_mail_receive(intra_mailbox *mailbox, intra_receive *receive) {
    intra_receive_begin(receive);
    if (!mailbox->matching.unexpected_count || !intra_mail_receive_old(mailbox, receive))
        intra_matching_post(&mailbox->matching, &receive->match);
}

/** Makes mailbox->last the lane from a rank; false: there is none yet. By the owner. */
bool intra_mail_find_lane(intra_mailbox *mailbox, int32_t source);

/**
 * Does the last lane bring, now or within some looks, a copy with this tag (or any) of at most `room` bytes, for which nobody else is to be served
 * first? Its word; else 0, and intra_mail_receive finds out what there is. By the owner, who then calls intra_mail_take_next.
 */
static inline uint64_t intra_mail_next(const intra_mailbox *mailbox, int32_t tag, size_t room, unsigned looks) {
    intra_lane *lane = mailbox->last;
    if (mailbox->matching.posted_count || mailbox->matching.unexpected_count || mailbox->copying || mailbox->helping ||
        mailbox->held || !core_inbox_is_empty(&mailbox->list))
        return 0;
    const uint64_t taken = atomic_load_explicit(&lane->taken, memory_order_relaxed);
    uint64_t word;
    while (!(word = intra_lane_look(lane, taken)) && looks--)
        core_pause();
    bool fits = intra_lane_kind_of(word) == INTRA_LANE_COPY && intra_lane_bytes_of(word) <= room;
    return fits && (intra_lane_tag_of(word) == tag || tag == WEFT_ANY_TAG) ? word : 0;
}

/** Copies and takes that message, of `bytes` bytes. */
static inline void intra_mail_take_next(const intra_mailbox *mailbox, void *buffer, size_t bytes) {
    intra_lane *lane = mailbox->last;
    const uint64_t taken = atomic_load_explicit(&lane->taken, memory_order_relaxed);
    core_copy_short(buffer, intra_lane_payload(lane, taken), bytes);
    /* Release: pairs with is_free() in lane.c. */
    atomic_store_explicit(&lane->taken, taken + intra_lane_room(bytes), memory_order_release);
}

/**
 * A message of another process has come, and the owner itself has it in hand: serves the receive that it meets. False: it meets none,
 * or others come first, and goes by the list.
 */
bool intra_mail_arrive(intra_mailbox *mailbox, int32_t source, int32_t tag, const void *payload, size_t bytes);

/** Serves a receive with a message that was taken out of the queue, and frees the message. By the owner. */
void intra_mail_serve(intra_mailbox *mailbox, intra_receive *receive, intra_parcel *parcel);

/** Takes back a receive that has met no message: it is done, and cancelled. Else nothing happens. By the owner. */
void intra_mail_cancel(intra_mailbox *mailbox, intra_receive *receive);

/** The oldest message without a receive that source and tag (or wildcards) match; NULL. It stays. By the owner, who has set
 * takes_all before the last progress. */
intra_parcel *intra_mail_find(intra_mailbox *mailbox, int32_t source, int32_t tag);
/** Takes it out of the queue. */
void intra_mail_take(intra_mailbox *mailbox, intra_parcel *parcel);

/** Takes what has come and moves copies on; how many things happened. By the owner. */
unsigned intra_mail_progress(intra_mailbox *mailbox);

/** Puts something into the list. Any thread. Release: pairs with the owner's look. */
void intra_mail_push(intra_mailbox *mailbox, intra_mail *mail);

/** A parcel with room for `room` bytes, of a message or whatever else; NULL: no memory. */
intra_parcel *intra_parcel_make(int32_t source, int32_t tag, size_t room);
/** Puts it into the list, and counts its memory as the mailbox's. */
void intra_parcel_push(intra_mailbox *mailbox, intra_parcel *parcel);
/** Frees one that was pushed. */
void intra_parcel_free(intra_mailbox *mailbox, intra_parcel *parcel);

/** A receive of a message from another process has its bytes, or an error. By who got them; the owner learns it from its list. */
static inline void intra_receive_ended(intra_mailbox *mailbox, intra_receive *receive) {
    receive->ended.kind = INTRA_RECEIVE_ENDED;
    intra_mail_push(mailbox, &receive->ended);
}

#endif
