// SPDX-License-Identifier: BSD-3-Clause
/* Moving parts on. */
#include <core/error.h>
#include <hier/drive.h>
#include <hier/part.h>
#include <hier/staging.h>
#include <stdlib.h>
#include <string.h>

static hier_part *part_of(weft_request *request) {
    return (hier_part *)request;
}

/* What goes wrong here is told when the user asks for it. */
static void keep_sentence(hier_part *part) {
    free(part->sentence);
    part->sentence = core_error_keep();
}

static void fail(hier_part *part) {
    keep_sentence(part);
    hier_fail(&part->call);
    part->state = HIER_SETTLING;
}

static void trace_end(const hier_part *part) {
    const hier_call *call = &part->call;
    enum inter_collective collective = part->arguments.collective;
    hier_observe_finish(part->base.comm,
                        &(hier_event){.call = part->base.call,
                                      .began_ticks = part->began_ticks,
                                      .network_ticks = {part->network_ticks[0], part->network_ticks[1]},
                                      .bytes = part->bytes,
                                      .process = call->choice.process,
                                      .thread = (int8_t)call->choice.thread,
                                      .root = inter_is(collective, INTER_ROOTED) ? part->arguments.root : -1,
                                      .peer = -1,
                                      .tag = -1,
                                      .failed = call->error != 0});
}

/* When its part between processes was, if this rank has seen that it is over. */
static void note_network(hier_part *part) {
    const hier_call *call = &part->call;
    const uint64_t none[2] = {0, 0};
    /* Acquire: pairs with release() in network_start.c. */
    bool seen =
        call->start && core_flag_reached(&call->meeting.release->flag, intra_value(&call->meeting, HIER_RELEASED));
    memcpy(part->network_ticks, seen ? call->slot->network_ticks : none, sizeof(none));
}

/* A brief one becomes one like any other, which has given. */
static void unfold(hier_part *part) {
    hier_call *call = &part->call;
    call->error = WEFT_SUCCESS;
    call->lengths_differ = call->through = false; /* what was taken, and was wrong, is taken again */
    hier_begin(call, false);
    call->at = HIER_GIVEN;
    part->state = HIER_RUNNING;
}

/* hier_end(), and nobody needs to look after it any more. */
static inline void end(hier_part *part) {
    if (hier_end(&part->call))
        keep_sentence(part);
    part->state = HIER_COMPLETE;
    part->base.comm->agent->parts--;
    part->base.comm->agent->completions++;
}

/* True when it is complete. */
__attribute__((always_inline)) static inline bool advance(hier_part *part) {
    hier_call *call = &part->call;
    if (part->state == HIER_BRIEF)
        unfold(part);
    if (part->state == HIER_QUEUED) {
        if (!intra_is_free(&call->meeting))
            return false;
        hier_occupy(call);
        part->state = HIER_RUNNING;
    }
    if (part->state == HIER_RUNNING) {
        if (!part->run(call))
            return false;
        if (hier_went_wrong(call))
            fail(part);
    }
    if (part->state == HIER_SETTLING && !hier_settle(call))
        return false;
    if (part->began_ticks)
        note_network(part);
    end(part);
    hier_observe_part(part->base.comm, part->arguments.row, &call->meeting, part->moved, part->counted || call->error);
    if (part->began_ticks)
        trace_end(part);
    return true;
}

static void link_to(weft_request **list, hier_part *part) {
    part->base.next_free = *list;
    *list = &part->base;
}

static void queue(hier_part *part) {
    weft_comm *comm = part->base.comm;
    part->base.next_free = NULL;
    *comm->queued_last = &part->base;
    comm->queued_last = &part->base.next_free;
}

unsigned hier_parts_progress(weft_comm *comm) {
    unsigned complete = 0;
    for (weft_request **link = &comm->running; *link;) {
        hier_part *part = part_of(*link);
        if (advance(part)) {
            *link = part->base.next_free;
            complete++;
        } else {
            link = &part->base.next_free;
        }
    }
    /* Slots are given in the order of the calls: behind one that waits for its slot all do. */
    while (comm->queued) {
        hier_part *part = part_of(comm->queued);
        weft_request *next = part->base.next_free;
        bool over = advance(part);
        if (part->state == HIER_QUEUED)
            break;
        comm->queued = next;
        if (over)
            complete++;
        else
            link_to(&comm->running, part);
    }
    if (!comm->queued)
        comm->queued_last = &comm->queued;
    return complete;
}

/* It failed. */
__attribute__((cold)) static void settle(hier_part *part) {
    const weft_comm *comm = part->base.comm;
    do {
        hier_agent_progress(comm->agent);
        hier_look_at_unused(comm->agent, true);
        sched_yield();
    } while (!advance(part));
}

/* It is alone. False: those that it waits for are not here, or something went wrong. */
static inline bool wait_briefly(hier_part *part) {
    hier_call *call = &part->call;
    intra_let_wait(&call->meeting, true);
    if (!part->brief->finish(call) || call->error || call->lengths_differ)
        return false;
    part->base.comm->running = NULL;
    end(part);
    return true;
}

void hier_part_wait(weft_request *request, const void *caller) {
    hier_part *part = part_of(request);
    weft_comm *comm = request->comm;
    if (part->state == HIER_COMPLETE || (part->state == HIER_BRIEF && wait_briefly(part)))
        return;
    if (part->state == HIER_BRIEF)
        unfold(part);
    comm->running = comm->queued = NULL; /* where it was alone */
    comm->queued_last = &comm->queued;
    comm->agent->parts--;
    hier_let_wait(&part->call);
    part->call.request = request;
    part->call.caller = caller;
    if (part->state == HIER_QUEUED && !intra_is_free(&part->call.meeting))
        hier_await_slot(&part->call);
    comm->agent->parts++;
    if (!advance(part))
        settle(part);
    hier_comm_goes_on(part->call.comm);
}

bool hier_parts_sleep(hier_agent *agent, uint64_t rung, long nanoseconds) {
    for (const weft_comm *comm = agent->comms; comm; comm = comm->next_of_agent) {
        const intra_meeting *meeting = comm->running ? &part_of(comm->running)->call.meeting : NULL;
        if (!meeting || !meeting->awaited)
            continue;
        if (hier_agent_lies_down(agent, INTRA_ELSEWHERE, meeting->awaited, rung)) {
            core_flag_sleep_marked(meeting->awaited, meeting->value, nanoseconds, agent->mark);
            hier_agent_rises(agent);
        }
        return true;
    }
    return false;
}

/* This thread comes to no collective of the team any more: the request is complete at once. */
static void refuse(hier_part *part) {
    part->call.error = hier_ledger_error(part->base.comm, part->base.call);
    keep_sentence(part);
    part->state = HIER_COMPLETE;
    part->base.active = true;
    part->base.comm->agent->completions++;
}

/* It has its meeting. */
static void set_off(hier_part *part) {
    weft_comm *comm = part->base.comm;
    const bool alone = !comm->running && !comm->queued;
    part->state = HIER_QUEUED;
    if (alone && advance(part))
        return;
    if (part->ring || part->state != HIER_QUEUED)
        link_to(&comm->running, part);
    else
        queue(part);
    if (!alone)
        hier_parts_progress(comm);
}

/* Has the thread nothing to wait for, once it has given? */
static bool only_gives(const hier_call *call) {
    const enum inter_collective collective = call->arguments->collective;
    if (inter_is(collective, INTER_SCANS))
        return call->comm->thread == 0;
    if (!inter_is(collective, INTER_ROOTED))
        return false;
    return hier_is_root(call) == inter_is(collective, INTER_BIT(INTER_BCAST) | INTER_SCATTERS);
}

static inline void activate(hier_part *part) {
    weft_comm *comm = part->base.comm;
    part->base.active = true;
    part->counted = false;
    part->began_ticks = hier_observe_start(comm, part->arguments.row);
    comm->agent->parts++;
}

/*
 * It has its meeting, and is alone. False: what it gives is not brief, or not yet. What need not be done before it gives is done while that is
 * under way.
 */
static inline bool begin_briefly(hier_part *part) {
    hier_call *call = &part->call;
    if (!intra_is_free(&call->meeting))
        return false;
    hier_occupy(call);
    if (!part->brief->give(call))
        return false;
    activate(part);
    hier_count_moved(&part->base.comm->observer->counters.rows[part->arguments.row], part->moved);
    part->counted = true;
    if (only_gives(call) && part->brief->finish(call) && !call->lengths_differ) {
        end(part);
        return true;
    }
    call->meeting.looks = 2; /* the one that would come too early is not taken */
    part->state = HIER_BRIEF;
    link_to(&part->base.comm->running, part);
    return true;
}

static inline void restart(hier_part *part) {
    weft_comm *comm = part->base.comm;
    (void)hier_comm_inner(comm); /* what the call is on learns what this handle has under way */
    if (comm->member->retired) {
        refuse(part);
        return;
    }
    if (part->arguments.staging)
        hier_staging_pack(part->arguments.staging);
    hier_take_meeting(&part->call, false);
    if (part->brief && !comm->running && !comm->queued && begin_briefly(part))
        return;
    activate(part);
    hier_begin(&part->call, false);
    set_off(part);
}

void hier_part_restart(weft_request *request) {
    restart(part_of(request));
}

int hier_part_repeat(hier_part *part, const void *caller, weft_request **request) {
    (void)hier_request_kept(&part->base.comm->free_requests[0]);
    part->arguments.caller = caller;
    restart(part);
    hier_part_hand_out(part, request);
    return WEFT_SUCCESS;
}

int hier_part_conclude(const hier_part *part) {
    if (!part->call.error && part->arguments.staging)
        hier_staging_unpack(part->arguments.staging);
    return part->call.error ? core_error(part->call.error, "%s", part->sentence ? part->sentence : part->base.call)
                            : WEFT_SUCCESS;
}
