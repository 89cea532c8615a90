// SPDX-License-Identifier: BSD-3-Clause
/* The public calls that send and receive, each in its three forms. */
#include <core/error.h>
#include <hier/buffered.h>
#include <hier/check.h>
#include <hier/lending.h>
#include <hier/observe.h>
#include <weft/message.h>

static int start_send(hier_message *message) {
    return message->envelope.mode == HIER_BUFFERED ? hier_buffered_send(message) : hier_message_send(message);
}

int hier_message_restart(weft_request *request) {
    hier_message *message = hier_message_of(request);
    int code = WEFT_SUCCESS;
    message->began_ticks = hier_observe_start_message(request->comm);
    if (request->kind == HIER_RECEIVE)
        hier_message_receive(message, &message->envelope, false);
    else
        code = start_send(message);
    request->active = !code;
    return code;
}

static int check(hier_envelope *envelope, bool receives) {
    int code = hier_check_comm(envelope->comm, envelope->call);
    return code ? code : hier_message_check(envelope, receives);
}

#define MESSAGE const void *buffer, size_t count, const weft_datatype *type, int dest, int tag, weft_comm *comm

/*
 * The short ways of most messages: to and from threads of the process, done at once. They need no message, let alone a request, and make no call
 * but as their last thing, lest all that they have in registers goes to memory; the long ways are functions of their own, to the same end. So
 * these return to the program, and find in their own frame where it called.
 */
#define APART static __attribute__((noinline))

/* `request`: of a nonblocking send, which is done; or NULL. */
static inline int count_send(weft_comm *comm, size_t bytes, weft_request **request) {
    if (request)
        hier_message_hand_out_sent(comm, request);
    hier_observe_send_inside(comm, bytes);
    return WEFT_SUCCESS;
}

APART int send_longer(weft_comm *comm, intra_mailbox *to, intra_lane *lane, int tag, const void *buffer, size_t bytes,
                      weft_request **request) {
    intra_lane_send_copy(lane, tag, buffer, bytes);
    intra_mail_ring(to, false);
    return count_send(comm, bytes, request);
}

/* A standard send. False: nothing was done. */
static inline bool send_at_once(MESSAGE, weft_request **request, int *code) {
    size_t bytes;
    if (!hier_message_is_plain(comm, buffer, count, type, dest, tag, false, &bytes) || (request && !comm->sent))
        return false;
    const size_t *offsets = comm->layout->offsets + comm->node;
    size_t thread = (size_t)hier_layout_place(comm->layout, dest) - offsets[0];
    if (thread >= offsets[1] - offsets[0])
        return false;
    intra_mailbox *to = &comm->team->mailboxes[thread];
    intra_lane *lane = intra_mail_open_lane(comm->mailbox, to, (int)thread, bytes);
    if (!lane)
        return false;
    if (bytes != sizeof(uint64_t) || to->waiting.may_sleep) {
        *code = send_longer(comm, to, lane, tag, buffer, bytes, request);
        return true;
    }
    intra_lane_send_copy(lane, tag, buffer, sizeof(uint64_t));
    *code = count_send(comm, bytes, request);
    return true;
}

/* The short way of a standard send to another process. False: nothing was done. */
static bool send_away_at_once(MESSAGE, weft_request **request) {
    size_t bytes;
    return hier_message_is_simple(comm, buffer, count, type, dest, tag, false, &bytes) &&
           (!comm->team || comm->owner == core_self()) &&
           hier_message_send_away(comm, buffer, bytes, dest, tag, request);
}

static int block_send(hier_message *message, const void *caller) {
    message->base.kind = HIER_SEND;
    const hier_envelope *envelope = &message->envelope;
    const weft_datatype *type = envelope->type;
    int code = check(&message->envelope, false);
    if (code)
        return hier_leave(envelope->comm, code);
    core_datatype_retain(type); /* another thread may free it meanwhile; so too where others block */
    hier_observe_talk(envelope->comm);
    code = start_send(message);
    if (!code)
        code = hier_message_finish(message, WEFT_STATUS_IGNORE, caller);
    code = hier_observe_talked(envelope->comm, envelope->call, envelope->bytes, envelope->peer, envelope->tag, code);
    core_datatype_release(type);
    return hier_leave(envelope->comm, code);
}

/* A send that is done when it is started, like most, gives its request back for the one that stands for all of them. */
static void lighten(hier_message *message, weft_request **request) {
    weft_comm *comm = message->base.comm;
    bool light = message->base.kind == HIER_SEND && message->envelope.mode == HIER_STANDARD && comm->team;
    if (!light || !message->base.over || message->send.error || !hier_message_sent(comm))
        return;
    hier_message_observe_end(message);
    hier_message_give(message);
    hier_message_hand_out_sent(comm, request);
}

/* A request of a message, started unless it is persistent. */
static int begin(hier_message *message, bool receives, bool persistent, weft_request **request) {
    weft_comm *comm = message->base.comm;
    message->base.kind = receives ? HIER_RECEIVE : HIER_SEND;
    message->base.persistent = persistent;
    int code = hier_message_check(&message->envelope, receives);
    if (!code && !request)
        code = core_error(WEFT_ERR_ARG, "rank %d: %s: request is NULL", comm->rank, message->base.call);
    if (!code)
        hier_message_keep_type(message, message->envelope.type);
    if (!code && !persistent)
        code = hier_message_restart(&message->base);
    if (!code && request) {
        *request = &message->base;
        if (!persistent)
            lighten(message, request);
        return WEFT_SUCCESS;
    }
    hier_mailbox_enter(comm);
    hier_message_give(message);
    hier_mailbox_leave(comm);
    return code;
}

#define BEGIN(call, peer, mode, receives, persistent)                                                                  \
    int code = hier_check_comm(comm, call);                                                                            \
    hier_message *message = code ? NULL : hier_message_take(comm, call);                                               \
    if (!message)                                                                                                      \
        return hier_leave(comm, code ? code : WEFT_ERR_NOMEM);                                                         \
    hier_envelope_fill(&message->envelope, call, buffer, count, type, peer, tag, comm, mode);                          \
    return hier_leave(comm, begin(message, receives, persistent, request))

/* The three forms of a mode of sending. */
#define SEND(blocking, nonblocking, persistent, mode)                                                                  \
    APART int long_##blocking(MESSAGE) {                                                                               \
        hier_message message;                                                                                          \
        if ((mode) == HIER_STANDARD && send_away_at_once(buffer, count, type, dest, tag, comm, NULL))                  \
            return WEFT_SUCCESS;                                                                                       \
        hier_envelope_fill(&message.envelope, "weft_" #blocking, buffer, count, type, dest, tag, comm, mode);          \
        return block_send(&message, __builtin_return_address(0));                                                      \
    }                                                                                                                  \
    int weft_##blocking(MESSAGE) {                                                                                     \
        int code;                                                                                                      \
        if ((mode) == HIER_STANDARD && send_at_once(buffer, count, type, dest, tag, comm, NULL, &code))                \
            return code;                                                                                               \
        return long_##blocking(buffer, count, type, dest, tag, comm);                                                  \
    }                                                                                                                  \
    APART int long_##nonblocking(MESSAGE, weft_request **request) {                                                    \
        if ((mode) == HIER_STANDARD && request && send_away_at_once(buffer, count, type, dest, tag, comm, request))    \
            return WEFT_SUCCESS;                                                                                       \
        BEGIN("weft_" #nonblocking, dest, mode, false, false);                                                         \
    }                                                                                                                  \
    int weft_##nonblocking(MESSAGE, weft_request **request) {                                                          \
        int code;                                                                                                      \
        if ((mode) == HIER_STANDARD && request && send_at_once(buffer, count, type, dest, tag, comm, request, &code))  \
            return code;                                                                                               \
        return long_##nonblocking(buffer, count, type, dest, tag, comm, request);                                      \
    }                                                                                                                  \
    int weft_##persistent(MESSAGE, weft_request **request) {                                                           \
        BEGIN(__func__, dest, mode, false, true);                                                                      \
    }

SEND(send, isend, send_init, HIER_STANDARD)
SEND(ssend, issend, ssend_init, HIER_SYNCHRONOUS)
SEND(bsend, ibsend, bsend_init, HIER_BUFFERED)
SEND(rsend, irsend, rsend_init, HIER_STANDARD)

#define RECEIVE void *buffer, size_t count, const weft_datatype *type, int source, int tag, weft_comm *comm

APART int long_recv(RECEIVE, weft_status *status) {
    hier_message message;
    hier_envelope envelope;
    hier_envelope_fill(&envelope, "weft_recv", buffer, count, type, source, tag, comm, HIER_STANDARD);
    int code = check(&envelope, true);
    if (code)
        return hier_leave(comm, code);
    core_datatype_retain(type);
    hier_observe_talk(comm);
    hier_message_receive(&message, &envelope, true);
    code = hier_message_finish(&message, status, __builtin_return_address(0));
    core_datatype_release(type);
    const intra_receive *received = &message.receive;
    code = hier_observe_talked(comm, envelope.call, received->got_bytes, received->source, received->tag, code);
    return hier_leave(comm, code);
}

static inline int take_next(weft_comm *comm, void *buffer, size_t bytes, int source, int tag, weft_status *status) {
    intra_mail_take_next(comm->mailbox, buffer, bytes);
    if (status)
        *status = (weft_status){.source = source, .tag = tag, .bytes = bytes};
    return WEFT_SUCCESS;
}

APART int take_longer(weft_comm *comm, void *buffer, size_t bytes, int source, int tag, weft_status *status) {
    return take_next(comm, buffer, bytes, source, tag, status);
}

APART int recv_from_other(RECEIVE, weft_status *status) {
    return intra_mail_find_lane(comm->mailbox, source) ? weft_recv(buffer, count, type, source, tag, comm, status)
                                                       : long_recv(buffer, count, type, source, tag, comm, status);
}

APART int recv_and_serve(RECEIVE, weft_status *status) {
    hier_serve(comm);
    return long_recv(buffer, count, type, source, tag, comm, status);
}

int weft_recv(RECEIVE, weft_status *status) {
    size_t bytes;
    if (!hier_message_is_plain(comm, buffer, count, type, source, tag, true, &bytes) || comm->agent->parts)
        return long_recv(buffer, count, type, source, tag, comm, status);
    const intra_mailbox *mailbox = comm->mailbox;
    if (!mailbox->last || mailbox->last->source != source)
        return recv_from_other(buffer, count, type, source, tag, comm, status);
    if (++comm->agent->short_ways % HIER_SHORT_WAYS == 0)
        return recv_and_serve(buffer, count, type, source, tag, comm, status);
    uint64_t word = intra_mail_next(mailbox, tag, bytes, comm->team->intra->waiting.hot);
    if (!word)
        return long_recv(buffer, count, type, source, tag, comm, status);
    bytes = intra_lane_bytes_of(word);
    return bytes == sizeof(uint64_t)
               ? take_next(comm, buffer, sizeof(uint64_t), source, intra_lane_tag_of(word), status)
               : take_longer(comm, buffer, bytes, source, intra_lane_tag_of(word), status);
}

APART int long_irecv(RECEIVE, weft_request **request) {
    BEGIN("weft_irecv", source, HIER_STANDARD, true, false);
}

int weft_irecv(RECEIVE, weft_request **request) {
    size_t bytes;
    if (!request || !hier_message_is_plain(comm, buffer, count, type, source, tag, true, &bytes) ||
        !comm->free_messages || type->kind == CORE_KIND_DERIVED)
        return long_irecv(buffer, count, type, source, tag, comm, request);
    intra_matching *matching = &comm->mailbox->matching;
    if (matching->unexpected_count || !intra_matching_continues(matching, source, tag))
        return long_irecv(buffer, count, type, source, tag, comm, request);
    hier_message *message = (hier_message *)hier_request_kept(&comm->free_messages);
    hier_message_hand_out(message, comm, __func__);
    hier_message_fill(message, __func__, buffer, count, bytes, type, source, tag);
    message->base.active = true;
    intra_receive_begin(&message->receive);
    intra_matching_post_next(matching, &message->receive.match);
    *request = &message->base;
    return WEFT_SUCCESS;
}

int weft_recv_init(RECEIVE, weft_request **request) {
    BEGIN(__func__, source, HIER_STANDARD, true, true);
}
