// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/ledger.h>
#include <hier/wire.h>
#include <stdlib.h>
#include <string.h>

void hier_channel_init(hier_channel *channel, hier_world *world, int each, bool locks) {
    channel->world = world;
    channel->each = each;
    channel->locks = locks;
    channel->seen_failed = -1;
}

void hier_channel_await(hier_channel *channel) {
    unsigned looks = 0;
    while (!hier_channel_try(channel))
        if (core_backoff(&channel->world->waiting, &looks))
            sched_yield(); /* who holds it may be without a core, and does not keep it for long */
}

/* Nothing that came is trusted for an index. */
intra_mailbox *hier_channel_mailbox(hier_channel *channel, const inter_am_header *header) {
    size_t thread = hier_wire_thread(header);
    const hier_boxes *boxes = &channel->boxes[hier_wire_context(header)];
    bool here = thread < (size_t)boxes->threads && hier_wire_is_of(header, boxes->epoch);
    return here ? &boxes->mailboxes[thread] : NULL;
}

/*
 * Arrivals.
 */

/* A parcel of what came. NULL: no memory. */
static intra_parcel *pack_up(const inter_arrival *arrival) {
    bool here = arrival->data || !arrival->bytes;
    intra_parcel *parcel = intra_parcel_make(hier_wire_source(&arrival->header), hier_wire_tag(&arrival->header),
                                             here ? arrival->bytes : sizeof(hier_letter));
    if (!parcel)
        return NULL;
    if (here) {
        if (arrival->bytes)
            memcpy(intra_parcel_payload(parcel), arrival->data, arrival->bytes);
        return parcel;
    }
    hier_letter *letter = intra_parcel_payload(parcel);
    *letter = (hier_letter){.header = arrival->header, .arrival = *arrival, .parcel = parcel};
    parcel->foreign = letter;
    parcel->bytes = hier_wire_flags(&arrival->header) & HIER_FLAG_EMPTY ? 0 : arrival->bytes;
    return parcel;
}

/*
 * Receives may wait in vain from now on: who looks at what is news is told. A lost message stays one, whoever dies later. Release: pairs
 * with hier_message_vain and completions().
 */
static void fail(hier_channel *channel, int error) {
    hier_carrier *carrier = &channel->world->carrier;
    int none = 0;
    if (error == WEFT_ERR_NOMEM)
        atomic_store_explicit(&carrier->broken, error, memory_order_release);
    else
        atomic_compare_exchange_strong_explicit(&carrier->broken, &none, error, memory_order_release,
                                                memory_order_relaxed);
    atomic_fetch_add_explicit(&carrier->failures, 1, memory_order_release);
}

/* Who sends it goes on as if it had been received. */
static void discard(hier_channel *channel, intra_parcel *parcel) {
    const hier_letter *letter = parcel->foreign;
    if (letter)
        channel->transport->am_drop(channel->transport, &letter->arrival);
    free(parcel);
}

/* `parcel` is NULL, or the message was packed up before. */
static void drop(hier_channel *channel, const inter_arrival *arrival, intra_parcel *parcel) {
    if (parcel)
        discard(channel, parcel);
    else if (!arrival->data && arrival->bytes)
        channel->transport->am_drop(channel->transport, arrival);
}

/* It finds no memory: who may wait for it is told. */
static void lose(hier_channel *channel, const inter_arrival *arrival, intra_parcel *parcel) {
    drop(channel, arrival, parcel);
    fail(channel, WEFT_ERR_NOMEM);
}

/* Keeps a message, as the last one. False: there is no memory, and it is lost. */
static bool hold(hier_channel *channel, const inter_arrival *arrival, intra_parcel *parcel, hier_holding *in) {
    hier_held *held = parcel ? malloc(sizeof(*held)) : NULL;
    if (!held) {
        lose(channel, arrival, parcel);
        return false;
    }
    *held = (hier_held){.header = arrival->header, .peer = arrival->peer, .parcel = parcel};
    *(in->last ? &in->last->next : &in->first) = held;
    in->last = held;
    return true;
}

/* Takes out the one behind `before` (NULL: the first), and returns what follows. */
static hier_held *let_go(hier_holding *of, hier_held *before) {
    hier_held **link = before ? &before->next : &of->first, *held = *link;
    *link = held->next;
    if (!held->next)
        of->last = before;
    free(held);
    return *link;
}

bool hier_channel_is_own(const hier_channel *channel, const intra_mailbox *mailbox) {
    const intra_bell *driver = atomic_load_explicit(&channel->driver, memory_order_relaxed);
    return mailbox->by_lock || (driver && driver == atomic_load_explicit(&mailbox->bell, memory_order_relaxed));
}

static void put(hier_channel *channel, int peer, intra_mailbox *to, intra_parcel *parcel) {
    bool offered = parcel->foreign;
    intra_parcel_push(to, parcel);
    if (!offered)
        hier_flow_kept(channel, peer, to);
}

/* Will there be a communicator that it is for? One that has gone, and a thread that is not there, have lost what comes for them. */
static bool is_awaited(const hier_channel *channel, const inter_am_header *header) {
    size_t context = hier_wire_context(header);
    return !channel->boxes[context].mailboxes && hier_contexts_expect(&channel->world->contexts, (uint32_t)context);
}

/* Does it say that this process is to stop sending, or may go on? */
static bool is_flow(const inter_arrival *arrival) {
    return hier_wire_flags(&arrival->header) & (HIER_FLAG_STOP | HIER_FLAG_GO);
}

/* It is its turn. `parcel` is NULL, or the message was packed up before. */
static void deliver(hier_channel *channel, const inter_arrival *arrival, intra_parcel *parcel) {
    if (is_flow(arrival)) {
        channel->peers[arrival->peer].stopped = hier_wire_flags(&arrival->header) & HIER_FLAG_STOP;
        free(parcel);
        return;
    }
    intra_mailbox *to = hier_channel_mailbox(channel, &arrival->header);
    if (to && !parcel && hier_channel_is_own(channel, to) && (arrival->data || !arrival->bytes) &&
        intra_mail_arrive(to, hier_wire_source(&arrival->header), hier_wire_tag(&arrival->header), arrival->data,
                          arrival->bytes))
        return;
    if (!to && !is_awaited(channel, &arrival->header)) {
        drop(channel, arrival, parcel);
        return;
    }
    if (!parcel)
        parcel = pack_up(arrival);
    if (!to)
        (void)hold(channel, arrival, parcel, &channel->homeless);
    else if (parcel)
        put(channel, arrival->peer, to, parcel);
    else
        lose(channel, arrival, NULL);
}

/* Those that came too early, as far as it is their turn now. */
static void deliver_early(hier_channel *channel, hier_peer *peer) {
    for (hier_held *held = peer->early.first, *before = NULL; held;) {
        if (!hier_wire_is_number(&held->header, peer->expected)) {
            before = held;
            held = held->next;
            continue;
        }
        const inter_arrival arrival = {.peer = held->peer, .header = held->header};
        intra_parcel *parcel = held->parcel;
        (void)let_go(&peer->early, before);
        peer->expected++;
        deliver(channel, &arrival, parcel);
        held = peer->early.first;
        before = NULL;
    }
}

static void forget(hier_channel *channel, hier_holding *all) {
    while (all->first) {
        discard(channel, all->first->parcel);
        (void)let_go(all, NULL);
    }
}

/* Of what is behind a lost one it will never be the turn, and nobody who offers it is to wait, nor who was told to stop. */
static void keep_early(hier_channel *channel, hier_peer *peer, const inter_arrival *arrival) {
    if (peer->gap && is_flow(arrival)) {
        deliver(channel, arrival, NULL);
    } else if (peer->gap) {
        drop(channel, arrival, NULL);
    } else if (!hold(channel, arrival, pack_up(arrival), &peer->early)) {
        peer->gap = true;
        peer->stopped = false;
        forget(channel, &peer->early);
    }
}

static void arrived(void *argument, const inter_arrival *arrival) {
    hier_channel *channel = argument;
    hier_peer *peer = &channel->peers[arrival->peer];
    if (hier_wire_flags(&arrival->header) & HIER_FLAG_CALLS) {
        hier_ledger_hear(channel->world, arrival);
        return;
    }
    if (!hier_wire_is_number(&arrival->header, peer->expected)) {
        keep_early(channel, peer, arrival);
        return;
    }
    peer->expected++;
    deliver(channel, arrival, NULL);
    if (peer->early.first)
        deliver_early(channel, peer);
}

/*
 * Opening and closing.
 */

void hier_channel_settle(hier_channel *channel, uint32_t context) {
    for (hier_held *held = channel->homeless.first, *before = NULL; held;) {
        bool here = hier_wire_context(&held->header) == context;
        intra_mailbox *to = here ? hier_channel_mailbox(channel, &held->header) : NULL;
        if (!here || (!to && is_awaited(channel, &held->header))) {
            before = held;
            held = held->next;
            continue;
        }
        if (to)
            put(channel, held->peer, to, held->parcel);
        else
            discard(channel, held->parcel);
        held = let_go(&channel->homeless, before);
    }
}

static bool make_peers(hier_channel *channel) {
    if (!channel->peers)
        channel->peers = calloc((size_t)channel->transport->size, sizeof(*channel->peers));
    return channel->peers;
}

void hier_channel_overhear(hier_channel *channel, bool on) {
    if (channel->listens || on == channel->overhears || !make_peers(channel))
        return;
    channel->overhears = on;
    channel->transport->listen(channel->transport, on ? arrived : NULL, channel);
}

/* So many looks find all that lies there, were it not for what comes meanwhile. */
#define OLD_LOOKS 10000

/*
 * Headers have the lower bits of an epoch. What nobody received on a communicator before may lie in the transport as long as nobody looks: once in half of
 * the epochs that they tell apart it is taken out, and thereby lost.
 */
static void take_old(hier_channel *channel, uint64_t half_epochs) {
    const bool overhears = channel->overhears;
    channel->half_epochs = half_epochs;
    if (!channel->transport)
        return;
    hier_channel_overhear(channel, true);
    for (int look = 0; look < OLD_LOOKS && channel->transport->progress(channel->transport); look++)
        continue;
    hier_channel_overhear(channel, overhears);
}

void hier_channel_open(hier_channel *channel, uint32_t context, hier_boxes boxes) {
    if (boxes.mailboxes && boxes.epoch >> (HIER_EPOCH_BITS - 1) != channel->half_epochs)
        take_old(channel, boxes.epoch >> (HIER_EPOCH_BITS - 1));
    channel->boxes[context] = boxes;
    if (channel->opened <= context)
        channel->opened = context + 1;
    hier_channel_settle(channel, context);
}

int hier_channel_listen(hier_channel *channel) {
    inter_transport *transport = channel->transport;
    if (channel->listens || !transport)
        return WEFT_SUCCESS;
    if (!make_peers(channel))
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for messages between %d processes",
                          channel->world->process_comm->rank, transport->size / channel->each);
    channel->listens = true;
    if (channel == &channel->world->channel)
        channel->world->engine.listens = true;
    transport->listen(transport, arrived, channel);
    return WEFT_SUCCESS;
}

void hier_channel_close(hier_channel *channel) {
    for (int peer = 0; channel->peers && peer < channel->transport->size; peer++)
        forget(channel, &channel->peers[peer].early);
    forget(channel, &channel->homeless);
    if (channel->listens || channel->overhears)
        channel->transport->listen(channel->transport, NULL, NULL);
    channel->listens = channel->overhears = false;
}

/*
 * Progress.
 */

/* Several may have failed since the last look. */
static void note_failures(hier_channel *channel) {
    hier_carrier *carrier = &channel->world->carrier;
    const inter_transport *transport = channel->transport;
    channel->seen_failed = transport->failed_peer;
    for (int peer = 0; transport->failed && peer < transport->size; peer++)
        if (transport->failed[peer])
            atomic_store_explicit(&carrier->failed[peer / channel->each], true, memory_order_relaxed);
    fail(channel, WEFT_ERR_PROC_FAILED);
}

void hier_carrier_lose(hier_world *world, int process) {
    hier_carrier *carrier = &world->carrier;
    if (process < 0 || process >= world->transport->size || process == world->transport->rank ||
        hier_carrier_has_lost(carrier, process))
        return;
    atomic_store_explicit(&carrier->failed[process], true, memory_order_relaxed);
    world->transport->failed_peer = process;
    fail(&world->channel, WEFT_ERR_PROC_FAILED);
}

/* Who is lost, as another channel or process found out, is so for this one's transport. */
static void tell_transport(hier_channel *channel, unsigned failures) {
    const hier_carrier *carrier = &channel->world->carrier;
    inter_transport *transport = channel->transport;
    channel->seen_failures = failures;
    for (int peer = 0; transport->lose && peer < transport->size; peer++)
        if (hier_carrier_has_lost(carrier, peer / channel->each))
            transport->lose(transport, peer);
}

bool hier_channel_progress(hier_channel *channel) {
    /* Acquire: pairs with fail. */
    const unsigned failures = atomic_load_explicit(&channel->world->carrier.failures, memory_order_acquire);
    if (failures != channel->seen_failures && channel->transport)
        tell_transport(channel, failures);
    if (channel->transport && channel->transport->failed_peer != channel->seen_failed)
        note_failures(channel);
    bool moved = hier_end_letters(channel);
    if (channel->stops)
        moved |= hier_flow_progress(channel);
    return moved;
}

/* A thread that cannot do it needs that, or so much has come for those who do not that its senders are to stop (flow.c). */
static bool needs_to_listen(const hier_world *world) {
    const inter_transport *network = world->transport;
    const size_t most = (size_t)world->config.unexpected_limit;
    return atomic_load_explicit(&world->carrier.wanted, memory_order_relaxed) ||
           (network && (network->unheard_bytes > most || world->channel.transport->unheard_bytes > most));
}

bool hier_progress(hier_world *world) {
    hier_channel *channel = &world->channel;
    if (!channel->listens && needs_to_listen(world))
        (void)hier_channel_listen(channel); /* without memory: again at the next look */
    bool moved = hier_run_errands(world);
    moved |= hier_carry_outbox(world);
    moved |= inter_engine_progress(&world->engine);
    moved |= hier_channel_progress(channel);
    if (atomic_load_explicit(&world->carrier.failures, memory_order_relaxed) != world->ledgers->failures)
        hier_ledger_tell_deaths(world);
    for (const weft_comm *comm = world->process_comm; comm; comm = comm->next_of_world)
        if (comm->talks && intra_mail_progress(comm->mailbox))
            moved = true;
    hier_ledger_look(world);
    return moved;
}
