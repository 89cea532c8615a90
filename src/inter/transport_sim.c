// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <inter/transport_sim.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A message or a posted receive, in its receiver's list; a message's sender also keeps it until it was told. */
typedef struct sim_item {
    struct sim_item *next, *next_sent;
    inter_request *request;
    int source;
    uint64_t tag;
    void *buffer;
    size_t bytes;
    bool taken; /* a message: the receiver has it */
} sim_item;

typedef struct sim_list {
    sim_item *first;
    sim_item **end; /* where the next one is linked */
} sim_list;

typedef struct sim_rank {
    inter_transport base;
    inter_sim *sim;
    sim_list inbox;  /* messages to this rank, in order of sending */
    sim_list posted; /* its receives */
    sim_item *sent;  /* its messages that it was not told of yet */
} sim_rank;

struct inter_sim {
    pthread_mutex_t lock; /* guards everything below */
    int size;
    uint64_t random; /* 0: no delays */
    inter_sim_counts counts;
    sim_rank *ranks;
};

static void append(sim_list *list, sim_item *item) {
    *list->end = item;
    list->end = &item->next;
}

static void unlink_item(sim_list *list, sim_item **link) {
    sim_item *item = *link;
    *link = item->next;
    if (list->end == &item->next)
        list->end = link;
}

static sim_item *new_item(int source, uint64_t tag, const void *buffer, size_t bytes, inter_request *request) {
    sim_item *item = malloc(sizeof(*item));
    if (!item) {
        core_error(WEFT_ERR_NOMEM, "sim: no memory for a message");
        return NULL;
    }
    *item = (sim_item){.request = request, .source = source, .tag = tag, .bytes = bytes};
    item->buffer = (void *)(uintptr_t)buffer;
    request->bytes = bytes;
    request->native = item;
    request->completion->pending++;
    return item;
}

static int sim_send(inter_transport *base, int peer, uint64_t tag, const void *buffer, size_t bytes,
                    inter_request *request) {
    sim_rank *self = (sim_rank *)base;
    sim_item *item = new_item(base->rank, tag, buffer, bytes, request);
    if (!item)
        return WEFT_ERR_NOMEM;
    request->peer = peer;
    pthread_mutex_lock(&self->sim->lock);
    item->next_sent = self->sent;
    self->sent = item;
    append(&self->sim->ranks[peer].inbox, item);
    self->sim->counts.messages++;
    self->sim->counts.bytes += bytes;
    self->sim->counts.waiting_messages++;
    pthread_mutex_unlock(&self->sim->lock);
    return WEFT_SUCCESS;
}

static int sim_recv(inter_transport *base, int peer, uint64_t tag, void *buffer, size_t bytes, inter_request *request) {
    sim_rank *self = (sim_rank *)base;
    sim_item *item = new_item(peer, tag, buffer, bytes, request);
    if (!item)
        return WEFT_ERR_NOMEM;
    request->peer = peer;
    pthread_mutex_lock(&self->sim->lock);
    append(&self->posted, item);
    self->sim->counts.waiting_receives++;
    pthread_mutex_unlock(&self->sim->lock);
    return WEFT_SUCCESS;
}

static bool same(const sim_item *a, const sim_item *b) {
    return a->source == b->source && a->tag == b->tag;
}

/* xorshift64 (Marsaglia 2003): one message in four waits for the next round. */
static bool draw_delay(inter_sim *sim) {
    if (!sim->random)
        return false;
    sim->random ^= sim->random << 13;
    sim->random ^= sim->random >> 7;
    sim->random ^= sim->random << 17;
    return sim->random % 4 == 0;
}

/* Held by chance, or because an earlier one of the same source and tag is still there. */
static bool must_hold(sim_rank *self, const sim_item *message) {
    for (const sim_item *before = self->inbox.first; before != message; before = before->next)
        if (same(before, message))
            return true;
    return draw_delay(self->sim);
}

static void deliver(sim_rank *self, sim_item *message, sim_item *receive) {
    size_t bytes = message->bytes < receive->bytes ? message->bytes : receive->bytes;
    if (bytes)
        memcpy(receive->buffer, message->buffer, bytes);
    int code = message->bytes > receive->bytes   ? WEFT_ERR_TRUNCATE
               : message->bytes < receive->bytes ? WEFT_ERR_MISMATCH
                                                 : WEFT_SUCCESS;
    receive->request->native = NULL;
    inter_completed(receive->request->completion, code);
    free(receive);
    message->taken = true;
    self->sim->counts.waiting_messages--;
    self->sim->counts.waiting_receives--;
}

static unsigned receive_some(sim_rank *self) {
    unsigned events = 0;
    for (sim_item **link = &self->inbox.first; *link;) {
        sim_item *message = *link;
        sim_item **found = &self->posted.first;
        while (*found && !same(*found, message))
            found = &(*found)->next;
        if (!*found || must_hold(self, message)) {
            link = &message->next;
            continue;
        }
        sim_item *receive = *found;
        unlink_item(&self->posted, found);
        unlink_item(&self->inbox, link);
        deliver(self, message, receive);
        events++;
    }
    return events;
}

static unsigned tell_sent(sim_rank *self) {
    unsigned events = 0;
    for (sim_item **link = &self->sent; *link;) {
        sim_item *message = *link;
        if (!message->taken) {
            link = &message->next_sent;
            continue;
        }
        *link = message->next_sent;
        message->request->native = NULL;
        inter_completed(message->request->completion, WEFT_SUCCESS);
        free(message);
        events++;
    }
    return events;
}

static unsigned sim_progress(inter_transport *base) {
    sim_rank *self = (sim_rank *)base;
    pthread_mutex_lock(&self->sim->lock);
    unsigned events = receive_some(self) + tell_sent(self);
    pthread_mutex_unlock(&self->sim->lock);
    return events;
}

static void cancel_in(sim_list *list, sim_item *item) {
    for (sim_item **link = &list->first; *link; link = &(*link)->next)
        if (*link == item) {
            unlink_item(list, link);
            return;
        }
}

static void sim_cancel(inter_transport *base, inter_request *request) {
    sim_rank *self = (sim_rank *)base;
    sim_item *item = request->native;
    pthread_mutex_lock(&self->sim->lock);
    sim_item **link = &self->sent;
    while (*link && *link != item)
        link = &(*link)->next_sent;
    if (*link) {
        *link = item->next_sent;
        if (!item->taken) {
            cancel_in(&self->sim->ranks[request->peer].inbox, item);
            self->sim->counts.waiting_messages--;
        }
    } else {
        cancel_in(&self->posted, item);
        self->sim->counts.waiting_receives--;
    }
    pthread_mutex_unlock(&self->sim->lock);
    free(item);
    request->native = NULL;
    inter_completed(request->completion, WEFT_ERR_PROC_FAILED);
}

static bool sim_arm(inter_transport *base, inter_bed *bed) {
    (void)base;
    *bed = (inter_bed){.descriptor = -1};
    return true;
}

static void sim_close(inter_transport *base) {
    (void)base;
}

int inter_sim_create(int size, uint64_t seed, inter_sim **sim) {
    inter_sim *made = calloc(1, sizeof(*made));
    sim_rank *ranks = calloc((size_t)size, sizeof(*ranks));
    if (!made || !ranks) {
        free(made);
        free(ranks);
        return core_error(WEFT_ERR_NOMEM, "sim: no memory for %d ranks", size);
    }
    pthread_mutex_init(&made->lock, NULL);
    made->size = size;
    made->random = seed;
    made->ranks = ranks;
    for (int rank = 0; rank < size; rank++) {
        ranks[rank].base = (inter_transport){.name = "sim",
                                             .rank = rank,
                                             .size = size,
                                             .send = sim_send,
                                             .recv = sim_recv,
                                             .progress = sim_progress,
                                             .failed_peer = -1,
                                             .cancel = sim_cancel,
                                             .arm = sim_arm,
                                             .disconnect = sim_close,
                                             .close = sim_close};
        ranks[rank].sim = made;
        ranks[rank].inbox.end = &ranks[rank].inbox.first;
        ranks[rank].posted.end = &ranks[rank].posted.first;
    }
    *sim = made;
    return WEFT_SUCCESS;
}

inter_transport *inter_sim_transport(inter_sim *sim, int rank) {
    return &sim->ranks[rank].base;
}

inter_sim_counts inter_sim_count(inter_sim *sim) {
    pthread_mutex_lock(&sim->lock);
    inter_sim_counts counts = sim->counts;
    pthread_mutex_unlock(&sim->lock);
    return counts;
}

void inter_sim_destroy(inter_sim *sim) {
    for (int rank = 0; rank < sim->size; rank++) {
        for (sim_item *item = sim->ranks[rank].sent, *next; item; item = next) {
            next = item->next_sent;
            free(item);
        }
        for (sim_item *item = sim->ranks[rank].posted.first, *next; item; item = next) {
            next = item->next;
            free(item);
        }
    }
    pthread_mutex_destroy(&sim->lock);
    free(sim->ranks);
    free(sim);
}
