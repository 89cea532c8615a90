// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/comm.h>
#include <stdlib.h>
#include <string.h>

/* Word 0 of a header: context, flags, thread, number; word 1: source and tag. */
#define NUMBER_BITS 32
#define THREAD_BITS 16
#define FLAG_BITS   4
#define FLAG_EMPTY  1u
#define FLAG_STOP   2u /* no message: see flow.c */
#define FLAG_GO     4u
_Static_assert(INTER_CONTEXT_BITS + FLAG_BITS + THREAD_BITS + NUMBER_BITS <= 64, "word 0");
_Static_assert(WEFT_MAX_TEAM_THREADS <= 1 << THREAD_BITS, "a thread's number in a header");

inter_am_header hier_carrier_header(uint32_t context, int thread, int32_t source, int32_t tag) {
    uint64_t place = (uint64_t)context << (FLAG_BITS + THREAD_BITS) | (uint64_t)thread;
    return (inter_am_header){{place << NUMBER_BITS, (uint64_t)(uint32_t)source << 32 | (uint32_t)tag}};
}

static uint32_t number_of(const inter_am_header *header) {
    return (uint32_t)header->words[0];
}

static unsigned flags_of(const inter_am_header *header) {
    return header->words[0] >> (NUMBER_BITS + THREAD_BITS) & ((1u << FLAG_BITS) - 1);
}

static bool is_empty(const inter_am_header *header) {
    return flags_of(header) & FLAG_EMPTY;
}

inter_am_header hier_carrier_control(bool stop, uint32_t number) {
    uint64_t flag = stop ? FLAG_STOP : FLAG_GO;
    return (inter_am_header){{flag << (NUMBER_BITS + THREAD_BITS) | number, 0}};
}

static int32_t source_of(const inter_am_header *header) {
    return (int32_t)(header->words[1] >> 32);
}

static int32_t tag_of(const inter_am_header *header) {
    return (int32_t)(uint32_t)header->words[1];
}

/* Where a message goes; NULL: its communicator is not made here yet. Nothing that came is trusted for an index. */
static intra_mailbox *mailbox_of(hier_world *world, const inter_am_header *header) {
    size_t thread = header->words[0] >> NUMBER_BITS & ((1u << THREAD_BITS) - 1);
    size_t context = header->words[0] >> (NUMBER_BITS + THREAD_BITS + FLAG_BITS) & (INTER_CONTEXTS - 1);
    const hier_boxes *boxes = &world->carrier.boxes[context];
    return thread < (size_t)boxes->threads ? &boxes->mailboxes[thread] : NULL;
}

/* The transport that brings all: where there are lines, they stand on top. */
static inter_transport *top(const hier_world *world) {
    return world->engine.lines ? world->engine.lines : world->transport;
}

/*
 * Arrivals.
 */

/* A parcel of what came. NULL: no memory. */
static intra_parcel *pack_up(const inter_arrival *arrival) {
    bool here = arrival->data || !arrival->bytes;
    intra_parcel *parcel = intra_parcel_make(source_of(&arrival->header), tag_of(&arrival->header),
                                             here ? arrival->bytes : sizeof(hier_letter));
    if (!parcel)
        return NULL;
    if (here) {
        if (arrival->bytes)
            memcpy(intra_parcel_payload(parcel), arrival->data, arrival->bytes);
        return parcel;
    }
    hier_letter *letter = intra_parcel_payload(parcel);
    *letter = (hier_letter){.process = arrival->peer, .header = arrival->header, .arrival = *arrival, .parcel = parcel};
    parcel->foreign = letter;
    parcel->bytes = is_empty(&arrival->header) ? 0 : arrival->bytes;
    return parcel;
}

/* A message finds no memory: who may wait for it is told. */
static void lose(hier_world *world) {
    atomic_store_explicit(&world->carrier.broken, WEFT_ERR_NOMEM, memory_order_relaxed);
}

/* Keeps a message in the list that ends at `link`. */
static void hold(hier_world *world, const inter_arrival *arrival, intra_parcel *parcel, hier_held **link) {
    hier_held *held = parcel ? malloc(sizeof(*held)) : NULL;
    if (!held) {
        lose(world);
        free(parcel);
        return;
    }
    *held = (hier_held){.next = *link, .header = arrival->header, .process = arrival->peer, .parcel = parcel};
    *link = held;
}

static hier_held **end_of(hier_held **link) {
    while (*link)
        link = &(*link)->next;
    return link;
}

/*
 * Does the thread that holds the funnel own the mailbox? Its owner may ask too, and learns whether he holds the funnel: no other thread
 * sets `driver` to what he is.
 */
static bool is_own(const hier_world *world, intra_mailbox *to) {
    const void *driver = atomic_load_explicit(&world->carrier.driver, memory_order_relaxed);
    return to == &world->mailbox || (driver && driver == atomic_load_explicit(&to->agent, memory_order_relaxed));
}

static void put(hier_world *world, const inter_arrival *arrival, intra_mailbox *to, intra_parcel *parcel) {
    bool offered = parcel->foreign;
    intra_parcel_push(to, parcel);
    if (!offered)
        hier_flow_kept(world, arrival->peer, to);
}

/* It is its turn. `parcel` is NULL, or the message was packed up before. */
static void deliver(hier_world *world, const inter_arrival *arrival, intra_parcel *parcel) {
    if (flags_of(&arrival->header) & (FLAG_STOP | FLAG_GO)) {
        world->carrier.peers[arrival->peer].stopped = flags_of(&arrival->header) & FLAG_STOP;
        free(parcel);
        return;
    }
    intra_mailbox *to = mailbox_of(world, &arrival->header);
    if (to && !parcel && is_own(world, to) && (arrival->data || !arrival->bytes) &&
        intra_mail_arrive(to, source_of(&arrival->header), tag_of(&arrival->header), arrival->data, arrival->bytes))
        return;
    if (!parcel)
        parcel = pack_up(arrival);
    if (!to)
        hold(world, arrival, parcel, end_of(&world->carrier.homeless));
    else if (parcel)
        put(world, arrival, to, parcel);
    else
        lose(world);
}

/* Those that came too early, as far as it is their turn now. */
static void deliver_early(hier_world *world, hier_peer *peer) {
    for (hier_held **link = &peer->early; *link;) {
        hier_held *held = *link;
        if (number_of(&held->header) != peer->expected) {
            link = &held->next;
            continue;
        }
        *link = held->next;
        peer->expected++;
        const inter_arrival arrival = {.peer = held->process, .header = held->header};
        deliver(world, &arrival, held->parcel);
        free(held);
        link = &peer->early;
    }
}

static void arrived(void *argument, const inter_arrival *arrival) {
    hier_world *world = argument;
    hier_peer *peer = &world->carrier.peers[arrival->peer];
    if (number_of(&arrival->header) != peer->expected) {
        hold(world, arrival, pack_up(arrival), end_of(&peer->early));
        return;
    }
    peer->expected++;
    deliver(world, arrival, NULL);
    if (peer->early)
        deliver_early(world, peer);
}

void hier_carrier_open(hier_world *world, uint32_t context, intra_mailbox *mailboxes, int threads) {
    hier_carrier *carrier = &world->carrier;
    carrier->boxes[context] = (hier_boxes){mailboxes, mailboxes ? threads : 0};
    for (hier_held **link = &carrier->homeless; *link;) {
        hier_held *held = *link;
        intra_mailbox *to = mailbox_of(world, &held->header);
        if (!to) {
            link = &held->next;
            continue;
        }
        *link = held->next;
        intra_parcel_push(to, held->parcel);
        free(held);
    }
}

int hier_carrier_listen(hier_world *world) {
    hier_carrier *carrier = &world->carrier;
    if (carrier->listens || !world->transport)
        return WEFT_SUCCESS;
    if (!carrier->peers)
        carrier->peers = calloc((size_t)world->transport->size, sizeof(*carrier->peers));
    if (!carrier->peers)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for messages between %d processes",
                          world->process_comm->rank, world->transport->size);
    carrier->listens = world->engine.listens = true;
    top(world)->listen(top(world), arrived, world);
    return WEFT_SUCCESS;
}

/*
 * Letters.
 */

static void end_send(hier_letter *letter, int error) {
    free(letter->packed);
    letter->packed = NULL;
    letter->send->error = error;
}

static void end_fetch(hier_letter *letter, int error) {
    intra_receive *receive = letter->receive;
    if (letter->packed && (!error || error == WEFT_ERR_TRUNCATE))
        core_unpack(receive->buffer, letter->packed, receive->type, receive->count, 0, receive->got_bytes);
    free(letter->packed);
    if (error)
        receive->error = error;
    intra_mailbox *mailbox = letter->mailbox;
    intra_parcel_free(mailbox, letter->parcel); /* and the letter with it */
    intra_receive_ended(mailbox, receive);
}

/* A letter's message is sent or fetched: told by whoever progresses. */
static void end(hier_letter *letter, int error) {
    if (letter->kind == HIER_LETTER_FETCH) {
        end_fetch(letter, error);
        return;
    }
    end_send(letter, error);
    intra_mail_push(letter->mailbox, &letter->send->ended);
}

/* Only what has bytes can be fetched: one stands for none. */
static void stand_in(hier_letter *letter, inter_am_header *header) {
    static const char nothing;
    letter->buffer = &nothing;
    letter->bytes = 1;
    header->words[0] |= (uint64_t)FLAG_EMPTY << (NUMBER_BITS + THREAD_BITS);
}

static int send_letter(hier_world *world, hier_letter *letter) {
    int code = hier_carrier_listen(world); /* the sender may be another thread, which could not */
    if (code)
        return code;
    hier_peer *peer = &world->carrier.peers[letter->process];
    inter_am_header header = letter->header;
    letter->rendezvous |= peer->stopped;
    if (letter->rendezvous && !letter->bytes)
        stand_in(letter, &header);
    header.words[0] |= peer->sent;
    code = top(world)->am_send(top(world), letter->process, &header, letter->buffer, letter->bytes, letter->rendezvous,
                               &letter->request);
    peer->sent += !code;
    return code;
}

static int fetch_letter(hier_world *world, hier_letter *letter) {
    intra_receive *receive = letter->receive;
    void *buffer = receive->buffer;
    if (!receive->type->contiguous) {
        buffer = letter->packed = malloc(receive->bytes ? receive->bytes : 1);
        if (!buffer) {
            top(world)->am_drop(top(world), &letter->arrival); /* its sender does not wait */
            return core_error(WEFT_ERR_NOMEM, "no memory to unpack a message of %zu bytes", receive->got_bytes);
        }
    }
    return top(world)->am_fetch(top(world), &letter->arrival, buffer, receive->bytes, &letter->request);
}

/* Of a message that was received though it has no bytes, or of one whose mailbox is no longer there. */
static void drop_letter(hier_world *world, hier_letter *letter) {
    intra_mailbox *mailbox = letter->mailbox;
    intra_receive *receive = letter->receive;
    top(world)->am_drop(top(world), &letter->arrival);
    if (!receive) {
        free(letter->parcel); /* and the letter with it */
        return;
    }
    intra_parcel_free(mailbox, letter->parcel);
    intra_receive_ended(mailbox, receive);
}

/* Under the funnel. True: it is done, its end not told. */
static bool post(hier_world *world, hier_letter *letter, int *error) {
    if (letter->kind == HIER_LETTER_DROP) {
        drop_letter(world, letter);
        return false;
    }
    letter->completion = (inter_completion){.list = &world->carrier.done, .owner = letter};
    letter->request = (inter_request){.completion = &letter->completion};
    int code = letter->kind == HIER_LETTER_SEND ? send_letter(world, letter) : fetch_letter(world, letter);
    *error = code ? code : letter->completion.error;
    return code || !letter->completion.pending;
}

static bool empty_outbox(hier_world *world) {
    hier_carrier *carrier = &world->carrier;
    if (!atomic_load_explicit(&carrier->outbox, memory_order_relaxed))
        return false;
    /* Acquire: pairs with leave_in_outbox. */
    hier_letter *letter = atomic_exchange_explicit(&carrier->outbox, NULL, memory_order_acquire), *oldest = NULL;
    while (letter) {
        hier_letter *next = letter->next;
        letter->next = oldest;
        oldest = letter;
        letter = next;
    }
    while (oldest) {
        hier_letter *next = oldest->next;
        int error;
        if (post(world, oldest, &error))
            end(oldest, error);
        oldest = next;
    }
    return true;
}

static void leave_in_outbox(hier_world *world, hier_letter *letter) {
    bool may_sleep = world->waiting.may_sleep || (letter->mailbox && letter->mailbox->waiting.may_sleep);
    letter->next = atomic_load_explicit(&world->carrier.outbox, memory_order_relaxed);
    /* Release: pairs with empty_outbox. */
    while (!atomic_compare_exchange_weak_explicit(&world->carrier.outbox, &letter->next, letter, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    if (may_sleep) /* from here on the letter is the leader's */
        top(world)->rouse(top(world));
}

bool hier_carry(hier_world *world, hier_letter *letter, bool holds) {
    int error = WEFT_SUCCESS;
    bool is_send = letter->kind == HIER_LETTER_SEND;
    if (!holds && world->config.thread_level == WEFT_THREAD_FUNNELED &&
        !pthread_equal(world->init_thread, pthread_self())) {
        leave_in_outbox(world, letter);
        return false;
    }
    if (!holds)
        hier_funnel_enter(world);
    empty_outbox(world); /* which may hold earlier ones of the same sender */
    bool done = post(world, letter, &error);
    if (done && is_send)
        end_send(letter, error);
    else if (done)
        end(letter, error);
    if (!holds)
        hier_funnel_leave(world);
    return done && is_send;
}

void hier_carrier_fetch(void *argument, intra_parcel *parcel, intra_receive *receive) {
    hier_world *world = argument;
    hier_letter *letter = parcel->foreign;
    intra_mailbox *mailbox = mailbox_of(world, &letter->header);
    letter->mailbox = mailbox;
    letter->receive = receive;
    letter->kind = is_empty(&letter->header) ? HIER_LETTER_DROP : HIER_LETTER_FETCH;
    hier_carry(world, letter, is_own(world, mailbox));
}

void hier_carrier_drop(void *argument, intra_parcel *parcel) {
    hier_world *world = argument;
    hier_letter *letter = parcel->foreign;
    letter->kind = HIER_LETTER_DROP;
    letter->mailbox = NULL;
    letter->receive = NULL;
    hier_carry(world, letter, false);
}

bool hier_progress(hier_world *world) {
    hier_carrier *carrier = &world->carrier;
    if (!carrier->listens && atomic_load_explicit(&carrier->wanted, memory_order_relaxed))
        (void)hier_carrier_listen(world); /* without memory: again at the next look */
    bool moved = empty_outbox(world);
    moved |= inter_engine_progress(&world->engine);
    if (world->transport && world->transport->failed_peer >= 0) {
        atomic_store_explicit(&carrier->failed, world->transport->failed_peer, memory_order_relaxed);
        /* Release: pairs with hier_message_settled. */
        atomic_store_explicit(&carrier->broken, WEFT_ERR_PROC_FAILED, memory_order_release);
    }
    while (carrier->done) {
        inter_completion *completion = carrier->done;
        carrier->done = completion->next;
        completion->queued = false;
        end(completion->owner, completion->error);
        moved = true;
    }
    if (carrier->stops)
        moved |= hier_flow_progress(world);
    if (world->process_comm->talks && intra_mail_progress(&world->mailbox))
        moved = true;
    return moved;
}

static void forget(hier_world *world, hier_held *held) {
    while (held) {
        hier_held *next = held->next;
        if (held->parcel->foreign)
            top(world)->am_drop(top(world), &((hier_letter *)held->parcel->foreign)->arrival);
        free(held->parcel);
        free(held);
        held = next;
    }
}

void hier_carrier_close(hier_world *world) {
    hier_carrier *carrier = &world->carrier;
    for (int process = 0; carrier->peers && process < world->transport->size; process++)
        forget(world, carrier->peers[process].early);
    forget(world, carrier->homeless);
    carrier->homeless = NULL;
    free(carrier->peers);
    carrier->peers = NULL;
    if (carrier->listens)
        top(world)->listen(top(world), NULL, NULL);
    carrier->listens = false;
}
