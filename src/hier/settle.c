// SPDX-License-Identifier: BSD-3-Clause
/* Calls that went wrong: how one finds out, and how it ends when nobody uses anything of its thread's any more. */
#include <core/error.h>
#include <hier/drive.h>
#include <hier/naps.h>
#include <hier/ring.h>
#include <hier/waits.h>

bool hier_not_there(hier_call *call) {
    return call->meeting.mismatch >= 0 && hier_mismatch(call, call->meeting.mismatch);
}

/* What another thread takes the meeting for; no call when it has left. */
static hier_entry entry_of_thread(const hier_call *call, int thread) {
    const weft_comm *comm = call->comm;
    int rank = hier_rank_at(comm, (int)hier_first_rank(call) + thread);
    const intra_calling *calling = intra_calling_of(&call->meeting, thread);
    return calling ? hier_entry_of(comm, rank, calling) : (hier_entry){.rank = rank};
}

/* The call of a rank that is in this one. */
static hier_entry entry_of_rank(const hier_call *call, int rank) {
    intra_calling calling = hier_calling_of(call->arguments);
    hier_entry entry = hier_entry_of(call->comm, rank, &calling);
    entry.sequence = call->ring ? call->ring->number : call->meeting.sequence;
    entry.persistent = call->ring;
    entry.chain = call->chain;
    return entry;
}

/* The call's error. */
static void trip(hier_call *call, const hier_clash *clash) {
    weft_comm *comm = call->comm;
    hier_ledger_trip(comm->world, comm->ledger, clash);
    /* Of several processes it is broken by whoever drives. */
    if (!call->error || !comm->ledger->between || hier_ledger_is_broken(comm->ledger))
        call->error = hier_ledger_error(comm, call->arguments->call);
}

/* Another rank took the meeting for something else. */
static void trip_over_call(hier_call *call, hier_entry other) {
    hier_clash clash = {.calls = {entry_of_rank(call, hier_rank_of(call->comm)), other}};
    trip(call, &clash);
}

void hier_trip_over_block(hier_call *call) {
    const hier_lengths *differ = &call->lengths;
    hier_clash clash = {.calls = {entry_of_rank(call, hier_rank_at(call->comm, (int)differ->source)),
                                  entry_of_rank(call, hier_rank_at(call->comm, (int)differ->destination))},
                        .kind = HIER_BLOCKS_DIFFER};
    clash.calls[0].bytes = differ->sent;
    clash.calls[1].bytes = differ->expected;
    call->through = !call->error;
    trip(call, &clash);
}

bool hier_mismatch(hier_call *call, int thread) {
    trip_over_call(call, entry_of_thread(call, thread));
    return false;
}

/* Who started it may not have posted yet: the release says that it is there. */
void hier_trip_over_driver(hier_call *call) {
    const weft_comm *comm = call->comm;
    int driver = call->slot->driver, rank = hier_rank_at(comm, (int)hier_first_rank(call) + driver);
    trip_over_call(call, hier_entry_of(comm, rank, &call->meeting.cells[driver].calling));
}

/* Will the thread, should it come yet, find that this one is in another call? */
static bool comes_too_late(const hier_call *call, int thread) {
    return call->disowned && intra_is_to_come(&call->meeting, thread);
}

/* Does the thread no longer use what this one has shown it? It left, or it is in another call and never did, or never will. */
static bool is_gone(const hier_call *call, int thread) {
    return intra_has_posted(&call->meeting, thread, HIER_LEFT) ||
           core_flag_reached(&call->meeting.team->completed[thread].flag, call->meeting.sequence) ||
           intra_notes_differ(&call->meeting, thread) || comes_too_late(call, thread);
}

/*
 * One look at the network part of a call that went wrong; true when it is over. What was started is driven to its end, since it
 * uses the threads' buffers; when all are gone without having started it, that is its end.
 */
static bool settle_network(hier_call *call, bool all_gone) {
    hier_world *world = call->comm->world;
    if (!call->start || core_flag_reached(&call->meeting.release->flag, intra_value(&call->meeting, HIER_RELEASED)))
        return true;
    if (!hier_may_drive(world) && call->comm->thread)
        /*
         * Only thread 0 starts it, or has it started, and then stays until it is over. When it has retired, what it has not
         * started nobody will, nor with this thread when it comes too late. Acquire, in intra_is_retired: `started` is what it was then.
         */
        return comes_too_late(call, 0) ||
               (intra_is_retired(call->meeting.team, 0) && call->slot->started < call->meeting.sequence);
    if (!hier_may_drive(world)) {
        if (!call->entrusted && (all_gone || hier_missing_thread(call) < 0))
            hier_entrust(call); /* the call's error is its result */
        return false;
    }
    if (!hier_funnel_try(world))
        return false;
    if (call->slot->started < call->meeting.sequence && (all_gone || hier_missing_thread(call) < 0))
        hier_check_and_start(call); /* the call's error is its result */
    hier_progress(world);
    hier_funnel_leave(world);
    return false;
}

void hier_fail(hier_call *call) {
    if (call->through) {
        call->gone = hier_threads(call);
        call->start = NULL;
        return;
    }
    /* Before the others see that it has left: what they wait for is not done. */
    if (call->error != WEFT_ERR_MISMATCH)
        intra_leave_undone(&call->meeting);
    call->disowned = call->error == WEFT_ERR_MISMATCH && intra_disown(&call->meeting);
    /* Whoever still waits for this thread goes on, to notice it too; whoever still reads its buffers is waited for. */
    intra_post(&call->meeting, HIER_LEFT);
    call->gone = 0;
}

/*
 * The other processes wait for this one: they are told, by this thread, or by the one in the funnel, which may be this one. Who may
 * not drive leaves it to the leader's next look.
 */
static bool have_told(const hier_call *call) {
    weft_comm *comm = call->comm;
    if (!comm->ledger->between || !hier_may_drive(comm->world) || !hier_ledger_is_tripped(comm->ledger))
        return true;
    if (hier_funnel_try(comm->world)) {
        hier_ledger_need(comm);
        hier_ledger_tell_trips(comm->world);
        hier_funnel_leave(comm->world);
    }
    return hier_ledger_is_broken(comm->ledger);
}

bool hier_settle(hier_call *call) {
    int threads = hier_threads(call);
    while (call->gone < threads && is_gone(call, call->gone))
        call->gone++;
    return settle_network(call, call->gone == threads) && call->gone == threads && have_told(call);
}

/* What a thread that waits in no meeting does between two looks; true: it is time to sleep. */
static bool look_around(hier_call *call, unsigned *looks) {
    if (hier_agent_progress(call->comm->agent))
        *looks = 0;
    bool tired = core_backoff(&call->meeting.team->waiting, looks);
    hier_call_looks(call, tired);
    hier_look_at_unused(call->comm->agent, tired);
    return tired;
}

void hier_await_settled(hier_call *call) {
    unsigned looks = 0;
    hier_bed bed;
    hier_bed_clear(&bed);
    hier_fail(call);
    while (!hier_settle(call))
        if (look_around(call, &looks))
            hier_sleep(&bed); /* for the time only */
}

/* Sleeps until a thread that still uses the slot does no more. */
static void sleep_on_user(const hier_call *call) {
    const intra_meeting *meeting = &call->meeting;
    const intra_team *team = meeting->team;
    const uint64_t before = meeting->sequence - team->slots;
    hier_world *world = call->comm->world;
    int thread = 0, own = meeting->member->thread;
    while (thread < team->threads && (thread == own || core_flag_reached(&team->completed[thread].flag, before)))
        thread++;
    /* It may be that only this thread does, in a call that it has under way: then nobody wakes it. */
    core_flag *flag = &team->completed[thread < team->threads ? thread : own].flag;
    /* It drives the network for others, or has parts of its own. */
    hier_nap(call, flag, before, world->transport || call->comm->agent->parts ? HIER_BESIDE_NS : core_nap(0));
}

void hier_await_slot(hier_call *call) {
    hier_world *world = call->comm->world;
    const unsigned hot = call->meeting.team->waiting.hot;
    unsigned looks = 0, rounds = 0;
    uint64_t since = 0;
    while (!intra_is_free(&call->meeting)) {
        if (rounds <= hot && rounds++ == hot)
            since = core_ticks();
        if (world->transport)
            hier_look_beside(world); /* collectives before this one may need it, and other processes */
        if (look_around(call, &looks))
            sleep_on_user(call);
    }
    if (since)
        call->meeting.member->waited_ticks += core_ticks() - since;
}

/* It was well, and what broke the communicator of a single process was a later call. */
static bool went_before(const hier_call *call) {
    const hier_ledger *ledger = call->comm->ledger;
    const hier_entry *broke = &ledger->trip.calls[0];
    return !call->error && !ledger->between && !call->ring && !broke->persistent &&
           call->meeting.sequence < broke->sequence;
}

/*
 * Where the communicator is broken, or will be when the leader looks, the other threads may not come to the next collective, so this one does
 * not either.
 */
bool hier_end_badly(hier_call *call) {
    const bool broken = hier_ledger_is_broken(call->comm->ledger);
    if (broken ? went_before(call) : call->error != WEFT_ERR_MISMATCH) {
        if (call->comm->member->retired) /* as far as it could, while this was under way */
            hier_retire(call->comm);
        return false;
    }
    const bool tells = broken && (!call->error || call->error == WEFT_ERR_MISMATCH); /* else it may be what broke it */
    call->comm->member->came_through = !call->error;
    if (tells)
        call->error = hier_ledger_error(call->comm, call->arguments->call);
    hier_retire(call->comm);
    return tells;
}
