// SPDX-License-Identifier: BSD-3-Clause
/**
 * Requests: operations under way on a process communicator. A blocking collective is one that is waited for at once.
 */
#ifndef HIER_REQUEST_H
#define HIER_REQUEST_H

#include <hier/process.h>
#include <weft/request.h>

#define HIER_REQUEST_MAGIC 0x77745251u

/** Under the funnel but where it says otherwise. */
struct weft_request {
    core_pooled pooled; /* HIER_REQUEST_MAGIC */
    weft_comm *comm;
    const char *call; /* "weft_ibcast", for sentences */
    bool persistent;  /* as are the next: read by who owns the handle, without the funnel */
    bool owned;       /* a user has a handle on it; else it is the communicator's, for the next operation */
    bool active;
    bool complete; /* of an active one */
    int error;     /* when complete */
    inter_id id;
    hier_plan plan;
    bool asks_counts; /* gatherv or scatterv by an algorithm that must know all counts: first the root's go round */
    inter_execution execution;
    weft_request *next_free;
};

/** Prepares a collective whose arguments are checked, and starts it unless it is persistent. Errors: WEFT_ERR_NOMEM,
 * WEFT_ERR_MISMATCH (own block). */
int hier_request_make(weft_comm *comm, const hier_arguments *arguments, bool persistent, weft_request **request);

/** Starts a persistent request that is not active. Under the funnel. */
int hier_request_restart(weft_request *request);

/** Gives a request that is not active back to its communicator. Under the funnel. */
void hier_request_give(weft_request *request);

/** Frees the requests that a process communicator keeps for its next operations. */
void hier_requests_free(weft_comm *comm);

#endif
