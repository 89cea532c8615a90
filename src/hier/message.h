// SPDX-License-Identifier: BSD-3-Clause
/**
 * Messages of a rank: how one is checked, started and known to be over. What send, receive, probe and requests share.
 */
#ifndef HIER_MESSAGE_H
#define HIER_MESSAGE_H

#include <hier/drive.h>

#define HIER_REQUEST_MAGIC 0x77745251u

/** HIER_SENT: stands for any send that was done when it was started; one for all of a communicator. */
enum hier_request_kind { HIER_COLLECTIVE, HIER_SEND, HIER_RECEIVE, HIER_SENT };

/** What all requests begin with. Read by who owns the handle; written by him, of a collective under the funnel. */
struct weft_request {
    core_pooled pooled; /* HIER_REQUEST_MAGIC */
    enum hier_request_kind kind;
    bool persistent;
    bool owned; /* a user has a handle on it; else it is the communicator's, for the next operation */
    bool active;
    weft_comm *comm;
    const char *call; /* "weft_ibcast", for sentences */
    weft_request *next_free;
};

enum hier_mode { HIER_STANDARD, HIER_SYNCHRONOUS, HIER_BUFFERED };

/** The arguments of a message; `bytes` when they are checked. */
typedef struct hier_envelope {
    weft_comm *comm;
    const char *call;
    void *buffer; /* a send only reads it */
    size_t count, bytes;
    const weft_datatype *type;
    int peer, tag;
    enum hier_mode mode; /* of a send */
} hier_envelope;

/** A message under way: of a blocking call on the stack, else in a request. Stays where it is until it is done. */
typedef struct hier_message {
    weft_request base;
    hier_envelope envelope; /* of a request */
    bool keeps_type;
    bool over; /* done when it was started */
    union {
        struct {
            intra_send send;
            hier_letter letter;
        };
        intra_receive receive;
    };
    /* Of a buffered one: */
    struct hier_message *next_buffered;
    size_t place; /* in the attached buffer */
} hier_message;

/**
 * Checks the arguments and sets envelope->bytes; `receives`: wildcards are allowed. The communicator has been checked, and is marked
 * as one that talks.
 */
int hier_message_check(hier_envelope *envelope, bool receives);

/** Starts a send or a receive in *message, whose base.kind it sets. Nothing else of it needs to be set. WEFT_ERR_NOMEM. */
int hier_message_send(hier_message *message, const hier_envelope *envelope);
int hier_message_receive(hier_message *message, const hier_envelope *envelope);

/** Starts a persistent or a new message with what stands in its envelope. */
int hier_message_restart(weft_request *request);

/** Is it over? By its owner after progress. */
static inline bool hier_message_done(const hier_message *message) {
    return message->over || (message->base.kind == HIER_SEND ? message->send.done : message->receive.done);
}

/** As hier_message_done; a receive that can only wait in vain, since its sender is out of reach, is over too, with that error. */
bool hier_message_settled(hier_message *message, weft_comm *comm);

/** Can a message of `source` (or of WEFT_ANY_SOURCE) no longer come? The error, or WEFT_SUCCESS. */
int hier_message_vain(const weft_comm *comm, int source);

/** What became of a message that is over; writes the sentence of an error. Status may be NULL. */
int hier_message_result(const hier_message *message, const hier_envelope *envelope, weft_status *status);

/** Waits until it is over. */
void hier_message_wait(hier_message *message, weft_comm *comm);

/**
 * A message in a request of the communicator, whose envelope the caller fills in; NULL and the sentence without memory. Given back with
 * _give. Its type is kept from being freed from _keep on.
 */
hier_message *hier_message_take(weft_comm *comm, const char *call);
void hier_message_keep_type(hier_message *message);
void hier_message_give(hier_message *message);

/** The request of sends that are done; NULL and the sentence without memory. */
weft_request *hier_message_sent(weft_comm *comm);

/** Frees what a communicator keeps for its next messages. */
void hier_messages_free(weft_comm *comm);

/** What is under way on the mailbox of a process communicator is under the funnel; on a thread's own nothing is needed. */
static inline void hier_mailbox_enter(weft_comm *comm) {
    if (!comm->team)
        hier_funnel_enter(comm->world);
}

static inline void hier_mailbox_leave(weft_comm *comm) {
    if (!comm->team)
        hier_funnel_leave(comm->world);
}

#endif
