// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the files of the sim transport share: transport_sim.c (tagged messages), transport_sim_am.c (active messages).
 */
#ifndef INTER_TRANSPORT_SIM_PRIVATE_H
#define INTER_TRANSPORT_SIM_PRIVATE_H

#include <inter/transport_sim.h>
#include <pthread.h>

/** A message, a posted receive or a fetch, in its receiver's list; a message's sender also keeps it until it was told. */
typedef struct inter_sim_item {
    struct inter_sim_item *next, *next_sent;
    inter_request *request; /* NULL: a message that was complete at once, or an active one whose sender took it back */
    int source;
    uint64_t tag;
    void *buffer;
    size_t bytes;
    bool taken; /* a message: the receiver has it */

    /* Of active messages. */
    inter_am_header header;
    bool active;                    /* it is one */
    bool handed;                    /* the listener knows of it, and will fetch or drop it */
    core_data data;                 /* of a fetch, or of a message that is to be fetched; else its type is NULL */
    struct inter_sim_item *message; /* of a fetch */
    unsigned char payload[];        /* of one that was complete at once */
} inter_sim_item;

typedef struct inter_sim_list {
    inter_sim_item *first;
    inter_sim_item **end; /* where the next one is linked */
} inter_sim_list;

typedef struct inter_sim_rank {
    inter_transport base;
    inter_sim *sim;
    inter_sim_list inbox;    /* messages to this rank, in order of sending */
    inter_sim_list posted;   /* its receives */
    inter_sim_list arrivals; /* active messages to this rank, in order of sending */
    inter_sim_list fetches;  /* of active messages, by this rank */
    inter_sim_item *sent;    /* its messages that it was not told of yet */
    inter_listener *listener;
    void *listener_argument;
    size_t arrived_bytes;    /* that arrivals take which came since the listener, or that there is none, was said */
    uint64_t held;           /* the last look in which a message of this rank was held back */
    _Atomic bool quiet;      /* the last progress found nothing to do, and nothing is new since */
    _Atomic uint32_t asleep; /* odd: a thread sleeps on it, or is about to (core_word_arm) */
    bool roused;             /* since the last time that one was about to */
} inter_sim_rank;

struct inter_sim {
    pthread_mutex_t lock; /* guards everything below, but not a rank's listener, which is the rank's own */
    int size;
    uint64_t random; /* 0: no delays */
    uint64_t looks;
    inter_sim_counts counts;
    inter_sim_rank *ranks;
    inter_sim *channels; /* of all ranks, once one has been opened */
};

static inline void inter_sim_append(inter_sim_list *list, inter_sim_item *item) {
    item->next = NULL;
    *list->end = item;
    list->end = &item->next;
}

static inline void inter_sim_unlink(inter_sim_list *list, inter_sim_item **link) {
    inter_sim_item *item = *link;
    *link = item->next;
    if (list->end == &item->next)
        list->end = link;
}

/** Something is new for a rank: it is worth a look, and who sleeps on it sleeps no more. With the lock, as is the look before the sleep. */
void inter_sim_news(inter_sim_rank *rank);

/** Takes an item out of a list that it may be in. */
bool inter_sim_remove(inter_sim_list *list, const inter_sim_item *item);

/** By chance, if there are delays: one message in four waits for the next round. */
bool inter_sim_draw_delay(inter_sim *sim);

/** Fills in a rank's part for active messages. */
void inter_sim_am_open(inter_sim_rank *self);

/** Carries fetches out. With the lock, as the next. */
unsigned inter_sim_am_fetch(inter_sim_rank *self);

/** All active messages that this look lets through, in order; none while nobody listens. */
inter_sim_item *inter_sim_am_take(inter_sim_rank *self);

/** Hands them to the listener. Without the lock, since the listener may fetch: they are this rank's own by now. */
unsigned inter_sim_am_hand_over(inter_sim_rank *self, inter_sim_item *first);

/** Takes an active message back, or a fetch; both with the lock. */
void inter_sim_am_withdraw(inter_sim_rank *self, int peer, inter_sim_item *message);
bool inter_sim_am_cancel_fetch(inter_sim_rank *self, inter_sim_item *fetch);

/** Frees what nobody took. */
void inter_sim_am_free(inter_sim_rank *self);

#endif
