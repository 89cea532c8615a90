// SPDX-License-Identifier: BSD-3-Clause
/* The public calls that send and receive at the same time. */
#include <core/error.h>
#include <hier/check.h>
#include <hier/lending.h>
#include <hier/message.h>
#include <hier/observe.h>
#include <stdlib.h>
#include <weft/message.h>

/* Both are checked before either is started. */
static int check_both(hier_envelope *send, hier_envelope *recv, bool replaces) {
    static const hier_argument_names sent = {"send", "send_type", "send_tag"};
    static const hier_argument_names received = {"recv", "recv_type", "recv_tag"};
    static const hier_argument_names replaced[] = {{"buffer", "type", "send_tag"}, {"buffer", "type", "recv_tag"}};
    int code = hier_check_comm(send->comm, send->call);
    if (!code)
        code = hier_message_check_named(send, false, replaces ? &replaced[0] : &sent);
    return code ? code : hier_message_check_named(recv, true, replaces ? &replaced[1] : &received);
}

/* Of what is sent, in *copy: what comes goes to where it was. */
static int put_copy(hier_envelope *send, void **copy) {
    size_t bytes = send->bytes;
    *copy = bytes ? malloc(bytes) : NULL;
    if (bytes && !*copy)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for %zu bytes", send->comm->rank, send->call, bytes);
    core_pack(*copy, send->buffer, send->type, send->count, 0, bytes);
    send->buffer = *copy;
    send->count = bytes;
    send->type = WEFT_BYTE;
    return WEFT_SUCCESS;
}

static int send_and_receive(hier_message *sent, const hier_envelope *recv, weft_status *status, const void *caller) {
    hier_message received;
    hier_message_receive(&received, recv, false);
    int code = hier_message_send(sent);
    if (code) {
        hier_mailbox_enter(recv->comm);
        if (!received.base.over)
            intra_mail_cancel(recv->comm->mailbox, &received.receive);
        hier_mailbox_leave(recv->comm);
        char *sentence = core_error_keep(); /* what was received meanwhile may not fit */
        (void)hier_message_finish(&received, NULL, caller);
        return core_error_again(code, sentence);
    }
    code = hier_message_finish(&received, status, caller);
    char *sentence = code ? core_error_keep() : NULL;
    int sent_code = hier_message_finish(sent, NULL, caller);
    return code ? core_error_again(code, sentence) : sent_code;
}

static int exchange(hier_message *sent, const hier_envelope *recv, weft_status *status, const void *caller) {
    const hier_envelope *send = &sent->envelope;
    core_datatype_retain(send->type);
    core_datatype_retain(recv->type);
    hier_observe_talk(send->comm);
    int code = send_and_receive(sent, recv, status, caller);
    core_datatype_release(send->type);
    core_datatype_release(recv->type);
    code = hier_observe_talked(send->comm, send->call, send->bytes, send->peer, send->tag, code);
    return hier_leave(send->comm, code);
}

int weft_sendrecv(const void *send, size_t send_count, const weft_datatype *send_type, int dest, int send_tag,
                  void *recv, size_t recv_count, const weft_datatype *recv_type, int source, int recv_tag,
                  weft_comm *comm, weft_status *status) {
    hier_message out;
    hier_envelope in;
    hier_envelope_fill(&out.envelope, __func__, send, send_count, send_type, dest, send_tag, comm, HIER_STANDARD);
    hier_envelope_fill(&in, __func__, recv, recv_count, recv_type, source, recv_tag, comm, HIER_STANDARD);
    int code = check_both(&out.envelope, &in, false);
    return code ? hier_leave(comm, code) : exchange(&out, &in, status, __builtin_return_address(0));
}

int weft_sendrecv_replace(void *buffer, size_t count, const weft_datatype *type, int dest, int send_tag, int source,
                          int recv_tag, weft_comm *comm, weft_status *status) {
    hier_message out;
    hier_envelope in;
    hier_envelope_fill(&out.envelope, __func__, buffer, count, type, dest, send_tag, comm, HIER_STANDARD);
    hier_envelope_fill(&in, __func__, buffer, count, type, source, recv_tag, comm, HIER_STANDARD);
    int code = check_both(&out.envelope, &in, true);
    void *copy = NULL;
    if (!code)
        code = put_copy(&out.envelope, &copy);
    if (code)
        return hier_leave(comm, code);
    code = exchange(&out, &in, status, __builtin_return_address(0));
    free(copy);
    return code;
}

static void give_all(weft_comm *comm, hier_message *const messages[], int count) {
    hier_mailbox_enter(comm);
    for (int i = 0; i < count; i++)
        hier_message_give(messages[i]);
    hier_mailbox_leave(comm);
}

/* The request's, then those of the send and the receive. They count as one. */
static int take_all(weft_comm *comm, const char *call, hier_message *messages[3]) {
    for (int i = 0; i < 3; i++) {
        messages[i] = hier_message_take(comm, call);
        if (!messages[i]) {
            give_all(comm, messages, i);
            return WEFT_ERR_NOMEM;
        }
    }
    hier_mailbox_enter(comm);
    comm->requests -= 2;
    hier_mailbox_leave(comm);
    return WEFT_SUCCESS;
}

/* What is sent first, lest a receive must be taken back where there is no memory for it. */
static int start(hier_message *request, const hier_envelope *in) {
    hier_message *sent = request->both.sent, *received = request->both.received;
    request->base.kind = HIER_SENDRECV;
    request->base.active = true;
    hier_message_keep_type(sent, sent->envelope.type);
    hier_message_keep_type(received, in->type);
    uint64_t began_ticks = hier_observe_start_message(in->comm);
    int code = hier_message_send(sent);
    if (code)
        return code;
    hier_message_receive(received, in, false);
    sent->began_ticks = received->began_ticks = began_ticks;
    return WEFT_SUCCESS;
}

static int begin(hier_envelope *out, hier_envelope *in, bool replaces, weft_request **request) {
    hier_message *messages[3];
    void *copy = NULL;
    weft_comm *comm = out->comm;
    int code = check_both(out, in, replaces);
    if (!code && !request)
        code = core_error(WEFT_ERR_ARG, "rank %d: %s: request is NULL", comm->rank, out->call);
    if (!code)
        code = take_all(comm, out->call, messages);
    if (code)
        return hier_leave(comm, code);
    if (replaces)
        code = put_copy(out, &copy);
    messages[0]->both = (hier_sendrecv){messages[1], messages[2], copy};
    messages[1]->envelope = *out;
    if (!code)
        code = start(messages[0], in);
    if (!code) {
        *request = &messages[0]->base;
        return hier_leave(comm, WEFT_SUCCESS);
    }
    hier_mailbox_enter(comm);
    hier_sendrecv_give(messages[0]);
    hier_mailbox_leave(comm);
    return hier_leave(comm, code);
}

int weft_isendrecv(const void *send, size_t send_count, const weft_datatype *send_type, int dest, int send_tag,
                   void *recv, size_t recv_count, const weft_datatype *recv_type, int source, int recv_tag,
                   weft_comm *comm, weft_request **request) {
    hier_envelope out, in;
    hier_envelope_fill(&out, __func__, send, send_count, send_type, dest, send_tag, comm, HIER_STANDARD);
    hier_envelope_fill(&in, __func__, recv, recv_count, recv_type, source, recv_tag, comm, HIER_STANDARD);
    return begin(&out, &in, false, request);
}

int weft_isendrecv_replace(void *buffer, size_t count, const weft_datatype *type, int dest, int send_tag, int source,
                           int recv_tag, weft_comm *comm, weft_request **request) {
    hier_envelope out, in;
    hier_envelope_fill(&out, __func__, buffer, count, type, dest, send_tag, comm, HIER_STANDARD);
    hier_envelope_fill(&in, __func__, buffer, count, type, source, recv_tag, comm, HIER_STANDARD);
    return begin(&out, &in, true, request);
}

bool hier_sendrecv_settled(const hier_message *message) {
    const hier_sendrecv *both = &message->both;
    return hier_message_settled(both->sent) && hier_message_settled(both->received);
}

int hier_sendrecv_result(const hier_message *message, weft_status *status) {
    int code = hier_message_result(message->both.received, status);
    if (code)
        return code;
    code = hier_message_result(message->both.sent, WEFT_STATUS_IGNORE);
    if (code && status)
        status->error = code;
    return code;
}

void hier_sendrecv_give(hier_message *message) {
    const hier_sendrecv both = message->both;
    hier_message_observe_end(both.sent);
    hier_message_observe_end(both.received);
    message->base.comm->requests += 2;
    free(both.copy);
    hier_message_give(both.sent);
    hier_message_give(both.received);
    hier_message_give(message);
}
