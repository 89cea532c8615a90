// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/channels.h>
#include <hier/checked.h>
#include <hier/collect.h>
#include <hier/ledger.h>
#include <hier/request.h>
#include <hier/staging.h>
#include <hier/trace.h>
#include <hier/world.h>
#include <inter/card.h>
#include <stdlib.h>
#include <string.h>

int hier_world_host(const hier_world *world, int process) {
    return world->bootstrap ? world->bootstrap->host(world->bootstrap, process) : 0;
}

static void *take_window(void *transport, size_t bytes) {
    inter_transport *of = transport;
    return of->window_take(of, bytes);
}

static bool give_window(void *transport, void *memory, size_t bytes) {
    inter_transport *of = transport;
    return of->window_give(of, memory, bytes);
}

/* When the main channel's transport is known. */
static void open_window(hier_world *world) {
    inter_transport *transport = world->channel.transport;
    if (transport && transport->window_take)
        world->window = (intra_source){take_window, give_window, transport};
}

void hier_world_survey(const hier_world *world, hier_layout *layout) {
    int first = hier_world_host(world, hier_layout_process(layout, 0));
    layout->threads = 0;
    layout->one_host = true;
    for (int node = 0; node < layout->nodes; node++) {
        int threads = hier_layout_threads(layout, node);
        layout->threads = threads > layout->threads ? threads : layout->threads;
        layout->one_host &= hier_world_host(world, hier_layout_process(layout, node)) == first;
    }
    const inter_transport *transport = world->channel.transport;
    layout->reads = layout->one_host && layout->nodes > 1 && transport && transport->read;
}

int hier_world_card(const hier_world *world, int process, hier_card *card) {
    const void *told;
    int code = inter_card_find(world->bootstrap, process, sizeof(*card), &told);
    if (!code)
        memcpy(card, told, sizeof(*card));
    return code;
}

/* Who shares this host, and are there more processes on this one's cores than cores? One thread a process is assumed. Without a bootstrap
 * all are alike. When the processes are known. */
static int look_round(hier_world *world) {
    const int rank = world->process_comm->rank;
    hier_world_survey(world, &world->layout);
    for (int process = 0; process < world->process_comm->size; process++) {
        bool here = hier_world_host(world, process) == hier_world_host(world, rank);
        world->observation.on_host[process] = here;
        if (!here)
            continue;
        hier_card card = world->card;
        int code = world->bootstrap ? hier_world_card(world, process, &card) : WEFT_SUCCESS;
        if (code)
            return code;
        hier_load_add(&world->load, 1, card.cores_hash == world->card.cores_hash, process < rank);
    }
    world->crowded = hier_is_overloaded(&world->load, world->card.host_cores, world->card.cores, &world->crowd);
    return WEFT_SUCCESS;
}

/* What all processes must have alike, in one word. */
static uint64_t settings_of(const hier_card *card) {
    return card->algorithm << 1 | card->reproducible;
}

/* They are not alike: by which process, and what. Looks all of them up, which a job that starts well does not. */
static int compare_settings(const hier_world *world) {
    const int size = world->bootstrap ? world->bootstrap->size : 0;
    hier_card first = world->card, other = world->card;
    for (int process = 0; process < size; process++) {
        int code = hier_world_card(world, process, &other);
        if (code)
            return code;
        first = process ? first : other;
        bool algorithm = first.algorithm != other.algorithm;
        if (algorithm || first.reproducible != other.reproducible)
            return core_error(WEFT_ERR_CONFIG,
                              "rank %d: %s of process %d is not that of process 0; expected the same in all processes",
                              world->process_comm->rank, algorithm ? "WEFT_ALGORITHM" : "WEFT_REPRODUCIBLE", process);
    }
    return WEFT_SUCCESS;
}

static int make_process_comm(hier_world *world, int rank, int size) {
    world->node_offsets = malloc(((size_t)size + 1) * sizeof(size_t));
    world->process_comm = hier_comm_take();
    world->carrier.failed = calloc((size_t)size, sizeof(*world->carrier.failed));
    if (!world->node_offsets || !world->process_comm || !world->carrier.failed)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a communicator of %d processes", rank, size);
    for (int node = 0; node <= size; node++)
        world->node_offsets[node] = (size_t)node;
    world->layout = (hier_layout){.nodes = size, .offsets = world->node_offsets};
    weft_comm *comm = world->process_comm;
    comm->world = world;
    comm->layout = &world->layout;
    comm->rank = comm->node = rank;
    comm->size = size;
    comm->mailbox = &world->mailbox;
    comm->channel = &world->channel;
    comm->ledger = hier_ledger_make(0, 0, rank, true, 0);
    if (!comm->ledger)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a communicator of %d processes", rank, size);
    hier_ledger_open(world, comm->ledger);
    comm->listed.comm = comm;
    hier_roster_list(&world->roster, &comm->listed);
    world->mailbox.by_lock = true;
    return hier_mailbox_init(&world->channel, &world->mailbox, rank, 1, (core_waiting){0});
}

/* What a rendezvous costs more than a copy, between threads and between processes. */
#define EAGER_BYTES_IN_PROCESS ((size_t)512)

size_t hier_eager_limit(const hier_world *world, size_t measured) {
    return world->config.eager_limit < 0 ? measured : (size_t)world->config.eager_limit;
}

int hier_mailbox_init(hier_channel *channel, intra_mailbox *mailbox, int rank, int threads, core_waiting waiting) {
    const hier_world *world = channel->world;
    intra_mail_limits limits = {.eager_bytes = hier_eager_limit(world, EAGER_BYTES_IN_PROCESS),
                                .unexpected_bytes = (size_t)world->config.unexpected_limit};
    mailbox->fetch = hier_carrier_fetch;
    mailbox->drop = hier_carrier_drop;
    mailbox->argument = channel;
    return intra_mailbox_init(mailbox, rank, threads, waiting, limits);
}

int hier_world_create(const core_config *config, const hier_card *card, inter_bootstrap *bootstrap,
                      inter_transport *transport, hier_world **world) {
    core_clock_start();
    hier_world *made = aligned_alloc(alignof(hier_world), sizeof(*made));
    if (!made) {
        if (transport)
            transport->close(transport);
        if (bootstrap)
            bootstrap->close(bootstrap);
        return core_error(WEFT_ERR_NOMEM, "no memory to start weft");
    }
    memset(made, 0, sizeof(*made));
    made->config = *config;
    made->card = *card;
    made->bootstrap = bootstrap;
    made->transport = transport;
    made->engine.transport = transport;
    made->init_thread = core_self();
    hier_channel_init(&made->channel, made, 1, config->thread_level != WEFT_THREAD_FUNNELED);
    made->channel.transport = transport;
    open_window(made);
    hier_channel_open(&made->channel, 0, (hier_boxes){&made->mailbox, 1, 0});
    hier_contexts_init(&made->contexts);
    pthread_mutex_init(&made->channels_lock, NULL);
    pthread_mutex_init(&made->agents_lock, NULL);
    hier_roster_init(&made->roster);
    made->roster.funneled = transport && hier_is_funneled(made);
    pthread_mutex_init(&made->observation.lock, NULL);
    int code = hier_selector_init(&made->selector, config->algorithm);
    if (!code)
        code = hier_ledgers_create(made);
    if (!code)
        code = make_process_comm(made, transport ? transport->rank : 0, transport ? transport->size : 1);
    if (!code)
        code = hier_observation_open(made);
    /* A process that has failed before this is alone in that: the others wait for it to call again. */
    if (!code && transport && transport->publish)
        code = transport->publish(transport, card, sizeof(*card));
    if (!code)
        code = look_round(made);
    if (code) {
        hier_world_destroy(made);
        return code;
    }
    made->waiting = core_waiting_resolve(config->wait_policy, made->crowded);
    atomic_init(&made->may_sleep, made->waiting.may_sleep);
    if (config->bind == WEFT_BIND_CORE)
        core_places_read(&made->places, made->load.on_cores.before, made->load.on_cores.all);
    *world = made;
    return WEFT_SUCCESS;
}

/* Maps the lines of every other process of the host; false when one cannot be, or when the host has no other. */
static bool map_lines(const hier_world *world, inter_lines *lines) {
    int rank = world->process_comm->rank, mapped = 0;
    for (int process = 0; process < world->process_comm->size; process++) {
        hier_card card;
        if (process == rank || hier_world_host(world, process) != hier_world_host(world, rank))
            continue;
        if (hier_world_card(world, process, &card) || inter_lines_map(lines, process, &card.lines))
            return false;
        mapped++;
    }
    return mapped > 0;
}

/* What a process says of itself; what all say holds for the job. */
enum { MAPPED = 1, CAN_PULL = 2, AWAKE = 4, ONE_HOST = 8, MULTIPLE = 16, TRACES = 32, ROOMY = 64 };

/*
 * The first collective of a job. Processes that choose by other rules do not find each other in their collectives: so this one goes by the built-in
 * rules, and tells whether all settings are alike. `says`: the flags of this process, then those of all.
 */
static int agree(hier_world *world, const void *caller, uint64_t *says) {
    const uint64_t settings = settings_of(&world->card);
    uint64_t words[] = {*says, settings, ~settings};
    const bool overridden = world->selector.overridden;
    world->selector.overridden = false;
    int code = hier_agree(world->process_comm, (hier_caller){"weft_init", caller, 0}, words, 3, WEFT_BAND);
    world->selector.overridden = overridden;
    hier_requests_free(world->process_comm); /* what the agreement itself went by is not what the rules say now */
    *says = words[0];
    return !code && words[1] != ~words[2] ? compare_settings(world) : code;
}

int hier_world_use_lines(hier_world *world, inter_lines *lines, const void *caller) {
    bool multiple = world->config.thread_level == WEFT_THREAD_MULTIPLE;
    uint64_t says = (multiple ? MULTIPLE : 0) | (world->observation.traces ? TRACES : 0) | (world->crowded ? 0 : ROOMY);
    if (lines && world->bootstrap && world->config.lines && map_lines(world, lines))
        says |= MAPPED | (inter_lines_can_pull(lines) ? CAN_PULL : 0) | (world->waiting.may_sleep ? 0 : AWAKE) |
                (world->layout.one_host ? ONE_HOST : 0);
    int code = agree(world, caller, &says);
    world->layout.crowded = !(says & ROOMY);
    if (multiple && !(says & MULTIPLE)) /* all processes must have channels */
        world->config.thread_level = WEFT_THREAD_SERIALIZED;
    if (!code && says & TRACES)
        code = hier_trace_align(world);
    /* Who sleeps does so in one place: with lines only when nothing comes by UCX. */
    bool alone = says & ONE_HOST && says & CAN_PULL && !(says & MULTIPLE);
    if (code || !(says & MAPPED) || !(says & AWAKE || alone)) {
        inter_lines_free(lines);
        return code;
    }
    world->lines = lines;
    world->lines_may_wake = alone;
    world->lines_wake = alone && !(says & AWAKE);
    world->engine.lines_pull = says & CAN_PULL;
    world->channel.transport = world->engine.lines =
        inter_lines_transport(lines, world->transport, says & CAN_PULL, world->lines_wake);
    open_window(world);
    if (alone)
        inter_lines_carry_all(lines);
    if (!world->waiting.hot)
        inter_lines_expect_crowd(lines);
    return WEFT_SUCCESS;
}

int hier_world_started(hier_world *world, int code, const void *caller, bool *met) {
    weft_comm *comm = world->process_comm;
    uint64_t first = code ? (uint64_t)comm->rank : UINT64_MAX;
    int failed = hier_agree(comm, (hier_caller){"weft_init", caller, 1}, &first, 1, WEFT_MIN);
    *met = !failed;
    if (code || failed)
        return code ? code : failed;
    if (first != UINT64_MAX)
        return core_error(WEFT_ERR_PROC_FAILED, "rank %d: process %d could not start: its error says why", comm->rank,
                          (int)first);
    return WEFT_SUCCESS;
}

void hier_world_destroy(hier_world *world) {
    hier_collect_close(world->collect);
    hier_run_errands(world);
    if (world->process_comm) {
        intra_mailbox_free(&world->mailbox);
        hier_messages_free(world->process_comm);
    }
    if (world->transport) {
        hier_channels_close(world);
        hier_channel_close(&world->channel);
    }
    inter_lines_free(world->lines);
    if (world->transport)
        world->transport->close(world->transport);
    free(world->channel.peers);
    if (world->bootstrap)
        world->bootstrap->close(world->bootstrap);
    if (world->launcher)
        world->launcher->close(world->launcher);
    if (world->process_comm) {
        hier_requests_free(world->process_comm);
        hier_checked_free(world->process_comm);
        hier_comm_give(world->process_comm);
    }
    inter_engine_close(&world->engine);
    hier_ledgers_free(world);
    hier_observation_close(world);
    pthread_mutex_destroy(&world->observation.lock);
    hier_contexts_destroy(&world->contexts);
    pthread_mutex_destroy(&world->channels_lock);
    pthread_mutex_destroy(&world->agents_lock);
    hier_roster_destroy(&world->roster);
    core_places_free(&world->places);
    hier_staging_forget();
    free(world->node_offsets);
    free(world->carrier.failed);
    free(world);
}
