// SPDX-License-Identifier: BSD-3-Clause
/* Letters: what is to be done for messages between processes, posted to a channel's transport and known to be over. */
#include <core/error.h>
#include <hier/comm.h>
#include <hier/wire.h>
#include <stdlib.h>

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
    if (error && error != WEFT_ERR_TRUNCATE)
        receive->got_bytes = 0;
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
    hier_wire_set(header, HIER_FLAG_EMPTY, 0);
}

/* Who starts many before it looks for what comes does not hear that it is to stop: so much at most is copied on its way. */
static bool has_no_room(const hier_channel *channel, const hier_peer *peer) {
    return peer->stopped || peer->under_way > (size_t)channel->world->config.unexpected_limit;
}

/* Its data, where they are not one run. */
static void set_data(hier_letter *letter) {
    inter_request *request = &letter->request;
    request->data = letter->data.type ? &letter->data : NULL;
    if (!request->data)
        return;
    request->data_from = 0;
    request->data_whole = core_data_bytes(letter->data) / 2;
}

static int send_letter(hier_channel *channel, hier_letter *letter) {
    int code = hier_channel_listen(channel); /* the sender may be another thread, which could not */
    if (code)
        return code;
    inter_transport *transport = channel->transport;
    hier_peer *peer = &channel->peers[letter->peer];
    inter_am_header header = letter->header;
    letter->rendezvous |= has_no_room(channel, peer);
    if (letter->rendezvous && !letter->bytes)
        stand_in(letter, &header);
    set_data(letter);
    hier_wire_set(&header, 0, peer->sent);
    code = transport->am_send(transport, letter->peer, &header, letter->buffer, letter->bytes, letter->rendezvous,
                              &letter->request);
    peer->sent += !code;
    letter->under_way = !code && !letter->rendezvous && letter->completion.pending ? letter->bytes : 0;
    peer->under_way += letter->under_way;
    return code;
}

bool hier_carry_at_once(hier_channel *channel, int number, inter_am_header header, const void *buffer, size_t bytes) {
    inter_transport *transport = channel->transport;
    hier_peer *peer = &channel->peers[number];
    const hier_world *world = channel->world;
    if (!channel->listens || !transport->am_put || has_no_room(channel, peer) ||
        (channel == &world->channel && !core_inbox_is_empty(&world->carrier.outbox)))
        return false;
    hier_wire_set(&header, 0, peer->sent);
    if (!transport->am_put(transport, number, &header, buffer, bytes))
        return false;
    peer->sent++;
    return true;
}

static int fetch_letter(hier_channel *channel, hier_letter *letter) {
    intra_receive *receive = letter->receive;
    void *buffer = receive->buffer;
    size_t room = receive->bytes;
    if (!receive->type->contiguous &&
        hier_channel_takes_layouts(channel, letter->arrival.peer, letter->arrival.bytes)) {
        letter->data = (core_data){buffer, receive->type, receive->count};
        set_data(letter);
        buffer = NULL;
    } else if (!receive->type->contiguous) {
        room = letter->arrival.bytes < room ? letter->arrival.bytes : room;
        buffer = letter->packed = malloc(room ? room : 1);
        if (!buffer) {
            channel->transport->am_drop(channel->transport, &letter->arrival); /* its sender does not wait */
            return core_error(WEFT_ERR_NOMEM, "no memory to unpack a message of %zu bytes", receive->got_bytes);
        }
    }
    return channel->transport->am_fetch(channel->transport, &letter->arrival, buffer, room, &letter->request);
}

/* Of a message that was received though it has no bytes, or of one whose mailbox is no longer there. */
static void drop_letter(hier_channel *channel, hier_letter *letter) {
    intra_mailbox *mailbox = letter->mailbox;
    intra_receive *receive = letter->receive;
    channel->transport->am_drop(channel->transport, &letter->arrival);
    if (!receive) {
        free(letter->parcel); /* and the letter with it */
        return;
    }
    intra_parcel_free(mailbox, letter->parcel);
    intra_receive_ended(mailbox, receive);
}

/* Under the funnel. True: it is done, its end not told. */
static bool post(hier_channel *channel, hier_letter *letter, int *error) {
    if (letter->kind == HIER_LETTER_DROP) {
        drop_letter(channel, letter);
        return false;
    }
    letter->completion = (inter_completion){.list = &channel->done, .owner = letter};
    letter->request = (inter_request){.completion = &letter->completion};
    int code = letter->kind == HIER_LETTER_SEND ? send_letter(channel, letter) : fetch_letter(channel, letter);
    *error = code ? code : letter->completion.error;
    return code || !letter->completion.pending;
}

bool hier_end_letters(hier_channel *channel) {
    bool some = channel->done;
    while (channel->done) {
        inter_completion *completion = channel->done;
        channel->done = completion->next;
        completion->queued = false;
        hier_letter *letter = completion->owner;
        if (letter->kind == HIER_LETTER_SEND)
            channel->peers[letter->peer].under_way -= letter->under_way;
        end(letter, completion->error);
    }
    return some;
}

bool hier_carry_outbox(hier_world *world) {
    core_link *next = core_inbox_take(&world->carrier.outbox);
    bool some = next;
    while (next) {
        hier_letter *letter = (hier_letter *)next;
        int error;
        next = next->next; /* a letter that is done is gone */
        if (post(&world->channel, letter, &error))
            end(letter, error);
    }
    return some;
}

static void leave_in_outbox(hier_world *world, hier_letter *letter) {
    core_inbox_put(&world->carrier.outbox, &letter->link); /* from here on it is the leader's */
    /* Pairs with hier_leader_naps: the leader sees the letter, or its team is seen to sleep. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&world->may_sleep, memory_order_relaxed))
        hier_wake_leader(world);
}

bool hier_carry(hier_channel *channel, hier_letter *letter, bool holds) {
    int error = WEFT_SUCCESS;
    bool is_send = letter->kind == HIER_LETTER_SEND;
    if (!holds && !hier_may_drive(channel->world)) {
        leave_in_outbox(channel->world, letter);
        return false;
    }
    if (!holds)
        hier_channel_enter(channel);
    if (channel == &channel->world->channel)
        hier_carry_outbox(channel->world); /* which may hold earlier ones of the same sender */
    bool done = post(channel, letter, &error);
    if (done && is_send)
        end_send(letter, error);
    else if (done)
        end(letter, error);
    if (!holds)
        hier_channel_leave(channel);
    return done && is_send;
}

void hier_carrier_fetch(void *argument, intra_parcel *parcel, intra_receive *receive) {
    hier_channel *channel = argument;
    hier_letter *letter = parcel->foreign;
    bool empty = hier_wire_flags(&letter->header) & HIER_FLAG_EMPTY;
    intra_mailbox *mailbox = hier_channel_mailbox(channel, &letter->header);
    letter->mailbox = mailbox;
    letter->receive = receive;
    letter->kind = empty ? HIER_LETTER_DROP : HIER_LETTER_FETCH;
    hier_carry(channel, letter, hier_channel_is_own(channel, mailbox));
}

void hier_carrier_drop(void *argument, intra_parcel *parcel) {
    hier_channel *channel = argument;
    hier_letter *letter = parcel->foreign;
    letter->kind = HIER_LETTER_DROP;
    letter->mailbox = NULL;
    letter->receive = NULL;
    hier_carry(channel, letter, false);
}
