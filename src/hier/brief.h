// SPDX-License-Identifier: BSD-3-Clause
/**
 * Brief calls: short collectives of the threads of one process that are like the last one of their kind (checked.h). Who gives something puts
 * it into its cell, and who gets something takes it out of others' cells when they have come. Most often they come at about the same
 * time, and that is all:
 *
 *     meet ──▶ give, and post ──▶ they are here ──▶ take ──▶ end
 *       └─────────────┴──────────────────┴────────────┴────▶ hier_go_on(): a call as any other, from there on
 *
 * It is an entrance to the collective's own function (thread.h), which does the same, and whatever else may become of a call:
 * waiting, and calls that do not belong together. What only those need is not set up here: of 8 bytes between two threads that takes as
 * long as the meeting.
 */
#ifndef HIER_BRIEF_H
#define HIER_BRIEF_H

#include <hier/thread.h>

/** Runs one; the arguments are checked, and the handle's thread has not retired. */
typedef int hier_brief(weft_comm *comm, const hier_arguments *arguments);

/** What runs calls with such arguments, which are checked; NULL: they are not brief. They are the handle's last of their kind. */
hier_brief *hier_brief_for(weft_comm *comm, const hier_arguments *arguments);

/** Of a rank whose process has no other: the network part is all, and over after a few looks (thread_alone.c). */
hier_brief hier_brief_alone;

/**
 * The steps of one, each of which may say false. Giving, without having posted: what this thread gives is not brief. Waiting: those who give are
 * not here yet, or in another call. Taking, without having done anything: what it gets is not brief.
 */
typedef bool hier_brief_step(hier_call *call);

/** The same in two, of a nonblocking one: it gives when it starts, and waits and takes, without a third call, when it is waited for. */
typedef struct hier_brief_steps {
    hier_brief_step *give, *finish;
} hier_brief_steps;

/** The collectives that have brief ones, and whose. */
#define HIER_BRIEF_ONES(ONE)                                                                                           \
    ONE(INTER_BARRIER, barrier)                                                                                        \
    ONE(INTER_BCAST, bcast)                                                                                            \
    ONE(INTER_REDUCE, reduce)                                                                                          \
    ONE(INTER_ALLREDUCE, allreduce)                                                                                    \
    ONE(INTER_GATHER, gather)                                                                                          \
    ONE(INTER_GATHERV, gatherv)                                                                                        \
    ONE(INTER_SCATTER, scatter)                                                                                        \
    ONE(INTER_SCATTERV, scatterv)                                                                                      \
    ONE(INTER_ALLGATHER, allgather)                                                                                    \
    ONE(INTER_ALLGATHERV, allgatherv)                                                                                  \
    ONE(INTER_ALLTOALL, alltoall)                                                                                      \
    ONE(INTER_ALLTOALLV, alltoallv)                                                                                    \
    ONE(INTER_ALLTOALLW, alltoallv)                                                                                    \
    ONE(INTER_SCAN, scan)                                                                                              \
    ONE(INTER_EXSCAN, scan)                                                                                            \
    ONE(INTER_REDUCE_SCATTER, reduce_scatter)                                                                          \
    ONE(INTER_REDUCE_SCATTER_BLOCK, reduce_scatter)

#define HIER_DECLARE_BRIEF(kind, name)                                                                                 \
    hier_brief hier_brief_##name, hier_traced_##name;                                                                  \
    extern const hier_brief_steps hier_steps_##name;
HIER_BRIEF_ONES(HIER_DECLARE_BRIEF)

/** Defines one by whom it waits for (team.h), as it is with a timeline, too, and its steps, which become a part of it. */
#define HIER_DEFINE_BRIEF(name, with, give, await, take)                                                               \
    int hier_brief_##name(weft_comm *comm, const hier_arguments *arguments) {                                          \
        return hier_run_briefly(comm, arguments, false, with, give, await, take);                                      \
    }                                                                                                                  \
    int hier_traced_##name(weft_comm *comm, const hier_arguments *arguments) {                                         \
        return hier_run_briefly(comm, arguments, true, with, give, await, take);                                       \
    }                                                                                                                  \
    static bool finish_##name(hier_call *call) {                                                                       \
        return await(call) && take(call);                                                                              \
    }                                                                                                                  \
    const hier_brief_steps hier_steps_##name = {give, finish_##name};

/** Of a call that is brief within its process. */
const hier_brief_steps *hier_steps_of(enum inter_collective collective);

/** Goes on with a brief call, and counts it, as with any other: from its beginning (0), or as one that has given (HIER_GIVEN). */
int hier_go_on(hier_call *call, int at) __attribute__((cold));

/** Ends a brief call that went wrong, and was counted. */
int hier_end_brief_badly(hier_call *call) __attribute__((cold));

/** Waiting for all who post when this thread does, as hier_await_sync(); and for a root or (the root) all others. */
static inline bool hier_brief_sync(hier_call *call, unsigned phase) {
    intra_linger(&call->meeting, phase);
    return intra_are_here(&call->meeting, phase);
}

static inline bool hier_brief_root(hier_call *call, unsigned phase) {
    if (hier_is_root(call))
        return true;
    intra_linger_alone(&call->meeting, call->root_thread, phase);
    return intra_is_here(&call->meeting, call->root_thread, phase);
}

static inline bool hier_brief_others(hier_call *call) {
    if (!hier_is_root(call))
        return true;
    intra_linger_alone(&call->meeting, call->root_thread ? 0 : hier_threads(call) - 1, HIER_READY);
    return intra_are_here(&call->meeting, HIER_READY);
}

/** The same until a root is ready, or has offered … */
static inline bool hier_brief_root_ready(hier_call *call) {
    return hier_brief_root(call, HIER_READY);
}

static inline bool hier_brief_root_offered(hier_call *call) {
    return hier_brief_root(call, HIER_OFFERED);
}

/** … or all are, or have. */
static inline bool hier_brief_ready(hier_call *call) {
    return hier_brief_sync(call, HIER_READY);
}

static inline bool hier_brief_offered(hier_call *call) {
    return hier_brief_sync(call, HIER_OFFERED);
}

/**
 * The steps become a part of it. Traced, the clock is read when all is given and others are awaited, which takes no time then; but before, where
 * one of those may get this core as soon as it is given.
 */
__attribute__((always_inline)) static inline int hier_run_briefly(weft_comm *comm, const hier_arguments *arguments,
                                                                  bool traced, int with, hier_brief_step *give,
                                                                  hier_brief_step *await, hier_brief_step *take) {
    const bool early = intra_clears_early(comm->member, with);
    hier_call call;
    hier_take_briefly(&call, comm, arguments);
    if (!intra_is_free(&call.meeting))
        return hier_go_on(&call, 0);
    hier_occupy(&call);
    if (traced && !call.meeting.hot)
        hier_trace_begin(comm);
    if (!give(&call))
        return hier_go_on(&call, 0);
    hier_count_brief(comm, arguments); /* until others' flags are here there is time */
    if (traced && call.meeting.hot)
        hier_trace_begin(comm);
    if (early)
        intra_clear_next(comm->member, true);
    if (!await(&call) || !take(&call))
        return hier_go_on(&call, HIER_GIVEN);
    if (__builtin_expect(call.error || call.lengths_differ, false))
        return hier_end_brief_badly(&call);
    if (early)
        intra_complete(&call.meeting);
    else
        intra_end(&call.meeting);
    (void)hier_has_ended(&call);
    if (traced)
        hier_trace_brief(comm, arguments, call.error);
    return call.error;
}

#endif
