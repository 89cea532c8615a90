// SPDX-License-Identifier: BSD-3-Clause
/* The sender's half of mailboxes: by its lane, in a parcel, or as an offer. */
#include <intra/mailbox.h>
#include <stdlib.h>
#include <string.h>

/* Stands for a lane that cannot be had: intra_mail_open_lane finds that something went by the list. */
static intra_lane no_lane = {.spilled = 1};

static intra_lane *make_lane(intra_mailbox *from, intra_mailbox *to) {
    intra_lane *lane = aligned_alloc(alignof(intra_lane), sizeof(*lane));
    if (!lane)
        return &no_lane;
    memset(lane->ring, 0, sizeof(uint64_t)); /* no message yet; the rest is written before it is read */
    memset((char *)lane + sizeof(lane->ring), 0, sizeof(*lane) - sizeof(lane->ring));
    lane->source = from->rank;
    int index = atomic_fetch_add_explicit(&to->lane_count, 1, memory_order_relaxed);
    if (index >= INTRA_LANES) {
        free(lane);
        return &no_lane;
    }
    /* Release: pairs with the owner's look, publishes the empty lane. */
    atomic_store_explicit(&to->lanes[index], lane, memory_order_release);
    return lane;
}

/* The lane to a thread, made at the first message; &no_lane: there is none. */
static intra_lane *lane_to(intra_mailbox *from, intra_mailbox *to, int thread) {
    intra_lane *lane = from->ways[thread];
    if (!lane)
        lane = from->ways[thread] = make_lane(from, to);
    return lane;
}

/* Has all that went by the list been taken? Before, the lane would overtake it. */
static bool in_order(intra_lane *lane) {
    if (lane->spilled != lane->known_fetched)
        /* Acquire: pairs with take_parcel in mailbox.c. */
        lane->known_fetched = atomic_load_explicit(&lane->fetched, memory_order_acquire);
    return lane->spilled == lane->known_fetched;
}

static bool send_copy(intra_lane *lane, int32_t tag, const void *buffer, const weft_datatype *type, size_t count,
                      size_t bytes, bool patient) {
    if (bytes > INTRA_LANE_LONGEST || !intra_lane_has_room(lane, bytes, patient))
        return false;
    core_pack(intra_lane_payload(lane, lane->sent), buffer, type, count, 0, bytes);
    intra_lane_send(lane, INTRA_LANE_COPY, bytes, tag);
    return true;
}

static bool send_offer(intra_lane *lane, int32_t tag, intra_send *send) {
    if (!intra_lane_has_room(lane, sizeof(send), false))
        return false;
    memcpy(intra_lane_payload(lane, lane->sent), &send, sizeof(send));
    intra_lane_send(lane, INTRA_LANE_OFFER, sizeof(send), tag);
    return true;
}

static void send_parcel(intra_mailbox *to, intra_lane *lane, intra_parcel *parcel) {
    if (lane != &no_lane) {
        parcel->lane = lane;
        parcel->after = lane->sent;
        lane->spilled++;
    }
    if (parcel->send)
        intra_mail_push(to, &parcel->mail);
    else
        intra_parcel_push(to, parcel);
}

static void make_offer(intra_mailbox *from, intra_send *send, int32_t tag) {
    intra_send_begin(send);
    send->home = from;
    intra_parcel *parcel = &send->parcel;
    parcel->mail.kind = INTRA_PARCEL;
    parcel->match.source = from->rank;
    parcel->match.tag = tag;
    parcel->lane = NULL;
    parcel->bytes = send->bytes;
    parcel->send = send;
    parcel->foreign = NULL;
}

bool intra_mail_send(intra_mailbox *from, intra_mailbox *to, int thread, int32_t tag, const void *buffer,
                     const weft_datatype *type, size_t count, size_t bytes, bool synchronous, intra_send *send) {
    intra_lane *lane = lane_to(from, to, thread);
    bool by_lane = lane != &no_lane && in_order(lane);
    if (!synchronous && bytes <= to->limits.eager_bytes &&
        atomic_load_explicit(&to->parcel_bytes, memory_order_relaxed) <= to->limits.unexpected_bytes) {
        if (by_lane && send_copy(lane, tag, buffer, type, count, bytes, from != to && !to->waiting.may_sleep)) {
            intra_mail_ring(to, false);
            return true;
        }
        intra_parcel *parcel = intra_parcel_make(from->rank, tag, bytes);
        if (parcel) {
            core_pack(intra_parcel_payload(parcel), buffer, type, count, 0, bytes);
            send_parcel(to, lane, parcel);
            return true;
        }
    }
    send->buffer = buffer;
    send->type = type;
    send->count = count;
    send->bytes = bytes;
    make_offer(from, send, tag);
    if (by_lane && send_offer(lane, tag, send))
        intra_mail_ring(to, true);
    else
        send_parcel(to, lane, &send->parcel);
    return false;
}
