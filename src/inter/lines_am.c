// SPDX-License-Identifier: BSD-3-Clause
/*
 * Active messages through lines, in the same lanes and the same order as the tagged ones.
 *
 * Where processes cannot read each other's memory, what would be offered goes through the inner transport instead: so an
 * arrival from a neighbour that is to be fetched is either always a line's or always the inner transport's.
 */
#include <core/error.h>
#include <inter/lines_packing.h>
#include <stdlib.h>

static inline inter_stored message_of(const inter_am_header *header, const void *buffer, size_t bytes, uint32_t kind,
                                      inter_request *request) {
    return (inter_stored){.request = request,
                          .tag = header->words[0],
                          .word = header->words[1],
                          .buffer = buffer,
                          .bytes = bytes,
                          .kind = INTER_LINE_AM | kind};
}

/* Of one that is copied. */
static inline uint32_t kind_of(size_t bytes) {
    return bytes <= INTER_LINE_BYTES ? INTER_LINE_SHORT : INTER_LINE_EAGER;
}

static int lines_am_send(inter_transport *base, int peer, const inter_am_header *header, const void *buffer,
                         size_t bytes, bool rendezvous, inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    inter_neighbour *to = &lines->neighbours[peer];
    bool offered = rendezvous || bytes > INTER_EAGER_BYTES;
    if (!to->to || (offered && !lines->can_pull))
        return lines->inner->am_send(lines->inner, peer, header, buffer, bytes, rendezvous, request);
    const inter_stored message = message_of(header, buffer, bytes, offered ? INTER_LINE_PULL : kind_of(bytes), request);
    return inter_lines_post(lines, to, &message);
}

static bool lines_am_put(inter_transport *base, int peer, const inter_am_header *header, const void *buffer,
                         size_t bytes) {
    inter_lines *lines = (inter_lines *)base;
    inter_neighbour *to = &lines->neighbours[peer];
    if (!to->to || to->waiting.first || bytes > INTER_EAGER_BYTES)
        return false;
    const inter_stored message = message_of(header, buffer, bytes, kind_of(bytes), NULL);
    if (!inter_lines_write(to, &message))
        return false;
    inter_lines_wake(lines, to);
    return true;
}

/* Is it to be fetched? Nobody offers nothing: then it is a message of no bytes, of which nothing is kept. */
static bool is_offered(const inter_stored *message) {
    return inter_line_is(message->kind, INTER_LINE_PULL) && message->bytes;
}

/* Tells the listener; what it is to fetch later is named by the stored message. */
static void tell(const inter_lines *lines, const inter_neighbour *from, const inter_stored *message,
                 inter_stored *stored) {
    inter_arrival arrival = {.peer = from->rank,
                             .header = {{message->tag, message->word}},
                             .bytes = message->bytes,
                             .data = stored || !message->bytes ? NULL : message->buffer,
                             .native = stored};
    lines->listener(lines->listener_argument, &arrival);
}

static void put_aside(inter_lines *lines, inter_neighbour *from, inter_stored *stored) {
    inter_store_append(&from->unheard, stored);
    lines->base.unheard_bytes += sizeof(*stored) + (stored->buffer ? stored->bytes : 0);
}

bool inter_lines_am_take(inter_lines *lines, inter_neighbour *from, const inter_stored *message) {
    bool offered = is_offered(message);
    inter_stored *stored = NULL;
    if (offered || !lines->listener) {
        stored = inter_lines_keep(message);
        if (!stored)
            return false;
    }
    if (lines->listener)
        tell(lines, from, message, stored);
    else
        put_aside(lines, from, stored);
    return true;
}

/* Belongs an arrival to the inner transport? */
static bool is_inner(const inter_lines *lines, const inter_arrival *arrival) {
    return !lines->neighbours[arrival->peer].to || !lines->can_pull;
}

/* An offer is to be pulled, now or later. */
static void pull(inter_lines *lines, inter_neighbour *from, inter_stored *stored) {
    if (!from->matched.first && inter_lines_begin_pull(lines, from, &stored->offer, stored->request))
        free(stored);
    else
        inter_store_append(&from->matched, stored);
    inter_lines_make_busy(lines, from);
}

static int lines_am_fetch(inter_transport *base, const inter_arrival *arrival, void *buffer, size_t bytes,
                          inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    inter_stored *stored = arrival->native;
    if (is_inner(lines, arrival))
        return lines->inner->am_fetch(lines->inner, arrival, buffer, bytes, request);
    request->peer = arrival->peer;
    request->bytes = bytes < arrival->bytes ? bytes : arrival->bytes; /* more room is no mistake */
    request->buffer = buffer;
    request->tag = 0;
    request->native = stored; /* until it is under way */
    request->completion->pending++;
    stored->request = request;
    pull(lines, &lines->neighbours[arrival->peer], stored);
    inter_lines_wake(lines, &lines->neighbours[arrival->peer]); /* it may put parts */
    return WEFT_SUCCESS;
}

static void lines_am_drop(inter_transport *base, const inter_arrival *arrival) {
    inter_lines *lines = (inter_lines *)base;
    inter_neighbour *from = &lines->neighbours[arrival->peer];
    if (is_inner(lines, arrival)) {
        lines->inner->am_drop(lines->inner, arrival);
        return;
    }
    pull(lines, from, arrival->native); /* of nothing */
    inter_lines_wake(lines, from);
}

/* Hands over what came before; what is offered stays stored until it is fetched or dropped. */
static void tell_unheard(inter_lines *lines, inter_neighbour *from) {
    while (lines->listener && from->unheard.first) {
        inter_stored *item = inter_store_take(&from->unheard, NULL);
        bool offered = is_offered(item);
        tell(lines, from, item, offered ? item : NULL);
        if (!offered)
            free(item);
    }
}

/* UCX needs less than half the time within a host if nothing is packed beforehand. */
static bool lines_takes_layouts(const inter_transport *base, int peer, size_t bytes) {
    const inter_lines *lines = (const inter_lines *)base;
    inter_transport *inner = lines->inner;
    bool near = lines->neighbours[peer].to;
    if (near && lines->can_pull)
        return inter_lines_pull_layouts(lines, bytes);
    return inner->takes_layouts && inner->takes_layouts(inner, peer, near ? SIZE_MAX : bytes);
}

static void lines_listen(inter_transport *base, inter_listener *listener, void *argument) {
    inter_lines *lines = (inter_lines *)base;
    lines->listener = listener;
    lines->listener_argument = argument;
    lines->inner->listen(lines->inner, listener, argument);
    for (inter_neighbour *from = lines->locals; from; from = from->local)
        tell_unheard(lines, from);
    if (listener)
        base->unheard_bytes = 0;
}

static void lines_rouse(inter_transport *base) {
    inter_lines *lines = (inter_lines *)base;
    if (!inter_lines_wakes(lines)) {
        lines->inner->rouse(lines->inner);
        return;
    }
    atomic_store_explicit(&lines->roused, true, memory_order_relaxed);
    /* Pairs with that in lines_arm: either it sees that, or what follows comes after it has set the word. */
    atomic_thread_fence(memory_order_seq_cst);
    core_word_rouse(&lines->own->head.asleep);
}

void inter_lines_am_open(inter_lines *lines) {
    lines->base.am_send = lines_am_send;
    lines->base.am_put = lines_am_put;
    lines->base.am_fetch = lines_am_fetch;
    lines->base.am_drop = lines_am_drop;
    lines->base.takes_layouts = lines_takes_layouts;
    lines->base.listen = lines_listen;
    lines->base.rouse = lines_rouse;
}
