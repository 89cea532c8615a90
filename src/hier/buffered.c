// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/buffered.h>
#include <hier/check.h>
#include <hier/lending.h>
#include <weft/message.h>

static size_t room_of(const hier_message *buffered) {
    return buffered->envelope.bytes + WEFT_BSEND_OVERHEAD;
}

/* Those that are sent give their room back. */
static void tidy(weft_comm *comm) {
    hier_mailbox_enter(comm);
    for (hier_message **link = &comm->buffer.used; *link;) {
        hier_message *buffered = *link;
        if (hier_message_done(buffered)) {
            *link = buffered->next_buffered;
            hier_message_give(buffered);
        } else {
            link = &buffered->next_buffered;
        }
    }
    hier_mailbox_leave(comm);
}

size_t hier_buffered_count(weft_comm *comm) {
    size_t count = 0;
    for (const hier_message *buffered = comm->buffer.used; buffered; buffered = buffered->next_buffered)
        count++;
    return count;
}

/* The first gap of `bytes` bytes: where it is, and behind which message in the list. */
static hier_message **find_gap(weft_comm *comm, size_t bytes, size_t *place) {
    hier_message **link = &comm->buffer.used;
    *place = 0;
    while (*link && (*link)->place - *place < bytes) {
        *place = (*link)->place + room_of(*link);
        link = &(*link)->next_buffered;
    }
    size_t end = *link ? (*link)->place : comm->buffer.bytes;
    return bytes <= end - *place ? link : NULL;
}

static bool look_once(void *argument) {
    (void)argument;
    return false;
}

int hier_buffered_send(hier_message *message) {
    const hier_envelope *envelope = &message->envelope;
    weft_comm *comm = envelope->comm;
    size_t place;
    message->base.kind = HIER_SEND;
    message->base.comm = comm;
    message->send.error = WEFT_SUCCESS;
    message->base.over = true;
    if (envelope->peer == WEFT_PROC_NULL)
        return WEFT_SUCCESS;
    hier_wait wait = hier_wait_on(comm, look_once, NULL, NULL);
    hier_drive_until(&wait, true);
    tidy(comm);
    hier_message **link = NULL;
    if (!comm->buffer.base)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no buffer is attached (weft_comm_attach_buffer)", comm->rank,
                          envelope->call);
    if (envelope->bytes <= SIZE_MAX - WEFT_BSEND_OVERHEAD)
        link = find_gap(comm, envelope->bytes + WEFT_BSEND_OVERHEAD, &place);
    if (!link)
        return core_error(WEFT_ERR_NOMEM,
                          "rank %d: %s: no room for %zu + %d bytes in the attached buffer of %zu bytes "
                          "(weft_comm_attach_buffer)",
                          comm->rank, envelope->call, envelope->bytes, WEFT_BSEND_OVERHEAD, comm->buffer.bytes);
    hier_envelope copy = *envelope;
    copy.mode = HIER_STANDARD;
    copy.buffer = comm->buffer.base + place;
    copy.count = copy.bytes;
    copy.type = WEFT_BYTE;
    core_pack(copy.buffer, envelope->buffer, envelope->type, envelope->count, 0, envelope->bytes);
    hier_message *buffered = hier_message_take(comm, envelope->call);
    int code = WEFT_ERR_NOMEM;
    if (buffered) {
        buffered->envelope = copy;
        code = hier_message_send(buffered);
    }
    if (code) {
        hier_mailbox_enter(comm);
        if (buffered)
            hier_message_give(buffered);
        hier_mailbox_leave(comm);
        return code;
    }
    buffered->base.owned = false; /* no user has it */
    buffered->place = place;
    buffered->next_buffered = *link;
    *link = buffered;
    return WEFT_SUCCESS;
}

static int attach(weft_comm *comm, void *buffer, size_t bytes, const char *call) {
    int code = hier_check_comm(comm, call);
    if (code)
        return code;
    if (!buffer)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: buffer is NULL, expected %zu bytes", comm->rank, call, bytes);
    if (comm->buffer.base)
        return core_error(WEFT_ERR_BUSY, "rank %d: %s: a buffer of %zu bytes is attached already", comm->rank, call,
                          comm->buffer.bytes);
    comm->buffer = (hier_buffer){.base = buffer, .bytes = bytes};
    return WEFT_SUCCESS;
}

int weft_comm_attach_buffer(weft_comm *comm, void *buffer, size_t bytes) {
    return hier_leave(comm, attach(comm, buffer, bytes, __func__));
}

/* A wait until a buffer is empty. */
typedef struct emptying {
    weft_comm *comm;
    const void *caller;
} emptying;

static bool is_empty(void *argument) {
    const weft_comm *comm = ((const emptying *)argument)->comm;
    for (const hier_message *buffered = comm->buffer.used; buffered; buffered = buffered->next_buffered)
        if (!hier_message_done(buffered))
            return false;
    return true;
}

static hier_doing describe(void *argument) {
    const emptying *waits = argument;
    hier_doing doing = hier_doing_on(waits->comm, "weft_comm_detach_buffer");
    doing.caller = waits->caller;
    return doing;
}

static int detach(weft_comm *comm, void **buffer, size_t *bytes, hier_caller by) {
    int code = hier_check_comm(comm, by.call);
    if (code)
        return code;
    if (!buffer || !bytes)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is NULL", comm->rank, by.call, buffer ? "bytes" : "buffer");
    if (!comm->buffer.base)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: no buffer is attached", comm->rank, by.call);
    emptying waits = {comm, by.place};
    hier_wait wait = hier_wait_on(comm, is_empty, describe, &waits);
    hier_drive_until(&wait, false);
    tidy(comm);
    *buffer = comm->buffer.base;
    *bytes = comm->buffer.bytes;
    comm->buffer = (hier_buffer){0};
    return WEFT_SUCCESS;
}

int weft_comm_detach_buffer(weft_comm *comm, void **buffer, size_t *bytes) {
    return hier_leave(comm, detach(comm, buffer, bytes, HIER_CALLER));
}
