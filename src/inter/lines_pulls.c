// SPDX-License-Identifier: BSD-3-Clause
/* Long messages through lines: offers are matched, pulled, and taken back. */
#include <inter/lines_private.h>
#include <stdlib.h>

bool inter_lines_begin_pull(const inter_lines *lines, inter_neighbour *from, const inter_offer *of,
                            inter_request *request) {
    size_t bytes = !request ? 0 : of->bytes < request->bytes ? of->bytes : request->bytes;
    /* The other side receives too, or may lose its core in the midst of a chunk. */
    bool alone = !request || request->read_next || from->offers.count || inter_lines_wakes(lines);
    void *buffer = request ? request->buffer : NULL;
    int index = inter_pull_begin(&from->from->pulls, from->incoming, of, buffer, bytes, alone);
    if (index < 0)
        return false;
    if (request) {
        request->native = request;
        from->pulling[index] = request;
        from->incoming |= 1u << index;
    }
    return true;
}

int inter_lines_match(const inter_lines *lines, inter_neighbour *from, const inter_offer *of, inter_request *request) {
    if (!from->matched.first && inter_lines_begin_pull(lines, from, of, request))
        return WEFT_SUCCESS;
    inter_stored *item = malloc(sizeof(*item));
    if (!item)
        return WEFT_ERR_NOMEM;
    *item = (inter_stored){.request = request, .offer = *of};
    inter_store_append(&from->matched, item);
    request->native = item;
    return WEFT_SUCCESS;
}

unsigned inter_lines_receive_pulls(const inter_lines *lines, inter_neighbour *from) {
    unsigned events = 0;
    while (from->matched.first &&
           inter_lines_begin_pull(lines, from, &from->matched.first->offer, from->matched.first->request)) {
        events += !from->matched.first->request; /* the sender may go on */
        free(inter_store_take(&from->matched, NULL));
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
        bool unwanted = from->unwanted >> i & 1;
        from->incoming &= ~(1u << i);
        from->unwanted &= ~(1u << i);
        if (!inter_pull_is_withdrawn(&from->from->pulls, pull->name))
            inter_lines_finish(request, error ? error : inter_lines_length_error(pull->offered_bytes, request->bytes));
        else if (unwanted)
            inter_lines_finish(request, WEFT_ERR_PROC_FAILED);
        else
            inter_lines_await(from, request); /* nothing has come; of a tagged message, others are not taken back */
        events++;
    }
    return events;
}

unsigned inter_lines_send_pulls(inter_neighbour *to) {
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
        inter_request *request = inter_offers_take(&to->offers, pull->name); /* NULL when it was taken back */
        int error = atomic_load_explicit(&pull->error, memory_order_relaxed);
        /* Release: pairs with the receiver's look in inter_pull_begin, which may use it for another. */
        atomic_fetch_and_explicit(&pulls->active, ~(1u << i), memory_order_release);
        if (request)
            inter_lines_finish(request, error);
        events++;
    }
    return events;
}

/* A receive whose message is being copied. */
static bool leave_pulling(inter_neighbour *of, const inter_request *request) {
    for (int i = 0; i < INTER_PULLS; i++)
        if (of->incoming >> i & 1 && of->pulling[i] == request) {
            of->unwanted |= 1u << i;
            return true;
        }
    return false;
}

/* Has the other side begun to copy an offer? */
static bool is_pulled(const inter_neighbour *of, uint64_t name) {
    const inter_pulls *pulls = &of->to->pulls;
    /* In one order with inter_pull_begin, as inter_pull_withdraw is. */
    uint32_t active = atomic_load_explicit(&pulls->active, memory_order_seq_cst);
    for (int i = 0; i < INTER_PULLS; i++)
        if (active >> i & 1 && pulls->pulls[i].name == name)
            return true;
    return false;
}

/* False: it is being copied, or has been. */
static bool withdraw(inter_neighbour *of, const inter_request *request) {
    if (is_pulled(of, request->tag))
        return false;
    inter_pull_withdraw(&of->to->pulls, request->tag);
    return !is_pulled(of, request->tag) && inter_offers_take(&of->offers, request->tag);
}

bool inter_lines_take_back(inter_neighbour *of, inter_request *request) {
    if (leave_pulling(of, request))
        return true;
    if (inter_offers_find(&of->offers, request->tag) != request)
        return false;
    if (withdraw(of, request))
        inter_lines_finish(request, WEFT_ERR_PROC_FAILED);
    return true;
}
