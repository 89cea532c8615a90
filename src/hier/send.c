// SPDX-License-Identifier: BSD-3-Clause
/* The public calls that send and receive, each in its three forms. */
#include <core/error.h>
#include <hier/buffered.h>
#include <stdlib.h>
#include <weft/message.h>

/* What a blocking call waits for, and its error. */
static int finish(hier_message *message, const hier_envelope *envelope, weft_status *status) {
    if (!hier_message_done(message))
        hier_message_wait(message, envelope->comm);
    return hier_message_result(message, envelope, status);
}

static int start(hier_message *message, const hier_envelope *envelope) {
    if (message->base.kind == HIER_RECEIVE)
        return hier_message_receive(message, envelope);
    return envelope->mode == HIER_BUFFERED ? hier_buffered_send(message, envelope)
                                           : hier_message_send(message, envelope);
}

int hier_message_restart(weft_request *request) {
    hier_message *message = (hier_message *)request;
    int code = start(message, &message->envelope);
    message->base.active = !code;
    return code;
}

static int block_send(hier_envelope *envelope) {
    hier_message message;
    int code = hier_message_check(envelope, false);
    if (code)
        return code;
    message.base.kind = HIER_SEND;
    code = start(&message, envelope);
    if (code)
        return code;
    return message.over && !message.send.error ? WEFT_SUCCESS : finish(&message, envelope, WEFT_STATUS_IGNORE);
}

/* A request of a message, started unless it is persistent. */
static int begin(hier_envelope *envelope, bool receives, bool persistent, weft_request **request) {
    int code = hier_message_check(envelope, receives);
    if (code)
        return code;
    if (!request)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: request is NULL", envelope->comm->rank, envelope->call);
    hier_message *message = hier_message_take(envelope);
    if (!message)
        return WEFT_ERR_NOMEM;
    message->base.kind = receives ? HIER_RECEIVE : HIER_SEND;
    message->base.persistent = persistent;
    code = persistent ? WEFT_SUCCESS : hier_message_restart(&message->base);
    if (code) {
        hier_mailbox_enter(envelope->comm);
        hier_message_give(message);
        hier_mailbox_leave(envelope->comm);
        return code;
    }
    *request = &message->base;
    return WEFT_SUCCESS;
}

static hier_envelope envelope_of(const char *call, const void *buffer, size_t count, const weft_datatype *type,
                                 int peer, int tag, weft_comm *comm, enum hier_mode mode) {
    return (hier_envelope){.comm = comm,
                           .call = call,
                           .buffer = (void *)(uintptr_t)buffer,
                           .count = count,
                           .type = type,
                           .peer = peer,
                           .tag = tag,
                           .mode = mode};
}

#define MESSAGE const void *buffer, size_t count, const weft_datatype *type, int dest, int tag, weft_comm *comm

/* The three forms of a mode of sending. */
#define SEND(blocking, nonblocking, persistent, mode)                                                                  \
    int weft_##blocking(MESSAGE) {                                                                                     \
        hier_envelope envelope = envelope_of(__func__, buffer, count, type, dest, tag, comm, mode);                    \
        return block_send(&envelope);                                                                                  \
    }                                                                                                                  \
    int weft_##nonblocking(MESSAGE, weft_request **request) {                                                          \
        hier_envelope envelope = envelope_of(__func__, buffer, count, type, dest, tag, comm, mode);                    \
        return begin(&envelope, false, false, request);                                                                \
    }                                                                                                                  \
    int weft_##persistent(MESSAGE, weft_request **request) {                                                           \
        hier_envelope envelope = envelope_of(__func__, buffer, count, type, dest, tag, comm, mode);                    \
        return begin(&envelope, false, true, request);                                                                 \
    }

SEND(send, isend, send_init, HIER_STANDARD)
SEND(ssend, issend, ssend_init, HIER_SYNCHRONOUS)
SEND(bsend, ibsend, bsend_init, HIER_BUFFERED)
SEND(rsend, irsend, rsend_init, HIER_STANDARD)

int weft_recv(void *buffer, size_t count, const weft_datatype *type, int source, int tag, weft_comm *comm,
              weft_status *status) {
    hier_envelope envelope = envelope_of(__func__, buffer, count, type, source, tag, comm, HIER_STANDARD);
    hier_message message;
    int code = hier_message_check(&envelope, true);
    if (!code)
        code = hier_message_receive(&message, &envelope);
    return code ? code : finish(&message, &envelope, status);
}

int weft_irecv(void *buffer, size_t count, const weft_datatype *type, int source, int tag, weft_comm *comm,
               weft_request **request) {
    hier_envelope envelope = envelope_of(__func__, buffer, count, type, source, tag, comm, HIER_STANDARD);
    return begin(&envelope, true, false, request);
}

int weft_recv_init(void *buffer, size_t count, const weft_datatype *type, int source, int tag, weft_comm *comm,
                   weft_request **request) {
    hier_envelope envelope = envelope_of(__func__, buffer, count, type, source, tag, comm, HIER_STANDARD);
    return begin(&envelope, true, true, request);
}

/* Both are checked before either is started. */
static int exchange(hier_envelope *send, hier_envelope *recv, weft_status *status) {
    hier_message sent, received;
    int code = hier_message_check(send, false);
    if (!code)
        code = hier_message_check(recv, true);
    if (code)
        return code;
    (void)hier_message_receive(&received, recv);
    code = hier_message_send(&sent, send);
    if (code) {
        hier_mailbox_enter(recv->comm);
        if (!received.over)
            intra_mail_cancel(recv->comm->mailbox, &received.receive);
        hier_mailbox_leave(recv->comm);
        (void)finish(&received, recv, NULL);
        return code;
    }
    int received_code = finish(&received, recv, status);
    code = finish(&sent, send, NULL);
    return received_code ? received_code : code;
}

int weft_sendrecv(const void *send, size_t send_count, const weft_datatype *send_type, int dest, int send_tag,
                  void *recv, size_t recv_count, const weft_datatype *recv_type, int source, int recv_tag,
                  weft_comm *comm, weft_status *status) {
    hier_envelope out = envelope_of(__func__, send, send_count, send_type, dest, send_tag, comm, HIER_STANDARD);
    hier_envelope in = envelope_of(__func__, recv, recv_count, recv_type, source, recv_tag, comm, HIER_STANDARD);
    return exchange(&out, &in, status);
}

int weft_sendrecv_replace(void *buffer, size_t count, const weft_datatype *type, int dest, int send_tag, int source,
                          int recv_tag, weft_comm *comm, weft_status *status) {
    hier_envelope out = envelope_of(__func__, buffer, count, type, dest, send_tag, comm, HIER_STANDARD);
    hier_envelope in = envelope_of(__func__, buffer, count, type, source, recv_tag, comm, HIER_STANDARD);
    int code = hier_message_check(&out, false);
    if (code)
        return code;
    void *packed = out.bytes ? malloc(out.bytes) : NULL;
    if (out.bytes && !packed)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for %zu bytes", comm->rank, __func__, out.bytes);
    core_pack(packed, buffer, type, count, 0, out.bytes);
    out.buffer = packed;
    out.count = out.bytes;
    out.type = WEFT_BYTE;
    code = exchange(&out, &in, status);
    free(packed);
    return code;
}
