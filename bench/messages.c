// SPDX-License-Identifier: BSD-3-Clause
/* Pairs, the rows of each operation, and their times. */
#include "messages.h"
#include "message_check.h"
#include "sweep.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_ROWS BENCH_MOST_TURNS

/* A row of an operation; the samples of all its rows take turns. */
typedef struct message_row {
    enum bench_operation operation;
    const char *name;
    enum bench_mode mode;
    enum bench_motion motion;
    bool vector;
} message_row;

static const message_row rows[] = {
    {BENCH_PINGPONG, "pingpong", BENCH_BLOCKING, BENCH_ROUND_TRIP, false},
    {BENCH_STREAM, "stream", BENCH_NONBLOCKING, BENCH_ONE_WINDOW, false},
    {BENCH_MESSAGE_RATE, "message-rate", BENCH_NONBLOCKING, BENCH_ONE_WINDOW, false},
    {BENCH_MULTI_PAIR, "multi-pair", BENCH_NONBLOCKING, BENCH_ONE_WINDOW, false},
    {BENCH_OVERLAP, "overlap", BENCH_NONBLOCKING, BENCH_EXCHANGE, false},
    {BENCH_DATATYPES, "memcpy", BENCH_BLOCKING, BENCH_COPY, false},
    {BENCH_DATATYPES, "pack:vector", BENCH_BLOCKING, BENCH_PACK, true},
    {BENCH_DATATYPES, "unpack:vector", BENCH_BLOCKING, BENCH_UNPACK, true},
    {BENCH_DATATYPES, "pingpong:contiguous", BENCH_BLOCKING, BENCH_ROUND_TRIP, false},
    {BENCH_DATATYPES, "pingpong:vector", BENCH_BLOCKING, BENCH_ROUND_TRIP, true},
};

/* The rows of one operation and size, and as calls. */
typedef struct message_calls {
    int count;
    const char *names[MOST_ROWS];
    bench_call calls[MOST_ROWS];
} message_calls;

static message_calls calls_of(const bench_call *base) {
    message_calls all = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench_call *call = &all.calls[all.count];
        if (rows[i].operation != base->operation)
            continue;
        *call = *base;
        call->mode = rows[i].mode;
        call->motion = rows[i].motion;
        call->vector = rows[i].vector;
        all.names[all.count++] = rows[i].name;
    }
    return all;
}

static bench_timing of_one_message(const bench_timing *timing, enum bench_motion motion) {
    int messages = bench_messages_of(motion);
    bench_timing one = *timing;
    one.calls *= (size_t)messages;
    one.us.min /= messages;
    one.us.median /= messages;
    one.us.p99 /= messages;
    return one;
}

static void time_rows(const bench_rank *rank, const bench_options *options, const bench_setting *setting,
                      const message_calls *all, int pairs) {
    const void *turns[MOST_ROWS] = {NULL};
    bench_timing timings[MOST_ROWS];
    for (int i = 0; i < all->count; i++)
        turns[i] = &all->calls[i];
    if (bench_sample_in_turn(&rank->library->driver, rank->state, turns, all->count, options->repeats, timings))
        bench_fail("no memory for the samples");
    for (int i = 0; rank->rank == 0 && i < all->count; i++) {
        const bench_call *call = &all->calls[i];
        bench_timing one = of_one_message(&timings[i], call->motion);
        bench_report_messages(setting, &(bench_subject){all->names[i], call->mode, call->block}, &one, pairs);
    }
}

static void time_overlap(const bench_rank *rank, const bench_options *options, const bench_setting *setting,
                         const message_calls *all) {
    const bench_call *call = &all->calls[0];
    bench_overlap_timing timing;
    if (bench_overlap(rank, call, options->repeats, options->tests, &timing))
        bench_fail("no memory for the samples");
    if (rank->rank == 0)
        bench_report_overlap(setting, &(bench_subject){all->names[0], call->mode, call->block}, &timing);
}

static int measure_size(const bench_rank *rank, const bench_options *options, const bench_setting *setting,
                        const bench_call *base, int pairs) {
    message_calls all = calls_of(base);
    int wrong = 0;
    rank->library->prepare(rank->state, base);
    for (int i = 0; options->check && i < all.count; i++)
        wrong |= bench_check_messages(rank, &all.calls[i], all.names[i]);
    if (!wrong && options->operation == BENCH_OVERLAP)
        time_overlap(rank, options, setting, &all);
    else if (!wrong)
        time_rows(rank, options, setting, &all, pairs);
    rank->library->release(rank->state, base);
    return wrong;
}

/* Room for the largest size as a vector. */
static void allocate(bench_call *call, const bench_options *options) {
    size_t largest = 0, bytes;
    for (int i = 0; i < options->size_count; i++)
        largest = options->sizes[i] > largest ? options->sizes[i] : largest;
    if (largest > SIZE_MAX / 8)
        bench_fail("messages of %zu bytes are too large", largest);
    bytes = bench_block_bytes(call->operation, largest, 1);
    if (bench_has(call->operation, BENCH_STRIDED))
        bytes = bytes / BENCH_STRIDED_BYTES * BENCH_STRIDE_BYTES;
    call->send = bench_new_buffer(bytes + BENCH_GUARD_BYTES);
    call->recv = bench_new_buffer(bytes + BENCH_GUARD_BYTES);
}

/* Fills in the rank's pair; returns how many pairs are measured. */
static int pair_up(const bench_rank *rank, const bench_setting *setting, enum bench_pairs kind, bench_call *call) {
    int pairs = bench_count_pairs(kind, setting->processes, setting->threads);
    if (setting->threads == 0)
        bench_fail("the ranks of messages are paired by number: every process needs the same number of threads");
    if (pairs == 0)
        bench_fail("there is no pair of ranks: %s needs %s", bench_pairs_name(kind),
                   kind == BENCH_SAME_NODE ? "two threads in a process" : "two processes");
    call->pair = bench_pair_of(rank->rank, kind, setting->processes, setting->threads);
    if (call->operation == BENCH_MULTI_PAIR)
        return pairs;
    if (call->pair.number > 0)
        call->pair.partner = -1;
    return 1;
}

int bench_message_sweep(const bench_rank *rank, const bench_options *options, const bench_setting *setting) {
    enum bench_pairs kind = bench_kind_of_pairs(options->pairs, setting->threads);
    bench_call call = {.operation = options->operation};
    bench_setting shown = *setting;
    int wrong = 0, pairs = pair_up(rank, setting, kind, &call);
    shown.pair = bench_pairs_name(kind);
    if (rank->rank == 0 && options->operation == BENCH_OVERLAP)
        bench_report_overlap_head(&shown);
    else if (rank->rank == 0)
        bench_report_messages_head(&shown);
    allocate(&call, options);
    for (int i = 0; i < options->size_count && !wrong; i++) {
        call.block = bench_block_bytes(call.operation, options->sizes[i], 1);
        wrong = measure_size(rank, options, &shown, &call, pairs);
    }
    free(call.send);
    free(call.recv);
    return wrong;
}
