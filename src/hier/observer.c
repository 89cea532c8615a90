// SPDX-License-Identifier: BSD-3-Clause
/* Observers: made, found again, added up, written down and freed. */
#include <core/error.h>
#include <errno.h>
#include <hier/comm.h>
#include <hier/trace.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/counters.h>

#define SAME(NAME) ((int)WEFT_COUNTED_##NAME == (int)INTER_##NAME)
_Static_assert(SAME(BARRIER) && SAME(BCAST) && SAME(SCATTER) && SAME(SCATTERV) && SAME(GATHER) && SAME(GATHERV) &&
                   SAME(ALLGATHER) && SAME(ALLGATHERV) && SAME(ALLTOALL) && SAME(ALLTOALLV) && SAME(ALLTOALLW) &&
                   SAME(REDUCE) && SAME(ALLREDUCE) && SAME(REDUCE_SCATTER) && SAME(REDUCE_SCATTER_BLOCK) &&
                   SAME(SCAN) && SAME(EXSCAN) && (int)WEFT_COUNTED_MESSAGES == (int)INTER_COLLECTIVES,
               "a collective's number is that of its row");

const char *weft_counted_name(weft_counted row) {
    if (row == WEFT_COUNTED_MESSAGES)
        return "messages";
    return (int)row >= 0 && row < WEFT_COUNTED_MESSAGES ? inter_collective_name((enum inter_collective)row) : NULL;
}

static int make_directory(const char *variable, const char *path) {
    struct stat found;
    if (!*path)
        return WEFT_SUCCESS;
    if ((mkdir(path, 0777) == 0 || errno == EEXIST) && stat(path, &found) == 0) {
        if (S_ISDIR(found.st_mode) && access(path, W_OK | X_OK) == 0)
            return WEFT_SUCCESS;
        errno = S_ISDIR(found.st_mode) ? errno : ENOTDIR;
    }
    return core_error(WEFT_ERR_CONFIG, "%s is \"%.200s\", expected a directory to write to: %s", variable, path,
                      strerror(errno));
}

int hier_observation_check(const core_config *config) {
    int code = make_directory("WEFT_COUNTERS", config->counters);
    return code ? code : make_directory("WEFT_TRACE", config->trace);
}

int hier_observation_open(hier_world *world) {
    hier_observation *observation = &world->observation;
    const weft_comm *comm = world->process_comm;
    observation->on_host = malloc((size_t)comm->size * sizeof(*observation->on_host));
    if (!observation->on_host)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for %d processes", comm->rank, comm->size);
    observation->traces = world->process_comm->traces = *world->config.trace;
    observation->process.rank = comm->rank;
    world->engine.counters = &observation->process.counters;
    world->engine.on_host = observation->on_host;
    return WEFT_SUCCESS;
}

static uint64_t value_of(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void hier_observation_start(hier_world *world) {
    const core_counters *now = &world->observation.process.counters;
    core_counters *start = &world->observation.start;
    for (int row = 0; row < WEFT_COUNTED_ROWS; row++) {
        const core_counter_row *from = &now->rows[row];
        core_counter_row *to = &start->rows[row];
        core_count(&to->operations, value_of(&from->operations));
        core_count(&to->waited_ticks, value_of(&from->waited_ticks));
        for (int reach = 0; reach < CORE_REACHES; reach++)
            core_count_traffic(start, (unsigned)row, (enum core_reach)reach, value_of(&from->traffic[reach].messages),
                               value_of(&from->traffic[reach].bytes));
    }
}

static bool forked; /* under the lock of weft_init, or by the only thread */

void hier_observation_fork(void) {
    forked = true;
}

void hier_observation_number(hier_world *world) {
    static int sessions;
    world->observation.session = ++sessions;
    world->observation.child = forked ? (long)getpid() : 0;
}

void hier_observation_close(hier_world *world) {
    hier_observation *observation = &world->observation;
    while (observation->observers) {
        hier_observer *next = observation->observers->next;
        hier_trace_free(observation->observers);
        free(observation->observers);
        observation->observers = next;
    }
    hier_trace_free(&observation->process);
    free(observation->on_host);
    observation->on_host = NULL;
}

/* One that is free and was of a thread with this rank. */
static hier_observer *find(const hier_observation *observation, int rank) {
    hier_observer *found = observation->observers;
    while (found && (found->taken || found->rank != rank))
        found = found->next;
    return found;
}

hier_observer *hier_observer_take(hier_world *world, int rank) {
    hier_observation *observation = &world->observation;
    pthread_mutex_lock(&observation->lock);
    hier_observer *taken = find(observation, rank);
    if (!taken) {
        taken = aligned_alloc(alignof(hier_observer), sizeof(*taken));
        if (taken) {
            memset(taken, 0, sizeof(*taken));
            taken->rank = rank;
            taken->next = observation->observers;
            observation->observers = taken;
        }
    }
    if (taken)
        taken->taken = true;
    pthread_mutex_unlock(&observation->lock);
    return taken;
}

void hier_observer_give(hier_world *world, hier_observer *observer) {
    pthread_mutex_lock(&world->observation.lock);
    observer->taken = false;
    pthread_mutex_unlock(&world->observation.lock);
}

static void add_row(weft_counter_row *sums, uint64_t *waited_ticks, const core_counter_row *row, bool minus) {
    weft_traffic *traffic[CORE_REACHES] = {&sums->inside, &sums->on_host, &sums->between_hosts};
    uint64_t sign = minus ? UINT64_MAX : 1; /* modulo 2⁶⁴ */
    sums->operations += sign * value_of(&row->operations);
    *waited_ticks += sign * value_of(&row->waited_ticks);
    for (int reach = 0; reach < CORE_REACHES; reach++) {
        traffic[reach]->messages += sign * value_of(&row->traffic[reach].messages);
        traffic[reach]->bytes += sign * value_of(&row->traffic[reach].bytes);
    }
}

void hier_counters_sum(hier_world *world, weft_counters *sums) {
    hier_observation *observation = &world->observation;
    const core_clock_scale scale = core_clock_measure();
    memset(sums, 0, sizeof(*sums));
    pthread_mutex_lock(&observation->lock);
    for (int row = 0; row < WEFT_COUNTED_ROWS; row++) {
        uint64_t waited_ticks = 0;
        add_row(&sums->rows[row], &waited_ticks, &observation->process.counters.rows[row], false);
        add_row(&sums->rows[row], &waited_ticks, &observation->start.rows[row], true);
        for (const hier_observer *observer = observation->observers; observer; observer = observer->next)
            add_row(&sums->rows[row], &waited_ticks, &observer->counters.rows[row], false);
        sums->rows[row].waited_seconds = (double)waited_ticks * scale.ns_a_tick * 1e-9;
    }
    pthread_mutex_unlock(&observation->lock);
}

int hier_file_write(const hier_world *world, const char *variable, const char *directory, const char *kind,
                    const char *ending, hier_file_writer *write, const void *argument) {
    char path[CORE_PATH_BYTES + 64], part[sizeof(path) + 8], later[48] = "";
    const int rank = world->process_comm->rank, session = world->observation.session;
    if (session > 1)
        snprintf(later, sizeof(later), ".%d", session);
    if (world->observation.child)
        snprintf(later + strlen(later), sizeof(later) - strlen(later), ".%ld", world->observation.child);
    snprintf(path, sizeof(path), "%s/%s.%d%s%s", directory, kind, rank, later, ending);
    snprintf(part, sizeof(part), "%s.part", path);
    FILE *file = fopen(part, "we");
    bool good = file;
    if (file) {
        write(file, argument);
        good = !ferror(file);
        good = fclose(file) == 0 && good && rename(part, path) == 0;
    }
    if (good)
        return WEFT_SUCCESS;
    int code =
        core_error(WEFT_ERR_CONFIG, "rank %d: %s: %.200s cannot be written: %s", rank, variable, path, strerror(errno));
    if (file)
        unlink(part);
    return code;
}

/* A row a line: name, operations, messages and bytes inside, on the host, between hosts, nanoseconds waited. */
static void write_counters(void *file, const void *argument) {
    const weft_counters *counters = argument;
    for (int row = 0; row < WEFT_COUNTED_ROWS; row++) {
        const weft_counter_row *r = &counters->rows[row];
        const weft_traffic *in = &r->inside, *on = &r->on_host, *off = &r->between_hosts;
        fprintf(file,
                "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                weft_counted_name((weft_counted)row), r->operations, in->messages, in->bytes, on->messages, on->bytes,
                off->messages, off->bytes, (uint64_t)(r->waited_seconds * 1e9 + 0.5));
    }
}

int hier_observation_write(hier_world *world) {
    int code = WEFT_SUCCESS;
    if (*world->config.counters) {
        weft_counters counters;
        hier_counters_sum(world, &counters);
        code =
            hier_file_write(world, "WEFT_COUNTERS", world->config.counters, "counters", "", write_counters, &counters);
    }
    int traced = world->observation.traces ? hier_trace_write(world) : WEFT_SUCCESS;
    return code ? code : traced;
}
