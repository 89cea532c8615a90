// SPDX-License-Identifier: BSD-3-Clause
/**
 * Requests: operations under way. Of a collective of a process communicator (request.c), of a thread's part in one of a thread
 * communicator (part.c), of a message (message.c). A blocking collective of processes is one that is waited for at once.
 */
#ifndef HIER_REQUEST_H
#define HIER_REQUEST_H

#include <hier/message.h>
#include <hier/process.h>
#include <weft/request.h>

/** A collective. Under the funnel but where weft_request says otherwise. */
typedef struct hier_operation {
    weft_request base;
    enum inter_collective collective;
    bool complete; /* when active */
    int error;     /* when complete */
    inter_id id;
    const void *caller; /* where the program called it */
    bool blocks;        /* it is a blocking call's, which waits for it */
    hier_plan plan;
    uint64_t
        number; /* hier_arguments.number of the calls that plan and schedule are of; 0: of none that could be told */
    weft_op op; /* of a persistent one: the user's, who may free it when none is under way */
    bool asks_counts; /* gatherv or scatterv by an algorithm that must know all counts: first the root's go round */
    inter_execution execution;
    uint64_t began_ticks; /* when traced and not a blocking call */
    /* Of a persistent one: how often it was started, and was over; written under the funnel, read by the roster, relaxed. */
    _Atomic uint64_t starts, ends;
    struct hier_operation *next_prepared; /* of the communicator's */
    struct hier_staging
        *staging; /* of types whose data are not one run: packed at each start, unpacked at its end; or NULL */
} hier_operation;

/** Reports the argument `what` of a call on requests, which is null. */
int hier_missing(const char *call, const char *what);

/** Is it one that a user has? */
static inline bool hier_is_request(const weft_request *request) {
    return core_pooled_valid(request, HIER_REQUEST_MAGIC) && request->owned;
}

/** A user's request, of whatever kind: WEFT_ERR_ARG when it was completed or freed, and what hier_check_comm finds. */
int hier_check_request(const weft_request *request, const char *call);

/** Gives a request of whatever kind, which is not active, back to its communicator. Of a process communicator under the funnel. */
void hier_give(weft_request *request);

/**
 * Prepares a collective whose arguments are checked, and starts it unless it is persistent. By who holds the funnel, which is left.
 * WEFT_ERR_NOMEM.
 */
int hier_request_make(weft_comm *comm, const hier_arguments *arguments, bool persistent, weft_request **request);

/**
 * Has the memory for the next collective on the communicator that is of this kind and no larger, and is not of strided types.
 * WEFT_ERR_NOMEM.
 */
int hier_request_reserve(weft_comm *comm, const hier_arguments *arguments);

/** Starts a persistent collective that is not active. */
int hier_request_restart(weft_request *request);

/**
 * Looks for the end of a collective that is active, mostly for nothing else, as long as a hold of the funnel lasts: for callers that have
 * no more to do (hier_has_more_to_do). Is it over? Under the funnel.
 */
bool hier_request_ends_soon(weft_request *request);

/** The error of a collective that is complete, with its sentence; without one what has come stands in the user's buffers. */
int hier_request_result(const weft_request *request);

/** Gives a collective's request that is not active back to its communicator. Under the funnel. */
void hier_request_give(weft_request *request);

/** Frees the requests that a process communicator keeps for its next collectives. */
void hier_requests_free(weft_comm *comm);

/** A blocking collective of a process communicator; the second by who holds the funnel, which is left, the third of strided arguments. */
int hier_process_collective(weft_comm *comm, const hier_arguments *arguments);
int hier_process_go_on(weft_comm *comm, const hier_arguments *arguments);
int hier_process_strided(weft_comm *comm, const hier_arguments *arguments);

#endif
