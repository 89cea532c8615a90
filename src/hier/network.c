// SPDX-License-Identifier: BSD-3-Clause
#include <hier/drive.h>
#include <hier/naps.h>
#include <hier/pieces.h>
#include <hier/thread.h>
#include <hier/waits.h>

/* Under SERIALIZED the leader drives at every look, the others now and then, lest all fight for the funnel. Where cores are short
 * few run at once, and whoever does drives: then the last to come starts the network part, not the leader when it next has a core. */
#define DRIVE_EVERY 16
/* Who waits for threads of his process only, and has nothing of his own to look after, looks more seldom yet. */
#define SERVE_EVERY 64

/* This thread has done what the network part needs of it. */
static bool is_ready(const hier_call *call) {
    return call->need_thread != HIER_NEED_ALL ||
           intra_has_posted(&call->meeting, call->meeting.member->thread, call->need_phase);
}

/*
 * How often who holds the funnel looks when all that is left is between the processes. Where cores are short, but not for one thread of
 * each process, all threads that share this one's core wait for the same: to give it to them and to get it back takes longer.
 */
static int looks_between(const hier_call *call) {
    const core_waiting *waiting = &call->meeting.team->waiting;
    const bool all_wait = !inter_is(call->arguments->collective, INTER_ROOTED) && call->pieces.number == 1;
    return all_wait && !call->comm->world->crowd.all && !waiting->hot ? 8 : hier_looks_in_funnel(waiting);
}

/* Starts the network part when all is there, and drives all that are under way. NOTHING: nothing keeps this thread awake. */
static enum core_idle look_at_network(hier_call *call, bool tired) {
    hier_world *world = call->comm->world;
    hier_slot *slot = call->slot;
    int self = call->meeting.member->thread, missing = -1;
    hier_bed bed;
    bool funneled = hier_is_funneled(world);
    const bool stays = self == 0 || hier_is_root(call); /* when others may leave the network to them */
    hier_call_looks(call, tired);
    if (hier_is_busy(call->comm) && hier_agent_progress(call->comm->agent))
        return CORE_IDLE_MOVED;
    hier_look_at_unused(call->comm->agent, tired);
    bool seldom = !tired && call->meeting.team->waiting.hot;
    if (self != 0 && (funneled || (seldom && call->looks++ % DRIVE_EVERY)))
        return CORE_IDLE_NOTHING;
    if (!seldom && !tired && !call->looks++ && hier_missing_thread(call) >= 0)
        return CORE_IDLE_YIELD; /* it needs this core */
    if (funneled && !hier_is_leader(world))
        return CORE_IDLE_NOTHING;
    if (!hier_funnel_try(world))
        return stays || call->watches ? CORE_IDLE_BUSY : CORE_IDLE_NOTHING;
    bool moved = false, asleep = false, sleepless = false;
    if (slot->started < call->meeting.sequence) {
        missing = hier_missing_thread(call);
        if (missing < 0) {
            hier_check_and_start(call);
            moved = true;
        }
    }
    int looks = slot->started == call->meeting.sequence ? looks_between(call) : 1;
    while (!moved && looks--)
        moved = hier_progress(world);
    if (tired) /* who sleeps looks seldom */
        hier_ledger_watch(world);
    /* Who started it sleeps on the network, or the leader; anybody, should that thread have left. */
    call->watches = missing < 0 && (self == 0 || slot->driver == self || slot->left);
    bool sleeps = tired && !moved && call->watches && !slot->execution.done;
    bool on_wire = call->pieces.in_turn && slot->execution.busy_lanes;
    bool on_pieces = sleeps && !on_wire && inter_execution_is_gated(&slot->execution);
    if (sleeps && !on_pieces) {
        hier_bed_clear(&bed);
        asleep = hier_arm(&world->channel, &bed);
        sleepless = !asleep; /* something came just now, or a line wakes nobody */
        moved = sleepless && hier_progress(world);
    }
    hier_funnel_leave(world);
    if (on_pieces)
        return hier_nap_on_pieces(call);
    if (asleep)
        return hier_nap_on_network(call, &bed);
    if (moved) {
        if (funneled)
            world->naps = 0;
        return CORE_IDLE_MOVED;
    }
    if (sleepless)
        return CORE_IDLE_BUSY; /* nothing would wake it: not for long */
    if (missing >= 0 && missing != self && tired && stays && is_ready(call))
        return hier_nap_on_missing(call, missing);
    return missing >= 0 && !tired && !call->meeting.team->waiting.hot ? CORE_IDLE_YIELD : CORE_IDLE_NOTHING;
}

/* Sleeps on what the call waits for, where nothing keeps the thread awake and it is tired. */
static enum core_idle rest(const hier_call *call, enum core_idle found, bool tired) {
    if (!tired)
        call->comm->agent->naps = 0;
    if (!tired || found != CORE_IDLE_NOTHING)
        return found;
    return hier_nap(call, call->meeting.awaited, call->meeting.value, hier_nap_ns(call));
}

/* What a waiting thread does between looks. */
static enum core_idle drive(void *argument, bool tired) {
    return rest(argument, look_at_network(argument, tired), tired);
}

void hier_drive_once(hier_call *call, bool leaves) {
    hier_world *world = call->comm->world;
    if (!call->meeting.team->waiting.hot && hier_missing_thread(call) >= 0)
        return; /* who is missing needs this core */
    if (!hier_may_drive(world) || !hier_funnel_try(world))
        return;
    if (call->slot->started < call->meeting.sequence && hier_missing_thread(call) < 0) {
        hier_check_and_start(call);
        call->slot->left = leaves;
    }
    if (!call->error) /* another's would be told instead */
        hier_progress(world);
    hier_funnel_leave(world);
}

bool hier_may_leave_network(hier_call *call) {
    const hier_world *world = call->comm->world;
    const bool leader = call->comm->thread == 0;
    if (call->meeting.team->waiting.hot || (leader && (hier_is_funneled(world) || !call->meeting.waits)))
        return !leader;
    /* Of two that have posted, one at least sees the other's: pairs with itself. */
    atomic_thread_fence(memory_order_seq_cst);
    if (hier_missing_thread(call) >= 0)
        return true;
    const bool stays = !hier_on_root_node(call) && !hier_is_funneled(world);
    hier_drive_once(call, !stays);
    return !stays;
}

/* What a call that does not wait does at a look: whoever waits drives. */
static enum core_idle start_if_ready(void *argument, bool tired) {
    hier_call *call = argument;
    hier_world *world = call->comm->world;
    (void)tired;
    if (call->begun || hier_missing_thread(call) >= 0)
        return CORE_IDLE_NOTHING;
    if (!hier_may_drive(world)) {
        if (call->comm->thread == 0 && !call->entrusted) /* the leader is not among them */
            hier_entrust(call);
        return CORE_IDLE_NOTHING;
    }
    if (!hier_funnel_try(world))
        return CORE_IDLE_NOTHING;
    if (call->slot->started < call->meeting.sequence)
        hier_check_and_start(call);
    hier_funnel_leave(world);
    call->begun = true;
    return CORE_IDLE_NOTHING;
}

/* The same where the call has no network part, or another thread has it. */
static enum core_idle look_beside(hier_call *call, bool tired) {
    const weft_comm *comm = call->comm;
    hier_world *world = comm->world;
    hier_call_looks(call, tired);
    bool minds = comm->minds || comm->agent->parts;
    if (!minds && !world->transport)
        return CORE_IDLE_NOTHING;
    /* Others may need this thread's part in a message, or in another collective, before they come to this one. */
    if (minds && hier_agent_progress(comm->agent))
        return CORE_IDLE_MOVED;
    /*
     * What others wait for, or what this thread has under way on other communicators, may need the network; so may what the process
     * has on its own, and nobody else may be in weft.
     */
    bool looks =
        tired || (minds && hier_is_funneled(world)) || comm->agent->looks++ % (minds ? DRIVE_EVERY : SERVE_EVERY) == 0;
    if (!world->transport || !looks)
        return CORE_IDLE_NOTHING;
    hier_look_at_unused(comm->agent, true);
    if (!hier_may_drive(world) || !hier_funnel_try(world))
        return CORE_IDLE_NOTHING;
    bool moved = hier_progress(world);
    if (tired)
        hier_ledger_watch(world);
    hier_funnel_leave(world);
    if (moved && hier_is_funneled(world))
        world->naps = 0;
    return moved ? CORE_IDLE_MOVED : CORE_IDLE_NOTHING;
}

enum core_idle hier_idle(void *argument, bool tired) {
    return rest(argument, look_beside(argument, tired), tired);
}

/* What the leader waits for mostly needs that it drives: no look at a flag alone. */
static void wait_by_driving(hier_call *call) {
    call->meeting.idle = drive;
    if (call->comm->thread == 0)
        call->meeting.hot = 0;
}

void hier_network(hier_call *call, int need_thread, unsigned need_phase, hier_start_function *start) {
    call->pieces.number = 1;
    call->pieces.at = 0;
    call->pieces.in_turn = false;
    if (hier_single_node(call))
        return;
    call->start = start;
    call->entrusted = false;
    call->need_thread = need_thread;
    call->need_phase = need_phase;
    call->begun = call->watches = false;
    call->meeting.idle = start_if_ready;
    call->meeting.idle_argument = call;
    if (call->meeting.waits)
        wait_by_driving(call);
}

void hier_let_wait(hier_call *call) {
    intra_let_wait(&call->meeting, true);
    call->meeting.idle = hier_idle;
    call->meeting.idle_argument = call;
    if (call->start)
        wait_by_driving(call);
}

/* The only one who can start the network part waits where it is woken when it may. */
static void await_needed(hier_call *call) {
    if (call->need_thread == HIER_NEED_ALL)
        hier_await_all(call, call->need_phase);
    else if (call->need_thread != HIER_NEED_NONE)
        hier_await(call, call->need_thread, call->need_phase);
}

/* Are the threads there that the network part needs? Looks at their flags alone, while a thread that runs takes to come. */
static bool needed_come_soon(hier_call *call) {
    const unsigned looks = call->meeting.team->waiting.hot;
    const uint64_t value = intra_value(&call->meeting, call->need_phase);
    if (call->need_thread == HIER_NEED_ALL) {
        for (int thread = 0; thread < hier_threads(call); thread++)
            if (!core_flag_wait_hot(&call->meeting.cells[thread].flag, value, looks))
                return false;
    } else if (call->need_thread != HIER_NEED_NONE) {
        return core_flag_wait_hot(&call->meeting.cells[call->need_thread].flag, value, looks);
    }
    return true;
}

/*
 * The leader's first looks where threads have cores: at the network part alone, in one hold of the funnel, until the flag is raised; mostly
 * the wait ends there.
 */
static void drive_soon(hier_call *call, const core_flag *flag, uint64_t value) {
    hier_world *world = call->comm->world;
    if (!call->meeting.waits || call->comm->thread || !call->meeting.team->waiting.hot ||
        core_flag_reached(flag, value))
        return;
    if (!hier_may_drive(world) || !needed_come_soon(call) || !hier_funnel_try(world))
        return;
    if (call->slot->started < call->meeting.sequence)
        hier_check_and_start(call);
    if (!core_flag_reached(flag, value))
        hier_look_first(world);
    for (int rounds = hier_looks_in_funnel(&call->meeting.team->waiting); rounds && !core_flag_reached(flag, value);
         rounds--)
        inter_engine_progress(&world->engine);
    const bool over = core_flag_reached(&call->meeting.release->flag, intra_value(&call->meeting, HIER_RELEASED));
    hier_looked_soon(world, over && call->slot->error);
    hier_funnel_leave(world);
}

bool hier_network_is_brief(hier_call *call) {
    const core_flag *released = &call->meeting.release->flag;
    const uint64_t value = intra_value(&call->meeting, HIER_RELEASED);
    drive_soon(call, released, value);
    /* Acquire: pairs with release() in network_start.c. */
    return core_flag_reached(released, value) && call->slot->note == call->meeting.note && !call->slot->error;
}

/* As thread 0 of those that the leader is not among: the leader starts the network part, or has. */
static bool have_entrusted(hier_call *call) {
    if (call->error)
        return false;
    if (!call->entrusted)
        hier_entrust(call);
    return true;
}

/* Nothing is given up: what is entrusted is released. */
static bool await_leader(hier_call *call) {
    if (!have_entrusted(call))
        return false;
    core_flag *flag = &call->meeting.release->flag;
    uint64_t value = intra_value(&call->meeting, HIER_RELEASED);
    call->meeting.awaited = flag;
    call->meeting.value = value;
    if (!core_flag_wait_hot(flag, value, call->meeting.hot)) {
        const uint64_t began = core_ticks();
        core_flag_wait_slow(flag, value, &call->meeting.team->waiting, hier_idle, call);
        call->meeting.member->waited_ticks += core_ticks() - began;
    }
    return true;
}

bool hier_await_network(hier_call *call) {
    if (!call->start)
        return true;
    bool alone = false; /* this is who starts it, or has it started */
    if (call->meeting.waits && hier_is_funneled(call->comm->world) && call->comm->thread == 0) {
        await_needed(call);
        alone = !hier_is_leader(call->comm->world);
    }
    if (alone && !await_leader(call))
        return false;
    core_flag *released = &call->meeting.release->flag;
    const uint64_t value = intra_value(&call->meeting, HIER_RELEASED);
    drive_soon(call, released, value);
    /* Acquire: pairs with release() in network_start.c. */
    if (!intra_await_flag(&call->meeting, released, value, INTRA_ALL))
        return hier_not_there(call);
    if (call->meeting.waits) /* what others note would be taken for the call's that the thread is in */
        hier_observe_network(call->comm, call->slot->network_ticks);
    if (call->slot->note != call->meeting.note) {
        hier_trip_over_driver(call);
        return false;
    }
    if (call->slot->error && !call->error)
        call->error = hier_ledger_failed(call->comm, call->arguments->call, call->slot->error);
    return !call->error;
}

bool hier_await_piece(hier_call *call, size_t index) {
    intra_meeting *meeting = &call->meeting;
    core_flag *arrived = intra_counter(meeting, HIER_COUNTER_READY);
    if (index + 1 == call->pieces.number)
        return hier_await_network(call);
    if (meeting->waits && call->comm->thread == 0 && hier_is_funneled(call->comm->world)) {
        await_needed(call);
        if (!hier_is_leader(call->comm->world) && !have_entrusted(call))
            return false;
    }
    const uint64_t value = intra_count(meeting, 0) + index + 1;
    drive_soon(call, arrived, value);
    /* Acquire: pairs with tell_pieces() and hier_pieces_end(). */
    if (!intra_await_flag(meeting, arrived, value, INTRA_ALL))
        return hier_not_there(call);
    if (core_flag_reached(arrived, hier_pieces_over(intra_count(meeting, 0))))
        return hier_await_network(call); /* it tells what became of it */
    /* What has come is another call's? */
    if (call->slot->note != meeting->note) {
        hier_trip_over_driver(call);
        return false;
    }
    return !call->error;
}
