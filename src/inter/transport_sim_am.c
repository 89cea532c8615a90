// SPDX-License-Identifier: BSD-3-Clause
/*
 * Active messages of the sim transport. What is complete at once is copied and belongs to the receiver; a rendezvous belongs to its
 * sender, who is told in its own progress when the receiver has fetched or dropped it. A fetch is carried out in a later
 * progress, as over a network.
 */
#include <core/error.h>
#include <inter/transport_sim_private.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void) {
    return core_error(WEFT_ERR_NOMEM, "sim: no memory for a message");
}

static core_data data_of(const inter_request *request, const void *buffer, size_t bytes) {
    return request->data ? *request->data : (core_data){(void *)(uintptr_t)buffer, WEFT_BYTE, bytes};
}

static int sim_am_send(inter_transport *base, int peer, const inter_am_header *header, const void *buffer, size_t bytes,
                       bool rendezvous, inter_request *request) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    inter_sim *sim = self->sim;
    size_t payload = rendezvous ? 0 : bytes;
    inter_sim_item *item = malloc(sizeof(*item) + payload);
    if (!item)
        return no_memory();
    *item = (inter_sim_item){.source = base->rank, .bytes = bytes, .header = *header, .active = true};
    request->peer = peer;
    request->bytes = bytes;
    request->native = NULL;
    if (rendezvous) {
        item->data = data_of(request, buffer, bytes);
        item->request = request;
        request->native = item;
        request->completion->pending++;
    } else if (payload) {
        memcpy(item->payload, buffer, payload);
    }
    pthread_mutex_lock(&sim->lock);
    if (rendezvous) {
        item->next_sent = self->sent;
        self->sent = item;
    }
    inter_sim_append(&sim->ranks[peer].arrivals, item);
    sim->ranks[peer].arrived_bytes += sizeof(*item) + payload;
    inter_sim_news(&sim->ranks[peer]);
    sim->counts.messages++;
    sim->counts.bytes += bytes;
    sim->counts.waiting_messages++;
    pthread_mutex_unlock(&sim->lock);
    return WEFT_SUCCESS;
}

/* Some, lest only one way is tried. */
static bool sim_am_put(inter_transport *base, int peer, const inter_am_header *header, const void *buffer,
                       size_t bytes) {
    inter_completion completion = {0};
    inter_request request = {.completion = &completion};
    return bytes % 3 != 1 && !sim_am_send(base, peer, header, buffer, bytes, false, &request);
}

/* With the lock: the receiver is done with it. */
static void end_message(inter_sim_rank *self, inter_sim_item *message) {
    self->sim->counts.waiting_messages--;
    if (message->request) {
        message->taken = true; /* its sender frees it */
        inter_sim_news(&self->sim->ranks[message->source]);
    } else {
        free(message);
    }
}

static int sim_am_fetch(inter_transport *base, const inter_arrival *arrival, void *buffer, size_t bytes,
                        inter_request *request) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    inter_sim_item *fetch = malloc(sizeof(*fetch));
    if (!fetch)
        return no_memory();
    *fetch = (inter_sim_item){.request = request,
                              .source = arrival->peer,
                              .data = data_of(request, buffer, bytes),
                              .bytes = bytes,
                              .active = true,
                              .message = arrival->native};
    request->peer = arrival->peer;
    request->bytes = bytes;
    request->native = fetch;
    request->completion->pending++;
    pthread_mutex_lock(&self->sim->lock);
    inter_sim_append(&self->fetches, fetch);
    inter_sim_news(self);
    self->sim->counts.waiting_receives++;
    pthread_mutex_unlock(&self->sim->lock);
    return WEFT_SUCCESS;
}

static void sim_am_drop(inter_transport *base, const inter_arrival *arrival) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    pthread_mutex_lock(&self->sim->lock);
    end_message(self, arrival->native);
    pthread_mutex_unlock(&self->sim->lock);
}

static void sim_listen(inter_transport *base, inter_listener *listener, void *argument) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    pthread_mutex_lock(&self->sim->lock);
    self->listener = listener;
    self->listener_argument = argument;
    self->arrived_bytes = base->unheard_bytes = 0;
    inter_sim_news(self);
    pthread_mutex_unlock(&self->sim->lock);
}

/* The next message of this look: not held by chance, and none of its sender is held before it. */
static inter_sim_item *take_arrival(inter_sim_rank *self, uint64_t look, inter_sim_item ***link) {
    for (; **link; *link = &(**link)->next) {
        inter_sim_item *item = **link;
        inter_sim_rank *source = &self->sim->ranks[item->source];
        if (source->held == look)
            continue;
        if (inter_sim_draw_delay(self->sim)) {
            source->held = look;
            continue;
        }
        inter_sim_unlink(&self->arrivals, *link);
        item->handed = true;
        return item;
    }
    return NULL;
}

inter_sim_item *inter_sim_am_take(inter_sim_rank *self) {
    inter_sim_list taken = {.end = &taken.first};
    inter_sim_item **link = &self->arrivals.first;
    uint64_t look = ++self->sim->looks;
    if (!self->listener)
        return NULL;
    for (inter_sim_item *item; (item = take_arrival(self, look, &link));)
        inter_sim_append(&taken, item);
    return taken.first;
}

unsigned inter_sim_am_hand_over(inter_sim_rank *self, inter_sim_item *first) {
    inter_listener *listener = self->listener;
    void *argument = self->listener_argument;
    unsigned events = 0;
    for (inter_sim_item *item = first, *next; item; item = next, events++) {
        inter_arrival arrival = {.peer = item->source, .header = item->header, .bytes = item->bytes};
        bool complete = !item->data.type;
        next = item->next;
        if (complete)
            arrival.data = item->bytes ? item->payload : NULL;
        else
            arrival.native = item;
        listener(argument, &arrival);
        if (complete) {
            pthread_mutex_lock(&self->sim->lock);
            end_message(self, item);
            pthread_mutex_unlock(&self->sim->lock);
        }
    }
    return events;
}

/* With the lock. */
static void carry_out(inter_sim_rank *self, inter_sim_item *fetch) {
    inter_sim_item *message = fetch->message;
    int code = WEFT_ERR_PROC_FAILED; /* it was taken back */
    if (message->request) {
        size_t bytes = message->bytes < fetch->bytes ? message->bytes : fetch->bytes;
        const core_data *to = &fetch->data, *from = &message->data;
        core_copy(to->buffer, to->type, to->count, from->buffer, from->type, from->count, 0, bytes);
        code = message->bytes > fetch->bytes ? WEFT_ERR_TRUNCATE : WEFT_SUCCESS;
    }
    end_message(self, message);
    self->sim->counts.waiting_receives--;
    fetch->request->native = NULL;
    inter_completed(fetch->request, code);
    free(fetch);
}

unsigned inter_sim_am_fetch(inter_sim_rank *self) {
    unsigned events = 0;
    for (inter_sim_item **link = &self->fetches.first; *link;) {
        inter_sim_item *fetch = *link;
        if (inter_sim_draw_delay(self->sim)) {
            link = &fetch->next;
            continue;
        }
        inter_sim_unlink(&self->fetches, link);
        carry_out(self, fetch);
        events++;
    }
    return events;
}

/* Once the listener knows of it, it stays until it is fetched, in vain, or dropped. */
void inter_sim_am_withdraw(inter_sim_rank *self, int peer, inter_sim_item *message) {
    message->request = NULL;
    if (message->taken || !message->handed) {
        if (!message->taken) {
            inter_sim_remove(&self->sim->ranks[peer].arrivals, message);
            self->sim->counts.waiting_messages--;
        }
        free(message);
    }
}

bool inter_sim_am_cancel_fetch(inter_sim_rank *self, inter_sim_item *fetch) {
    if (!inter_sim_remove(&self->fetches, fetch))
        return false;
    end_message(self, fetch->message);
    self->sim->counts.waiting_receives--;
    return true;
}

/* Some, lest only one way is tried. */
static bool sim_takes_layouts(const inter_transport *base, int peer, size_t bytes) {
    (void)base;
    (void)peer;
    return bytes % 3 == 0;
}

void inter_sim_am_open(inter_sim_rank *self) {
    self->base.am_send = sim_am_send;
    self->base.am_put = sim_am_put;
    self->base.am_fetch = sim_am_fetch;
    self->base.takes_layouts = sim_takes_layouts;
    self->base.am_drop = sim_am_drop;
    self->base.listen = sim_listen;
    self->arrivals.end = &self->arrivals.first;
    self->fetches.end = &self->fetches.first;
}

void inter_sim_am_free(inter_sim_rank *self) {
    for (inter_sim_item *item = self->arrivals.first, *next; item; item = next) {
        next = item->next;
        if (!item->data.type)
            free(item); /* the others are their senders' */
    }
    for (inter_sim_item *fetch = self->fetches.first, *next; fetch; fetch = next) {
        next = fetch->next;
        free(fetch);
    }
}
