// SPDX-License-Identifier: BSD-3-Clause
/* weft_init, weft_finalize: the one world of the library. */
#include <core/error.h>
#include <core/stream.h>
#include <core/topology.h>
#include <errno.h>
#include <hier/buffered.h>
#include <hier/channels.h>
#include <hier/check.h>
#include <hier/collect.h>
#include <hier/drive.h>
#include <hier/ledger.h>
#include <hier/message.h>
#include <hier/observer.h>
#include <hier/progress.h>
#include <hier/request.h>
#include <hier/watch.h>
#include <time.h>
#include <weft/message.h>

/* Guards starting and ending, not use. The program's bootstrap callback is called under it, and may call weft, or exit(). */
static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static hier_world *_Atomic current;

static hier_world *world_in_use(const char *call) {
    /* Acquire: pairs with the release in weft_init, for threads that the program did not synchronise otherwise. */
    hier_world *world = atomic_load_explicit(&current, memory_order_acquire);
    if (!world)
        core_error(WEFT_ERR_INIT, "%s: weft is not initialised (call weft_init first; after weft_finalize it is over)",
                   call);
    return world;
}

static int enter(const char *call) {
    if (pthread_mutex_lock(&lock) == EDEADLK)
        return core_error(
            WEFT_ERR_INIT,
            "%s: this thread is inside weft_init or weft_finalize: not from the bootstrap's allgather callback", call);
    return WEFT_SUCCESS;
}

/* weftrun's, if it has started this process. */
static const char *session_of(const core_config *config, const weft_options *options) {
    return hier_watch_session(!(options && options->bootstrap) && config->bootstrap != CORE_BOOTSTRAP_SINGLE &&
                              inter_bootstrap_pmix_present());
}

/*
 * Parting: every transport lets its messages out and closes its connections, which over TCP takes both ends; so each is looked after
 * by a thread of its own until all processes are through with theirs.
 */
typedef struct parting {
    atomic_int parted; /* transports that have no connections any more */
    atomic_bool over;
    bool forced; /* somebody is gone: nobody waits for messages to go out */
} parting;

typedef struct attendant {
    inter_transport *transport;
    parting *parting;
    pthread_t thread;
    bool runs;
} attendant;

static const struct timespec pause_time = {.tv_nsec = 100000};

static void disconnect(attendant *self) {
    self->transport->disconnect(self->transport, self->parting->forced);
    atomic_fetch_add_explicit(&self->parting->parted, 1, memory_order_relaxed);
}

static void *attend(void *argument) {
    attendant *self = argument;
    disconnect(self);
    while (!atomic_load_explicit(&self->parting->over, memory_order_relaxed))
        if (!self->transport->progress(self->transport))
            nanosleep(&pause_time, NULL);
    return NULL;
}

/* pthread_create and pthread_join hand the transport over. Without a thread: as far as it goes alone. */
static void begin_attending(attendant *self) {
    self->runs = pthread_create(&self->thread, NULL, attend, self) == 0;
    if (!self->runs)
        disconnect(self);
}

/* The processes, which have met, let their messages out, and meet again before anybody takes his memory away. */
static int part(hier_world *world, bool forced) {
    int code = WEFT_SUCCESS, count = 1;
    hier_progress_stop(world);
    if (!world->transport)
        return WEFT_SUCCESS;
    parting meeting = {.forced = forced};
    attendant attendants[1 + INTER_CHANNELS] = {{.transport = world->transport}};
    for (hier_channel *channel; (channel = hier_channel_at(world, count - 1)); count++)
        attendants[count].transport = channel->transport;
    for (int i = 0; i < count; i++) {
        attendants[i].parting = &meeting;
        begin_attending(&attendants[i]);
    }
    while (atomic_load_explicit(&meeting.parted, memory_order_relaxed) < count)
        nanosleep(&pause_time, NULL);
    if (!forced)
        code = world->bootstrap->fence(world->bootstrap);
    atomic_store_explicit(&meeting.over, true, memory_order_relaxed);
    for (int i = 0; i < count; i++)
        if (attendants[i].runs)
            pthread_join(attendants[i].thread, NULL);
    return code;
}

/*
 * Threads of weft's own: one drives the network, one answers for those of the process. All processes have started then, or none has: they
 * part, and the world is freed.
 */
static int start(hier_world *world, const core_config *config, const weft_options *options, const void *caller) {
    bool met = true;
    int code = config->progress ? hier_progress_start(world) : WEFT_SUCCESS;
    if (!code)
        code = hier_watch_start(world, session_of(config, options));
    if (world->transport)
        code = hier_world_started(world, code, caller, &met);
    if (code) {
        int parted = part(world, !met);
        hier_watch_stop(world);
        hier_world_destroy(world);
        return parted ? parted : code; /* the sentence is of the last one */
    }
    if (world->transport) {
        hier_observation_start(world);
        core_settle(world->crowd, 0);
    }
    return WEFT_SUCCESS;
}

/* Everything below is freed by whoever takes it over, also on failure. */
static int open_world(const core_config *config, const weft_options *options, const void *caller, hier_world **world) {
    core_topology topology;
    inter_bootstrap *bootstrap = NULL;
    inter_transport *transport = NULL;
    core_topology_read(&topology);
    core_stream_resolve(&topology);
    hier_card card = {.cores = topology.allowed_cores,
                      .host_cores = topology.host_cores,
                      .cores_hash = topology.allowed_hash,
                      .algorithm = hier_chain_text(0, config->algorithm),
                      .reproducible = config->reproducible};
    int code = inter_bootstrap_open(config, options ? options->bootstrap : NULL, &bootstrap);
    if (code)
        return code;
    code = hier_watch_check(config, session_of(config, options), bootstrap->rank);
    if (code) {
        bootstrap->close(bootstrap);
        return code;
    }
    if (bootstrap->size == 1) {
        code = hier_world_create(config, &card, NULL, NULL, world);
        if (code) {
            bootstrap->close(bootstrap);
            return code;
        }
        (*world)->allowed = topology.allowed;
        (*world)->launcher = bootstrap;
        return start(*world, config, options, caller);
    }
    if ((unsigned)bootstrap->size > INTER_MAX_PROCESSES) {
        code = core_error(WEFT_ERR_UNSUPPORTED, "rank %d: %d processes, at most %u are supported", bootstrap->rank,
                          bootstrap->size, INTER_MAX_PROCESSES);
        bootstrap->close(bootstrap);
        return code;
    }
    hier_collect *collect = NULL;
    if (bootstrap->rank == 0 && config->hang_timeout && !session_of(config, options))
        collect = hier_collect_open(bootstrap->size, &card);
    inter_lines *lines = inter_lines_create(bootstrap->rank, bootstrap->size, &card.lines);
    code = inter_transport_ucx(bootstrap, config->thread_level == WEFT_THREAD_MULTIPLE, &transport);
    if (code)
        bootstrap->close(bootstrap);
    else
        code = hier_world_create(config, &card, bootstrap, transport, world);
    if (code) {
        hier_collect_close(collect);
        inter_lines_free(lines);
        return code;
    }
    (*world)->allowed = topology.allowed;
    (*world)->collect = collect;
    code = hier_world_use_lines(*world, lines, caller);
    if (!code)
        return start(*world, config, options, caller);
    hier_world_destroy(*world);
    return code;
}

/* In a child of fork(): what the process had open is the parent's, whose messages the child would take, and both would be wrong. */
static void leave_to_parent(void) {
    hier_world *world = atomic_exchange_explicit(&current, NULL, memory_order_relaxed);
    if (world)
        hier_void_handles(world);
    hier_observation_fork();
    lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP; /* whoever had it is not here */
}

static void mind_forks(void) {
    pthread_atfork(NULL, NULL, leave_to_parent);
}

int weft_init(const weft_options *options) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    core_config config = {0};
    hier_world *world = NULL;
    pthread_once(&once, mind_forks);
    int code = enter("weft_init");
    if (code)
        return code;
    code = atomic_load_explicit(&current, memory_order_relaxed)
               ? core_error(WEFT_ERR_INIT, "weft_init: called twice without weft_finalize")
               : core_config_load(&config, options);
    if (!code)
        code = core_config_anchor(&config);
    if (!code) {
        /* Mistakes in the configuration are found before the other processes are bothered. Not on the stack: it has 50 KB. */
        static hier_selector names;
        code = hier_selector_init(&names, config.algorithm);
        if (!code)
            code = hier_observation_check(&config);
    }
    if (!code && config.progress && config.thread_level == WEFT_THREAD_FUNNELED)
        code =
            core_error(WEFT_ERR_CONFIG, "WEFT_PROGRESS is \"thread\", which WEFT_THREAD_LEVEL funneled forbids: only "
                                        "the thread that called weft_init may drive the network");
    if (!code)
        code = open_world(&config, options, __builtin_return_address(0), &world);
    if (!code) {
        hier_observation_number(world);
        atomic_store_explicit(&current, world, memory_order_release); /* pairs with world_in_use */
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static bool is_done(void *argument) {
    return ((inter_execution *)argument)->done;
}

static hier_doing describe(void *argument) {
    const inter_execution *execution = argument;
    hier_world *world = execution->argument;
    return hier_doing_on(world->process_comm, "weft_finalize");
}

/* A barrier beside the process communicator. WEFT_ERR_NOMEM: nothing is begun. */
static int prepare_beside(hier_world *world, inter_execution *execution) {
    const weft_comm *comm = world->process_comm;
    const inter_view view = {.collective = INTER_BARRIER, .rank = comm->rank, .size = comm->size};
    inter_algorithm algorithm;
    inter_algorithm_at(INTER_BARRIER, 0, &algorithm);
    hier_funnel_enter(world);
    int code = inter_execution_prepare(execution, &world->engine, &algorithm, &view);
    hier_funnel_leave(world);
    return code;
}

static int meet_beside(hier_world *world, inter_execution *execution) {
    hier_wait wait = hier_wait_on(world->process_comm, is_done, describe, execution);
    execution->argument = world;
    hier_funnel_enter(world);
    inter_execution_run(execution, (inter_id){HIER_OWN_CONTEXT, 0, false, 0},
                        &(inter_binding){.counted_as = INTER_COLLECTIVES, .by_lines = true});
    hier_funnel_leave(world);
    hier_drive_until(&wait, false);
    return execution->error;
}

/* On the process communicator: have all called the same there, persistent collectives included? */
static int compare_calls(hier_world *world, const void *caller) {
    weft_comm *comm = world->process_comm;
    hier_arguments arguments;
    hier_arguments_begin(&arguments, INTER_BARRIER, "weft_finalize");
    arguments.caller = caller;
    arguments.signature = ~comm->ledger->chains[1];
    return hier_ledger_is_broken(comm->ledger) ? WEFT_SUCCESS : hier_process_collective(comm, &arguments);
}

/*
 * All processes meet, *met unless one is gone. Beside the process communicator, whatever became of the barrier on it: where a process could not
 * carry that out it is broken for some, and others have come through. WEFT_ERR_NOMEM with `*begun` false: the others know nothing of the call.
 */
static int meet(hier_world *world, const void *caller, bool *begun, bool *met) {
    inter_execution beside = {0};
    int code = prepare_beside(world, &beside);
    if (!code) {
        code = compare_calls(world, caller);
        *begun = code != WEFT_ERR_NOMEM || hier_ledger_is_broken(world->process_comm->ledger);
    }
    if (*begun) {
        int failed = meet_beside(world, &beside);
        *met = !failed;
        code = failed ? failed : code; /* the sentence is of the last one */
    }
    inter_execution_free(&beside);
    return code;
}

/* What threads have left to be done, and to be told, while the others are there. */
static void end_errands(hier_world *world) {
    hier_funnel_enter(world);
    (void)hier_run_errands(world);
    hier_ledger_tell_trips(world);
    hier_funnel_leave(world);
}

static int end(hier_world *world, const void *caller) {
    bool begun = false, met = false;
    int code = WEFT_SUCCESS;
    if (world->transport) {
        end_errands(world);
        code = meet(world, caller, &begun, &met);
        if (!begun) /* the others wait for the call to be made again: all stays as it was */
            return code;
    }
    int parted = part(world, !met), written = hier_observation_write(world);
    atomic_store_explicit(&current, NULL, memory_order_release);
    hier_watch_stop(world);
    hier_world_destroy(world);
    code = code ? code : parted;
    return code ? code : written;
}

int weft_finalize(void) {
    int code = enter("weft_finalize");
    if (code)
        return code;
    hier_world *world = world_in_use("weft_finalize");
    code = world ? WEFT_SUCCESS : WEFT_ERR_INIT;
    if (world && atomic_load_explicit(&world->teams, memory_order_acquire))
        code = core_error(WEFT_ERR_BUSY, "rank %d: weft_finalize: %d teams are not freed (weft_team_free)",
                          world->process_comm->rank, atomic_load_explicit(&world->teams, memory_order_relaxed));
    if (!code)
        code = hier_check_comm(world->process_comm, "weft_finalize");
    if (!code && atomic_load_explicit(&world->process_comm->derived, memory_order_acquire))
        code = core_error(
            WEFT_ERR_BUSY, "rank %d: weft_finalize: %d process communicators are not freed (weft_comm_free)",
            world->process_comm->rank, atomic_load_explicit(&world->process_comm->derived, memory_order_relaxed));
    size_t requests = 0;
    if (!code)
        requests = world->requests + hier_comm_handles(world->process_comm) - hier_buffered_count(world->process_comm);
    if (requests)
        code = core_error(WEFT_ERR_BUSY,
                          "rank %d: weft_finalize: %zu requests are not completed (weft_wait) or freed "
                          "(weft_request_free)",
                          world->process_comm->rank, requests);
    if (!code && world->process_comm->buffer.base) { /* MPI 4.1 section 11.2.2: it need not be detached */
        void *buffer;
        size_t bytes;
        code = weft_comm_detach_buffer(world->process_comm, &buffer, &bytes);
    }
    if (!code)
        code = end(world, __builtin_return_address(0));
    pthread_mutex_unlock(&lock);
    return code;
}

int weft_initialized(void) {
    return atomic_load_explicit(&current, memory_order_acquire) != NULL;
}

weft_comm *weft_process_comm(void) {
    hier_world *world = world_in_use("weft_process_comm");
    return world ? world->process_comm : NULL;
}

int weft_counters_get(weft_counters *counters) {
    if (!counters)
        return core_error(WEFT_ERR_ARG, "weft_counters_get: counters is NULL");
    hier_world *world = world_in_use("weft_counters_get");
    if (!world)
        return WEFT_ERR_INIT;
    hier_counters_sum(world, counters);
    return WEFT_SUCCESS;
}

weft_thread_level weft_thread_level_get(void) {
    hier_world *world = world_in_use("weft_thread_level_get");
    return world ? world->config.thread_level : WEFT_THREAD_DEFAULT;
}
