// SPDX-License-Identifier: BSD-3-Clause
/** Windows: lists of messages of which most are complete when they are looked at, and have nothing to tell. */
#ifndef HIER_WINDOW_H
#define HIER_WINDOW_H

#include <hier/request.h>

/** Takes a send that was done when it was started from its list. */
static inline void hier_take_sent(weft_request **place) {
    weft_comm *comm = (*place)->comm;
    comm->sent_handles -= comm->sent_handles > 0; /* a copy of the handle may be completed again */
    *place = WEFT_REQUEST_NULL;
}

/** Takes a receive that is complete, without a status and with nothing to tell, like most; false: nothing was done. */
static inline bool hier_take_plainly(weft_request **place) {
    weft_request *request = *place; /* NOLINT(clang-analyzer-core.NullDereference): there is no list without a place */
    if (!request || request->kind != HIER_RECEIVE || !request->active || request->persistent)
        return false;
    hier_message *message = hier_message_of(request);
    if (!message->receive.done || message->receive.error || message->kept || message->began_ticks)
        return false;
    hier_message_give(message);
    *place = WEFT_REQUEST_NULL;
    return true;
}

/**
 * Of a list of which the first is the caller's own, takes those that are complete, or are once it is seen what has come, in their order and as
 * far as they are of the same handle. Each is checked when it is taken, and the list of the others afterwards: to go through all of
 * them twice took a fifth of what a short message does. How many.
 */
size_t hier_take_window(size_t count, weft_request *requests[]);

#endif
