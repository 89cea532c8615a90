// SPDX-License-Identifier: BSD-3-Clause
/*
 * A timeline as a file in the Trace Event Format: a JSON object, one event a line, so that weftrun joins several by lines.
 *
 *     {"displayTimeUnit":"ns","traceEvents":[
 *     {…},
 *     {…}
 *     ]}
 *
 * A process is a pid (its rank), an observer a tid. Calls are complete events (X), with their phases inside them; operations of
 * requests, which overlap, are pairs (b, e) of one id.
 */
#include <hier/comm.h>
#include <hier/trace.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* A process that starts weft again has tracks of their own for it, and numbers for its requests' operations: so many at most. */
#define SESSION_TRACKS     (1 << 20)
#define SESSION_OPERATIONS (UINT64_C(1) << 40)

typedef struct writing {
    FILE *file;
    const hier_world *world;
    core_clock_scale scale;
    int64_t track;
    uint64_t next_id;
} writing;

/* Microseconds, exact to the nanosecond. */
static void put_time(const writing *to, const char *name, uint64_t ns) {
    fprintf(to->file, ",\"%s\":%" PRIu64 ".%03d", name, ns / 1000, (int)(ns % 1000));
}

/* By the clock of the first process's host. */
static uint64_t aligned(const writing *to, uint64_t ticks) {
    return core_ticks_ns(&to->scale, ticks) + (uint64_t)to->world->observation.ahead_ns;
}

static void put_where(const writing *to) {
    fprintf(to->file, ",\"pid\":%d,\"tid\":%" PRId64, to->world->process_comm->rank, to->track);
}

static void put_span(const writing *to, const char *name, const char *category, uint64_t began_ticks,
                     uint64_t ended_ticks) {
    fprintf(to->file, ",\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\"", name, category);
    put_where(to);
    put_time(to, "ts", aligned(to, began_ticks));
    put_time(to, "dur", aligned(to, ended_ticks) - aligned(to, began_ticks));
}

static void put_number(const writing *to, const char *name, int number) {
    if (number >= 0)
        fprintf(to->file, ",\"%s\":%d", name, number);
}

static void put_arguments(const writing *to, const hier_event *event) {
    fprintf(to->file, ",\"args\":{\"bytes\":%" PRIu64, event->bytes);
    put_number(to, "root", event->root);
    put_number(to, "peer", event->peer);
    put_number(to, "tag", event->tag);
    if (event->process || event->thread >= 0) {
        const char *thread =
            event->thread >= 0 ? hier_thread_algorithm_name((enum hier_thread_algorithm)event->thread) : "";
        fprintf(to->file, ",\"algorithm\":\"%s%s%s\"", event->process ? event->process->name : "", *thread ? "/" : "",
                thread);
    }
    if (event->failed)
        fputs(",\"failed\":true", to->file);
    fputs("}}", to->file);
}

static const char *category_of(const hier_event *event) {
    return event->message ? "message" : "collective";
}

static void put_half(const writing *to, const hier_event *event, const char *name, const char *phase, uint64_t ticks) {
    fprintf(to->file, ",\n{\"ph\":\"%s\",\"name\":\"%s\",\"cat\":\"%s\",\"id\":\"%d.%" PRIu64 "\"", phase, name,
            category_of(event), to->world->process_comm->rank, to->next_id);
    put_where(to);
    put_time(to, "ts", aligned(to, ticks));
}

/* Of a request it has the request's category and number, and so lies in its span. */
static void put_phase(const writing *to, const hier_event *event, const char *name, uint64_t began, uint64_t ended) {
    if (event->kind == HIER_EVENT_CALL) {
        put_span(to, name, "phase", began, ended);
    } else {
        put_half(to, event, name, "b", began);
        fputs("}", to->file);
        put_half(to, event, name, "e", ended);
    }
    fputs("}", to->file);
}

/* The part between processes may have begun before this rank came, and ended before it looked. */
static void put_phases(const writing *to, const hier_event *event) {
    uint64_t began = event->network_ticks[0], ended = event->network_ticks[1];
    if (!began || ended < began)
        return;
    began = began < event->began_ticks ? event->began_ticks : began < event->ended_ticks ? began : event->ended_ticks;
    ended = ended < began ? began : ended < event->ended_ticks ? ended : event->ended_ticks;
    put_phase(to, event, "threads in", event->began_ticks, began);
    put_phase(to, event, "network", began, ended);
    put_phase(to, event, "threads out", ended, event->ended_ticks);
}

static void put_event(writing *to, const hier_event *event) {
    if (event->kind == HIER_EVENT_CALL) {
        put_span(to, event->call, category_of(event), event->began_ticks, event->ended_ticks);
        put_arguments(to, event);
        put_phases(to, event);
        return;
    }
    put_half(to, event, event->call, "b", event->began_ticks);
    put_arguments(to, event);
    put_phases(to, event);
    put_half(to, event, event->call, "e", event->ended_ticks);
    fputs("}", to->file);
    to->next_id++;
}

static void put_track(writing *to, const hier_observer *observer, const char *name) {
    fputs(",\n{\"ph\":\"M\",\"name\":\"thread_name\"", to->file);
    put_where(to);
    const int session = to->world->observation.session;
    fprintf(to->file, ",\"args\":{\"name\":\"%s %d", name, observer->rank);
    if (session > 1)
        fprintf(to->file, ", start %d", session);
    fputs("\"}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\"", to->file);
    put_where(to);
    fprintf(to->file, ",\"args\":{\"sort_index\":%d}}", observer->rank);
    for (const hier_trace_chunk *chunk = observer->first; chunk; chunk = chunk->next)
        for (size_t i = 0; i < chunk->count; i++)
            put_event(to, &chunk->events[i]);
    if (observer->dropped) {
        fputs(",\n{\"ph\":\"i\",\"name\":\"dropped\",\"s\":\"t\"", to->file);
        put_where(to);
        const hier_trace_chunk *last = observer->last;
        put_time(to, "ts", aligned(to, last ? last->events[last->count - 1].ended_ticks : to->scale.ticks));
        fprintf(to->file, ",\"args\":{\"events\":%zu}}", observer->dropped);
    }
    to->track++;
}

/* Names of hosts are printed as they are but for what JSON would take amiss. */
static void put_host(const writing *to) {
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    for (const char *c = host; *c; c++)
        putc(*c < ' ' || *c == '"' || *c == '\\' ? '?' : *c, to->file);
}

static void write_trace(void *file, const void *argument) {
    const hier_world *world = argument;
    writing to = {.file = file, .world = world, .scale = core_clock_measure()};
    const int before = world->observation.session > 1 ? world->observation.session - 1 : 0;
    to.track = (int64_t)before * SESSION_TRACKS;
    to.next_id = (uint64_t)before * SESSION_OPERATIONS;
    int rank = world->process_comm->rank;
    fprintf(file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    fprintf(file, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"process %d (",
            rank, rank);
    put_host(&to);
    fprintf(file, ", pid %ld)\"}}", (long)getpid());
    fprintf(file, ",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"tid\":0,\"args\":{\"sort_index\":%d}}",
            rank, rank);
    put_track(&to, &world->observation.process, "process rank");
    for (const hier_observer *observer = world->observation.observers; observer; observer = observer->next)
        put_track(&to, observer, "rank");
    fprintf(file, "\n]}\n");
}

int hier_trace_write(const hier_world *world) {
    return hier_file_write(world, "WEFT_TRACE", world->config.trace, "trace", ".json", write_trace, world);
}
