// SPDX-License-Identifier: BSD-3-Clause
/* Messages through lines. */
#include <core/error.h>
#include <core/wait.h>
#include <inter/lines_private.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* While lines are waited for, the inner transport is looked after once in so many looks. */
#define LOOKS_A_PROGRESS 16

static int no_memory(int rank) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a message between the processes of a host", rank);
}

static bool is_for_lines(const inter_lines *lines, const inter_neighbour *neighbour, size_t bytes) {
    return neighbour->to && (lines->can_pull || bytes <= INTER_EAGER_BYTES);
}

/* Something is new in a lane that this process shares with a neighbour, who may sleep. */
static void wake(const inter_lines *lines, inter_neighbour *neighbour) {
    if (!lines->wakes)
        return;
    atomic_thread_fence(memory_order_seq_cst); /* pairs with that in lines_arm */
    if (!atomic_load_explicit(&neighbour->head->asleep, memory_order_relaxed))
        return;
    atomic_store_explicit(&neighbour->head->asleep, 0, memory_order_relaxed);
    core_word_wake(&neighbour->head->asleep);
}

static void make_busy(inter_lines *lines, inter_neighbour *of) {
    if (of->busy)
        return;
    of->busy = true;
    of->next_busy = lines->busy;
    lines->busy = of;
}

static bool needs_care(const inter_neighbour *of) {
    return of->posted || of->waiting || of->offered || of->incoming || of->matched;
}

/* Room for `bytes` bytes in the ring to a neighbour: where they begin. */
static bool find_ring(inter_neighbour *to, uint32_t bytes, uint64_t *begin) {
    *begin = inter_ring_begin(to->ring_sent, bytes);
    uint64_t end = inter_ring_end(*begin, bytes);
    if (end - to->known_eaten > INTER_LANE_RING)
        /* Acquire: pairs with the release in took(); the bytes have been read. */
        to->known_eaten = atomic_load_explicit(&to->to->eaten, memory_order_acquire);
    return end - to->known_eaten <= INTER_LANE_RING;
}

/* Writes the next line to a neighbour; false when its lane has no room. A longer message is only offered. */
static bool write_line(inter_neighbour *to, uint64_t tag, const void *buffer, size_t bytes, inter_request *request) {
    inter_lane *lane = to->to;
    uint64_t begin = 0;
    if (to->sent - to->known_taken == INTER_LANE_LINES) {
        /* Acquire: pairs with the release in took(); the line has been read. */
        to->known_taken = atomic_load_explicit(&lane->taken, memory_order_acquire);
        if (to->sent - to->known_taken == INTER_LANE_LINES)
            return false;
    }
    inter_line *at = &lane->lines[to->sent % INTER_LANE_LINES];
    if (bytes <= INTER_LINE_BYTES) {
        at->kind = INTER_LINE_SHORT;
        if (bytes)
            memcpy(at->payload, buffer, bytes);
    } else if (bytes <= INTER_EAGER_BYTES) {
        if (!find_ring(to, (uint32_t)bytes, &begin))
            return false;
        at->kind = INTER_LINE_EAGER;
        memcpy(&lane->ring[begin % INTER_LANE_RING], buffer, bytes);
        to->ring_sent = inter_ring_end(begin, (uint32_t)bytes);
    } else {
        at->kind = INTER_LINE_PULL;
        at->offer = (inter_offer){(uintptr_t)buffer, bytes, (uintptr_t)request};
    }
    at->tag = tag;
    at->bytes = (uint32_t)bytes; /* of an offer in it */
    /* Release: pairs with arrived(), publishes the rest of the line and what it speaks of. */
    atomic_store_explicit(&at->stamp, ++to->sent, memory_order_release);
    return true;
}

static void append(inter_stored **list, inter_stored *item) {
    while (*list)
        list = &(*list)->next;
    *list = item;
}

static void offer(inter_neighbour *to, inter_request *request) {
    request->next = to->offered;
    to->offered = request;
    request->native = request;
}

static int lines_send(inter_transport *base, int peer, uint64_t tag, const void *buffer, size_t bytes,
                      inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    inter_neighbour *to = &lines->neighbours[peer];
    if (!is_for_lines(lines, to, bytes))
        return lines->inner->send(lines->inner, peer, tag, buffer, bytes, request);
    request->peer = peer;
    request->bytes = bytes;
    request->native = NULL;
    if (!to->waiting && write_line(to, tag, buffer, bytes, request)) {
        wake(lines, to);
        if (bytes <= INTER_EAGER_BYTES)
            return WEFT_SUCCESS;
        offer(to, request);
    } else {
        inter_stored *item = malloc(sizeof(*item));
        if (!item)
            return no_memory(base->rank);
        *item = (inter_stored){.request = request, .tag = tag, .buffer = buffer, .bytes = bytes};
        append(&to->waiting, item);
        request->native = item;
    }
    request->completion->pending++;
    make_busy(lines, to);
    return WEFT_SUCCESS;
}

static int length_error(uint64_t came, uint64_t expected) {
    return came > expected ? WEFT_ERR_TRUNCATE : came < expected ? WEFT_ERR_MISMATCH : WEFT_SUCCESS;
}

static int deliver(const inter_request *request, const void *payload, uint64_t bytes) {
    size_t copied = bytes < request->bytes ? bytes : request->bytes;
    if (copied)
        memcpy(request->buffer, payload, copied);
    return length_error(bytes, request->bytes);
}

/* Sets a pull up for a receive; false when all are in use. */
static bool begin_pull(const inter_lines *lines, inter_neighbour *from, const inter_offer *of, inter_request *request) {
    size_t bytes = of->bytes < request->bytes ? of->bytes : request->bytes;
    /* The other side receives too, or may lose its core in the midst of a chunk. */
    bool alone = request->read_next || from->offered || lines->wakes;
    int index = inter_pull_begin(&from->from->pulls, from->incoming, of, request->buffer, bytes, alone);
    if (index < 0)
        return false;
    request->native = request;
    from->pulling[index] = request;
    from->incoming |= 1u << index;
    return true;
}

/* A receive has met its offer: a pull, now or later. */
static int match_offer(const inter_lines *lines, inter_neighbour *from, const inter_offer *of, inter_request *request) {
    if (!from->matched && begin_pull(lines, from, of, request))
        return WEFT_SUCCESS;
    inter_stored *item = malloc(sizeof(*item));
    if (!item)
        return WEFT_ERR_NOMEM;
    *item = (inter_stored){.request = request, .offer = *of};
    append(&from->matched, item);
    request->native = item;
    return WEFT_SUCCESS;
}

/* Is the message there already? Then the receive is served from the store; *code is its error. */
static bool serve_early(const inter_lines *lines, inter_neighbour *from, inter_request *request, int *code) {
    inter_stored **link = &from->early;
    while (*link && (*link)->tag != request->tag)
        link = &(*link)->next;
    inter_stored *item = *link;
    if (!item)
        return false;
    if (item->kind == INTER_LINE_PULL) {
        request->completion->pending++;
        *code = match_offer(lines, from, &item->offer, request);
        if (*code)
            request->completion->pending--;
    } else {
        int error = deliver(request, item->payload, item->bytes);
        if (error && !request->completion->error)
            request->completion->error = error;
        request->native = NULL;
    }
    *link = item->next;
    free(item);
    return true;
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
    request->next = NULL;
    if (from->early && serve_early(lines, from, request, &code)) {
        make_busy(lines, from);
        return code ? no_memory(base->rank) : WEFT_SUCCESS;
    }
    if (!from->posted)
        from->posted_end = &from->posted;
    *from->posted_end = request;
    from->posted_end = &request->next;
    request->native = request;
    request->completion->pending++;
    make_busy(lines, from);
    return WEFT_SUCCESS;
}

static bool arrived(const inter_line *at, uint64_t number) {
    /* Acquire: pairs with write_line. */
    return atomic_load_explicit(&at->stamp, memory_order_acquire) == number;
}

/* Of the payload. Nothing that the other side wrote is trusted for a length: too long a one becomes a wrong one. */
static uint32_t bytes_of(const inter_line *at) {
    uint32_t most = at->kind == INTER_LINE_SHORT   ? INTER_LINE_BYTES
                    : at->kind == INTER_LINE_EAGER ? INTER_EAGER_BYTES
                                                   : 0;
    return at->bytes < most ? at->bytes : most;
}

/* The line, and its part of the ring, may be written again. */
static void took(inter_neighbour *from, const inter_line *at) {
    if (at->kind == INTER_LINE_EAGER) {
        from->eaten = inter_ring_end(inter_ring_begin(from->eaten, bytes_of(at)), bytes_of(at));
        /* Release: pairs with find_ring. */
        atomic_store_explicit(&from->from->eaten, from->eaten, memory_order_release);
    }
    /* Release: pairs with write_line. */
    atomic_store_explicit(&from->from->taken, ++from->taken, memory_order_release);
}

static const void *payload_of(const inter_neighbour *from, const inter_line *at) {
    return at->kind == INTER_LINE_SHORT
               ? (const void *)at->payload
               : &from->from->ring[inter_ring_begin(from->eaten, bytes_of(at)) % INTER_LANE_RING];
}

static bool keep_early(inter_neighbour *from, const inter_line *at) {
    uint32_t payload = bytes_of(at);
    inter_stored *item = malloc(sizeof(*item) + payload);
    if (!item)
        return false;
    *item = (inter_stored){.tag = at->tag, .bytes = payload, .kind = at->kind};
    if (at->kind == INTER_LINE_PULL)
        item->offer = at->offer;
    else if (payload)
        memcpy(item->payload, payload_of(from, at), payload);
    append(&from->early, item);
    return true;
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

/* Takes a message from the list of those offered, by the name that its offer has; NULL when it is not there. */
static inter_request *take_offered(inter_neighbour *to, uint64_t name) {
    inter_request **link = &to->offered;
    while (*link && (uintptr_t)*link != name)
        link = &(*link)->next;
    inter_request *request = *link;
    if (request)
        *link = request->next;
    return request;
}

static void finish(inter_request *request, int error) {
    request->native = NULL;
    inter_completed(request->completion, error);
}

/* Takes what has arrived from a neighbour: to its receive, or aside. */
static unsigned take(const inter_lines *lines, inter_neighbour *from) {
    for (unsigned events = 0;; events++) {
        const inter_line *at = &from->from->lines[from->taken % INTER_LANE_LINES];
        if (!arrived(at, from->taken + 1))
            return events;
        inter_request *request = take_posted(from, at->tag);
        if (!request) {
            if (!keep_early(from, at))
                return events; /* it stays in its line until there is memory */
        } else if (at->kind == INTER_LINE_PULL) {
            int code = match_offer(lines, from, &at->offer, request);
            if (code)
                finish(request, code);
        } else {
            finish(request, deliver(request, payload_of(from, at), bytes_of(at)));
        }
        took(from, at);
    }
}

/* Pulls that may begin now, and a chunk of each that is under way. */
static unsigned receive_pulls(const inter_lines *lines, inter_neighbour *from) {
    unsigned events = 0;
    while (from->matched && begin_pull(lines, from, &from->matched->offer, from->matched->request)) {
        inter_stored *item = from->matched;
        from->matched = item->next;
        free(item);
    }
    /* One at a time: what came is used while it is in the cache. */
    for (int i = 0; from->incoming >> i && !events; i++) {
        inter_request *request = from->pulling[i];
        inter_pull *pull = &from->from->pulls.pulls[i];
        if (!(from->incoming >> i & 1))
            continue;
        events += inter_pull_copy(pull, true, from->process);
        if (!inter_pull_done(pull))
            continue;
        int error = atomic_load_explicit(&pull->error, memory_order_relaxed);
        from->incoming &= ~(1u << i);
        finish(request, error ? error : length_error(pull->offered_bytes, request->bytes));
        events++;
    }
    return events;
}

/* The sender's part in the pulls of what it has offered. */
static unsigned send_pulls(inter_neighbour *to) {
    inter_pulls *pulls = &to->to->pulls;
    /* Acquire: pairs with inter_pull_begin. */
    uint32_t active = atomic_load_explicit(&pulls->active, memory_order_acquire);
    unsigned events = 0;
    for (int i = 0; active >> i; i++) {
        inter_pull *pull = &pulls->pulls[i];
        if (!(active >> i & 1))
            continue;
        if (!to->incoming) /* else the other side has its time for that */
            events += inter_pull_copy(pull, false, to->process);
        if (!inter_pull_done(pull))
            continue;
        inter_request *request = take_offered(to, pull->name); /* NULL when it was taken back */
        int error = atomic_load_explicit(&pull->error, memory_order_relaxed);
        /* Release: pairs with the receiver's look in inter_pull_begin, which may use it for another. */
        atomic_fetch_and_explicit(&pulls->active, ~(1u << i), memory_order_release);
        if (request)
            finish(request, error);
        events++;
    }
    return events;
}

static unsigned send_waiting(inter_neighbour *to) {
    unsigned events = 0;
    while (to->waiting) {
        inter_stored *item = to->waiting;
        inter_request *request = item->request;
        if (!write_line(to, item->tag, item->buffer, item->bytes, request))
            break;
        to->waiting = item->next;
        if (item->bytes > INTER_EAGER_BYTES)
            offer(to, request);
        else
            finish(request, WEFT_SUCCESS);
        free(item);
        events++;
    }
    return events;
}

static unsigned look_after(inter_lines *lines, inter_neighbour *of) {
    unsigned events = 0;
    if (of->posted)
        events += take(lines, of);
    if (of->incoming || of->matched)
        events += receive_pulls(lines, of);
    if (of->waiting)
        events += send_waiting(of);
    if (of->offered)
        events += send_pulls(of);
    if (events)
        wake(lines, of);
    return events;
}

static unsigned lines_progress(inter_transport *base) {
    inter_lines *lines = (inter_lines *)base;
    unsigned events = 0;
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
    if (!events && (!lines->busy || ++lines->looks % LOOKS_A_PROGRESS == 0))
        events = lines->inner->progress(lines->inner);
    base->failed_peer = lines->inner->failed_peer;
    return events;
}

static bool remove_stored(inter_stored **link, const inter_request *request) {
    while (*link && (*link)->request != request)
        link = &(*link)->next;
    inter_stored *item = *link;
    if (!item)
        return false;
    *link = item->next;
    free(item);
    return true;
}

static bool is_being_copied(const inter_neighbour *of, const inter_request *request) {
    const inter_pulls *pulls = &of->to->pulls;
    uint32_t active = atomic_load_explicit(&pulls->active, memory_order_acquire);
    for (int i = 0; i < INTER_PULLS; i++)
        if ((of->incoming >> i & 1 && of->pulling[i] == request) ||
            (active >> i & 1 && pulls->pulls[i].name == (uintptr_t)request))
            return true;
    return false;
}

/* What is being copied is not taken back: it completes when the copy is done. */
static void lines_cancel(inter_transport *base, inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    inter_neighbour *of = &lines->neighbours[request->peer];
    if (!is_for_lines(lines, of, request->bytes)) {
        lines->inner->cancel(lines->inner, request);
        return;
    }
    if (is_being_copied(of, request))
        return;
    if (remove_stored(&of->waiting, request) || remove_stored(&of->matched, request) ||
        take_offered(of, (uintptr_t)request)) {
        finish(request, WEFT_ERR_PROC_FAILED);
        return;
    }
    inter_request **link = &of->posted;
    while (*link && *link != request)
        link = &(*link)->next;
    if (unlink_posted(of, link))
        finish(request, WEFT_ERR_PROC_FAILED);
}

/* Without `wakes` a line wakes nobody up, so with one awaited there is no sleeping. */
static bool lines_arm(inter_transport *base, inter_bed *bed) {
    inter_lines *lines = (inter_lines *)base;
    if (!lines->wakes)
        return !lines->busy && lines->inner->arm(lines->inner, bed);
    *bed = (inter_bed){.descriptor = -1, .word = &lines->own->head.asleep};
    atomic_store_explicit(&lines->own->head.asleep, 1, memory_order_relaxed);
    /* Pairs with that in wake(): either this process sees what came, or who wrote it sees that this process sleeps. */
    atomic_thread_fence(memory_order_seq_cst);
    if (!lines_progress(base))
        return true;
    atomic_store_explicit(&lines->own->head.asleep, 0, memory_order_relaxed);
    return false;
}

static void leave_alone(inter_transport *base) {
    (void)base;
}

inter_transport *inter_lines_transport(inter_lines *lines, inter_transport *inner, bool pulls, bool wakes) {
    close(lines->descriptor); /* everybody has it mapped */
    lines->descriptor = -1;
    lines->inner = inner;
    lines->can_pull = pulls;
    lines->wakes = wakes;
    lines->base.name = "lines";
    lines->base.failed_peer = -1;
    lines->base.send = lines_send;
    lines->base.recv = lines_recv;
    lines->base.progress = lines_progress;
    lines->base.cancel = lines_cancel;
    lines->base.arm = lines_arm;
    lines->base.disconnect = leave_alone;
    lines->base.close = leave_alone;
    return &lines->base;
}
