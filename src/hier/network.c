// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/network.h>
#include <inter/lines.h>
#include <poll.h>

/* How long who sleeps on the network sleeps at most before it looks again. */
#define NETWORK_SLEEP_MS 10
/* Under SERIALIZED the leader drives at every look, the others now and then, lest all fight for the funnel. */
#define DRIVE_EVERY      16

bool hier_mismatch(hier_call *call, int thread) {
    if (!call->error)
        call->error = core_error(WEFT_ERR_MISMATCH,
                                 "rank %d called %s (root %d, %zu bytes), but rank %zu, thread %d of the same process, "
                                 "is in another collective or one with another root, operation or size",
                                 call->comm->rank, call->arguments->call, call->arguments->root, call->arguments->bytes,
                                 hier_first_rank(call) + (size_t)thread, thread);
    return false;
}

/* The network part is done: called by whoever progresses the engine. Release: pairs with hier_await_network. */
static void release(void *argument, int error) {
    hier_slot *slot = argument;
    slot->error = error;
    core_flag_publish(&slot->release->flag, slot->value, slot->waiting);
}

/* The thread that the network part still waits for, or -1. */
static int missing_thread(const hier_call *call) {
    if (call->need_thread == HIER_NEED_NONE)
        return -1;
    if (call->need_thread != HIER_NEED_ALL)
        return intra_posted(&call->meeting, call->need_thread, call->need_phase) ? -1 : call->need_thread;
    for (int thread = 0; thread < hier_threads(call); thread++)
        if (!intra_posted(&call->meeting, thread, call->need_phase))
            return thread;
    return -1;
}

static void start_network(hier_call *call) {
    hier_slot *slot = call->slot;
    slot->started = call->meeting.sequence;
    slot->driver = call->meeting.member->thread;
    slot->release = call->meeting.release;
    slot->value = intra_value(&call->meeting, HIER_RELEASED);
    slot->waiting = &call->meeting.team->waiting;
    slot->execution.finished = release;
    slot->execution.argument = slot;
    /* In a call that went wrong the threads' offers are not what this one takes them for. */
    if (call->need_thread == HIER_NEED_ALL)
        hier_all_same(call);
    else if (call->need_thread != HIER_NEED_NONE)
        hier_same(call, call->need_thread);
    int code = call->error ? call->error : call->start(call);
    if (code)
        release(slot, code);
}

/* Who holds the funnel looks so often before letting others try; each look takes some tens of nanoseconds. */
#define LOOKS_IN_FUNNEL 16

static void sleep_on(int descriptor) {
    struct pollfd wait = {.fd = descriptor, .events = POLLIN};
    poll(&wait, 1, NETWORK_SLEEP_MS);
}

/* Does the thread no longer use what this one has shown it? It left, or it is in another call and never did. */
static bool is_gone(const hier_call *call, int thread) {
    const core_flag *flag = &call->meeting.cells[thread].flag;
    return intra_posted(&call->meeting, thread, HIER_LEFT) ||
           core_flag_reached(&call->meeting.team->completed[thread].flag, call->meeting.sequence) ||
           (intra_posted(&call->meeting, thread, 0) && flag->note != call->meeting.note);
}

/*
 * One look at the network part of a call that went wrong; true when it is over. What was started is driven to its end, since it
 * uses the threads' buffers; when all are gone without having started it, that is its end.
 */
static bool settle_network(hier_call *call, bool all_gone) {
    hier_world *world = call->comm->world;
    if (!call->start || core_flag_reached(&call->meeting.release->flag, intra_value(&call->meeting, HIER_RELEASED)))
        return true;
    bool funneled = world->config.thread_level == WEFT_THREAD_FUNNELED;
    if ((funneled && call->comm->thread) || !hier_funnel_try(world))
        return false;
    if (call->slot->started < call->meeting.sequence && (all_gone || missing_thread(call) < 0))
        start_network(call); /* the call's error is its result */
    inter_engine_progress(&world->engine);
    hier_funnel_leave(world);
    return false;
}

int hier_end_failed(hier_call *call) {
    unsigned looks = 0;
    int gone = 0;
    /* Whoever still waits for this thread goes on, to notice it too; whoever still reads its buffers is waited for. */
    intra_post(&call->meeting, HIER_LEFT);
    for (;;) {
        while (gone < hier_threads(call) && is_gone(call, gone))
            gone++;
        if (settle_network(call, gone == hier_threads(call)) && gone == hier_threads(call))
            break;
        if (core_backoff(&call->meeting.team->waiting, &looks))
            sleep_on(-1); /* for the time only */
    }
    intra_end(&call->meeting);
    return call->error;
}

/* What a waiting thread does between looks: starts the network part when all is there, and drives all that are under way. */
static enum core_idle drive(void *argument, bool tired) {
    hier_call *call = argument;
    hier_world *world = call->comm->world;
    hier_slot *slot = call->slot;
    int self = call->meeting.member->thread, missing = -1, descriptor = -1;
    bool funneled = world->config.thread_level == WEFT_THREAD_FUNNELED;
    if (self != 0 && (funneled || (!tired && call->looks++ % DRIVE_EVERY)))
        return CORE_IDLE_NOTHING;
    if (!hier_funnel_try(world))
        return CORE_IDLE_NOTHING;
    bool moved = false;
    if (slot->started < call->meeting.sequence) {
        missing = missing_thread(call);
        if (missing < 0) {
            start_network(call);
            moved = true;
        }
    }
    int looks = slot->started == call->meeting.sequence ? LOOKS_IN_FUNNEL : 1;
    while (!moved && looks--)
        moved = inter_engine_progress(&world->engine);
    /* Who started it sleeps on the network, or the leader, should that thread have left. */
    bool sleeps = self == 0 || slot->driver == self;
    if (tired && !moved && missing < 0 && sleeps && !slot->execution.done) {
        descriptor = world->transport->arm(world->transport);
        moved = descriptor < 0; /* something came just now: look again, do not sleep on it */
    }
    hier_funnel_leave(world);
    if (descriptor >= 0) {
        sleep_on(descriptor);
        return CORE_IDLE_SLEPT;
    }
    return moved ? CORE_IDLE_MOVED : CORE_IDLE_NOTHING;
}

void hier_network(hier_call *call, int need_thread, unsigned need_phase, hier_start_function *start) {
    if (hier_single_node(call))
        return;
    call->start = start;
    call->need_thread = need_thread;
    call->need_phase = need_phase;
    call->meeting.idle = drive;
    call->meeting.idle_argument = call;
}

/* Are all messages of the collective so short? Those of the others grow with the ranks. */
static bool fits_lines(enum inter_collective collective, size_t bytes) {
    return bytes <= INTER_LINE_BYTES && (collective == INTER_BARRIER || collective == INTER_BCAST ||
                                         collective == INTER_REDUCE || collective == INTER_ALLREDUCE);
}

int hier_start(hier_call *call, const inter_view *view, const inter_binding *binding) {
    inter_id id = {call->comm->team->context, call->meeting.sequence};
    inter_binding bound = *binding;
    bound.by_lines = call->comm->team->by_lines && fits_lines(call->arguments->collective, call->arguments->bytes);
    return inter_execution_start(&call->slot->execution, &call->comm->world->engine, id, call->choice.process, view,
                                 &bound);
}

/* The only one who can start the network part waits where it is woken when it may. */
static void await_needed(hier_call *call) {
    if (call->need_thread == HIER_NEED_ALL)
        hier_await_all(call, call->need_phase);
    else if (call->need_thread != HIER_NEED_NONE)
        hier_await(call, call->need_thread, call->need_phase);
}

bool hier_await_network(hier_call *call) {
    if (!call->start)
        return true;
    if (call->comm->world->config.thread_level == WEFT_THREAD_FUNNELED && call->comm->thread == 0)
        await_needed(call);
    /* Acquire: pairs with release(). */
    if (!intra_await_flag(&call->meeting, &call->meeting.release->flag, intra_value(&call->meeting, HIER_RELEASED),
                          INTRA_ALL))
        return hier_mismatch(call, call->meeting.mismatch);
    if (call->slot->error && !call->error)
        call->error = core_error(call->slot->error, "rank %d: %s failed between the processes: %s", call->comm->rank,
                                 call->arguments->call, weft_strerror(call->slot->error));
    return !call->error;
}

/* Some looks at a collective of a process communicator, by who holds the funnel, and leaves it. True when it is done. */
static bool run_some(weft_comm *comm, bool tired, bool *moved) {
    hier_world *world = comm->world;
    int descriptor = -1;
    bool done = comm->execution.done;
    *moved = false;
    for (int look = 0; look < LOOKS_IN_FUNNEL && !done; look++) {
        *moved |= inter_engine_progress(&world->engine);
        done = comm->execution.done;
    }
    if (tired && !done && !*moved)
        descriptor = world->transport->arm(world->transport);
    hier_funnel_leave(world);
    if (descriptor >= 0)
        sleep_on(descriptor);
    return done;
}

int hier_run(weft_comm *comm, const inter_algorithm *algorithm, const inter_view *view, const inter_binding *binding) {
    hier_world *world = comm->world;
    inter_id id = {0, comm->sequence++}; /* context 0 is the process communicator's */
    inter_binding bound = *binding;
    bound.by_lines = fits_lines(algorithm->collective, view->count * binding->element_bytes);
    unsigned looks = 0;
    bool tired = false, moved = false;
    while (!hier_funnel_try(world))
        (void)core_backoff(&world->waiting, &looks);
    int code = inter_execution_start(&comm->execution, &world->engine, id, algorithm, view, &bound);
    if (code) {
        hier_funnel_leave(world);
        return code;
    }
    looks = 0;
    for (bool held = true, done = false; !done; held = !done && hier_funnel_try(world)) {
        if (held)
            done = run_some(comm, tired, &moved);
        if (moved)
            looks = 0;
        if (!done)
            tired = core_backoff(&world->waiting, &looks);
    }
    if (comm->execution.completion.error)
        code =
            core_error(comm->execution.completion.error, "rank %d: %s failed between the processes: %s", comm->rank,
                       inter_collective_name(algorithm->collective), weft_strerror(comm->execution.completion.error));
    return code;
}
