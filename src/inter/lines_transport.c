// SPDX-License-Identifier: BSD-3-Clause
/* Messages through lines. */
#include <core/error.h>
#include <inter/lines_packing.h>
#include <stdlib.h>
#include <unistd.h>

/* While lines are waited for, the inner transport is looked after once in so many looks, a power of two; when it carries no messages, in so many. */
#define LOOKS_A_PROGRESS      16
#define LOOKS_A_LONE_PROGRESS 256

/* Shorter ones are as soon packed, and some go by the rings. */
#define LEAST_LAID_OUT ((size_t)64 << 10)

static int no_memory(int rank) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a message between the processes of a host", rank);
}

static bool is_for_lines(const inter_lines *lines, const inter_neighbour *neighbour, size_t bytes) {
    return neighbour->to && (lines->can_pull || bytes <= INTER_EAGER_BYTES);
}

static bool needs_care(const inter_neighbour *of) {
    return of->posted || of->waiting.first || of->offers.count || of->withdraws || of->incoming || of->matched.first;
}

int inter_lines_hold(inter_lines *lines, inter_neighbour *to, const inter_stored *message) {
    inter_stored *item = malloc(sizeof(*item));
    if (!item)
        return no_memory(lines->base.rank);
    *item = *message;
    inter_store_append(&to->waiting, item);
    message->request->native = item;
    message->request->completion->pending++;
    inter_lines_make_busy(lines, to);
    return WEFT_SUCCESS;
}

static bool is_copied_twice(const inter_lines *lines, inter_neighbour *to, size_t bytes) {
    size_t most = inter_lines_expects_crowd(lines) ? INTER_CROWDED_BYTES : INTER_EAGER_BYTES;
    return bytes <= most && (bytes <= INTER_FAR_BYTES || !lines->can_pull || !inter_pace_pulls(&to->pace));
}

/* A function of its own, as it takes what a short one has no use for. */
static __attribute__((noinline)) int send_long(inter_lines *lines, inter_neighbour *to, uint64_t tag,
                                               const void *buffer, size_t bytes, inter_request *request) {
    const bool copied = !request->data && is_copied_twice(lines, to, bytes);
    const inter_stored message = {.request = request,
                                  .tag = tag,
                                  .buffer = buffer,
                                  .bytes = bytes,
                                  .kind = copied ? INTER_LINE_EAGER : INTER_LINE_PULL};
    return inter_lines_post(lines, to, &message);
}

static int lines_send(inter_transport *base, int peer, uint64_t tag, const void *buffer, size_t bytes,
                      inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    inter_neighbour *to = &lines->neighbours[peer];
    if (!is_for_lines(lines, to, bytes))
        return lines->inner->send(lines->inner, peer, tag, buffer, bytes, request);
    if (bytes > INTER_LINE_BYTES)
        return send_long(lines, to, tag, buffer, bytes, request);
    const inter_stored message = {
        .request = request, .tag = tag, .buffer = buffer, .bytes = bytes, .kind = INTER_LINE_SHORT};
    return inter_lines_post(lines, to, &message);
}

static int deliver(const inter_request *request, const void *payload, uint64_t bytes) {
    size_t copied = bytes < request->bytes ? bytes : request->bytes, from = request->data_from;
    const core_data *data = request->data;
    if (copied && data) /* long ones are, but the sender may see it otherwise */
        core_unpack(data->buffer, payload, data->type, data->count, from, from + copied);
    else if (copied)
        core_copy_short(request->buffer, payload, copied);
    return inter_lines_length_error(bytes, request->bytes);
}

/* Is the message there already? Then the receive is served from the store; *code is its error. */
static bool serve_early(const inter_lines *lines, inter_neighbour *from, inter_request *request, int *code) {
    inter_stored *item = from->early.first, *previous = NULL;
    while (item && item->tag != request->tag) {
        previous = item;
        item = item->next;
    }
    if (!item)
        return false;
    if (!item->buffer) {
        request->completion->pending++;
        *code = inter_lines_match(lines, from, &item->offer, request);
        inter_lines_wake(lines, from); /* it may put parts, and where its data lie in no run it has to */
        if (*code)
            request->completion->pending--;
    } else {
        inter_note_error(request, deliver(request, item->buffer, item->bytes));
        request->native = NULL;
    }
    free(inter_store_take(&from->early, previous));
    return true;
}

void inter_lines_await(inter_neighbour *from, inter_request *request) {
    request->next = NULL;
    if (!from->posted)
        from->posted_end = &from->posted;
    *from->posted_end = request;
    from->posted_end = &request->next;
    request->native = request;
}

static int lines_recv(inter_transport *base, int peer, uint64_t tag, void *buffer, size_t bytes,
                      inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    inter_neighbour *from = &lines->neighbours[peer];
    int code = WEFT_SUCCESS;
    if (!is_for_lines(lines, from, bytes))
        return lines->inner->recv(lines->inner, peer, tag, buffer, bytes, request);
    request->peer = peer;
    request->bytes = bytes;
    request->buffer = buffer;
    request->tag = tag;
    if (from->early.first && serve_early(lines, from, request, &code)) {
        inter_lines_make_busy(lines, from);
        return code ? no_memory(base->rank) : WEFT_SUCCESS;
    }
    inter_lines_await(from, request);
    request->completion->pending++;
    inter_lines_make_busy(lines, from);
    return WEFT_SUCCESS;
}

inter_stored *inter_lines_keep(const inter_stored *message) {
    size_t payload = message->buffer ? message->bytes : 0; /* not of an offer */
    inter_stored *item = malloc(sizeof(*item) + payload);
    if (!item)
        return NULL;
    *item = *message;
    if (payload)
        memcpy(inter_stored_payload(item), message->buffer, payload);
    item->buffer = message->buffer ? inter_stored_payload(item) : NULL;
    return item;
}

static bool keep_early(inter_neighbour *from, const inter_stored *message) {
    inter_stored *item = inter_lines_keep(message);
    if (item)
        inter_store_append(&from->early, item);
    return item;
}

/* Takes a receive from its list; NULL at the list's end. */
static inter_request *unlink_posted(inter_neighbour *from, inter_request **link) {
    inter_request *request = *link;
    if (request) {
        *link = request->next;
        if (!request->next)
            from->posted_end = link;
    }
    return request;
}

static inter_request *take_posted(inter_neighbour *from, uint64_t tag) {
    inter_request **link = &from->posted;
    while (*link && (*link)->tag != tag)
        link = &(*link)->next;
    return unlink_posted(from, link);
}

/* To its receive, or aside; false when it must stay in its line until there is memory. */
static bool take_tagged(const inter_lines *lines, inter_neighbour *from, const inter_stored *message) {
    inter_request *request = take_posted(from, message->tag);
    if (!request)
        return keep_early(from, message);
    if (message->buffer) {
        inter_lines_finish(request, deliver(request, message->buffer, message->bytes));
    } else {
        int code = inter_lines_match(lines, from, &message->offer, request);
        if (code)
            inter_lines_finish(request, code);
    }
    return true;
}

/* To the listener, to its receive, or aside; false when it must stay in its line until there is memory. */
static bool take_slowly(inter_lines *lines, inter_neighbour *from, const inter_stored *message) {
    return message->kind & INTER_LINE_AM ? inter_lines_am_take(lines, from, message)
                                         : take_tagged(lines, from, message);
}

/*
 * Messages whose payload is here are only in registers between their line and their receive, or what the listener is told: what has
 * just been written in words and is read again in pairs waits for all stores before it.
 */
static inline bool take_message(inter_lines *lines, inter_neighbour *from, const inter_stored *message) {
    inter_request *request = from->posted;
    if (request && request->tag == message->tag && !(message->kind & INTER_LINE_AM) && message->buffer) {
        (void)unlink_posted(from, &from->posted);
        inter_lines_finish(request, deliver(request, message->buffer, message->bytes));
        return true;
    }
    if (lines->listener && message->kind & INTER_LINE_AM && message->buffer) {
        const inter_arrival arrival = {.peer = from->rank,
                                       .header = {{message->tag, message->word}},
                                       .bytes = message->bytes,
                                       .data = message->bytes ? message->buffer : NULL};
        lines->listener(lines->listener_argument, &arrival);
        return true;
    }
    const inter_stored kept = *message;
    return take_slowly(lines, from, &kept);
}

/* Has a message from there somebody who takes it? Else it may as well wait in its line, where it needs no memory. */
static inline bool is_wanted(const inter_lines *lines, const inter_neighbour *from) {
    return from->posted || lines->listener;
}

/*
 * Takes what a line has up to `filled`, all that it will have when it is `closed`; false when a message stays there: nobody wants it yet,
 * or there is no memory.
 */
static bool take_line(inter_lines *lines, inter_neighbour *from, uint32_t filled, bool closed, unsigned *events) {
    const inter_line *line = &from->from->lines[inter_line_at(from->taken)];
    if (!from->read && closed) /* the sender is ahead: the next line is there too, or soon */
        __builtin_prefetch(&from->from->lines[inter_line_at(from->taken + 1)]);
    while (from->read < filled) {
        uint32_t end = from->read;
        if (!is_wanted(lines, from))
            return false;
        inter_stored message = inter_lines_read(from, line, &end);
        if (!take_message(lines, from, &message))
            return false;
        inter_lines_took(from, &message, end);
        ++*events;
    }
    return true;
}

/* Then others have their turn: a sender may add as fast as this end takes. */
#define MOST_AT_ONCE 64

/*
 * The line behind the one that is read is looked at only when this one has nothing new: mostly it is not open yet, and the look takes it
 * from its sender, who is about to write there.
 */
unsigned inter_lines_take(inter_lines *lines, inter_neighbour *from) {
    unsigned events = 0;
    for (bool over = false;;) {
        const uint32_t stamp = inter_lines_stamp(from, from->taken + 1), filled = inter_line_filled(stamp);
        const bool has_new = filled > from->read, closed = filled && stamp & INTER_LINE_CLOSED; /* never an empty one */
        if (!take_line(lines, from, filled, closed, &events))
            break;
        if (over || closed) {
            inter_lines_leave(from), over = false;
            if (events >= MOST_AT_ONCE)
                break;
        } else if (has_new || !is_wanted(lines, from) || !(over = inter_lines_is_over(from)))
            break; /* else once more, for what was added before it was */
    }
    return events;
}

static __attribute__((noinline)) unsigned send_waiting(inter_neighbour *to) {
    unsigned events = 0;
    while (to->waiting.first && inter_lines_write(to, to->waiting.first)) {
        inter_stored *item = inter_store_take(&to->waiting, NULL);
        if (inter_line_is(item->kind, INTER_LINE_PULL))
            item->request->native = item->request;
        else
            inter_lines_finish(item->request, WEFT_SUCCESS);
        free(item);
        events++;
    }
    return events;
}

static unsigned look_after(inter_lines *lines, inter_neighbour *of) {
    unsigned events = 0;
    if (of->posted && !lines->listener) /* else hear() has looked */
        events += inter_lines_take(lines, of);
    if (of->incoming || of->matched.first)
        events += inter_lines_receive_pulls(lines, of);
    if (of->waiting.first)
        events += send_waiting(of);
    if (of->offers.count || of->withdraws)
        events += inter_lines_send_pulls(of);
    if (events)
        inter_lines_wake(lines, of);
    return events;
}

/* Who listens looks at all neighbours. */
static __attribute__((noinline)) unsigned hear(inter_lines *lines) {
    unsigned events = 0;
    for (inter_neighbour *from = lines->locals; from; from = from->local)
        if (inter_lines_arrived(from)) {
            events += inter_lines_take(lines, from);
            inter_lines_wake(lines, from);
        }
    return events;
}

static unsigned lines_progress(inter_transport *base) {
    inter_lines *lines = (inter_lines *)base;
    /* Before the loop: a listener may make neighbours busy. */
    unsigned events = lines->listener ? hear(lines) : 0;
    for (inter_neighbour **link = &lines->busy; *link;) {
        inter_neighbour *of = *link;
        events += look_after(lines, of);
        if (needs_care(of)) {
            link = &of->next_busy;
        } else {
            of->busy = false;
            *link = of->next_busy;
        }
    }
    bool awaits = events || lines->busy || (lines->listener && lines->locals);
    if (!awaits || (++lines->looks & (lines->looks_a_progress - 1)) == 0)
        events += lines->inner->progress(lines->inner);
    base->failed_peer = lines->inner->failed_peer;
    return events;
}

static bool remove_stored(inter_store *store, const inter_request *request) {
    inter_stored *item = store->first, *previous = NULL;
    while (item && item->request != request) {
        previous = item;
        item = item->next;
    }
    if (item)
        free(inter_store_take(store, previous));
    return item;
}

static bool remove_posted(inter_neighbour *from, const inter_request *request) {
    inter_request **link = &from->posted;
    while (*link && *link != request)
        link = &(*link)->next;
    return unlink_posted(from, link);
}

static void lines_cancel(inter_transport *base, inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    inter_neighbour *of = &lines->neighbours[request->peer];
    if (of->to && inter_lines_take_back(of, request))
        return;
    if (of->to &&
        (remove_stored(&of->waiting, request) || remove_stored(&of->matched, request) || remove_posted(of, request))) {
        inter_lines_finish(request, WEFT_ERR_PROC_FAILED);
    } else if (request->native) {
        lines->inner->cancel(lines->inner, request);
    }
}

/* Without `wakes` a line wakes nobody up, so with one awaited, or listened for, there is no sleeping. */
static bool lines_arm(inter_transport *base, inter_bed *bed) {
    inter_lines *lines = (inter_lines *)base;
    if (!inter_lines_wakes(lines))
        return !lines->busy && !(lines->listener && lines->locals) && lines->inner->arm(lines->inner, bed);
    _Atomic uint32_t *word = &lines->own->head.asleep;
    *bed = (inter_bed){.descriptor = -1, .word = word, .value = core_word_arm(word)};
    /* Pairs with that in inter_lines_wake: either this process sees what came, or who wrote it sees that this process sleeps. */
    atomic_thread_fence(memory_order_seq_cst);
    bool roused = atomic_exchange_explicit(&lines->roused, false, memory_order_relaxed);
    if (!lines_progress(base) && !roused)
        return true;
    core_word_rouse(word); /* another thread of this process may sleep there, for whom this was */
    return false;
}

static bool lines_carries_layouts(const inter_transport *base, int peer, size_t bytes) {
    const inter_lines *lines = (const inter_lines *)base;
    return lines->neighbours[peer].to && lines->can_pull && bytes >= LEAST_LAID_OUT &&
           inter_lines_pull_layouts(lines, bytes);
}

static bool lines_connected(const inter_transport *base, int peer) {
    const inter_lines *lines = (const inter_lines *)base;
    return lines->neighbours[peer].to || !lines->inner->connected || lines->inner->connected(lines->inner, peer);
}

static void lines_lose(inter_transport *base, int peer) {
    inter_lines *lines = (inter_lines *)base;
    if (!lines->neighbours[peer].to && lines->inner->lose)
        lines->inner->lose(lines->inner, peer);
}

static void lines_disconnect(inter_transport *base, bool forced) {
    (void)base, (void)forced; /* the inner one is its owner's */
}

static void leave_alone(inter_transport *base) {
    (void)base;
}

/* Copies what lies in the peer's window. The address is what another process says: nothing else is read. */
static bool copy_from_window(const inter_neighbour *neighbour, const inter_run *from, const inter_run *to) {
    const uint64_t at = (uintptr_t)from->iov_base - neighbour->window_at;
    if (!neighbour->window || at >= INTER_WINDOW_BYTES || from->iov_len > INTER_WINDOW_BYTES - at)
        return false;
    memcpy(to->iov_base, neighbour->window + at, from->iov_len);
    return true;
}

static int lines_read(const inter_transport *base, int peer, inter_run *from, inter_run *to, size_t runs) {
    const inter_neighbour *neighbour = &((const inter_lines *)base)->neighbours[peer];
    size_t others = 0;
    for (size_t run = 0; run < runs; run++) {
        if (copy_from_window(neighbour, &from[run], &to[run]))
            continue;
        from[others] = from[run];
        to[others++] = to[run];
    }
    return inter_pull_read_runs(neighbour->process, from, to, others);
}

static void *lines_window_take(inter_transport *base, size_t bytes) {
    return inter_window_take(&((inter_lines *)base)->window, bytes);
}

static bool lines_window_give(inter_transport *base, void *memory, size_t bytes) {
    return inter_window_give(&((inter_lines *)base)->window, memory, bytes);
}

inter_transport *inter_lines_transport(inter_lines *lines, inter_transport *inner, bool pulls, bool wakes) {
    close(lines->descriptor); /* everybody has it mapped */
    lines->descriptor = -1;
    lines->inner = inner;
    lines->can_pull = pulls;
    lines->looks_a_progress = LOOKS_A_PROGRESS;
    atomic_store_explicit(&lines->wakes, wakes, memory_order_relaxed);
    lines->base.name = "lines";
    lines->base.failed_peer = -1;
    lines->base.failed = inner->failed;
    lines->base.send = lines_send;
    lines->base.recv = lines_recv;
    lines->base.carries_layouts = lines_carries_layouts;
    lines->base.progress = lines_progress;
    lines->base.cancel = lines_cancel;
    lines->base.arm = lines_arm;
    lines->base.lose = lines_lose;
    lines->base.connected = lines_connected;
    lines->base.read = pulls ? lines_read : NULL;
    lines->base.window_take = pulls ? lines_window_take : NULL;
    lines->base.window_give = lines_window_give;
    lines->base.disconnect = lines_disconnect;
    lines->base.close = leave_alone;
    inter_lines_am_open(lines);
    return &lines->base;
}

void inter_lines_let_sleep(inter_lines *lines) {
    atomic_store_explicit(&lines->wakes, true, memory_order_relaxed);
}

void inter_lines_expect_crowd(inter_lines *lines) {
    atomic_store_explicit(&lines->crowded, true, memory_order_relaxed);
}

void inter_lines_carry_all(inter_lines *lines) {
    lines->looks_a_progress = LOOKS_A_LONE_PROGRESS;
}
