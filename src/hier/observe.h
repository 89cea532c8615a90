// SPDX-License-Identifier: BSD-3-Clause
/**
 * The places where operations tell what they do. Whoever else wants to know adds a line to these functions, not to those that call
 * them:
 *
 *     hier_observe_begin, _end              a blocking collective, around all of it
 *     hier_observe_choice, _network         the same, from within: its algorithms; the times of its part between processes
 *     hier_observe_start, _finish           a collective of a request, at each start and when its schedule is done
 *     hier_observe_send                     a message is started, in any form
 *     hier_observe_talk, _talked            a blocking call that sends or receives, around all of it
 *     hier_observe_start_message, _finish   a message of a request, at each start and when it is taken
 *     hier_observe_waited                   a wait was not over after the first looks
 *
 * Counting is a few loads and stores of the thread's own memory, tracing a branch that is not taken.
 */
#ifndef HIER_OBSERVE_H
#define HIER_OBSERVE_H

#include <hier/arguments.h>
#include <hier/trace.h>

/** Of the calling thread; a process communicator's is under the funnel. */
static inline hier_observer *hier_observer_of(const weft_comm *comm) {
    return comm->observer ? comm->observer : &comm->world->observation.process;
}

static inline bool hier_traces(const weft_comm *comm) {
    return __builtin_expect(comm->traces, false);
}

/** The time when traced, else 0. */
static inline uint64_t hier_trace_now(const weft_comm *comm) {
    return hier_traces(comm) ? core_now_ns() : 0;
}

/* observe.c: what is not on the fast path. Not marked as cold: that would be compiled for size, and take 100 ns longer. */
void hier_count_inside(const weft_comm *comm, const hier_arguments *arguments);
void hier_trace_begin(weft_comm *comm);
void hier_trace_call(weft_comm *comm, const hier_arguments *arguments, int code);
/** An operation of a request; the caller is the observer's writer. */
void hier_trace_async(weft_comm *comm, const hier_event *event);
void hier_trace_talked(weft_comm *comm, const char *call, uint64_t bytes, int peer, int tag, int code);

/** What changes hands in a node is so many blocks for each thread but one; thread 0 counts for all. See weft/counters.h. */
#define HIER_COUNTED_ONCE                                                                                              \
    (INTER_BIT(INTER_BCAST) | INTER_BIT(INTER_SCATTER) | INTER_BIT(INTER_GATHER) | INTER_BIT(INTER_REDUCE) |           \
     INTER_SCANS)
#define HIER_COUNTED_TWICE INTER_BIT(INTER_ALLREDUCE)
/** What others than thread 0 count for themselves. */
#define HIER_COUNTED_BY_EACH                                                                                           \
    (INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV) | INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW) |  \
     INTER_REDUCE_SCATTERS)

/** The most frequent ones are counted here, the others by hier_count_inside(). */
static inline void hier_count_call(const weft_comm *comm, const hier_arguments *arguments, core_counter_row *row) {
    enum inter_collective collective = arguments->collective;
    if (inter_is(collective, HIER_COUNTED_ONCE | HIER_COUNTED_TWICE)) {
        uint64_t blocks = (uint64_t)comm->member->team->threads - 1;
        if (comm->thread || !blocks)
            return;
        blocks <<= inter_is(collective, HIER_COUNTED_TWICE);
        core_count(&row->traffic[CORE_INSIDE].messages, arguments->bytes ? blocks : 0);
        core_count(&row->traffic[CORE_INSIDE].bytes, blocks * arguments->bytes);
    } else if (collective != INTER_BARRIER && (!comm->thread || inter_is(collective, HIER_COUNTED_BY_EACH))) {
        hier_count_inside(comm, arguments);
    }
}

/* The arguments are checked. */
static inline void hier_observe_begin(weft_comm *comm, const hier_arguments *arguments) {
    (void)arguments;
    if (hier_traces(comm))
        hier_trace_begin(comm);
}

/** Returns `code`, what became of it. */
static inline int hier_observe_end(weft_comm *comm, const hier_arguments *arguments, int code) {
    if (comm->team) { /* those of process communicators are requests */
        core_counter_row *row = &hier_observer_of(comm)->counters.rows[arguments->collective];
        core_count(&row->operations, 1);
        if (comm->member->waited_ns) {
            core_count(&row->waited_ns, comm->member->waited_ns);
            comm->member->waited_ns = 0;
        }
        if (!code)
            hier_count_call(comm, arguments, row);
    }
    if (hier_traces(comm))
        hier_trace_call(comm, arguments, code);
    return code;
}

static inline void hier_observe_choice(weft_comm *comm, const inter_algorithm *process, int thread) {
    if (!hier_traces(comm))
        return;
    comm->noted.process = process;
    comm->noted.thread = thread;
}

/** The rank has waited for the part between processes, which began and ended at these times. */
static inline void hier_observe_network(weft_comm *comm, const uint64_t network_ns[2]) {
    if (!hier_traces(comm))
        return;
    comm->noted.network_ns[0] = network_ns[0];
    comm->noted.network_ns[1] = network_ns[1];
}

/**
 * A start counts; returns when it was, for hier_event.began_ns, or 0: not traced, or part of a blocking call. Of a process communicator
 * under the funnel, as is _finish.
 */
static inline uint64_t hier_observe_start(weft_comm *comm, enum inter_collective collective) {
    core_count(&hier_observer_of(comm)->counters.rows[collective].operations, 1);
    return hier_traces(comm) && !comm->noted.began_ns ? core_now_ns() : 0;
}

static inline uint64_t hier_observe_start_message(const weft_comm *comm) {
    return hier_trace_now(comm);
}

/** `event` has what is known of it but the end. */
static inline void hier_observe_finish(weft_comm *comm, const hier_event *event) {
    if (event->began_ns)
        hier_trace_async(comm, event);
}

/** `agent`: NULL for who waits for a process communicator. By anybody, without the funnel: the only counter with several writers. */
static inline void hier_observe_waited(struct hier_world *world, const hier_agent *agent, weft_counted row,
                                       uint64_t ns) {
    hier_observer *observer = agent ? agent->observer : &world->observation.process;
    atomic_fetch_add_explicit(&observer->counters.rows[row].waited_ns, ns, memory_order_relaxed);
}

/** A message of any form is sent, to a rank of `node`. */
static inline void hier_observe_send(const weft_comm *comm, int node, size_t bytes) {
    core_counters *counters = &hier_observer_of(comm)->counters;
    core_count(&counters->rows[WEFT_COUNTED_MESSAGES].operations, 1);
    core_count_traffic(counters, WEFT_COUNTED_MESSAGES,
                       node == comm->node                       ? CORE_INSIDE
                       : comm->world->observation.on_host[node] ? CORE_ON_HOST
                                                                : CORE_BETWEEN_HOSTS,
                       1, bytes);
}

static inline void hier_observe_talk(weft_comm *comm) {
    if (hier_traces(comm))
        hier_trace_begin(comm);
}

/** Returns `code`. `peer`, `tag`: of what was received or sent; −1 when there is none. */
static inline int hier_observe_talked(weft_comm *comm, const char *call, uint64_t bytes, int peer, int tag, int code) {
    if (hier_traces(comm))
        hier_trace_talked(comm, call, bytes, peer, tag, code);
    return code;
}

#endif
