// SPDX-License-Identifier: BSD-3-Clause
/**
 * The carrier: messages between ranks of different processes, as active messages of the transport.
 *
 * The header names context, thread and tag, and numbers the messages from one process to another, so that whatever way each went they
 * are delivered in order. What arrives goes to the mailbox of its rank: straight to the receive that it meets when the thread
 * that drives the network owns the mailbox, else by the mailbox's list. Up to the eager limit a message brings its bytes; longer and
 * synchronous ones stay with the sender until their receive fetches them into its buffer.
 *
 * All of it is under the funnel but hier_carry and the outbox behind it, in which those leave their letters who may not have the
 * funnel (FUNNELED, other threads than the leader).
 */
#ifndef HIER_CARRIER_H
#define HIER_CARRIER_H

#include <inter/engine.h>
#include <intra/mailbox.h>

struct hier_world;

enum hier_letter_kind { HIER_LETTER_SEND, HIER_LETTER_FETCH, HIER_LETTER_DROP };

/** Something to be done for a message: to send it, to fetch it, to drop it. Stays where it is until it is done. */
typedef struct hier_letter {
    struct hier_letter *next; /* in the outbox */
    enum hier_letter_kind kind;
    int process;
    intra_mailbox *mailbox; /* whose owner waits for it */
    /* Of a send: */
    inter_am_header header;
    const void *buffer;
    size_t bytes;
    bool rendezvous;
    intra_send *send;
    /* Of the others: */
    inter_arrival arrival;
    intra_receive *receive;
    intra_parcel *parcel; /* the memory of this letter */
    /* Of sends and fetches: */
    void *packed; /* the bytes of data that does not lie in one run; freed when it is done */
    inter_request request;
    inter_completion completion;
} hier_letter;

/** The mailboxes of a communicator's ranks in this process. */
typedef struct hier_boxes {
    intra_mailbox *mailboxes;
    int threads;
} hier_boxes;

/** A message that cannot be delivered yet: one before it is missing, or its communicator is not made here yet. */
typedef struct hier_held {
    struct hier_held *next;
    inter_am_header header;
    int process;
    intra_parcel *parcel;
} hier_held;

typedef struct hier_peer {
    uint32_t sent, expected; /* numbers of messages, modulo 2³² */
    hier_held *early;        /* came too early, in any order */
    bool stopped;            /* it has no room: messages to it wait at this end until they are fetched (flow.c) */
    bool wants_stop;         /* this process has no room: it is to be stopped … */
    bool told_stop;          /* … and was told so */
    inter_request request;   /* of what it is told */
    inter_completion completion;
} hier_peer;

typedef struct hier_carrier {
    bool listens;
    _Atomic bool wanted;              /* a thread that may not drive the network has messages: who may is to listen */
    hier_peer *peers;                 /* by process */
    hier_boxes boxes[INTER_CONTEXTS]; /* by context */
    hier_held *homeless;              /* for communicators that are not made yet, oldest first */
    inter_completion *done;           /* of letters */
    int stops;                        /* processes that are stopped, or to be stopped, by this one */
    /* Looked at by anybody: */
    _Atomic int broken;          /* an error: this process died, or (WEFT_ERR_NOMEM) a message was lost … */
    _Atomic int failed;          /* … so that receives may wait in vain; its rank */
    const void *_Atomic driver;  /* the agent of the thread that holds the funnel, when it has one */
    hier_letter *_Atomic outbox; /* the newest first; anybody puts in, who holds the funnel takes out */
} hier_carrier;

/** Ranks of a context can be reached from now on, or no longer (mailboxes NULL). Under the funnel. */
void hier_carrier_open(struct hier_world *world, uint32_t context, intra_mailbox *mailboxes, int threads);

/** Frees what was never delivered. The transport is still there. Under the funnel. */
void hier_carrier_close(struct hier_world *world);

/** Messages come in from now on. Under the funnel. WEFT_ERR_NOMEM. */
int hier_carrier_listen(struct hier_world *world);

/** The header of a message to thread `thread` of a process. */
inter_am_header hier_carrier_header(uint32_t context, int thread, int32_t source, int32_t tag);

/**
 * Has a letter done. `holds`: the caller holds the funnel. True: a send that is done already, with its error in send->error; else
 * the mailbox's list tells its owner when it is.
 */
bool hier_carry(struct hier_world *world, hier_letter *letter, bool holds);

/** The mailbox's part in messages of other processes (intra_mailbox.fetch and drop); the argument is the world. */
void hier_carrier_fetch(void *argument, intra_parcel *parcel, intra_receive *receive);
void hier_carrier_drop(void *argument, intra_parcel *parcel);

/** The header that tells another process to stop, or to go on. */
inter_am_header hier_carrier_control(bool stop, uint32_t number);

/** What flow.c adds: a message of a process was put aside in a mailbox; a process tells this one to stop or to go on. */
void hier_flow_kept(struct hier_world *world, int process, intra_mailbox *mailbox);
/** Tells processes to stop, or to go on, as far as it is time; true when one was told. */
bool hier_flow_progress(struct hier_world *world);

/** Moves on all that goes between processes, collectives too; true when something happened. Under the funnel. */
bool hier_progress(struct hier_world *world);

#endif
