// SPDX-License-Identifier: BSD-3-Clause
/**
 * The carrier: messages between ranks of different processes, as active messages of a transport.
 *
 * A *channel* is one way to the other processes: a transport, and what is on its way there. The main channel is the world's
 * transport, which collectives use too, and its lock is the funnel. Under MULTIPLE each thread of a team has a channel of its own
 * beside it (channels.c), whose lock nobody else wants, but for threads of one number in several teams.
 *
 * The header (wire.h) names context, thread and tag, and numbers the messages from one channel to another, so that whatever way each
 * went they are delivered in order. What arrives goes to the mailbox of its rank: straight to the receive that it meets when
 * the thread that drives the channel owns the mailbox, else by the mailbox's list. Up to the eager limit a message brings its bytes;
 * longer and synchronous ones stay with the sender until their receive fetches them into its buffer.
 *
 * All of a channel is under its lock but for hier_carry and the outbox behind it, in which those leave their letters who may not have
 * the funnel (FUNNELED, other threads than the leader).
 */
#ifndef HIER_CARRIER_H
#define HIER_CARRIER_H

#include <inter/engine.h>
#include <intra/mailbox.h>

struct hier_world;
struct hier_channel;

enum hier_letter_kind { HIER_LETTER_SEND, HIER_LETTER_FETCH, HIER_LETTER_DROP };

/** Something to be done for a message: to send it, to fetch it, to drop it. Stays where it is until it is done. */
typedef struct hier_letter {
    core_link link; /* in the outbox */
    enum hier_letter_kind kind;
    intra_mailbox *mailbox; /* whose owner waits for it */
    /* Of a send: */
    int peer; /* hier_channel_peer() */
    inter_am_header header;
    const void *buffer;
    size_t bytes;
    bool rendezvous;
    size_t under_way; /* of hier_peer.under_way: its own */
    intra_send *send;
    /* Of the others: */
    inter_arrival arrival;
    intra_receive *receive;
    intra_parcel *parcel; /* the memory of this letter */
    /* Of sends and fetches: */
    void *packed;   /* the bytes of data that does not lie in one run; freed when it is done … */
    core_data data; /* … or where that lies, when the transport packs, or unpacks, it; else without a type */
    inter_request request;
    inter_completion completion;
} hier_letter;

/** The mailboxes of a communicator's ranks in this process. */
typedef struct hier_boxes {
    intra_mailbox *mailboxes; /* NULL: there is none */
    int threads;
    uint64_t epoch; /* contexts.h */
} hier_boxes;

/** A message that cannot be delivered yet: one before it is missing, or its communicator is not made here yet. */
typedef struct hier_held {
    struct hier_held *next;
    inter_am_header header;
    int peer;
    intra_parcel *parcel;
} hier_held;

/** Of them, by the order in which they came; all 0: none. */
typedef struct hier_holding {
    hier_held *first, *last;
} hier_holding;

/** The other end of a channel. */
typedef struct hier_peer {
    uint32_t sent, expected; /* numbers of messages, modulo 2³² */
    hier_holding early;      /* came too early, in any order */
    bool gap;                /* one of those was lost */
    size_t under_way; /* bytes of messages to it that the transport has taken and not let go: copied on their way */
    bool stopped;     /* it has no room: messages to it wait at this end until they are fetched (flow.c) */
    bool wants_stop;  /* this end has no room: it is to be stopped … */
    bool told_stop;   /* … and was told so */
    inter_request request; /* of what it is told */
    inter_completion completion;
} hier_peer;

typedef struct hier_channel {
    struct hier_world *world;
    inter_transport *transport;       /* NULL: one process */
    int each;                         /* so many channels has each of the processes that are its peers */
    bool locks;                       /* false: only one thread ever comes here */
    _Atomic bool held;                /* the lock */
    _Atomic bool listens;             /* a hint without the lock */
    bool overhears;                   /* listens for as long as something takes long */
    hier_peer *peers;                 /* by their number in the transport */
    hier_boxes boxes[INTER_CONTEXTS]; /* by context … */
    uint64_t half_epochs;             /* of the last that was opened, in halves of what headers tell apart */
    uint32_t opened;                  /* … none from this one on was ever opened */
    hier_holding homeless;            /* for communicators that are not made yet */
    inter_completion *done;           /* of letters */
    int stops;                        /* peers that are stopped, or to be stopped, by this one */
    int seen_failed;                  /* the transport's failed_peer when it was looked at last */
    unsigned seen_failures;           /* the carrier's failures, when … */
    const intra_bell *_Atomic driver; /* of the thread that has the lock, when it has one; looked at by anybody */
} hier_channel;

/** What all channels share; looked at by anybody. */
typedef struct hier_carrier {
    _Atomic bool wanted;  /* a thread that may not drive the network has messages: who may is to listen */
    _Atomic int broken;   /* receives may wait in vain: WEFT_ERR_NOMEM, a message was lost; WEFT_ERR_PROC_FAILED … */
    _Atomic bool *failed; /* … these died; by process, set before `broken` */
    _Atomic unsigned failures; /* so often was anything of that said */
    core_inbox outbox;         /* letters of the main channel; anybody puts in, who holds the funnel takes out */
} hier_carrier;

/** Is a process known to be out of reach? */
static inline bool hier_carrier_has_lost(const hier_carrier *carrier, int process) {
    return atomic_load_explicit(&carrier->failed[process], memory_order_relaxed);
}

/** Acquire: pairs with hier_channel_leave, publishes all that the channel has. Never waits. */
static inline bool hier_channel_try(hier_channel *channel) {
    return !channel->locks || (!atomic_load_explicit(&channel->held, memory_order_relaxed) &&
                               !atomic_exchange_explicit(&channel->held, true, memory_order_acquire));
}

void hier_channel_await(hier_channel *channel);

/** Waits for the lock: for as long as somebody else looks at the network. */
static inline void hier_channel_enter(hier_channel *channel) {
    if (!hier_channel_try(channel))
        hier_channel_await(channel);
}

static inline void hier_channel_leave(hier_channel *channel) {
    if (channel->locks)
        atomic_store_explicit(&channel->held, false, memory_order_release); /* pairs with hier_channel_try */
}

/** May data to or from a peer lie in any layout? Else they are packed. */
static inline bool hier_channel_takes_layouts(const hier_channel *channel, int peer, size_t bytes) {
    const inter_transport *transport = channel->transport;
    return transport->takes_layouts && transport->takes_layouts(transport, peer, bytes);
}

/** Which peer of a channel carries the messages to a thread of a process. */
static inline int hier_channel_peer(const hier_channel *channel, int process, int thread) {
    return process * channel->each + thread % channel->each;
}

/** A zeroed channel's fields; its peers have `each` channels a process. */
void hier_channel_init(hier_channel *channel, struct hier_world *world, int each, bool locks);

/** The ranks of a communicator can be reached by a channel from now on, or no longer (mailboxes NULL). */
void hier_channel_open(hier_channel *channel, uint32_t context, hier_boxes boxes);

/** What came for a context before its communicator was there, or when it had gone, is delivered, or dropped; what is awaited stays. */
void hier_channel_settle(hier_channel *channel, uint32_t context);

/** Another process says that one is out of reach. What is under way to it ends when its channel is looked at. Under the funnel. */
void hier_carrier_lose(struct hier_world *world, int process);

/** Messages come in from now on. WEFT_ERR_NOMEM. */
int hier_channel_listen(hier_channel *channel);

/** Messages come in while that is on, also if nobody needs any: those about calls (ledger.h) are among them. */
void hier_channel_overhear(hier_channel *channel, bool on);

/** Moves on what goes by a channel, when its transport has been; true when something happened. */
bool hier_channel_progress(hier_channel *channel);

/** Frees what was never delivered. The transport is still there; `peers` are freed when it no longer is, since UCX may have in hand what
 * they are told. */
void hier_channel_close(hier_channel *channel);

/** Where a message goes; NULL: its communicator, or that thread of it, is not here. */
intra_mailbox *hier_channel_mailbox(hier_channel *channel, const inter_am_header *header);

/**
 * Does the thread that has the lock own the mailbox? Its owner may ask too, and learns whether he has the lock: no other thread
 * sets `driver` to his bell.
 */
bool hier_channel_is_own(const hier_channel *channel, const intra_mailbox *mailbox);

/**
 * Has a letter done. `holds`: the caller has the lock. True: a send that is done already, with its error in send->error; else
 * the mailbox's list tells its owner when it is.
 */
bool hier_carry(hier_channel *channel, hier_letter *letter, bool holds);

/**
 * Sends what needs no letter, since it is over when this returns: a message to peer `number` that may be copied. False: nothing was done,
 * hier_carry finds a way. By who has the lock.
 */
bool hier_carry_at_once(hier_channel *channel, int number, inter_am_header header, const void *buffer, size_t bytes);

/** Posts what lies in the outbox; true when there was something. Under the funnel. */
bool hier_carry_outbox(struct hier_world *world);

/** Ends the letters whose messages are through; true when there was one. */
bool hier_end_letters(hier_channel *channel);

/** The mailbox's part in messages of other processes (intra_mailbox.fetch and drop); the argument is its channel. */
void hier_carrier_fetch(void *argument, intra_parcel *parcel, intra_receive *receive);
void hier_carrier_drop(void *argument, intra_parcel *parcel);

/** What flow.c adds: a message of a peer was put aside in a mailbox. */
void hier_flow_kept(hier_channel *channel, int number, const intra_mailbox *mailbox);
/** Tells peers to stop, or to go on, as far as it is time; true when one was told. */
bool hier_flow_progress(hier_channel *channel);

/** Moves on all that goes by the main channel, collectives too; true when something happened. Under the funnel. */
bool hier_progress(struct hier_world *world);

#endif
