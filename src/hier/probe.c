// SPDX-License-Identifier: BSD-3-Clause
/* Probing: messages that are there and not received, looked at or taken out of the queue. */
#include <core/error.h>
#include <hier/check.h>
#include <hier/lending.h>
#include <hier/message.h>
#include <hier/observe.h>
#include <hier/waits.h>
#include <weft/message.h>

#define MESSAGE_MAGIC 0x77744d53u

static core_pool taken_messages = CORE_POOL_INITIALIZER;

/* A message that mprobe took out. */
struct weft_message {
    core_pooled pooled;
    weft_comm *comm;
    intra_parcel *parcel; /* NULL: the empty one of WEFT_PROC_NULL */
};

/* What is looked for, and what was found. */
typedef struct search {
    hier_envelope envelope;
    const void *caller;
    bool takes;
    bool found;
    int error; /* there will be none */
    intra_parcel *parcel;
    weft_status status;
} search;

static int check(search *of) {
    of->envelope.type = WEFT_BYTE;
    int code = hier_check_comm(of->envelope.comm, of->envelope.call);
    return code ? code : hier_message_check(&of->envelope, true);
}

static bool look(void *argument) {
    search *of = argument;
    const hier_envelope *sought = &of->envelope;
    intra_mailbox *mailbox = sought->comm->mailbox;
    intra_parcel *parcel = intra_mail_find(mailbox, sought->peer, sought->tag);
    int vain = parcel ? WEFT_SUCCESS : hier_message_vain(sought->comm, sought->peer);
    if (vain) {
        intra_mail_progress(mailbox); /* what came before */
        parcel = intra_mail_find(mailbox, sought->peer, sought->tag);
    }
    if (!parcel) {
        of->error = vain;
        return vain;
    }
    of->status = (weft_status){.source = parcel->match.source, .tag = parcel->match.tag, .bytes = parcel->bytes};
    if (of->takes)
        intra_mail_take(mailbox, parcel);
    of->parcel = parcel;
    return of->found = true;
}

static hier_doing describe(void *argument) {
    const hier_envelope *envelope = &((const search *)argument)->envelope;
    hier_doing doing = hier_doing_on(envelope->comm, envelope->call);
    doing.caller = ((const search *)argument)->caller;
    doing.peer = envelope->peer;
    doing.tag = envelope->tag;
    return doing;
}

/* Messages without a receive must be taken from where they are to be seen. */
static void set_takes_all(weft_comm *comm, bool all) {
    hier_mailbox_enter(comm);
    comm->mailbox->takes_all = all;
    hier_mailbox_leave(comm);
}

static int find(search *of, bool once) {
    if (of->envelope.peer == WEFT_PROC_NULL) {
        of->status = (weft_status){.source = WEFT_PROC_NULL, .tag = WEFT_ANY_TAG};
        of->found = true;
        return WEFT_SUCCESS;
    }
    weft_comm *comm = of->envelope.comm;
    hier_wait wait = hier_wait_on(comm, look, describe, of);
    set_takes_all(comm, true);
    hier_drive_until(&wait, once);
    if (once)
        hier_tested(&wait, of->found);
    set_takes_all(comm, false);
    if (!of->found)
        of->status = (weft_status){.source = -1, .tag = -1, .error = of->error};
    return of->error ? hier_message_failed(comm, of->envelope.call, "for a message of", of->envelope.peer, of->error)
                     : WEFT_SUCCESS;
}

static int missing(const search *of, const char *what) {
    return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is NULL", of->envelope.comm->rank, of->envelope.call, what);
}

int weft_probe(int source, int tag, weft_comm *comm, weft_status *status) {
    search sought = {.envelope = {.comm = comm, .call = __func__, .peer = source, .tag = tag},
                     .caller = __builtin_return_address(0)};
    int code = check(&sought);
    if (code)
        return hier_leave(comm, code);
    code = find(&sought, false);
    if (status)
        *status = sought.status;
    return hier_leave(comm, code);
}

int weft_iprobe(int source, int tag, weft_comm *comm, int *found, weft_status *status) {
    search sought = {.envelope = {.comm = comm, .call = __func__, .peer = source, .tag = tag},
                     .caller = __builtin_return_address(0)};
    int code = check(&sought);
    if (code || !found)
        return hier_leave(comm, code ? code : missing(&sought, "found"));
    code = find(&sought, true);
    if (!code && status && sought.found)
        *status = sought.status;
    if (!code)
        *found = sought.found;
    return hier_leave(comm, code);
}

/* Makes the handle before a message is taken, so that none is lost without memory. */
static int take(search *of, bool once, weft_message **message, weft_status *status) {
    weft_message *taken = core_pool_take(&taken_messages, sizeof(*taken), MESSAGE_MAGIC);
    if (!taken)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for a message", of->envelope.comm->rank,
                          of->envelope.call);
    int code = find(of, once);
    if (!of->found) {
        core_pool_give(&taken_messages, taken, MESSAGE_MAGIC);
        return code;
    }
    taken->comm = of->envelope.comm;
    taken->parcel = of->parcel;
    hier_mailbox_enter(taken->comm);
    taken->comm->requests++;
    hier_mailbox_leave(taken->comm);
    *message = taken;
    if (status)
        *status = of->status;
    return WEFT_SUCCESS;
}

int weft_mprobe(int source, int tag, weft_comm *comm, weft_message **message, weft_status *status) {
    search sought = {.envelope = {.comm = comm, .call = __func__, .peer = source, .tag = tag},
                     .caller = __builtin_return_address(0),
                     .takes = true};
    int code = check(&sought);
    if (code || !message)
        return hier_leave(comm, code ? code : missing(&sought, "message"));
    return hier_leave(comm, take(&sought, false, message, status));
}

int weft_improbe(int source, int tag, weft_comm *comm, int *found, weft_message **message, weft_status *status) {
    search sought = {.envelope = {.comm = comm, .call = __func__, .peer = source, .tag = tag},
                     .caller = __builtin_return_address(0),
                     .takes = true};
    int code = check(&sought);
    if (code || !message || !found)
        return hier_leave(comm, code ? code : missing(&sought, message ? "found" : "message"));
    code = take(&sought, true, message, status);
    if (!code)
        *found = sought.found;
    return hier_leave(comm, code);
}

static bool is_message(weft_message *const *message) {
    return message && core_pooled_valid(*message, MESSAGE_MAGIC);
}

static int no_message(const char *call) {
    return core_error(WEFT_ERR_ARG, "%s: message is NULL, or was received before", call);
}

static int check_message(hier_envelope *envelope, const weft_message *message) {
    envelope->comm = message->comm;
    envelope->peer = message->parcel ? WEFT_ANY_SOURCE : WEFT_PROC_NULL;
    envelope->tag = WEFT_ANY_TAG;
    int code = hier_check_comm(envelope->comm, envelope->call);
    return code ? code : hier_message_check(envelope, true);
}

/* The message meets its receive, and its handle is over. */
static void serve(hier_message *message, const hier_envelope *envelope, weft_message **taken) {
    intra_receive *receive = &message->receive;
    intra_parcel *parcel = (*taken)->parcel;
    message->base.comm = envelope->comm;
    hier_message_fill(message, envelope->call, envelope->buffer, envelope->count, envelope->bytes, envelope->type,
                      envelope->peer, envelope->tag);
    hier_mailbox_enter(envelope->comm);
    if (!parcel) {
        hier_message_receive_nothing(message);
    } else {
        receive->done = receive->cancelled = receive->posted = false;
        intra_mail_serve(envelope->comm->mailbox, receive, parcel);
    }
    envelope->comm->requests--;
    hier_mailbox_leave(envelope->comm);
    core_pool_give(&taken_messages, *taken, MESSAGE_MAGIC);
    *taken = WEFT_MESSAGE_NULL;
}

int weft_mrecv(void *buffer, size_t count, const weft_datatype *type, weft_message **message, weft_status *status) {
    hier_envelope envelope = {.call = __func__, .buffer = buffer, .count = count, .type = type};
    hier_message receiving;
    if (!is_message(message))
        return no_message(__func__);
    int code = check_message(&envelope, *message);
    if (code)
        return hier_leave(envelope.comm, code);
    core_datatype_retain(type);
    hier_observe_talk(envelope.comm);
    serve(&receiving, &envelope, message);
    hier_message_wait(&receiving, __builtin_return_address(0));
    code = hier_message_result(&receiving, status);
    core_datatype_release(type);
    const intra_receive *received = &receiving.receive;
    code = hier_observe_talked(envelope.comm, __func__, received->got_bytes, received->source, received->tag, code);
    return hier_leave(envelope.comm, code);
}

int weft_imrecv(void *buffer, size_t count, const weft_datatype *type, weft_message **message, weft_request **request) {
    hier_envelope envelope = {.call = __func__, .buffer = buffer, .count = count, .type = type};
    if (!is_message(message))
        return no_message(__func__);
    int code = check_message(&envelope, *message);
    if (code)
        return hier_leave(envelope.comm, code);
    if (!request)
        return hier_leave(envelope.comm,
                          core_error(WEFT_ERR_ARG, "rank %d: %s: request is NULL", envelope.comm->rank, __func__));
    hier_message *receiving = hier_message_take(envelope.comm, __func__);
    if (!receiving)
        return hier_leave(envelope.comm, WEFT_ERR_NOMEM);
    hier_message_keep_type(receiving, type);
    receiving->began_ticks = hier_observe_start_message(envelope.comm);
    serve(receiving, &envelope, message);
    receiving->base.active = true;
    *request = &receiving->base;
    return hier_leave(envelope.comm, WEFT_SUCCESS);
}

static int check_counting(const char *call, const weft_status *status, const weft_datatype *type, const size_t *count) {
    if (status && count && core_datatype_valid(type))
        return WEFT_SUCCESS;
    return core_error(WEFT_ERR_ARG, "%s: %s", call,
                      !status  ? "status is NULL"
                      : !count ? "count is NULL"
                               : "type is not a datatype, or was freed");
}

int weft_get_count(const weft_status *status, const weft_datatype *type, size_t *count) {
    int code = check_counting(__func__, status, type, count);
    if (code)
        return code;
    if (!type->size_bytes)
        *count = status->bytes ? WEFT_UNDEFINED : 0;
    else
        *count = status->bytes % type->size_bytes ? WEFT_UNDEFINED : status->bytes / type->size_bytes;
    return WEFT_SUCCESS;
}

int weft_get_elements(const weft_status *status, const weft_datatype *type, size_t *count) {
    int code = check_counting(__func__, status, type, count);
    if (!code)
        *count = core_datatype_elements(type, status->bytes);
    return code;
}
