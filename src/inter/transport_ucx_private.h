// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the files of the UCX transport share: transport_ucx.c (connections and tagged messages), transport_ucx_am.c (active
 * messages).
 */
#ifndef INTER_TRANSPORT_UCX_PRIVATE_H
#define INTER_TRANSPORT_UCX_PRIVATE_H

#include <inter/transport.h>
#include <ucp/api/ucp.h>

/** Active messages, and what they need memory for; transport_ucx_am.c. */
typedef struct inter_ucx_am {
    inter_listener *listener; /* NULL: nobody listens */
    void *argument;
    struct inter_ucx_early *early, **early_end; /* what came while nobody listened, oldest first */
    const void *arriving;                       /* the native part of the arrival that the listener sees just now */
    bool dropped;                               /* the listener does not want that one */
    struct inter_ucx_notice *notices, *spare;   /* of messages to send: all, and those not in use */
    ucp_datatype_t layout;                      /* of data that do not lie in one run, or find too little room */
    bool has_layout;
} inter_ucx_am;

typedef struct inter_ucx {
    inter_transport base;
    inter_bootstrap *bootstrap;
    size_t card_bytes;
    inter_directory *directory; /* of a channel: where its peers are; else NULL */
    struct inter_ucx *whole;    /* of a channel: the transport which it belongs to; else NULL */
    ucp_context_h context;      /* of a channel: the whole's */
    bool left;                  /* a worker that uses the context could not be freed */
    ucp_worker_h worker;
    ucp_ep_h *endpoints; /* by rank; NULL until first use */
    uint64_t *lost_ns;   /* by rank: since when it is out of reach, as others say; 0: they do not */
    int event_fd;
    _Atomic unsigned sleepers; /* threads that have armed the worker, and may sleep; they leave without the funnel */
    bool told;                 /* since the last one has: that something has come */
    inter_ucx_am am;
} inter_ucx;

static inline inter_ucx *inter_ucx_of(inter_transport *base) {
    return (inter_ucx *)base;
}

/** Writes the sentence; the weft error code. */
int inter_ucx_error(ucs_status_t status, const char *what, const inter_ucx *self);

int inter_ucx_code(ucs_status_t status);

/** Makes the endpoint to a peer. */
int inter_ucx_connect(inter_ucx *self, int peer);

/** What a start returned: complete at once, under way (the callback was given), or failed. */
int inter_ucx_started(inter_ucx *self, ucs_status_ptr_t result, inter_request *request, const char *what);

/** In callbacks: UCX is done with it. */
void inter_ucx_finish(void *native, inter_request *request, int code);

/** Has active messages received, and fills in the transport's part for them. The worker is there. */
int inter_ucx_am_open(inter_ucx *self);

/** Messages that nobody has listened to are dropped: their senders do not wait for ever. */
void inter_ucx_am_forget(inter_ucx *self);

/** Frees the memory; the worker is gone. */
void inter_ucx_am_free(inter_ucx *self);

#endif
