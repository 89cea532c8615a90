// SPDX-License-Identifier: BSD-3-Clause
/**
 * Messages between any two ranks of a communicator, thread ranks and process ranks alike (MPI 4.1 chapter 3).
 *
 * A message is `count` elements of `type` at `buffer`, with a *tag* of 0 … WEFT_TAG_UB, from one rank to another of the same
 * communicator. A receive matches a message by source and tag, either of which may be a wildcard. Messages of one sender
 * that a receive could match are received in the order in which they were sent; receives that a message could match are served
 * in the order in which they were posted. Sizes are compared in bytes: a message that is longer than its receive fills the buffer
 * and makes the receive WEFT_ERR_TRUNCATE; the sender does not notice. A shorter one is no error.
 *
 * The modes of sending: *standard* (weft_send) may copy the message (up to WEFT_EAGER_LIMIT bytes, between processes of a host 16 KiB at
 * most, while the receiver has room) or wait for the receive, as it does when the receiver holds WEFT_UNEXPECTED_LIMIT bytes of
 * copies (16 MiB); *synchronous* (ssend) is complete when the receive has matched; *buffered*
 * (bsend) copies the message to memory given with weft_comm_attach_buffer and never waits; *ready* (rsend) may only be used when the
 * receive is posted.
 *
 * Nonblocking calls return a request, which the calls of weft/request.h complete; the buffer is weft's until then. Persistent
 * ones (`…_init`) are started with weft_start. A type may be freed while it is in use.
 *
 * Progress: every weft call that waits or tests moves on all messages of the calling thread and brings what comes by the network to its
 * threads; one that is not copied on its way (a long or synchronous one) moves on when its receiver is in weft. Under
 * WEFT_THREAD_FUNNELED messages between processes only move while the thread that called weft_init is in weft; under
 * WEFT_THREAD_MULTIPLE those of a thread communicator while their own thread is. With WEFT_PROGRESS=thread (not under
 * FUNNELED) all do at any time.
 * Threads: those of the communicator: a thread communicator's handle belongs to one thread, requests and messages made with
 * it too. A process communicator's calls are made by any thread, one at a time; under WEFT_THREAD_FUNNELED by the one that called
 * weft_init.
 * Errors of all: WEFT_ERR_ARG (null or freed communicator, buffer NULL with elements whose type does not hold
 * addresses, a type that is none, was freed or not committed, a tag out of range, elements that memory cannot hold, a null
 * pointer where a result is expected), WEFT_ERR_RANK (dest or source out of range), WEFT_ERR_THREAD (handle of another thread), WEFT_ERR_TRANSPORT,
 * WEFT_ERR_PROC_FAILED, WEFT_ERR_NOMEM (once a message that came has found no memory and is lost, also of each receive from
 * another process that would have to wait: it may be for that one). After an error of the arguments nothing was sent and nothing is posted.
 */
#ifndef WEFT_MESSAGE_H
#define WEFT_MESSAGE_H

#include <limits.h>
#include <weft/request.h>
#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ANY_SOURCE (-1) /**< as source of a receive or probe: any rank */
#define WEFT_ANY_TAG    (-1) /**< as tag of a receive or probe: any tag */
#define WEFT_PROC_NULL                                                                                                 \
    (-2) /**< as dest or source: no rank; complete at once, with source WEFT_PROC_NULL and tag WEFT_ANY_TAG */
#define WEFT_TAG_UB INT_MAX /**< the highest tag */

/** Returns when `buffer` may be used again. */
WEFT_API int weft_send(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag, weft_comm *comm);
/** As weft_send, and the receive has matched. */
WEFT_API int weft_ssend(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                        weft_comm *comm);
/** As weft_send, never waiting. Errors: WEFT_ERR_NOMEM when the attached buffer has no room. */
WEFT_API int weft_bsend(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                        weft_comm *comm);
/** As weft_send, when the receive is posted already. */
WEFT_API int weft_rsend(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                        weft_comm *comm);

WEFT_API int weft_isend(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag, weft_comm *comm,
                        weft_request **request);
WEFT_API int weft_issend(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                         weft_comm *comm, weft_request **request);
WEFT_API int weft_ibsend(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                         weft_comm *comm, weft_request **request);
WEFT_API int weft_irsend(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                         weft_comm *comm, weft_request **request);

/** Persistent sends. */
WEFT_API int weft_send_init(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                            weft_comm *comm, weft_request **request);
WEFT_API int weft_ssend_init(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                             weft_comm *comm, weft_request **request);
WEFT_API int weft_bsend_init(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                             weft_comm *comm, weft_request **request);
WEFT_API int weft_rsend_init(const void *buffer, size_t count, const weft_datatype *type, int dest, int tag,
                             weft_comm *comm, weft_request **request);

/**
 * Receives into `buffer`, room for `count` elements of `type`, from `source` or WEFT_ANY_SOURCE, with `tag` or WEFT_ANY_TAG.
 * `status` (NULL: not wanted) says what came; it is set with WEFT_ERR_TRUNCATE too.
 */
WEFT_API int weft_recv(void *buffer, size_t count, const weft_datatype *type, int source, int tag, weft_comm *comm,
                       weft_status *status);
WEFT_API int weft_irecv(void *buffer, size_t count, const weft_datatype *type, int source, int tag, weft_comm *comm,
                        weft_request **request);
WEFT_API int weft_recv_init(void *buffer, size_t count, const weft_datatype *type, int source, int tag, weft_comm *comm,
                            weft_request **request);

/** Sends and receives at the same time; the two buffers do not overlap. */
WEFT_API int weft_sendrecv(const void *send, size_t send_count, const weft_datatype *send_type, int dest, int send_tag,
                           void *recv, size_t recv_count, const weft_datatype *recv_type, int source, int recv_tag,
                           weft_comm *comm, weft_status *status);
/** Sends what is in `buffer` and receives into it. */
WEFT_API int weft_sendrecv_replace(void *buffer, size_t count, const weft_datatype *type, int dest, int send_tag,
                                   int source, int recv_tag, weft_comm *comm, weft_status *status);

/** The same two with a request, whose status is that of what came (MPI 4.0 section 3.7.3). They cannot be cancelled. */
WEFT_API int weft_isendrecv(const void *send, size_t send_count, const weft_datatype *send_type, int dest, int send_tag,
                            void *recv, size_t recv_count, const weft_datatype *recv_type, int source, int recv_tag,
                            weft_comm *comm, weft_request **request);
WEFT_API int weft_isendrecv_replace(void *buffer, size_t count, const weft_datatype *type, int dest, int send_tag,
                                    int source, int recv_tag, weft_comm *comm, weft_request **request);

/** Waits until a message is there that a receive would match, and tells of it; the message stays. */
WEFT_API int weft_probe(int source, int tag, weft_comm *comm, weft_status *status);
/** As weft_probe without waiting: `*found` is 1 when there is one, else 0. */
WEFT_API int weft_iprobe(int source, int tag, weft_comm *comm, int *found, weft_status *status);

/** A message that was taken out of the queue by weft_mprobe and is received with weft_mrecv (MPI 4.1 section 3.8.2). */
typedef struct weft_message weft_message;
#define WEFT_MESSAGE_NULL ((weft_message *)0)

/**
 * As weft_probe, and no other receive or probe sees the message any more: it must be received with weft_mrecv or weft_imrecv.
 * From WEFT_PROC_NULL: a message that is received with 0 bytes.
 */
WEFT_API int weft_mprobe(int source, int tag, weft_comm *comm, weft_message **message, weft_status *status);
WEFT_API int weft_improbe(int source, int tag, weft_comm *comm, int *found, weft_message **message,
                          weft_status *status);
/** Receives a message of weft_mprobe and sets *message to WEFT_MESSAGE_NULL. */
WEFT_API int weft_mrecv(void *buffer, size_t count, const weft_datatype *type, weft_message **message,
                        weft_status *status);
WEFT_API int weft_imrecv(void *buffer, size_t count, const weft_datatype *type, weft_message **message,
                         weft_request **request);

/**
 * Takes back a receive that has not matched: it completes, and its status has `cancelled` 1. One that has matched goes on as if
 * not called. The request must be completed all the same. Errors: WEFT_ERR_ARG (a send, a collective, not active).
 */
WEFT_API int weft_cancel(weft_request **request);

/** The whole elements of `type` in what was received; WEFT_UNDEFINED when the bytes are no multiple of its size. */
WEFT_API int weft_get_count(const weft_status *status, const weft_datatype *type, size_t *count);
/** The predefined elements of `type`'s signature in what was received; WEFT_UNDEFINED when they do not end on one. */
WEFT_API int weft_get_elements(const weft_status *status, const weft_datatype *type, size_t *count);

/** What a buffered message takes of the attached buffer beyond its packed size. */
#define WEFT_BSEND_OVERHEAD 64

/**
 * Gives the rank behind `comm` memory for its buffered sends (MPI 4.1 section 3.6), until it is detached. One buffer at a time.
 * Errors: WEFT_ERR_BUSY (there is one), WEFT_ERR_ARG (NULL).
 */
WEFT_API int weft_comm_attach_buffer(weft_comm *comm, void *buffer, size_t bytes);
/**
 * Waits until every message in the buffer is sent, and gives it back: `*buffer` and `*bytes`. Before the communicator is freed or the team
 * left; weft_finalize does it itself. Errors: WEFT_ERR_ARG (there is none).
 */
WEFT_API int weft_comm_detach_buffer(weft_comm *comm, void **buffer, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
