// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <core/wait.h>
#include <inter/transport_sim_private.h>
#include <stdlib.h>
#include <string.h>

void inter_sim_news(inter_sim_rank *rank) {
    atomic_store_explicit(&rank->quiet, false, memory_order_relaxed);
    core_word_rouse(&rank->asleep);
}

static inter_sim_item *new_item(int source, uint64_t tag, const void *buffer, size_t bytes, inter_request *request) {
    inter_sim_item *item = malloc(sizeof(*item));
    if (!item) {
        core_error(WEFT_ERR_NOMEM, "sim: no memory for a message");
        return NULL;
    }
    *item = (inter_sim_item){.request = request, .source = source, .tag = tag, .bytes = bytes};
    item->buffer = (void *)(uintptr_t)buffer;
    request->bytes = bytes;
    request->native = item;
    request->completion->pending++;
    return item;
}

/* By chance, if there are delays: it is copied, and over, as short ones are in real networks. With the lock. */
static bool is_over_at_once(inter_sim *sim, inter_sim_item *item) {
    enum { MOST_BYTES = 256 };
    inter_request *request = item->request;
    if (item->bytes > MOST_BYTES || request->data || !inter_sim_draw_delay(sim))
        return false;
    void *copy = malloc(MOST_BYTES);
    if (!copy)
        return false;
    if (item->bytes)
        memcpy(copy, item->buffer, item->bytes);
    item->buffer = copy;
    item->request = NULL;
    request->native = NULL;
    request->completion->pending--;
    return true;
}

static int sim_send(inter_transport *base, int peer, uint64_t tag, const void *buffer, size_t bytes,
                    inter_request *request) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    inter_sim_item *item = new_item(base->rank, tag, buffer, bytes, request);
    if (!item)
        return WEFT_ERR_NOMEM;
    request->peer = peer;
    pthread_mutex_lock(&self->sim->lock);
    if (!is_over_at_once(self->sim, item)) {
        item->next_sent = self->sent;
        self->sent = item;
    }
    inter_sim_append(&self->sim->ranks[peer].inbox, item);
    inter_sim_news(&self->sim->ranks[peer]);
    self->sim->counts.messages++;
    self->sim->counts.bytes += bytes;
    self->sim->counts.waiting_messages++;
    pthread_mutex_unlock(&self->sim->lock);
    return WEFT_SUCCESS;
}

static int sim_recv(inter_transport *base, int peer, uint64_t tag, void *buffer, size_t bytes, inter_request *request) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    inter_sim_item *item = new_item(peer, tag, buffer, bytes, request);
    if (!item)
        return WEFT_ERR_NOMEM;
    request->peer = peer;
    pthread_mutex_lock(&self->sim->lock);
    inter_sim_append(&self->posted, item);
    inter_sim_news(self);
    self->sim->counts.waiting_receives++;
    pthread_mutex_unlock(&self->sim->lock);
    return WEFT_SUCCESS;
}

static bool same(const inter_sim_item *a, const inter_sim_item *b) {
    return a->source == b->source && a->tag == b->tag;
}

/* xorshift64 (Marsaglia 2003). */
bool inter_sim_draw_delay(inter_sim *sim) {
    if (!sim->random)
        return false;
    sim->random ^= sim->random << 13;
    sim->random ^= sim->random >> 7;
    sim->random ^= sim->random << 17;
    return sim->random % 4 == 0;
}

/* Held by chance, or because an earlier one of the same source and tag is still there. */
static bool must_hold(inter_sim_rank *self, const inter_sim_item *message) {
    for (const inter_sim_item *before = self->inbox.first; before != message; before = before->next)
        if (same(before, message))
            return true;
    return inter_sim_draw_delay(self->sim);
}

/* From and to where the data lie, some at a time. */
static void copy(const inter_sim_item *receive, const inter_sim_item *message, size_t bytes) {
    const inter_request *to = receive->request, *from = message->request;
    unsigned char some[4096];
    for (size_t done = 0, part; done < bytes; done += part) {
        part = bytes - done < sizeof(some) ? bytes - done : sizeof(some);
        if (from && from->data)
            core_pack(some, from->data->buffer, from->data->type, from->data->count, from->data_from + done,
                      from->data_from + done + part);
        else
            memcpy(some, (const char *)message->buffer + done, part);
        if (to->data)
            core_unpack(to->data->buffer, some, to->data->type, to->data->count, to->data_from + done,
                        to->data_from + done + part);
        else
            memcpy((char *)receive->buffer + done, some, part);
    }
}

static bool sim_carries_layouts(const inter_transport *base, int peer, size_t bytes) {
    (void)base, (void)peer, (void)bytes;
    return true;
}

static void free_copied(inter_sim_item *message) {
    free(message->buffer);
    free(message);
}

static void deliver(inter_sim_rank *self, inter_sim_item *message, inter_sim_item *receive) {
    copy(receive, message, message->bytes < receive->bytes ? message->bytes : receive->bytes);
    int code = message->bytes > receive->bytes   ? WEFT_ERR_TRUNCATE
               : message->bytes < receive->bytes ? WEFT_ERR_MISMATCH
                                                 : WEFT_SUCCESS;
    receive->request->native = NULL;
    inter_completed(receive->request, code);
    free(receive);
    if (message->request) {
        message->taken = true;
        inter_sim_news(&self->sim->ranks[message->source]);
    } else {
        free_copied(message);
    }
    self->sim->counts.waiting_messages--;
    self->sim->counts.waiting_receives--;
}

static unsigned receive_some(inter_sim_rank *self) {
    unsigned events = 0;
    for (inter_sim_item **link = &self->inbox.first; *link;) {
        inter_sim_item *message = *link;
        inter_sim_item **found = &self->posted.first;
        while (*found && !same(*found, message))
            found = &(*found)->next;
        if (!*found || must_hold(self, message)) {
            link = &message->next;
            continue;
        }
        inter_sim_item *receive = *found;
        inter_sim_unlink(&self->posted, found);
        inter_sim_unlink(&self->inbox, link);
        deliver(self, message, receive);
        events++;
    }
    return events;
}

static unsigned tell_sent(inter_sim_rank *self) {
    unsigned events = 0;
    for (inter_sim_item **link = &self->sent; *link;) {
        inter_sim_item *message = *link;
        if (!message->taken) {
            link = &message->next_sent;
            continue;
        }
        *link = message->next_sent;
        message->request->native = NULL;
        inter_completed(message->request, WEFT_SUCCESS);
        free(message);
        events++;
    }
    return events;
}

/* All are in this process: what was to be seen must have been published, as threads of one process do it. */
static int sim_read(const inter_transport *base, int peer, inter_run *from, inter_run *to, size_t runs) {
    (void)base;
    (void)peer;
    for (size_t run = 0; run < runs; run++)
        memcpy(to[run].iov_base, from[run].iov_base, from[run].iov_len);
    return WEFT_SUCCESS;
}

/* Is there anything that the next progress can do, or would, did chance not hold it back? With the lock. */
static bool may_move(const inter_sim_rank *self) {
    if (self->fetches.first || (self->arrivals.first && self->listener))
        return true;
    for (const inter_sim_item *message = self->sent; message; message = message->next_sent)
        if (message->taken)
            return true;
    for (const inter_sim_item *message = self->inbox.first; message; message = message->next)
        for (const inter_sim_item *receive = self->posted.first; receive; receive = receive->next)
            if (same(receive, message))
                return true;
    return false;
}

/* Without the lock where there is nothing to do: ThreadSanitizer would take it for order between all who look. */
static unsigned sim_progress(inter_transport *base) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    if (atomic_load_explicit(&self->quiet, memory_order_relaxed))
        return 0;
    pthread_mutex_lock(&self->sim->lock);
    unsigned events = receive_some(self) + tell_sent(self) + inter_sim_am_fetch(self);
    inter_sim_item *arrivals = inter_sim_am_take(self);
    base->unheard_bytes = self->listener ? 0 : self->arrived_bytes;
    atomic_store_explicit(&self->quiet, !may_move(self), memory_order_relaxed);
    pthread_mutex_unlock(&self->sim->lock);
    return events + inter_sim_am_hand_over(self, arrivals);
}

bool inter_sim_remove(inter_sim_list *list, const inter_sim_item *item) {
    for (inter_sim_item **link = &list->first; *link; link = &(*link)->next)
        if (*link == item) {
            inter_sim_unlink(list, link);
            return true;
        }
    return false;
}

/* With the lock. */
static void withdraw(inter_sim_rank *self, int peer, inter_sim_item *message) {
    if (message->active) {
        inter_sim_am_withdraw(self, peer, message);
        return;
    }
    if (!message->taken) {
        inter_sim_remove(&self->sim->ranks[peer].inbox, message);
        self->sim->counts.waiting_messages--;
    }
    free(message);
}

static void sim_cancel(inter_transport *base, inter_request *request) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    inter_sim_item *item = request->native;
    pthread_mutex_lock(&self->sim->lock);
    inter_sim_item **link = &self->sent;
    while (*link && *link != item)
        link = &(*link)->next_sent;
    if (*link) {
        *link = item->next_sent;
        withdraw(self, request->peer, item);
    } else {
        if (!inter_sim_am_cancel_fetch(self, item)) {
            inter_sim_remove(&self->posted, item);
            self->sim->counts.waiting_receives--;
        }
        free(item);
    }
    pthread_mutex_unlock(&self->sim->lock);
    request->native = NULL;
    inter_completed(request, WEFT_ERR_PROC_FAILED);
}

static bool sim_arm(inter_transport *base, inter_bed *bed) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    pthread_mutex_lock(&self->sim->lock);
    *bed = (inter_bed){.descriptor = -1, .word = &self->asleep, .value = core_word_arm(&self->asleep)};
    bool sleeps = !may_move(self) && !self->roused;
    self->roused = false;
    if (!sleeps)
        inter_sim_news(self); /* another thread may be about to sleep there, for whom this was */
    pthread_mutex_unlock(&self->sim->lock);
    return sleeps;
}

static void sim_rouse(inter_transport *base) {
    inter_sim_rank *self = (inter_sim_rank *)base;
    pthread_mutex_lock(&self->sim->lock);
    self->roused = true;
    inter_sim_news(self);
    pthread_mutex_unlock(&self->sim->lock);
}

static void sim_disconnect(inter_transport *base, bool forced) {
    (void)base, (void)forced;
}

static void sim_close(inter_transport *base) {
    (void)base;
}

/* Channels are ranks of a sim of their own. */
static int sim_open_channel(inter_transport *base, int number, inter_directory *directory, inter_transport **channel) {
    inter_sim *sim = ((inter_sim_rank *)base)->sim;
    int rank = base->rank * INTER_CHANNELS + number, code = WEFT_SUCCESS;
    pthread_mutex_lock(&sim->lock);
    if (!sim->channels)
        code = inter_sim_create(sim->size * INTER_CHANNELS, sim->random, &sim->channels);
    pthread_mutex_unlock(&sim->lock);
    if (!code)
        code = inter_directory_put(directory, rank, "sim", sizeof("sim"));
    if (!code)
        *channel = inter_sim_transport(sim->channels, rank);
    return code;
}

/* What is read here is read without a system call anyway. */
static void *sim_window_take(inter_transport *self, size_t bytes) {
    (void)self;
    return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}

static bool sim_window_give(inter_transport *self, void *memory, size_t bytes) {
    (void)self, (void)bytes;
    free(memory);
    return true;
}

int inter_sim_create(int size, uint64_t seed, inter_sim **sim) {
    inter_sim *made = calloc(1, sizeof(*made));
    inter_sim_rank *ranks = calloc((size_t)size, sizeof(*ranks));
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
                                             .carries_layouts = sim_carries_layouts,
                                             .progress = sim_progress,
                                             .read = sim_read,
                                             .window_take = sim_window_take,
                                             .window_give = sim_window_give,
                                             .failed_peer = -1,
                                             .cancel = sim_cancel,
                                             .arm = sim_arm,
                                             .rouse = sim_rouse,
                                             .disconnect = sim_disconnect,
                                             .open_channel = sim_open_channel,
                                             .close = sim_close};
        ranks[rank].sim = made;
        ranks[rank].inbox.end = &ranks[rank].inbox.first;
        ranks[rank].posted.end = &ranks[rank].posted.first;
        inter_sim_am_open(&ranks[rank]);
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
    inter_sim *channels = sim->channels;
    pthread_mutex_unlock(&sim->lock);
    if (channels) {
        inter_sim_counts more = inter_sim_count(channels);
        counts.messages += more.messages;
        counts.bytes += more.bytes;
        counts.waiting_messages += more.waiting_messages;
        counts.waiting_receives += more.waiting_receives;
    }
    return counts;
}

void inter_sim_destroy(inter_sim *sim) {
    if (sim->channels)
        inter_sim_destroy(sim->channels);
    for (int rank = 0; rank < sim->size; rank++)
        inter_sim_am_free(&sim->ranks[rank]); /* while the messages are there that their senders own */
    for (int rank = 0; rank < sim->size; rank++)
        for (inter_sim_item *item = sim->ranks[rank].inbox.first, *next; item; item = next) {
            next = item->next;
            if (!item->request)
                free_copied(item);
        }
    for (int rank = 0; rank < sim->size; rank++) {
        for (inter_sim_item *item = sim->ranks[rank].sent, *next; item; item = next) {
            next = item->next_sent;
            free(item);
        }
        for (inter_sim_item *item = sim->ranks[rank].posted.first, *next; item; item = next) {
            next = item->next;
            free(item);
        }
    }
    pthread_mutex_destroy(&sim->lock);
    free(sim->ranks);
    free(sim);
}
