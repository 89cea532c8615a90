// SPDX-License-Identifier: BSD-3-Clause
/**
 * Requests: operations under way, completed with the calls of MPI 4.0 sections 3.7 and 3.9.
 *
 * A request is *active* from its start until a call here finds it complete. Completing the request of a nonblocking call
 * frees it and sets the handle to WEFT_REQUEST_NULL; a persistent request becomes inactive and stays. A null or inactive
 * request counts as complete at once, with an empty status.
 *
 * Progress: every weft call that waits or tests moves on the messages of the calling thread, its parts in collectives of thread
 * communicators, and what goes between processes (a long or synchronous message to another thread up to that thread, which takes it when it
 * is in weft). With WEFT_PROGRESS=thread a thread of weft's own does so, too, while the thread is
 * outside of weft.
 * A list may mix requests of messages and of collectives, of several communicators.
 * Threads: one thread uses a request at a time: of a thread communicator the one that made it, of a process communicator under
 * FUNNELED only the one that called weft_init.
 * Errors of all: WEFT_ERR_ARG (a null pointer where requests or a result are expected, a handle that was freed or is none; sends
 * that are done when they are started share one, of which a copy stays good),
 * WEFT_ERR_THREAD (FUNNELED and another thread), and the errors of the operation that is completed: with them the request
 * is complete too, and freed.
 */
#ifndef WEFT_REQUEST_H
#define WEFT_REQUEST_H

#include <stddef.h>
#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An operation under way, or a persistent one. */
typedef struct weft_request weft_request;

#define WEFT_REQUEST_NULL ((weft_request *)0)

/** What became of an operation. The status of a send or a collective, and an empty one, has source and tag −1 and 0 bytes. */
typedef struct weft_status {
    int source; /**< the sender's rank */
    int tag;
    int error;     /**< WEFT_SUCCESS or the operation's error */
    int cancelled; /**< 1: a receive that was taken back (weft_cancel) */
    size_t bytes;  /**< received */
} weft_status;

#define WEFT_STATUS_IGNORE   ((weft_status *)0) /**< for a status that nobody wants */
#define WEFT_STATUSES_IGNORE ((weft_status *)0) /**< likewise for an array of them */

/** The index when no request of a list was active. */
#define WEFT_UNDEFINED ((size_t)-1)

/** Starts a persistent request that is inactive. Errors: WEFT_ERR_BUSY (active), WEFT_ERR_ARG (not persistent), those of the call. */
WEFT_API int weft_start(weft_request **request);

/** Starts `count` persistent requests; stops at the first that cannot be started, and returns its error. */
WEFT_API int weft_startall(size_t count, weft_request *requests[]);

/** Returns when the operation is complete, with its error. */
WEFT_API int weft_wait(weft_request **request, weft_status *status);

/** As weft_wait, but does not wait: `*done` is 1 when it was complete, else 0. */
WEFT_API int weft_test(weft_request **request, int *done, weft_status *status);

/** Completes all `count` requests; returns the first error among them. Each has its own in its status. */
WEFT_API int weft_waitall(size_t count, weft_request *requests[], weft_status statuses[]);

/** Completes all or none: `*done` is 1 when all were complete, else 0 (and no request was changed). */
WEFT_API int weft_testall(size_t count, weft_request *requests[], int *done, weft_status statuses[]);

/** Completes one, and says which: `*index`, WEFT_UNDEFINED when none is active. */
WEFT_API int weft_waitany(size_t count, weft_request *requests[], size_t *index, weft_status *status);

/** As weft_waitany without waiting: `*done` is 1 when one was completed or none is active; if none was, `*index` is WEFT_UNDEFINED. */
WEFT_API int weft_testany(size_t count, weft_request *requests[], size_t *index, int *done, weft_status *status);

/**
 * Waits until one is complete and completes every one that is: `*done_count` of them (WEFT_UNDEFINED when none is active),
 * whose indices come to `indices` and whose statuses to `statuses`, in this order; both have room for `count`.
 * Returns the first error among them.
 */
WEFT_API int weft_waitsome(size_t count, weft_request *requests[], size_t *done_count, size_t indices[],
                           weft_status statuses[]);

/** As weft_waitsome without waiting: `*done_count` may be 0. */
WEFT_API int weft_testsome(size_t count, weft_request *requests[], size_t *done_count, size_t indices[],
                           weft_status statuses[]);

/**
 * As weft_test, but the request stays as it is: when it was complete (`*done` is 1) the buffers are the caller's again. A call that
 * completes the request still has to follow, and tells the same (MPI 4.0 section 3.7.6).
 */
WEFT_API int weft_request_get_status(weft_request *request, int *done, weft_status *status);

/** Frees a persistent request that is inactive and sets the handle to WEFT_REQUEST_NULL. Errors: WEFT_ERR_BUSY (active). */
WEFT_API int weft_request_free(weft_request **request);

#ifdef __cplusplus
}
#endif
#endif
