// SPDX-License-Identifier: BSD-3-Clause
/* Long messages through lines: offers are matched, pulled, and taken back. */
#include <core/clock.h>
#include <inter/lines_private.h>
#include <stdlib.h>

/* No part comes for so long: the sender is elsewhere. Longer than to pack one takes, not much longer than to do without it. */
#define PATIENCE_NS 2000
/*
 * What one system call copies: a call costs as much as some 16 KiB, but who only tests wants to come back. The least is where parts
 * ran dry: the sender may come back, too.
 */
#define LEAST_REACH INTER_PART_BYTES
#define MOST_REACH  ((size_t)1 << 20)
#define HALF_REACH  (INTER_PARTS * INTER_PART_BYTES) /* meanwhile the sender fills the parts */

/* Those of which each kind learns its own ways. */
#define SHORT_BYTES  ((size_t)64 << 10)
#define MEDIUM_BYTES ((size_t)512 << 10)

/* Can the receiver do it all? */
static bool is_readable(const inter_offer *of, const inter_request *request, size_t bytes) {
    return request && of->from && bytes && (!request->data || request->data->type->contiguous);
}

/*
 * Chooses one; *learn: for those like it, NULL where time would say more about the other processes. There who also sends is busy with
 * reads of his own, and to copy once takes less of the cores than twice; who only sends lends his core to the receiver, by parts.
 */
static enum inter_way choose(const inter_lines *lines, inter_neighbour *from, const inter_offer *of,
                             const inter_request *request, size_t bytes, inter_ways **learn) {
    const bool both = from->offers.count > 0;
    *learn = NULL;
    if (!is_readable(of, request, bytes))
        return INTER_BY_PARTS;
    if (inter_lines_is_crowded(lines))
        return both ? INTER_BY_READS : INTER_BY_PARTS;
    int length = bytes < SHORT_BYTES ? 0 : bytes < MEDIUM_BYTES ? 1 : 2;
    *learn = &from->ways[2 * length + both];
    return inter_ways_choose(*learn);
}

bool inter_lines_begin_pull(const inter_lines *lines, inter_neighbour *from, const inter_offer *of,
                            inter_request *request) {
    size_t bytes = !request ? 0 : of->bytes < request->bytes ? of->bytes : request->bytes;
    inter_ways *learn;
    enum inter_way by = choose(lines, from, of, request, bytes, &learn);
    int index = inter_pull_reserve(&from->from->pulls, from->incoming);
    if (index < 0)
        return false;
    if (by != INTER_BY_READS)
        inter_pull_announce(&from->from->pulls, index, of, bytes);
    if (request) {
        if (!from->incoming) {
            from->dry_since_ns = 0;
            from->reach = LEAST_REACH;
        }
        request->native = request;
        from->pulls[index] = (inter_incoming){request, *of, bytes, learn, by, learn ? core_now_ns() : 0, 0};
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

/* A request's data, which may be one run. */
static inter_span data_of(const inter_request *request) {
    if (request->data)
        return (inter_span){*request->data, request->data_from, request->data_whole};
    return (inter_span){{request->buffer, WEFT_BYTE, request->bytes}, 0, 0};
}

/* Does the sender know of the pull? Who reads all by himself tells it when he has: until then its looks would only keep the lines from here. */
static bool is_announced(const inter_incoming *of) {
    return of->by != INTER_BY_READS || of->read == of->bytes;
}

/* Has a pull brought all? Then its receive is over. */
static bool end_receive(inter_neighbour *from, int index) {
    inter_pulls *pulls = &from->from->pulls;
    const inter_pull *pull = &pulls->pulls[index];
    inter_incoming *of = &from->pulls[index];
    if (!is_announced(of) || !inter_pull_done(pull))
        return false;
    int error = atomic_load_explicit(&pull->error, memory_order_relaxed);
    if (of->learns && from->incoming == 1u << index) /* else others took a part of the time */
        inter_ways_learn(of->learns, of->by, core_now_ns() - of->since_ns, of->bytes);
    of->learns = NULL;
    bool unwanted = from->unwanted >> index & 1, withdrawn = false, told = true;
    if (inter_pull_is_in_doubt(pulls, of->offer.name))
        withdrawn = inter_pull_is_withdrawn(pulls, index, &told) || unwanted;
    if (!told && !unwanted)
        return false;
    from->incoming &= ~(1u << index);
    from->unwanted &= ~(1u << index);
    if (!withdrawn)
        inter_lines_finish(of->request, error ? error : inter_lines_length_error(of->offer.bytes, of->request->bytes));
    else if (unwanted)
        inter_lines_finish(of->request, WEFT_ERR_PROC_FAILED);
    else
        inter_lines_await(from, of->request); /* nothing has come; of a tagged message, others are not taken back */
    return true;
}

/* Takes the next part; false when none has come. */
static bool take_part(inter_neighbour *from) {
    inter_pulls *pulls = &from->from->pulls;
    inter_part part;
    if (!inter_pull_comes(pulls, &part))
        return false;
    if (part.pull < INTER_PULLS && from->incoming >> part.pull & 1 && is_announced(&from->pulls[part.pull])) {
        const inter_incoming *of = &from->pulls[part.pull];
        const inter_span data = data_of(of->request);
        inter_pull_take(pulls, part, &data, of->bytes);
        (void)end_receive(from, (int)part.pull);
    } else {
        inter_pull_skip(pulls); /* nobody put that */
    }
    from->dry_since_ns = 0;
    from->reach = LEAST_REACH;
    return true;
}

/* Where cores are short the sender may have none, and may only get this one: nobody waits for it. */
static bool is_dry(const inter_lines *lines, inter_neighbour *from) {
    if (inter_lines_is_crowded(lines))
        return true;
    uint64_t now = core_now_ns();
    if (!from->dry_since_ns)
        from->dry_since_ns = now;
    return now - from->dry_since_ns >= PATIENCE_NS;
}

/* Reads more of what the sender puts nothing of. */
static void read_more(inter_neighbour *from, int index) {
    inter_incoming *of = &from->pulls[index];
    const inter_span data = data_of(of->request);
    const size_t left = of->bytes - of->read, bytes = left < MOST_REACH ? left : MOST_REACH;
    int error = inter_pull_read(from->process, of->offer.from + of->read,
                                (char *)data.data.buffer + data.from + of->read, bytes);
    of->read = error ? of->bytes : of->read + bytes;
    if (is_announced(of))
        inter_pull_announce_done(&from->from->pulls, index, &of->offer, error);
}

/* How much to read at once. By halves ever less, so that both are done together. */
static size_t reach_of(const inter_neighbour *from, int index) {
    enum inter_way by = from->pulls[index].by;
    if (by == INTER_BY_PARTS)
        return from->reach;
    size_t half = inter_pull_rest(&from->from->pulls.pulls[index]) / 2;
    return half < HALF_REACH ? half : HALF_REACH;
}

/* Is the process gone? Then it has no memory, not even at an address where nothing can be. */
static bool is_gone(const inter_neighbour *from) {
    char byte;
    return inter_pull_read(from->process, 1, &byte, 1) == WEFT_ERR_PROC_FAILED;
}

/* Reads what the sender does not put. */
static bool read_chunks(const inter_lines *lines, inter_neighbour *from, int index) {
    inter_pulls *pulls = &from->from->pulls;
    inter_incoming *of = &from->pulls[index];
    if (!is_announced(of)) {
        read_more(from, index);
        return true;
    }
    if (!of->offer.from) { /* only the sender knows where they lie */
        bool told, unwanted = from->unwanted >> index & 1;
        if (unwanted && is_gone(from))
            inter_pull_bury(&pulls->pulls[index]);
        else if (inter_pull_is_in_doubt(pulls, of->offer.name) &&
                 (inter_pull_is_withdrawn(pulls, index, &told) || unwanted))
            inter_pull_abandon(&pulls->pulls[index]);
        return false;
    }
    const inter_span data = data_of(of->request);
    if (!inter_pull_read_chunks(&pulls->pulls[index], of->offer.from, reach_of(from, index), &data, of->bytes,
                                from->process, lines->scratch))
        return false;
    if (of->by == INTER_BY_PARTS && from->reach < MOST_REACH)
        from->reach *= 2;
    return true;
}

/* For one at a time: what came is used while it is in the cache. */
static unsigned receive_directly(const inter_lines *lines, inter_neighbour *from) {
    for (int i = 0; from->incoming >> i; i++) {
        if (!(from->incoming >> i & 1))
            continue;
        bool some = (from->pulls[i].by != INTER_BY_PARTS || is_dry(lines, from)) && read_chunks(lines, from, i);
        if (end_receive(from, i) || some)
            return 1;
    }
    return 0;
}

unsigned inter_lines_receive_pulls(const inter_lines *lines, inter_neighbour *from) {
    unsigned events = 0, parts = 0;
    while (from->matched.first &&
           inter_lines_begin_pull(lines, from, &from->matched.first->offer, from->matched.first->request)) {
        events++; /* the sender may put parts, or go on */
        free(inter_store_take(&from->matched, NULL));
    }
    while (parts < INTER_PARTS && take_part(from)) /* no more, lest who only tests is kept */
        parts++;
    if (!parts && from->incoming)
        parts = receive_directly(lines, from);
    return events + parts;
}

/* Packs what there is room for, one pull after the other. */
static unsigned put_parts(inter_neighbour *to, uint32_t active) {
    inter_pulls *pulls = &to->to->pulls;
    unsigned parts = 0;
    for (int i = 0; i < INTER_PULLS; i++) {
        int index = (to->turn + i) % INTER_PULLS;
        if (!(active >> index & 1))
            continue;
        const inter_request *request = inter_offers_find(&to->offers, pulls->pulls[index].name);
        if (!request) {
            inter_pull_disown(&pulls->pulls[index]);
            continue;
        }
        const inter_span data = data_of(request);
        while (inter_pull_put(pulls, index, &data, request->bytes)) {
            to->turn = index;
            parts++;
        }
    }
    return parts;
}

unsigned inter_lines_send_pulls(inter_neighbour *to) {
    inter_pulls *pulls = &to->to->pulls;
    /* Acquire: pairs with inter_pull_begin. */
    const uint32_t active = atomic_load_explicit(&pulls->active, memory_order_acquire);
    uint32_t under_way = active;
    unsigned events = 0;
    for (int i = 0; i < INTER_PULLS; i++) {
        inter_pull *pull = &pulls->pulls[i];
        if (!(active >> i & 1) || !inter_pull_done(pull))
            continue;
        inter_request *request = inter_offers_take(&to->offers, pull->name); /* NULL when it was taken back */
        int error = atomic_load_explicit(&pull->error, memory_order_relaxed);
        if (!request)
            inter_pull_disown(pull);
        under_way &= ~(1u << i);
        to->turn += to->turn == i; /* before the next one in this place */
        /* Release: pairs with the receiver's look in inter_pull_begin, which may use it for another. */
        atomic_fetch_and_explicit(&pulls->active, ~(1u << i), memory_order_release);
        if (request)
            inter_lines_finish(request, error);
        events++;
    }
    return under_way ? events + put_parts(to, under_way) : events;
}

/* A receive whose message is being copied. */
static bool leave_pulling(inter_neighbour *of, const inter_request *request) {
    for (int i = 0; i < INTER_PULLS; i++)
        if (of->incoming >> i & 1 && of->pulls[i].request == request) {
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
    of->withdraws = true;
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
