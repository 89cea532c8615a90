// SPDX-License-Identifier: BSD-3-Clause
/* The checking calls. */
#include "check_calls.h"
#include "check.h"
#include "report.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define LEAST_CHECKS    4  /* calls a size … */
#define MOST_CHECKS     16 /* … each with another root; with fewer ranks than this every rank is root once */
#define BARRIER_LATE_NS 500000

static int checks_of(const bench_rank *rank) {
    return rank->size < LEAST_CHECKS ? LEAST_CHECKS : rank->size > MOST_CHECKS ? MOST_CHECKS : rank->size;
}

static int any(const bench_rank *rank, int wrong) {
    double most = wrong;
    rank->library->driver.maximum(rank->state, &most, 1);
    return most > 0;
}

/* One call that has been prepared. */
static bench_mismatch check_call(const bench_rank *rank, const bench_call *call, unsigned iteration) {
    bench_check_fill(call, rank->rank, rank->size, iteration);
    rank->library->driver.run(rank->state, call, 1);
    return bench_check_verify(call, rank->rank, rank->size, iteration);
}

/* A few calls in a row, no barrier between them, so that one call may meet the next. Returns 1 after a mismatch. */
static int check_block(const bench_rank *rank, const bench_call *timed, size_t block) {
    unsigned starts = timed->mode == BENCH_PERSISTENT ? 2 : 1;
    int wrong = 0;
    for (int i = 0; i < checks_of(rank); i++) {
        bench_call call = *timed;
        bench_mismatch found = {0};
        call.block = block;
        call.then_barrier = false;
        call.root = i % rank->size;
        rank->library->prepare(rank->state, &call);
        for (unsigned start = 0; start < starts; start++) {
            bench_mismatch here = check_call(rank, &call, (unsigned)i * starts + start);
            found = found.where ? found : here;
        }
        rank->library->release(rank->state, &call);
        if (found.where && !wrong++)
            fprintf(stderr,
                    "%s: check failed: %s %s of %zu bytes, call %d, root %d: rank %d of %d: %s, offset %zu: 0x%02x "
                    "instead of 0x%02x\n",
                    program_invocation_short_name, bench_mode_name(call.mode), bench_operation_name(call.operation),
                    bench_contributed_bytes(&call, rank->size), i, call.root, rank->rank, rank->size, found.where,
                    found.offset, found.found, found.expected);
    }
    return wrong > 0;
}

static int check_blocks(const bench_rank *rank, const bench_call *call) {
    size_t unit = bench_unit_bytes(call->operation);
    int wrong = check_block(rank, call, call->block - unit);
    wrong |= check_block(rank, call, call->block);
    wrong |= check_block(rank, call, call->block + unit);
    return any(rank, wrong);
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
    rank->library->driver.maximum(rank->state, ends, 2);
    return ends[0] == -ends[1];
}

/* Each rank in turn comes late, and nobody may have left before it came. Returns 1 at every rank when somebody has. */
static int check_barrier(const bench_rank *rank, const bench_call *call) {
    const struct timespec late = {.tv_nsec = BARRIER_LATE_NS};
    int wrong = 0;
    if (!one_clock(rank))
        bench_fail("the check of a barrier compares times: all processes must run on one host");
    rank->library->prepare(rank->state, call);
    for (int i = 0; i < checks_of(rank); i++) {
        double last_in_first_out[2], left;
        if (rank->rank == i % rank->size)
            nanosleep(&late, NULL);
        last_in_first_out[0] = bench_now_us();
        rank->library->driver.run(rank->state, call, 1);
        left = bench_now_us();
        last_in_first_out[1] = -left;
        rank->library->driver.maximum(rank->state, last_in_first_out, 2);
        if (last_in_first_out[0] > -last_in_first_out[1] && !wrong++ && left < last_in_first_out[0])
            fprintf(stderr,
                    "%s: check failed: %s barrier, call %d: rank %d of %d left %.3f us before the last rank came\n",
                    program_invocation_short_name, bench_mode_name(call->mode), i, rank->rank, rank->size,
                    last_in_first_out[0] - left);
    }
    rank->library->release(rank->state, call);
    return wrong > 0;
}

int bench_check_calls(const bench_rank *rank, const bench_call *timed) {
    return timed->operation == BENCH_BARRIER ? check_barrier(rank, timed) : check_blocks(rank, timed);
}
