// SPDX-License-Identifier: BSD-3-Clause
/*
 * The limits and floors as rows. The ranks are pthreads, pinned to a core each when the process may use that many; the
 * sampling is that of the collectives. Thread 0 prints.
 */
#include "bench_limits.h"
#include "floors.h"
#include "pin.h"
#include "report.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_MEMCPY_BYTES 4096 /* below, the call itself is measured */

enum limit { FLAG_LATENCY, MEMCPY_ONE, MEMCPY_ALL, BARRIER, EXCHANGE, SLICES };

static const char *const limit_names[] = {"limit:flag_latency", "limit:memcpy1",   "limit:memcpyall",
                                          "floor:barrier",      "floor:allreduce", "floor:allreduce"};

typedef struct limit_call {
    enum limit limit;
    size_t bytes;
    bench_touched touched;
} limit_call;

/* All threads; `arrived` and `round` are the barrier before each sample. */
typedef struct limit_team {
    alignas(FLOOR_LINE) _Atomic uint64_t arrived;
    alignas(FLOOR_LINE) _Atomic uint64_t round;
    alignas(FLOOR_LINE) int threads;
    cpu_set_t allowed;
    double **values; /* [thread]: what it offers to maximum() */
    const bench_options *options;
    const bench_setting *setting;
    floor_pair pair;
} limit_team;

/* A thread's own. Of more than two threads, only 0 and 1 have an end of the pair. */
typedef struct limit_thread {
    alignas(FLOOR_LINE) floor_end end;
    limit_team *team;
    int number;
    uint64_t rounds;
    size_t bytes; /* of each buffer */
    void *from;
    void *into;
} limit_thread;

static void barrier(void *rank) {
    limit_thread *self = rank;
    limit_team *team = self->team;
    uint64_t round = ++self->rounds;
    /* acq_rel: the last one has seen all that the others wrote before, and hands it on by the release of `round`,
     * which pairs with floor_wait. */
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 == round * (uint64_t)team->threads)
        atomic_store_explicit(&team->round, round, memory_order_release);
    else
        floor_wait(&team->round, round);
}

static void maximum(void *rank, double *values, size_t count) {
    limit_thread *self = rank;
    limit_team *team = self->team;
    double *merged = malloc(count * sizeof *merged);
    if (!merged)
        bench_fail("no memory for the samples");
    team->values[self->number] = values;
    barrier(rank);
    for (size_t i = 0; i < count; i++) {
        merged[i] = team->values[0][i];
        for (int t = 1; t < team->threads; t++)
            merged[i] = team->values[t][i] > merged[i] ? team->values[t][i] : merged[i];
    }
    barrier(rank); /* everybody has read everybody's */
    memcpy(values, merged, count * sizeof *values);
    free(merged);
}

/* The compiler must not merge the copies of a batch into one. */
static void copy(limit_thread *self, size_t bytes, size_t calls) {
    for (size_t i = 0; i < calls; i++) {
        memcpy(self->into, self->from, bytes);
        __asm__ volatile("" : : "r"(self->into), "r"(self->from) : "memory");
    }
}

static void run(void *rank, const void *call_data, size_t calls) {
    limit_thread *self = rank;
    const limit_call *call = call_data;
    size_t doubles = call->bytes / sizeof(double);
    if (call->limit == MEMCPY_ALL || (call->limit == MEMCPY_ONE && self->number == 0))
        copy(self, call->bytes, calls);
    if (call->limit == MEMCPY_ALL || call->limit == MEMCPY_ONE || self->number > 1)
        return;
    if (call->limit == FLAG_LATENCY)
        floor_hops(&self->end, calls);
    else if (call->limit == BARRIER)
        for (size_t i = 0; i < calls; i++)
            floor_barrier(&self->end);
    else
        for (size_t i = 0; i < calls; i++) {
            bench_touch_given(&call->touched);
            if (call->limit == EXCHANGE)
                floor_exchange(&self->end, doubles);
            else
                floor_slices(&self->end, doubles);
            bench_touch_got(&call->touched);
        }
}

static const bench_driver driver = {run, barrier, maximum};

static bench_timing sample(limit_thread *self, enum limit limit, size_t bytes) {
    const size_t touched = self->team->options->touch ? bytes : 0;
    const limit_call call = {limit, bytes, {self->from, touched, self->into, touched}};
    bench_timing timing;
    if (bench_sample(&driver, self, &call, self->team->options->repeats, &timing))
        bench_fail("no memory for the samples");
    return timing;
}

static void report(const bench_setting *setting, enum limit limit, size_t bytes, const bench_timing *timing) {
    bench_report_row(setting, &(bench_subject){limit_names[limit], BENCH_BLOCKING, bytes}, timing);
}

static void row(limit_thread *self, enum limit limit, size_t bytes) {
    bench_timing timing = sample(self, limit, bytes);
    if (self->number == 0)
        report(self->team->setting, limit, bytes, &timing);
}

/* A floor that computes the wrong sums would be no floor. */
static void verify_sums(limit_thread *self, enum limit limit, size_t bytes) {
    double *send = self->from, *recv = self->into;
    size_t doubles = bytes / sizeof(double);
    if (self->number > 1)
        return;
    for (size_t i = 0; i < doubles; i++) {
        send[i] = (double)(i % 1000 + 1) * (self->number ? 1000 : 1);
        recv[i] = 0;
    }
    run(self, &(limit_call){.limit = limit, .bytes = bytes}, 1);
    for (size_t i = 0; i < doubles; i++)
        if (recv[i] != (double)(i % 1000 + 1) * 1001)
            bench_fail("floor:allreduce of %zu bytes: thread %d has a wrong sum at element %zu", bytes, self->number,
                       i);
}

/* Where both ways exist the faster one is the floor. All threads have the same times, so they agree which it is. */
static void allreduce_row(limit_thread *self, size_t bytes) {
    bench_timing fastest;
    verify_sums(self, SLICES, bytes);
    fastest = sample(self, SLICES, bytes);
    if (bytes <= FLOOR_INLINE_BYTES) {
        bench_timing exchange;
        verify_sums(self, EXCHANGE, bytes);
        exchange = sample(self, EXCHANGE, bytes);
        if (exchange.us.median < fastest.us.median)
            fastest = exchange;
    }
    if (self->number == 0)
        report(self->team->setting, SLICES, bytes, &fastest);
}

static size_t whole_doubles(size_t bytes) {
    return (bytes - 1) / sizeof(double) * sizeof(double) + sizeof(double);
}

/* Each thread makes its own buffers, where it runs, and tells its partner. */
static void set_up(limit_thread *self) {
    const bench_options *options = self->team->options;
    floor_pair *pair = &self->team->pair;
    bench_pin(&self->team->allowed, self->number, self->team->threads);
    for (int i = 0; i < options->size_count; i++)
        self->bytes = options->sizes[i] > self->bytes ? options->sizes[i] : self->bytes;
    self->bytes = whole_doubles(self->bytes);
    if (posix_memalign(&self->from, 4096, self->bytes) || posix_memalign(&self->into, 4096, self->bytes))
        bench_fail("no memory for buffers of %zu bytes", self->bytes);
    memset(self->from, 0, self->bytes);
    memset(self->into, 0, self->bytes);
    if (self->number < 2) {
        pair->send[self->number] = self->from;
        pair->recv[self->number] = self->into;
        self->end.pair = pair;
        self->end.me = self->number;
    }
    barrier(self);
}

static void *measure(void *argument) {
    limit_thread *self = argument;
    const bench_options *options = self->team->options;
    set_up(self);
    bench_warm_up(&driver, self, self->team->threads);
    row(self, FLAG_LATENCY, 0);
    row(self, BARRIER, 0);
    for (int i = 0; i < options->size_count; i++) {
        allreduce_row(self, whole_doubles(options->sizes[i]));
    }
    for (int i = 0; i < options->size_count; i++)
        if (options->sizes[i] >= LEAST_MEMCPY_BYTES) {
            row(self, MEMCPY_ONE, options->sizes[i]);
            row(self, MEMCPY_ALL, options->sizes[i]);
        }
    free(self->from);
    free(self->into);
    return NULL;
}

/* What the numbers would not say. */
static void check_options(const bench_options *options, const cpu_set_t *allowed) {
    const int processors = CPU_COUNT(allowed); /* 0: unknown */
    for (int i = 0; i < options->size_count; i++)
        if (options->sizes[i] > SIZE_MAX / 8)
            bench_fail("buffers of %zu bytes are too large", options->sizes[i]);
    if (processors && options->threads > processors)
        fprintf(stderr, "weft-bench: %d threads, but %d processors to use: these are no limits of the machine\n",
                options->threads, processors);
}

int bench_limits(const bench_options *options, const bench_setting *setting) {
    limit_team team = {.threads = options->threads, .options = options};
    bench_setting shown = *setting;
    int count = options->threads;
    pthread_t *handles = malloc((size_t)count * sizeof *handles);
    limit_thread *threads = aligned_alloc(FLOOR_LINE, (size_t)count * sizeof *threads);
    team.values = malloc((size_t)count * sizeof *team.values);
    if (!handles || !threads || !team.values)
        bench_fail("no memory for %d threads", count);
    shown.library = "limits";
    shown.level = "thread";
    shown.processes = 1;
    shown.threads = count;
    team.setting = &shown;
    if (sched_getaffinity(0, sizeof team.allowed, &team.allowed))
        CPU_ZERO(&team.allowed);
    check_options(options, &team.allowed);
    memset(threads, 0, (size_t)count * sizeof *threads);
    bench_report_head(&shown);
    for (int t = 0; t < count; t++) {
        threads[t].team = &team;
        threads[t].number = t;
        if (pthread_create(&handles[t], NULL, measure, &threads[t]))
            bench_fail("thread %d of %d could not be started", t, count);
    }
    for (int t = 0; t < count; t++)
        pthread_join(handles[t], NULL);
    free(team.values);
    free(threads);
    free(handles);
    return 0;
}
