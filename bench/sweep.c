// SPDX-License-Identifier: BSD-3-Clause
/* Sizes, buffers and rows. */
#include "sweep.h"
#include "check.h"
#include "check_calls.h"
#include "messages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_ALIGNMENT 4096

void *bench_new_buffer(size_t bytes) {
    void *buffer = NULL;
    if (posix_memalign(&buffer, BUFFER_ALIGNMENT, bytes))
        bench_fail("no memory for a buffer of %zu bytes", bytes);
    memset(buffer, 0, bytes);
    return buffer;
}

/* Buffers for the largest size and one unit more. */
static void allocate(bench_call *call, const bench_options *options, int size) {
    size_t largest = 0;
    for (int i = 0; i < options->size_count; i++)
        largest = options->sizes[i] > largest ? options->sizes[i] : largest;
    if (largest > SIZE_MAX / 4 / (size_t)size)
        bench_fail("%zu bytes are too many with %d ranks", largest, size);
    call->block = bench_block_bytes(call->operation, largest, size) + bench_unit_bytes(call->operation);
    call->send = bench_new_buffer(bench_send_bytes(call, size) + BENCH_GUARD_BYTES);
    call->recv = bench_new_buffer(bench_recv_bytes(call, size) + BENCH_GUARD_BYTES);
}

static bench_subject subject_of(const bench_call *call, int size) {
    return (bench_subject){bench_operation_name(call->operation), call->mode, bench_contributed_bytes(call, size)};
}

/* The call in each of the modes asked for. */
static int in_modes(const bench_call *call, unsigned modes, bench_call calls[BENCH_MODES]) {
    int count = 0;
    for (int mode = 0; mode < BENCH_MODES; mode++)
        if (modes & 1u << mode) {
            calls[count] = *call;
            calls[count++].mode = (enum bench_mode)mode;
        }
    return count;
}

/* What only the root gives, or gets, only the root touches. A bcast has one buffer. */
static void let_touch(const bench_rank *rank, bench_call *call) {
    const bool rooted = bench_has(call->operation, BENCH_ROOTED), to_root = bench_has(call->operation, BENCH_TO_ROOT);
    const bool is_root = rank->rank == call->root;
    const size_t sent = bench_send_bytes(call, rank->size), received = bench_recv_bytes(call, rank->size);
    if (!rooted || to_root || is_root) {
        call->touched.given = sent ? call->send : call->recv;
        call->touched.given_bytes = sent ? sent : received;
    }
    if (!to_root || is_root) {
        call->touched.got = call->recv;
        call->touched.got_bytes = received;
    }
}

static void time_modes(const bench_rank *rank, const bench_options *options, const bench_setting *setting,
                       bench_call *calls, int count) {
    const void *turns[BENCH_MODES] = {NULL};
    bench_timing timings[BENCH_MODES];
    for (int i = 0; i < count; i++) {
        turns[i] = &calls[i];
        if (options->touch)
            let_touch(rank, &calls[i]);
        rank->library->prepare(rank->state, &calls[i]);
    }
    if (bench_sample_in_turn(&rank->library->driver, rank->state, turns, count, options->repeats, timings))
        bench_fail("no memory for the samples");
    for (int i = 0; i < count; i++) {
        bench_subject subject = subject_of(&calls[i], rank->size);
        rank->library->release(rank->state, &calls[i]);
        if (rank->rank == 0)
            bench_report_row(setting, &subject, &timings[i]);
    }
}

static void time_overlap(const bench_rank *rank, const bench_options *options, const bench_setting *setting,
                         const bench_call *call) {
    bench_call blocking = *call;
    bench_overlap_timing timing;
    bench_subject subject = subject_of(call, rank->size);
    blocking.mode = BENCH_BLOCKING;
    rank->library->prepare(rank->state, &blocking);
    rank->library->prepare(rank->state, call);
    if (bench_overlap(rank, call, options->repeats, options->tests, &timing))
        bench_fail("no memory for the samples");
    rank->library->release(rank->state, call);
    rank->library->release(rank->state, &blocking);
    if (rank->rank == 0)
        bench_report_overlap(setting, &subject, &timing);
}

static int measure_rows(const bench_rank *rank, const bench_options *options, const bench_setting *setting,
                        const bench_call *call) {
    bench_call calls[BENCH_MODES];
    int count = in_modes(call, options->modes, calls), wrong = 0;
    for (int i = 0; options->check && i < count; i++)
        wrong |= bench_check_calls(rank, &calls[i]);
    if (wrong)
        return wrong;
    if (!options->overlap)
        time_modes(rank, options, setting, calls, count);
    for (int i = 0; options->overlap && i < count; i++)
        time_overlap(rank, options, setting, &calls[i]);
    return 0;
}

int bench_sweep(const bench_rank *rank, const bench_options *options, const bench_setting *setting) {
    bench_call call = {.operation = options->operation, .then_barrier = bench_has(options->operation, BENCH_ONE_WAY)};
    int wrong = 0;
    bench_warm_up(&rank->library->driver, rank->state, rank->size);
    if (bench_has(options->operation, BENCH_PAIRS))
        return bench_message_sweep(rank, options, setting);
    if (rank->rank == 0 && options->overlap)
        bench_report_overlap_head(setting);
    else if (rank->rank == 0)
        bench_report_head(setting);
    if (call.operation == BENCH_BARRIER)
        return measure_rows(rank, options, setting, &call);
    allocate(&call, options, rank->size);
    for (int i = 0; i < options->size_count && !wrong; i++) {
        call.block = bench_block_bytes(call.operation, options->sizes[i], rank->size);
        wrong = measure_rows(rank, options, setting, &call);
    }
    free(call.send);
    free(call.recv);
    return wrong;
}
