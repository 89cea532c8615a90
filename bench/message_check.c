// SPDX-License-Identifier: BSD-3-Clause
/* Patterns that depend on sender, iteration and offset, laid out plain or in blocks with gaps. */
#include "message_check.h"
#include "report.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FILLING 0xA5
#define CHECKS  3

static unsigned char byte_of(int rank, unsigned iteration, size_t offset) {
    uint64_t x = (uint64_t)offset * 0x9E3779B97F4A7C15u + (uint64_t)(unsigned)rank * 0xC2B2AE3D27D4EB4Fu +
                 (uint64_t)iteration * 0x165667B19E3779F9u;
    x = (x ^ x >> 31) * 0xD6E8FEB86659FD93u;
    return (unsigned char)(x >> 32);
}

/* What a layout takes of a buffer: the gap behind the last block is in it. */
static size_t room(const bench_call *call, bool vector) {
    return vector ? call->block / BENCH_STRIDED_BYTES * BENCH_STRIDE_BYTES : call->block;
}

/* Whether there is data at `place` of a layout, and at which offset of the message. */
static bool data_at(bool vector, size_t place, size_t *offset) {
    *offset = vector ? place / BENCH_STRIDE_BYTES * BENCH_STRIDED_BYTES + place % BENCH_STRIDE_BYTES : place;
    return !vector || place % BENCH_STRIDE_BYTES < BENCH_STRIDED_BYTES;
}

static bool sends_vector(const bench_call *call) {
    return call->vector && call->motion != BENCH_UNPACK;
}

static bool receives_vector(const bench_call *call) {
    return call->vector && call->motion != BENCH_PACK;
}

/* Whose data is in `recv` in the end; -1: nobody's. */
static int source_of(const bench_call *call, int rank) {
    if (call->pair.partner < 0)
        return -1;
    switch (call->motion) {
    case BENCH_ROUND_TRIP:
    case BENCH_EXCHANGE:
        return call->pair.partner;
    case BENCH_ONE_WINDOW:
        return call->pair.first ? -1 : call->pair.partner;
    default:
        return call->pair.first ? rank : -1;
    }
}

void bench_message_fill(const bench_call *call, int rank, unsigned iteration) {
    bool vector = sends_vector(call);
    unsigned char *send = call->send;
    size_t offset;
    memset(send, FILLING, room(call, vector) + BENCH_GUARD_BYTES);
    memset(call->recv, FILLING, room(call, receives_vector(call)) + BENCH_GUARD_BYTES);
    for (size_t place = 0; place < room(call, vector); place++)
        if (data_at(vector, place, &offset))
            send[place] = byte_of(rank, iteration, offset);
}

bench_mismatch bench_message_verify(const bench_call *call, int rank, unsigned iteration) {
    const unsigned char *recv = call->recv;
    int source = source_of(call, rank);
    size_t bytes = room(call, receives_vector(call)), offset;
    for (size_t place = 0; place < bytes + BENCH_GUARD_BYTES; place++) {
        bool data = source >= 0 && place < bytes && data_at(receives_vector(call), place, &offset);
        unsigned expected = data ? byte_of(source, iteration, offset) : FILLING;
        if (recv[place] != expected)
            return (bench_mismatch){data ? "the receive buffer" : "what is not received into", place, expected,
                                    recv[place]};
    }
    return (bench_mismatch){0};
}

static void make_call(const bench_rank *rank, const bench_call *call) {
    if (call->motion == BENCH_EXCHANGE && call->mode != BENCH_BLOCKING) {
        rank->library->start(rank->state, call);
        rank->library->test(rank->state, call);
        rank->library->wait(rank->state, call);
    } else {
        rank->library->driver.run(rank->state, call, 1);
    }
}

int bench_check_messages(const bench_rank *rank, const bench_call *call, const char *name) {
    double wrong = 0;
    for (unsigned i = 0; i < CHECKS; i++) { /* all of them: the partner makes them too */
        bench_mismatch found;
        /* Over bare UCX data comes without being asked for: not while one verifies. */
        rank->library->driver.barrier(rank->state);
        bench_message_fill(call, rank->rank, i);
        make_call(rank, call);
        found = bench_message_verify(call, rank->rank, i);
        if (!found.where || wrong > 0)
            continue;
        wrong = 1;
        fprintf(
            stderr,
            "%s: check failed: %s of %zu bytes, call %u: rank %d, whose partner is %d: %s, offset %zu: 0x%02x instead "
            "of 0x%02x\n",
            program_invocation_short_name, name, call->block, i, rank->rank, call->pair.partner, found.where,
            found.offset, found.found, found.expected);
    }
    rank->library->driver.maximum(rank->state, &wrong, 1);
    return wrong > 0;
}
