// SPDX-License-Identifier: BSD-3-Clause
/* Sizes, buffers and the checking calls. */
#include "sweep.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_CHECKS     4  /* calls a size … */
#define MOST_CHECKS      16 /* … each with another root; with fewer ranks than this every rank is root once */
#define BUFFER_ALIGNMENT 4096
#define BARRIER_LATE_NS  500000

void bench_fail(const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _Exit(1);
}

static bool rooted(enum bench_operation operation) {
    return operation == BENCH_BCAST || operation == BENCH_REDUCE;
}

/* What a block is made of: the check also tries one unit less and one more. */
static size_t unit_bytes(enum bench_operation operation) {
    return operation == BENCH_REDUCE || operation == BENCH_ALLREDUCE ? sizeof(double) : 1;
}

/* The block with which a rank contributes at least `bytes`. */
static size_t block_bytes(enum bench_operation operation, size_t bytes, int size) {
    size_t unit = operation == BENCH_ALLTOALL ? (size_t)size : unit_bytes(operation);
    size_t units = (bytes - 1) / unit + 1;
    return operation == BENCH_ALLTOALL ? units : units * unit;
}

static size_t contributed_bytes(const bench_call *call, int size) {
    return call->operation == BENCH_ALLTOALL ? call->block * (size_t)size : call->block;
}

/* Page by page written, so that no row pays for page faults. */
static void *new_buffer(size_t bytes) {
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
    call->block = block_bytes(call->operation, largest, size) + unit_bytes(call->operation);
    call->send = new_buffer(bench_send_bytes(call, size) + BENCH_GUARD_BYTES);
    call->recv = new_buffer(bench_recv_bytes(call, size) + BENCH_GUARD_BYTES);
}

static int checks_of(const bench_rank *rank) {
    return rank->size < LEAST_CHECKS ? LEAST_CHECKS : rank->size > MOST_CHECKS ? MOST_CHECKS : rank->size;
}

/* A few calls in a row, no barrier between them, so that one call may meet the next. Returns 1 after a mismatch. */
static int check_block(const bench_rank *rank, const bench_call *timed, size_t block) {
    int wrong = 0;
    for (int i = 0; i < checks_of(rank); i++) {
        bench_call call = *timed;
        bench_mismatch found;
        call.block = block;
        call.then_barrier = false;
        call.root = i % rank->size;
        bench_check_fill(&call, rank->rank, rank->size, (unsigned)i);
        rank->driver->run(rank->state, &call, 1);
        found = bench_check_verify(&call, rank->rank, rank->size, (unsigned)i);
        if (found.where && !wrong++)
            fprintf(stderr,
                    "%s: check failed: %s of %zu bytes, call %d, root %d: rank %d of %d: %s, offset %zu: 0x%02x "
                    "instead of 0x%02x\n",
                    program_invocation_short_name, bench_operation_name(call.operation),
                    contributed_bytes(&call, rank->size), i, call.root, rank->rank, rank->size, found.where,
                    found.offset, found.found, found.expected);
    }
    return wrong > 0;
}

/* The row's size, one unit less (which may be nothing at all) and one more. All ranks get the same answer. */
static int check_row(const bench_rank *rank, const bench_call *call) {
    size_t unit = unit_bytes(call->operation);
    int wrong = check_block(rank, call, call->block - unit);
    wrong |= check_block(rank, call, call->block);
    wrong |= check_block(rank, call, call->block + unit);
    double any = wrong;
    rank->driver->maximum(rank->state, &any, 1);
    return any > 0;
}

/*
 * Whether the ranks read the same clock: whether they run on the same kernel. An identifier that is not the same
 * everywhere has a maximum that differs from its minimum.
 */
static bool one_clock(const bench_rank *rank) {
    unsigned char text[64] = {0};
    uint64_t identifier = 0;
    double ends[2];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file) {
        size_t length = fread(text, 1, sizeof text, file);
        for (size_t i = 0; i < length; i++)
            identifier = identifier * 257 + text[i];
        fclose(file);
    }
    ends[0] = (double)(identifier >> 12);
    ends[1] = -ends[0];
    rank->driver->maximum(rank->state, ends, 2);
    return ends[0] == -ends[1];
}

/* Each rank in turn comes late, and nobody may have left before it came. Returns 1 at every rank when somebody has. */
static int check_barrier(const bench_rank *rank, const bench_call *call) {
    const struct timespec late = {.tv_nsec = BARRIER_LATE_NS};
    int wrong = 0;
    if (!one_clock(rank))
        bench_fail("the check of a barrier compares times: all processes must run on one host");
    for (int i = 0; i < checks_of(rank); i++) {
        double last_in_first_out[2], left;
        if (rank->rank == i % rank->size)
            nanosleep(&late, NULL);
        last_in_first_out[0] = bench_now_us();
        rank->driver->run(rank->state, call, 1);
        left = bench_now_us();
        last_in_first_out[1] = -left;
        rank->driver->maximum(rank->state, last_in_first_out, 2);
        if (last_in_first_out[0] > -last_in_first_out[1] && !wrong++ && left < last_in_first_out[0])
            fprintf(stderr,
                    "%s: check failed: barrier, call %d: rank %d of %d left %.3f us before the last rank came\n",
                    program_invocation_short_name, i, rank->rank, rank->size, last_in_first_out[0] - left);
    }
    return wrong > 0;
}

static int measure_row(const bench_rank *rank, const bench_options *options, const bench_setting *setting,
                       const bench_call *call) {
    bench_timing timing;
    if (options->check && (call->operation == BENCH_BARRIER ? check_barrier(rank, call) : check_row(rank, call)))
        return 1;
    if (bench_sample(rank->driver, rank->state, call, options->repeats, &timing))
        bench_fail("no memory for the samples");
    if (rank->rank == 0)
        bench_report_row(setting, bench_operation_name(call->operation), contributed_bytes(call, rank->size), &timing);
    return 0;
}

int bench_sweep(const bench_rank *rank, const bench_options *options, const bench_setting *setting) {
    bench_call call = {.operation = options->operation, .then_barrier = rooted(options->operation)};
    int wrong = 0;
    if (rank->rank == 0)
        bench_report_head(setting);
    if (call.operation == BENCH_BARRIER)
        return measure_row(rank, options, setting, &call);
    allocate(&call, options, rank->size);
    for (int i = 0; i < options->size_count && !wrong; i++) {
        call.block = block_bytes(call.operation, options->sizes[i], rank->size);
        wrong = measure_row(rank, options, setting, &call);
    }
    free(call.send);
    free(call.recv);
    return wrong;
}
