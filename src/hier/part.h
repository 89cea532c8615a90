// SPDX-License-Identifier: BSD-3-Clause
/**
 * Parts: a thread's shares in collectives of thread communicators that it has begun and not waited for: nonblocking and
 * persistent ones.
 *
 *     queued ──its slot is free──▶ running ──its function is through──▶ complete
 *                                   ▲ └──it failed──▶ settling ──nobody uses anything of it──▶ complete
 *     brief (brief.h): it has given ┘
 *
 * Any call in which the thread waits or tests moves all of its parts on (hier_agent_progress). Those of a communicator are queued in
 * the order of their calls, and at most as many run as its team has slots. A part is its thread's alone; the network's share
 * is driven as that of a blocking call, by whoever waits.
 *
 * A persistent collective is started in any order by its ranks: so each has a ring of its own (ring.h).
 */
#ifndef HIER_PART_H
#define HIER_PART_H

#include <hier/brief.h>
#include <hier/checked.h>
#include <hier/message.h>
#include <hier/thread.h>

enum hier_part_state { HIER_BRIEF, HIER_QUEUED, HIER_RUNNING, HIER_SETTLING, HIER_COMPLETE };

typedef struct hier_part {
    weft_request base; /* its next_free links the communicator's lists of parts, too */
    enum hier_part_state state;
    hier_collective *run;
    const hier_brief_steps *brief; /* where it may be; else NULL */
    bool prepared;                 /* it may have a ring, staged memory or types that it keeps */
    uint64_t alike;                /* such calls are begun by repeating it: hier_arguments.number; 0: none are */
    hier_arguments arguments;      /* on staged memory, if there is some */
    hier_call call;
    intra_scratch scratch[INTRA_SCRATCHES];
    hier_ring *ring; /* of a persistent one, else NULL */
    char *sentence;  /* of what went wrong, or NULL */
    weft_op op;      /* of a persistent one: the user's, who may free it when none is under way */
    /* As the user's arguments have it, which need not stay: */
    hier_moved moved;
    bool counted;   /* that is, as soon as a brief one has given */
    uint64_t bytes; /* when traced, as are the next: */
    uint64_t began_ticks;
    uint64_t network_ticks[2];
} hier_part;

/** Begins a collective whose arguments are checked; a persistent one is only prepared. WEFT_ERR_NOMEM. */
int hier_part_make(weft_comm *comm, const hier_arguments *arguments, bool persistent, weft_request **request);

/**
 * The part that a handle keeps, if it was that of a call with the same arguments, which need not be checked then: with
 * hier_part_repeat() it begins the collective. Else NULL.
 */
HIER_IN_PLACE hier_part *hier_part_alike(const weft_comm *comm, enum inter_collective collective,
                                         const hier_arguments *arguments) {
    hier_part *kept = (hier_part *)comm->free_requests[0];
    const hier_checked *last = &comm->checked[collective];
    bool alike = kept && kept->alike == last->number && kept->arguments.collective == collective &&
                 hier_is_like_last(comm, collective, arguments, last);
    return alike ? kept : NULL;
}

/** Returns WEFT_SUCCESS. */
int hier_part_repeat(hier_part *part, const void *caller, weft_request **request);

/** Starts one that is prepared and not active. */
void hier_part_restart(weft_request *request);

/** Moves a handle's parts on; how many became complete. */
unsigned hier_parts_progress(weft_comm *comm);

/**
 * Sleeps until something that one of the agent's parts waits for is there, or its bell has rung after `rung`, for so long at most; false: none
 * waits for a thread.
 */
bool hier_parts_sleep(hier_agent *agent, uint64_t rung, long nanoseconds);

/**
 * Waits for a part that is active and the only thing that its thread has under way beside messages, as a blocking call waits.
 * `caller`: where the program called weft_wait.
 */
void hier_part_wait(weft_request *request, const void *caller);

/** The error of a part that is complete, and its sentence; without one what has come stands in the user's buffers. */
int hier_part_conclude(const hier_part *part);

static inline int hier_part_result(const weft_request *request) {
    const hier_part *part = (const hier_part *)request;
    return part->call.error || part->arguments.staging ? hier_part_conclude(part) : WEFT_SUCCESS;
}

/** Frees what a part has that is prepared, or went wrong. */
void hier_part_empty(hier_part *part);

/** Gives one that is not active back to its communicator. */
static inline void hier_part_give(weft_request *request) {
    hier_part *part = (hier_part *)request;
    if (part->prepared || part->sentence)
        hier_part_empty(part);
    request->comm->requests -= request->owned;
    hier_request_keep(request, &request->comm->free_requests[0]);
}

/** Makes one the user's. */
static inline void hier_part_hand_out(hier_part *part, weft_request **request) {
    part->base.owned = true;
    part->base.comm->requests++;
    *request = &part->base;
}

/** Frees what a handle keeps for its next parts. */
void hier_parts_free(weft_comm *comm);

#endif
