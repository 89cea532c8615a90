// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <intra/mailbox.h>
#include <stdlib.h>
#include <string.h>
#include <weft/message.h>

static void no_rouse(void *argument) {
    (void)argument;
}

int intra_mailbox_init(intra_mailbox *mailbox, int32_t rank, int threads, core_waiting waiting,
                       intra_mail_limits limits) {
    mailbox->rank = rank;
    mailbox->waiting = waiting;
    mailbox->limits = limits;
    mailbox->spare.rouse = no_rouse;
    atomic_store_explicit(&mailbox->bell, &mailbox->spare, memory_order_relaxed);
    intra_matching_init(&mailbox->matching);
    mailbox->ways = threads ? calloc((size_t)threads, sizeof(intra_lane *)) : NULL;
    return threads && !mailbox->ways ? core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a mailbox", rank)
                                     : WEFT_SUCCESS;
}

/*
 * The list.
 */

void intra_mail_push(intra_mailbox *mailbox, intra_mail *mail) {
    core_inbox_put(&mailbox->list, &mail->link);
    intra_mail_ring(mailbox, true);
}

static size_t memory_of(size_t room) {
    return sizeof(intra_parcel) + room;
}

intra_parcel *intra_parcel_make(int32_t source, int32_t tag, size_t room) {
    intra_parcel *parcel = malloc(memory_of(room));
    if (!parcel)
        return NULL;
    parcel->mail.kind = INTRA_PARCEL;
    parcel->match.source = source;
    parcel->match.tag = tag;
    parcel->lane = NULL;
    parcel->after = 0;
    parcel->bytes = parcel->room = room;
    parcel->send = NULL;
    parcel->foreign = NULL;
    return parcel;
}

static void charge(intra_mailbox *mailbox, const intra_parcel *parcel) {
    /* Relaxed: a bound, not a promise. */
    atomic_fetch_add_explicit(&mailbox->parcel_bytes, memory_of(parcel->room), memory_order_relaxed);
}

void intra_parcel_push(intra_mailbox *mailbox, intra_parcel *parcel) {
    charge(mailbox, parcel);
    intra_mail_push(mailbox, &parcel->mail);
}

void intra_parcel_free(intra_mailbox *mailbox, intra_parcel *parcel) {
    if (parcel->send)
        return;
    atomic_fetch_sub_explicit(&mailbox->parcel_bytes, memory_of(parcel->room), memory_order_relaxed);
    free(parcel);
}

/*
 * Receiving.
 */

static void complete(intra_mailbox *mailbox, intra_receive *receive) {
    receive->done = true;
    mailbox->completions++;
}

/* A receive has met its message. */
/* A receive has met a message, which fits. */
static inline void met_one_that_fits(intra_receive *receive, int32_t source, int32_t tag, size_t bytes) {
    receive->posted = false;
    receive->source = source;
    receive->tag = tag;
    receive->got_bytes = bytes;
}

static void met(intra_receive *receive, int32_t source, int32_t tag, size_t bytes) {
    met_one_that_fits(receive, source, tag, bytes > receive->bytes ? receive->bytes : bytes);
    receive->error = bytes > receive->bytes ? WEFT_ERR_TRUNCATE : WEFT_SUCCESS;
}

static inline void receive_copy(intra_mailbox *mailbox, intra_receive *receive, const void *payload) {
    if (receive->type->contiguous)
        core_copy_short(receive->buffer, payload, receive->got_bytes);
    else
        core_unpack(receive->buffer, payload, receive->type, receive->count, 0, receive->got_bytes);
    complete(mailbox, receive);
}

static void end_send(intra_send *send) {
    intra_mail_push(send->home, &send->ended); /* from here on it is the sender's */
}

static void receive_offer(intra_mailbox *mailbox, intra_receive *receive, intra_send *send) {
    core_data from = {(void *)(uintptr_t)send->buffer, send->type, send->count};
    core_data to = {receive->buffer, receive->type, receive->count};
    if (receive->got_bytes < INTRA_SHARED_BYTES) {
        core_copy(to.buffer, to.type, to.count, from.buffer, from.type, from.count, 0, receive->got_bytes);
        end_send(send);
        complete(mailbox, receive);
        return;
    }
    intra_handover_begin(&send->handover, from, to, receive->got_bytes);
    receive->from = send;
    intra_receive **end = &mailbox->copying;
    while (*end)
        end = &(*end)->next_copying;
    receive->next_copying = NULL;
    *end = receive;
    if (send->home != mailbox)
        intra_mail_push(send->home, &send->begun); /* publishes the handover */
}

void intra_mail_serve(intra_mailbox *mailbox, intra_receive *receive, intra_parcel *parcel) {
    met(receive, parcel->match.source, parcel->match.tag, parcel->bytes);
    if (parcel->foreign) {
        mailbox->fetch(mailbox->argument, parcel, receive);
        return;
    }
    if (parcel->send) { /* which the parcel is part of, and the sender's again from then on */
        receive_offer(mailbox, receive, parcel->send);
        return;
    }
    receive_copy(mailbox, receive, intra_parcel_payload(parcel));
    intra_parcel_free(mailbox, parcel);
}

bool intra_mail_receive_old(intra_mailbox *mailbox, intra_receive *receive) {
    intra_parcel *parcel = intra_mail_find(mailbox, receive->match.source, receive->match.tag);
    if (!parcel)
        return false;
    intra_mail_take(mailbox, parcel);
    intra_mail_serve(mailbox, receive, parcel);
    return true;
}

static intra_receive *receive_of(intra_posted *posted) {
    return posted ? (intra_receive *)((char *)posted - offsetof(intra_receive, match)) : NULL;
}

bool intra_mail_arrive(intra_mailbox *mailbox, int32_t source, int32_t tag, const void *payload, size_t bytes) {
    if (mailbox->held || !core_inbox_is_empty(&mailbox->list))
        return false;
    intra_receive *receive = receive_of(intra_matching_arrive(&mailbox->matching, source, tag));
    if (!receive)
        return false;
    met(receive, source, tag, bytes);
    receive_copy(mailbox, receive, payload);
    return true;
}

static intra_parcel *parcel_of(intra_unexpected *unexpected) {
    return unexpected ? (intra_parcel *)((char *)unexpected - offsetof(intra_parcel, match)) : NULL;
}

void intra_mail_cancel(intra_mailbox *mailbox, intra_receive *receive) {
    if (!receive->posted)
        return;
    intra_matching_unpost(&mailbox->matching, &receive->match);
    receive->posted = false;
    receive->cancelled = true;
    receive->source = WEFT_ANY_SOURCE;
    receive->tag = WEFT_ANY_TAG;
    receive->got_bytes = 0;
    complete(mailbox, receive);
}

intra_parcel *intra_mail_find(intra_mailbox *mailbox, int32_t source, int32_t tag) {
    if (!mailbox->matching.unexpected_count)
        return NULL;
    return parcel_of(intra_matching_find(&mailbox->matching, source, tag));
}

void intra_mail_take(intra_mailbox *mailbox, intra_parcel *parcel) {
    intra_matching_remove(&mailbox->matching, &parcel->match);
}

/*
 * Progress.
 */

/* Puts a message of a lane aside until it is received; false without memory. */
static bool keep(intra_mailbox *mailbox, const intra_lane *lane, uint64_t word, const void *payload,
                 intra_send *offer) {
    intra_parcel *parcel;
    if (offer) {
        parcel = &offer->parcel;
    } else {
        size_t bytes = intra_lane_bytes_of(word);
        parcel = intra_parcel_make(lane->source, intra_lane_tag_of(word), bytes);
        if (!parcel)
            return false;
        charge(mailbox, parcel);
        memcpy(intra_parcel_payload(parcel), payload, bytes);
    }
    intra_matching_keep(&mailbox->matching, &parcel->match);
    return true;
}

/* What is offered, or has no receive; false without memory. */
static bool take_slowly(intra_mailbox *mailbox, const intra_lane *lane, uint64_t word, const void *payload,
                        intra_receive *receive) {
    intra_send *offer;
    if (intra_lane_kind_of(word) != INTRA_LANE_OFFER)
        return keep(mailbox, lane, word, payload, NULL);
    memcpy(&offer, payload, sizeof(offer));
    if (!receive)
        return keep(mailbox, lane, word, payload, offer);
    met(receive, lane->source, intra_lane_tag_of(word), offer->bytes);
    receive_offer(mailbox, receive, offer);
    return true;
}

/* A message of a lane: to its receive, or aside; false without memory. */
static inline bool take_message(intra_mailbox *mailbox, const intra_lane *lane, uint64_t word, const void *payload) {
    int32_t source = lane->source, tag = intra_lane_tag_of(word);
    intra_receive *receive = receive_of(intra_matching_arrive(&mailbox->matching, source, tag));
    if (!receive || intra_lane_kind_of(word) != INTRA_LANE_COPY)
        return take_slowly(mailbox, lane, word, payload, receive);
    met(receive, source, tag, intra_lane_bytes_of(word));
    receive_copy(mailbox, receive, payload);
    return true;
}

bool intra_mail_find_lane(intra_mailbox *mailbox, int32_t source) {
    int lanes = atomic_load_explicit(&mailbox->lane_count, memory_order_relaxed);
    for (int i = 0; i < lanes && i < INTRA_LANES; i++) {
        /* Acquire: pairs with make_lane. */
        intra_lane *lane = atomic_load_explicit(&mailbox->lanes[i], memory_order_acquire);
        if (lane && lane->source == source) {
            mailbox->last = lane;
            return true;
        }
    }
    return false;
}

/* Can what comes be of use now? Else it stays where it is, and is not moved twice. */
static bool wants_more(const intra_mailbox *mailbox) {
    return mailbox->matching.posted_count || mailbox->takes_all;
}

/* Of a stream so many bytes of a lane are taken together: then its sender learns it. */
#define TOGETHER 1024

/*
 * Copies to the receives of the run, as long as what comes is like the first of them, of which `word` is. How many: they leave the run
 * together. Since they are of one length the processor need not have read one to look for the next: it fetches several lines at once.
 */
static unsigned take_stream(intra_mailbox *mailbox, intra_lane *lane, uint64_t word, uint64_t taken, uint64_t end) {
    intra_posted *run = mailbox->matching.run;
    const int32_t source = lane->source, tag = intra_lane_tag_of(word);
    if (mailbox->matching.posted_in_table || !run || !intra_matches(run->source, run->tag, source, tag) ||
        intra_lane_kind_of(word) != INTRA_LANE_COPY)
        return 0;
    const size_t bytes = intra_lane_bytes_of(word);
    intra_match_link *oldest = &run->link, *link = oldest;
    unsigned count = 0;
    if (end > taken + TOGETHER)
        end = taken + TOGETHER;
    do {
        intra_receive *receive = receive_of(intra_posted_at(link));
        if (bytes > receive->bytes || !receive->type->contiguous)
            break;
        core_copy_short(receive->buffer, intra_lane_payload(lane, taken), bytes);
        met_one_that_fits(receive, source, tag, bytes);
        receive->done = true;
        taken += intra_lane_room(bytes);
        link = link->next;
        count++;
    } while (link != oldest && taken < end && intra_lane_look(lane, taken) == word);
    if (count)
        intra_matching_cut_run(&mailbox->matching, link, count);
    mailbox->completions += count;
    return count;
}

/* Takes messages until `end` bytes have been taken in all, or none is there, or, but for `all`, no receive is left. */
static unsigned take_lane(intra_mailbox *mailbox, intra_lane *lane, uint64_t end, bool all) {
    uint64_t taken = atomic_load_explicit(&lane->taken, memory_order_relaxed), word;
    unsigned events = 0;
    while (taken < end && (all || wants_more(mailbox)) && (word = intra_lane_look(lane, taken))) {
        unsigned count = take_stream(mailbox, lane, word, taken, end);
        if (!count && intra_lane_kind_of(word) != INTRA_LANE_SKIP &&
            !take_message(mailbox, lane, word, intra_lane_payload(lane, taken)))
            break; /* it stays in its place until there is memory */
        count += !count;
        taken += count * intra_lane_room(intra_lane_bytes_of(word));
        /* Release: pairs with is_free() in lane.c. */
        atomic_store_explicit(&lane->taken, taken, memory_order_release);
        events += count;
    }
    return events;
}

/* A message from the list; what its sender put into the lane before comes first. */
static void take_parcel(intra_mailbox *mailbox, intra_parcel *parcel) {
    intra_lane *lane = parcel->lane;
    intra_receive *receive =
        receive_of(intra_matching_arrive(&mailbox->matching, parcel->match.source, parcel->match.tag));
    if (receive)
        intra_mail_serve(mailbox, receive, parcel);
    else
        intra_matching_keep(&mailbox->matching, &parcel->match);
    if (lane) {
        uint64_t fetched = atomic_load_explicit(&lane->fetched, memory_order_relaxed);
        /* Release: pairs with in_order(): the sender may use the lane again when all are. */
        atomic_store_explicit(&lane->fetched, fetched + 1, memory_order_release);
    }
}

static void stop_helping(intra_mailbox *mailbox, intra_send *send) {
    intra_send **link = &mailbox->helping;
    while (*link && *link != send)
        link = &(*link)->next_helping;
    if (*link)
        *link = send->next_helping;
    send->helps = false;
}

static intra_send *send_of(intra_mail *mail, size_t offset) {
    return (intra_send *)(void *)((char *)mail - offset);
}

static void take_mail(intra_mailbox *mailbox, intra_mail *mail) {
    intra_send *send;
    switch (mail->kind) {
    case INTRA_PARCEL:
        take_parcel(mailbox, (intra_parcel *)(void *)mail);
        break;
    case INTRA_SEND_BEGUN:
        send = send_of(mail, offsetof(intra_send, begun));
        send->helps = true;
        send->next_helping = mailbox->helping;
        mailbox->helping = send;
        break;
    case INTRA_SEND_ENDED:
        send = send_of(mail, offsetof(intra_send, ended));
        if (send->helps)
            stop_helping(mailbox, send);
        send->done = true;
        mailbox->completions++;
        break;
    case INTRA_RECEIVE_ENDED:
        complete(mailbox, (intra_receive *)(void *)((char *)mail - offsetof(intra_receive, ended)));
        break;
    }
}

/* All that is in the list, as far as what must come first finds memory; the rest is held until then. */
static unsigned take_all_mail(intra_mailbox *mailbox) {
    unsigned events = 0;
    if (!mailbox->held)
        mailbox->held = core_inbox_take(&mailbox->list);
    for (; mailbox->held; events++) {
        intra_mail *mail = (intra_mail *)mailbox->held;
        intra_parcel *parcel = (intra_parcel *)(void *)mail;
        if (mail->kind == INTRA_PARCEL && parcel->lane) {
            take_lane(mailbox, parcel->lane, parcel->after, true);
            if (atomic_load_explicit(&parcel->lane->taken, memory_order_relaxed) < parcel->after)
                break;
        }
        mailbox->held = mail->link.next; /* who takes it may free it */
        take_mail(mailbox, mail);
    }
    return events;
}

/* A chunk of the oldest copy that has one left; copies that are done are over. */
static unsigned copy_some(intra_mailbox *mailbox) {
    unsigned events = 0;
    for (intra_receive **link = &mailbox->copying; *link && !events;) {
        intra_receive *receive = *link;
        events += intra_handover_copy(&receive->from->handover);
        if (!intra_handover_done(&receive->from->handover)) {
            link = &receive->next_copying;
            continue;
        }
        *link = receive->next_copying;
        end_send(receive->from);
        complete(mailbox, receive);
        events++;
    }
    for (intra_send *send = mailbox->helping; send && !events;) {
        intra_send *next = send->next_helping;
        if (intra_handover_copy(&send->handover))
            events++;
        else
            stop_helping(mailbox, send);
        send = next;
    }
    return events;
}

unsigned intra_mail_progress(intra_mailbox *mailbox) {
    unsigned events = 0;
    int lanes = atomic_load_explicit(&mailbox->lane_count, memory_order_relaxed);
    for (int i = 0; i < lanes && i < INTRA_LANES && wants_more(mailbox); i++) {
        /* Acquire: pairs with make_lane. */
        intra_lane *lane = atomic_load_explicit(&mailbox->lanes[i], memory_order_acquire);
        if (lane)
            events += take_lane(mailbox, lane, UINT64_MAX, false);
    }
    if (mailbox->held || !core_inbox_is_empty(&mailbox->list))
        events += take_all_mail(mailbox);
    if (mailbox->copying || mailbox->helping)
        events += copy_some(mailbox);
    return events;
}

static void discard(intra_mailbox *mailbox, intra_parcel *parcel) {
    if (parcel->foreign)
        mailbox->drop(mailbox->argument, parcel);
    else
        intra_parcel_free(mailbox, parcel);
}

void intra_mailbox_free(intra_mailbox *mailbox) {
    mailbox->takes_all = true;
    while (intra_mail_progress(mailbox))
        continue;
    for (intra_parcel *parcel; (parcel = intra_mail_find(mailbox, WEFT_ANY_SOURCE, WEFT_ANY_TAG));) {
        intra_mail_take(mailbox, parcel);
        discard(mailbox, parcel);
    }
    intra_matching_free(&mailbox->matching);
    for (int i = 0; i < INTRA_LANES; i++)
        free(atomic_load_explicit(&mailbox->lanes[i], memory_order_relaxed));
    free(mailbox->ways);
}
