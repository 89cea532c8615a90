// SPDX-License-Identifier: BSD-3-Clause
/**
 * The places where operations tell what they do. Whoever else wants to know adds a line to these functions, not to those that call
 * them:
 *
 *     hier_observe_begin, _end              a blocking collective, around all of it
 *     hier_observe_choice, _network         the same, from within: its algorithms; the times of its part between processes
 *     hier_observe_start, _finish           a collective of a request, at each start and when its schedule, or its part, is done
 *     hier_observe_part                     a part (part.h), when it is done
 *     hier_observe_send                     a message is started, in any form
 *     hier_observe_talk, _talked            a blocking call that sends or receives, around all of it
 *     hier_observe_start_message, _finish   a message of a request, at each start and when it is taken
 *     hier_observe_waited                   a wait was not over after the first looks
 *
 * Counting is a few loads and stores of the thread's own memory, tracing a branch that is not taken.
 */
#ifndef HIER_OBSERVE_H
#define HIER_OBSERVE_H

#include <hier/check.h>
#include <hier/trace.h>
#include <intra/meeting.h>

/** Of the calling thread; a process communicator's is under the funnel. */
static inline hier_observer *hier_observer_of(const weft_comm *comm) {
    return comm->observer ? comm->observer : &comm->world->observation.process;
}

static inline bool hier_traces(const weft_comm *comm) {
    return __builtin_expect(comm->traces, false);
}

/** The time when traced, else 0. */
static inline uint64_t hier_trace_now(const weft_comm *comm) {
    return hier_traces(comm) ? core_ticks() : 0;
}

/* observe.c: what is not on the fast path. Not marked as cold: that would be compiled for size, and take 100 ns longer. */
hier_moved hier_moved_otherwise(const weft_comm *comm, const hier_arguments *arguments);
/** hier_event.bytes of a collective, by the user's arguments. */
uint64_t hier_traced_bytes(const weft_comm *comm, const hier_arguments *arguments);
void hier_trace_begin(weft_comm *comm);
void hier_trace_call(weft_comm *comm, const hier_arguments *arguments, int code);
/** Of a brief call; and of one whose network part, from whose beginning to its end it lasts, is all. */
void hier_trace_brief(weft_comm *comm, const hier_arguments *arguments, int code);
void hier_trace_alone(weft_comm *comm, const hier_arguments *arguments, const uint64_t network_ticks[2], int code);
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

/** What a thread's call moves inside the node. The most frequent are told here, the others by hier_moved_otherwise(). */
static inline hier_moved hier_moved_inside(const weft_comm *comm, const hier_arguments *arguments) {
    enum inter_collective collective = arguments->collective;
    hier_moved none = {0, 0};
    if (comm->thread && !inter_is(collective, HIER_COUNTED_BY_EACH))
        return none;
    if (!inter_is(collective, HIER_COUNTED_ONCE | HIER_COUNTED_TWICE))
        return collective == INTER_BARRIER ? none : hier_moved_otherwise(comm, arguments);
    uint64_t blocks = (uint64_t)comm->member->team->threads - 1;
    blocks <<= inter_is(collective, HIER_COUNTED_TWICE);
    return (hier_moved){arguments->bytes ? blocks : 0, blocks * arguments->bytes};
}

/** The same for the call that the handle has checked last: it may know. */
static inline hier_moved hier_moved_by_last(const weft_comm *comm, const hier_arguments *arguments) {
    const hier_checked *last = &comm->checked[arguments->collective];
    return last->known ? last->moved : hier_moved_inside(comm, arguments);
}

static inline void hier_count_moved(core_counter_row *row, hier_moved moved) {
    if (!moved.messages)
        return;
    core_count(&row->traffic[CORE_INSIDE].messages, moved.messages);
    core_count(&row->traffic[CORE_INSIDE].bytes, moved.bytes);
}

static inline void hier_count_waited(core_counter_row *row, intra_member *member) {
    if (!member->waited_ticks)
        return;
    core_count(&row->waited_ticks, member->waited_ticks);
    member->waited_ticks = 0;
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
        core_counter_row *row = &comm->observer->counters.rows[arguments->collective];
        core_count(&row->operations, 1);
        hier_count_waited(row, comm->member);
        if (!code)
            hier_count_moved(row, hier_moved_by_last(comm, arguments));
    }
    if (hier_traces(comm))
        hier_trace_call(comm, arguments, code);
    return code;
}

/** The same of a brief call, before it is known what becomes of it: what is counted is not taken back. */
static inline void hier_count_brief(const weft_comm *comm, const hier_arguments *arguments) {
    core_counter_row *row = &comm->observer->counters.rows[arguments->collective];
    core_count(&row->operations, 1);
    hier_count_moved(row, comm->checked[arguments->collective].moved);
}

/** Where the call that the user is in is noted: on his handle, also where it runs on the inner one. */
static inline hier_noted *hier_noted_of(weft_comm *comm) {
    return comm->outer ? &comm->outer->noted : &comm->noted;
}

static inline void hier_observe_choice(weft_comm *comm, const inter_algorithm *process, int thread) {
    if (!hier_traces(comm))
        return;
    hier_noted *noted = hier_noted_of(comm);
    noted->process = process;
    noted->thread = thread;
}

/** The rank has waited for the part between processes, which began and ended at these times. */
static inline void hier_observe_network(weft_comm *comm, const uint64_t network_ticks[2]) {
    if (!hier_traces(comm))
        return;
    hier_noted *noted = hier_noted_of(comm);
    noted->network_ticks[0] = network_ticks[0];
    noted->network_ticks[1] = network_ticks[1];
}

/**
 * A start counts; returns when it was, for hier_event.began_ticks, or 0: not traced, or part of a blocking call. Of a process communicator
 * under the funnel, as is _finish.
 */
static inline uint64_t hier_observe_start(weft_comm *comm, enum inter_collective collective) {
    core_count(&hier_observer_of(comm)->counters.rows[collective].operations, 1);
    return hier_traces(comm) && !comm->noted.began_ticks ? core_ticks() : 0;
}

static inline uint64_t hier_observe_start_message(const weft_comm *comm) {
    return hier_trace_now(comm);
}

/** `event` has what is known of it but the end. */
static inline void hier_observe_finish(weft_comm *comm, const hier_event *event) {
    if (event->began_ticks)
        hier_trace_async(comm, event);
}

/**
 * A part is over, which `moved` something, unless that was `nothing`. A meeting that does not wait has measured no waiting: what there is is of
 * other calls.
 */
static inline void hier_observe_part(const weft_comm *comm, enum inter_collective collective,
                                     const intra_meeting *meeting, hier_moved moved, bool nothing) {
    core_counter_row *row = &comm->observer->counters.rows[collective];
    if (meeting->waits)
        hier_count_waited(row, meeting->member);
    if (!nothing)
        hier_count_moved(row, moved);
}

/** `agent`: NULL for who waits for a process communicator. By anybody, without the funnel: the only counter with several writers. */
static inline void hier_observe_waited(struct hier_world *world, const hier_agent *agent, weft_counted row,
                                       uint64_t ticks) {
    hier_observer *observer = agent ? agent->observer : &world->observation.process;
    atomic_fetch_add_explicit(&observer->counters.rows[row].waited_ticks, ticks, memory_order_relaxed);
}

static inline void hier_count_send(core_counters *counters, enum core_reach reach, size_t bytes) {
    core_count(&counters->rows[WEFT_COUNTED_MESSAGES].operations, 1);
    core_count_traffic(counters, WEFT_COUNTED_MESSAGES, reach, 1, bytes);
}

/** A message of any form is sent, to a rank of the communicator's `node`. */
static inline void hier_observe_send(const weft_comm *comm, int node, size_t bytes) {
    const bool *on_host = comm->world->observation.on_host;
    hier_count_send(&hier_observer_of(comm)->counters,
                    node == comm->node                                 ? CORE_INSIDE
                    : on_host[hier_layout_process(comm->layout, node)] ? CORE_ON_HOST
                                                                       : CORE_BETWEEN_HOSTS,
                    bytes);
}

/** One to a thread of the process, by a thread. */
static inline void hier_observe_send_inside(const weft_comm *comm, size_t bytes) {
    hier_count_send(&comm->observer->counters, CORE_INSIDE, bytes);
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
