// SPDX-License-Identifier: BSD-3-Clause
/* The calls that start, free and cancel requests. */
#include <core/error.h>
#include <hier/check.h>
#include <hier/lending.h>
#include <hier/part.h>
#include <hier/request.h>
#include <weft/message.h>

int weft_start(weft_request **request) {
    if (!request)
        return hier_missing(__func__, "request");
    weft_request *started = *request;
    int code = hier_check_request(started, __func__);
    if (code || !started)
        return code;
    if (!started->persistent)
        return hier_leave(started->comm, core_error(WEFT_ERR_ARG, "rank %d: %s: the request of %s is not persistent",
                                                    started->comm->rank, __func__, started->call));
    if (started->active)
        return hier_leave(started->comm, core_error(WEFT_ERR_BUSY, "rank %d: %s: the request of %s is under way",
                                                    started->comm->rank, __func__, started->call));
    if (started->kind == HIER_COLLECTIVE)
        code = hier_request_restart(started);
    else if (started->kind == HIER_PART)
        hier_part_restart(started);
    else
        code = hier_message_restart(started);
    return hier_leave(started->comm, code);
}

int weft_startall(size_t count, weft_request *requests[]) {
    if (count && !requests)
        return hier_missing(__func__, "requests");
    for (size_t i = 0; i < count; i++) {
        int code = weft_start(&requests[i]);
        if (code)
            return code;
    }
    return WEFT_SUCCESS;
}

int weft_request_free(weft_request **request) {
    if (!request)
        return hier_missing(__func__, "request");
    weft_request *freed = *request;
    int code = hier_check_request(freed, __func__);
    if (code || !freed)
        return code;
    if (freed->active)
        return hier_leave(freed->comm,
                          core_error(WEFT_ERR_BUSY, "rank %d: %s: the request of %s is under way: complete it first",
                                     freed->comm->rank, __func__, freed->call));
    weft_comm *comm = freed->comm;
    hier_mailbox_enter(comm);
    hier_give(freed);
    hier_mailbox_leave(comm);
    *request = WEFT_REQUEST_NULL;
    return hier_leave(comm, WEFT_SUCCESS);
}

int weft_cancel(weft_request **request) {
    if (!request)
        return hier_missing(__func__, "request");
    weft_request *cancelled = *request;
    if (!cancelled)
        return core_error(WEFT_ERR_ARG, "%s: the request is WEFT_REQUEST_NULL, expected an active receive", __func__);
    int code = hier_check_request(cancelled, __func__);
    if (code)
        return code;
    if (cancelled->kind != HIER_RECEIVE || !cancelled->active)
        return hier_leave(cancelled->comm,
                          core_error(WEFT_ERR_ARG, "rank %d: %s: the request of %s is %s, expected an active receive",
                                     cancelled->comm->rank, __func__, cancelled->call,
                                     cancelled->active ? "active" : "not active"));
    hier_mailbox_enter(cancelled->comm);
    if (!cancelled->over)
        intra_mail_cancel(cancelled->comm->mailbox, &hier_message_of(cancelled)->receive);
    hier_mailbox_leave(cancelled->comm);
    return hier_leave(cancelled->comm, WEFT_SUCCESS);
}
