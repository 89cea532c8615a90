// SPDX-License-Identifier: BSD-3-Clause
/**
 * Messages of a rank: how one is checked, started and known to be over. What send, receive, probe and requests share.
 */
#ifndef HIER_MESSAGE_H
#define HIER_MESSAGE_H

#include <hier/drive.h>
#include <weft/message.h>

#define HIER_REQUEST_MAGIC 0x77745251u

/**
 * HIER_COLLECTIVE: of a process communicator; HIER_PART: of a thread communicator. HIER_SENT: stands for any send that was done when
 * it was started; one for all of a communicator. HIER_SENDRECV: a send and a receive with one request (sendrecv.c).
 */
enum hier_request_kind { HIER_COLLECTIVE, HIER_PART, HIER_SEND, HIER_RECEIVE, HIER_SENT, HIER_SENDRECV };

/** What all requests begin with. Read by who owns the handle; written by him, of a collective under the funnel. */
struct weft_request {
    core_pooled pooled; /* HIER_REQUEST_MAGIC */
    enum hier_request_kind kind;
    bool persistent;
    bool owned; /* a user has a handle on it; else it is the communicator's, for the next operation */
    bool active;
    bool over; /* a message, done when it was started */
    weft_comm *comm;
    const char *call; /* "weft_ibcast", for sentences */
    weft_request *next_free;
};

/** The communicator has one that is not active for its next operation. */
static inline void hier_request_keep(weft_request *request, weft_request **list) {
    request->owned = request->active = request->persistent = false;
    request->next_free = *list;
    *list = request;
}

/** One of those that were kept, and no longer is; NULL: there is none. */
static inline weft_request *hier_request_kept(weft_request **list) {
    weft_request *request = *list;
    if (request)
        *list = request->next_free;
    return request;
}

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

/** A send and a receive that are completed together. */
typedef struct hier_sendrecv {
    struct hier_message *sent, *received;
    void *copy; /* of what is sent, where it is received into the same memory; else NULL */
} hier_sendrecv;

/**
 * A message under way: of a blocking call on the stack, else in a request. Stays where it is until it is done. What most messages
 * touch stands in front.
 */
typedef struct hier_message {
    weft_request base;
    const weft_datatype *kept; /* is kept from being freed; NULL: none */
    uint64_t began_ticks;      /* of a request, when traced; else 0, as is one that is not handed out */
    union {
        struct {
            intra_send send;
            hier_letter letter;
        };
        intra_receive receive;
        hier_sendrecv both; /* of HIER_SENDRECV, with nothing else */
    };
    hier_envelope envelope; /* of a send, and of all that is persistent */
    /* Of a buffered one: */
    struct hier_message *next_buffered;
    size_t place; /* in the attached buffer */
} hier_message;

/** Of a request that is a message's. */
static inline hier_message *hier_message_of(weft_request *request) {
    return (hier_message *)request;
}

/**
 * Written to where it stays: to copy it would be to read again at once what has just been written in smaller pieces, which waits for all
 * stores before it, and those of the message before to the receiver's cache among them.
 */
static inline void hier_envelope_fill(hier_envelope *envelope, const char *call, const void *buffer, size_t count,
                                      const weft_datatype *type, int peer, int tag, weft_comm *comm,
                                      enum hier_mode mode) {
    envelope->comm = comm;
    envelope->call = call;
    envelope->buffer = (void *)(uintptr_t)buffer;
    envelope->count = count;
    envelope->type = type;
    envelope->peer = peer;
    envelope->tag = tag;
    envelope->mode = mode;
}

/** What a call's sentences call its arguments. */
typedef struct hier_argument_names {
    const char *buffer, *type, *tag;
} hier_argument_names;

/**
 * Checks the arguments and sets envelope->bytes; `receives`: wildcards are allowed. The communicator has been checked, and is marked
 * as one that talks.
 */
int hier_message_check_named(hier_envelope *envelope, bool receives, const hier_argument_names *names);

/** The same for a call that only sends or only receives. */
int hier_message_check(hier_envelope *envelope, bool receives);

/**
 * Is all right at first sight: a handle that has talked before, data in a row, and what hier_check_comm and hier_message_check
 * ask for, but for the caller's right to use it? They need not be called then, and *bytes is set. Inline, and without an envelope, for the
 * sake of short messages.
 */
static inline bool hier_message_is_simple(const weft_comm *comm, const void *buffer, size_t count,
                                          const weft_datatype *type, int peer, int tag, bool receives, size_t *bytes) {
    return hier_comm_valid(comm) && atomic_load_explicit(&comm->plain, memory_order_relaxed) &&
           ((unsigned)peer < (unsigned)comm->size || (receives && peer == WEFT_ANY_SOURCE)) &&
           (tag >= 0 || (receives && tag == WEFT_ANY_TAG)) && core_datatype_valid(type) && type->contiguous &&
           core_datatype_committed(type) && !__builtin_mul_overflow(count, type->size_bytes, bytes) &&
           *bytes <= PTRDIFF_MAX && (buffer || !*bytes) && buffer != WEFT_IN_PLACE;
}

/** And is it the handle of the calling thread? */
static inline bool hier_message_is_plain(const weft_comm *comm, const void *buffer, size_t count,
                                         const weft_datatype *type, int peer, int tag, bool receives, size_t *bytes) {
    return hier_message_is_simple(comm, buffer, count, type, peer, tag, receives, bytes) && comm->owner == core_self();
}

/**
 * A standard send to another process that is over when this returns; *request (NULL: of a blocking call) is then the one that stands for such.
 * False: nothing was done. All has been checked, but for the level.
 */
bool hier_message_send_away(weft_comm *comm, const void *buffer, size_t bytes, int dest, int tag,
                            weft_request **request);

/** Starts the send that stands in the message's envelope; nothing else of it needs to be set. WEFT_ERR_NOMEM. */
int hier_message_send(hier_message *message);

static inline void hier_mailbox_enter(weft_comm *comm) {
    if (!comm->team)
        hier_funnel_enter(comm->world);
}

static inline void hier_mailbox_leave(weft_comm *comm) {
    if (!comm->team)
        hier_funnel_leave(comm->world);
}

/** Fills in what a receive is given, but for its communicator, field by field: neither list of them should have to be in memory. */
static inline void hier_message_fill(hier_message *message, const char *call, void *buffer, size_t count, size_t bytes,
                                     const weft_datatype *type, int source, int tag) {
    intra_receive *receive = &message->receive;
    message->base.kind = HIER_RECEIVE;
    message->base.over = false;
    message->base.call = call;
    receive->match.source = source;
    receive->match.tag = tag;
    receive->buffer = buffer;
    receive->type = type;
    receive->count = count;
    receive->bytes = bytes;
}

/** Fills in what is received from WEFT_PROC_NULL. */
void hier_message_receive_nothing(hier_message *message);

/** Starts a receive in *message, of which nothing needs to be set. `waits`: the caller waits for it next. */
void hier_message_receive(hier_message *message, const hier_envelope *envelope, bool waits);

/** Starts a persistent or a new message with what stands in its envelope. */
int hier_message_restart(weft_request *request);

/** Is it over? By its owner after progress. */
static inline bool hier_message_done(const hier_message *message) {
    return message->base.over || (message->base.kind == HIER_SEND ? message->send.done : message->receive.done);
}

/** Of a message that is not done: is it a receive that waits in vain, since its sender is out of reach? Then it is over, with that error. */
bool hier_message_given_up(hier_message *message);

/** Is it over, or given up? */
static inline bool hier_message_settled(hier_message *message) {
    return hier_message_done(message) || hier_message_given_up(message);
}

/** Puts a request's message that is taken now on the timeline. */
void hier_message_trace(const hier_message *message) __attribute__((cold));

static inline void hier_message_observe_end(const hier_message *message) {
    if (message->began_ticks)
        hier_message_trace(message);
}

/** The error of a message that is over. */
static inline int hier_message_error(const hier_message *message) {
    return message->base.kind == HIER_SEND ? message->send.error : message->receive.error;
}

/** Can a message of `source` (or of WEFT_ANY_SOURCE) no longer come? The error, or WEFT_SUCCESS. */
int hier_message_vain(const weft_comm *comm, int source);

/** The sentence of an error of what comes from `source` (or WEFT_ANY_SOURCE), said as `how`: "from"; returns the error. */
int hier_message_failed(const weft_comm *comm, const char *call, const char *how, int source, int error)
    __attribute__((cold));

/** What became of a message that is over; writes the sentence of an error. Status may be NULL. */
int hier_message_result(const hier_message *message, weft_status *status);

/** Waits until it is over. `caller`: where the program called what waits. */
void hier_message_wait(hier_message *message, const void *caller);

/** What a blocking call waits for, and its error. Those of process communicators others may just now move on, under the funnel. */
static inline int hier_message_finish(hier_message *message, weft_status *status, const void *caller) {
    if (!message->base.over && !(message->base.comm->team && hier_message_done(message)))
        hier_message_wait(message, caller);
    return hier_message_result(message, status);
}

/** hier_message_take, from the pool. */
hier_message *hier_message_make(weft_comm *comm);

static inline void hier_message_hand_out(hier_message *message, weft_comm *comm, const char *call) {
    message->base.owned = true;
    message->base.call = call;
    comm->requests++;
}

/**
 * A message in a request of the communicator; NULL and the sentence without memory. Given back with _give. Its type is kept from
 * being freed from _keep on.
 */
static inline hier_message *hier_message_take(weft_comm *comm, const char *call) {
    hier_mailbox_enter(comm);
    hier_message *message = (hier_message *)hier_request_kept(&comm->free_messages);
    if (!message)
        message = hier_message_make(comm);
    if (message)
        hier_message_hand_out(message, comm, call);
    hier_mailbox_leave(comm);
    return message;
}

/** Hands out the request that stands for sends that are done; there is one. */
static inline void hier_message_hand_out_sent(weft_comm *comm, weft_request **request) {
    *request = comm->sent;
    comm->sent_handles++;
}

static inline void hier_message_keep_type(hier_message *message, const weft_datatype *type) {
    if (type->kind != CORE_KIND_DERIVED)
        return;
    core_datatype_retain(type);
    message->kept = type;
}

static inline void hier_message_give(hier_message *message) {
    weft_comm *comm = message->base.comm;
    if (message->kept) {
        core_datatype_release(message->kept);
        message->kept = NULL;
    }
    if (message->began_ticks)
        message->began_ticks = 0;
    hier_request_keep(&message->base, &comm->free_messages);
    comm->requests--;
}

/** Is an exchange over, or given up? */
bool hier_sendrecv_settled(const hier_message *message);

/** The error of one that is over; as hier_message_result. */
int hier_sendrecv_result(const hier_message *message, weft_status *status);

/** Gives one that is over back. Under the funnel, if it is of a process communicator. */
void hier_sendrecv_give(hier_message *message);

/** The request of sends that are done; NULL and the sentence without memory. */
weft_request *hier_message_sent(weft_comm *comm);

/** Frees what a communicator keeps for its next messages. */
void hier_messages_free(weft_comm *comm);

#endif
