// SPDX-License-Identifier: BSD-3-Clause
/* Blocking calls of thread communicators. */
#include <hier/brief.h>

/* One that has come to its end, or failed. */
static inline int finish(hier_call *call) {
    if (hier_went_wrong(call))
        hier_await_settled(call);
    hier_comm_goes_on(call->comm);
    hier_observe_choice(call->comm, call->choice.process, (int)call->choice.thread);
    (void)hier_end(call);
    return call->error;
}

/* One that has its meeting, and is aimed. */
static inline int run(hier_call *call) {
    if (!call->at) {
        if (!intra_is_free(&call->meeting))
            hier_await_slot(call);
        hier_occupy(call);
    }
    (void)hier_thread_collective(call->comm, call->arguments)(call); /* it waits, so it is over */
    return finish(call);
}

int hier_thread_run(weft_comm *comm, const hier_arguments *arguments) {
    hier_call call;
    hier_aim(&call, comm, NULL, arguments, comm->member->scratch);
    hier_take(&call, true);
    return run(&call);
}

/* Brief ones: what they begin without. */
static void complete(hier_call *call) {
    hier_aim(call, call->comm, NULL, call->arguments, call->comm->member->scratch);
    hier_begin(call, true);
}

#define BRIEF(kind, name)  [kind] = hier_brief_##name,
#define TRACED(kind, name) [kind] = hier_traced_##name,
#define STEPS(kind, name)  [kind] = &hier_steps_##name,
static hier_brief *const briefs[INTER_COLLECTIVES] = {HIER_BRIEF_ONES(BRIEF)};
static hier_brief *const traced[INTER_COLLECTIVES] = {HIER_BRIEF_ONES(TRACED)};
static const hier_brief_steps *const steps[INTER_COLLECTIVES] = {HIER_BRIEF_ONES(STEPS)};

const hier_brief_steps *hier_steps_of(enum inter_collective collective) {
    return steps[collective];
}

/* As hier_observe_end(), of a call that was counted when it had given. */
static int observe_end(const hier_call *call, int code) {
    weft_comm *comm = call->comm;
    hier_count_waited(&comm->observer->counters.rows[call->arguments->collective], comm->member);
    if (hier_traces(comm))
        hier_trace_call(comm, call->arguments, code);
    return code;
}

int hier_go_on(hier_call *call, int at) {
    if (at != HIER_GIVEN)
        hier_observe_begin(call->comm, call->arguments);
    complete(call);
    call->at = at;
    const int code = run(call);
    return at == HIER_GIVEN ? observe_end(call, code) : hier_observe_end(call->comm, call->arguments, code);
}

int hier_end_brief_badly(hier_call *call) {
    complete(call);
    return observe_end(call, finish(call));
}

/* Does it go by cells, within its process? */
static bool goes_by_cells(weft_comm *comm, const hier_arguments *arguments) {
    const int by = hier_choose(comm, arguments).thread;
    switch (arguments->collective) {
    case INTER_BARRIER:
        return by == HIER_FLAGS;
    case INTER_BCAST:
    case INTER_REDUCE:
    case INTER_ALLREDUCE:
    case INTER_GATHER:
    case INTER_SCATTER:
    case INTER_SCAN:
    case INTER_EXSCAN:
    case INTER_ALLGATHER:
    case INTER_ALLTOALL:
    case INTER_REDUCE_SCATTER:
    case INTER_REDUCE_SCATTER_BLOCK:
        return by == HIER_INLINE;
    case INTER_GATHERV:
    case INTER_SCATTERV:
    case INTER_ALLGATHERV:
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW:
        return by != HIER_DIRECT;
    default:
        return false;
    }
}

hier_brief *hier_brief_for(weft_comm *comm, const hier_arguments *arguments) {
    hier_collective *by = hier_thread_collective(comm, arguments);
    if (!comm->team || comm->inner || comm->size == 1)
        return NULL;
    if (by == hier_thread_alone)
        return comm->member->team->waiting.hot ? hier_brief_alone : NULL;
    const bool within = comm->layout->nodes == 1 && comm->size <= INTRA_FLAT_THREADS;
    const bool brief = within && by == hier_thread_collectives[arguments->collective] && goes_by_cells(comm, arguments);
    return brief ? (comm->traces ? traced : briefs)[arguments->collective] : NULL;
}
