// SPDX-License-Identifier: BSD-3-Clause
/*
 * Patterns. A byte depends on who contributes it, in which iteration and at which offset, so a byte from another rank,
 * place or call is seen. Doubles are whole numbers below 2^20: their sum is exact in any order.
 */
#include "check.h"

#include <stdint.h>
#include <string.h>

#define FILLING 0xA5

static uint64_t mix(int rank, unsigned iteration, size_t place) {
    uint64_t x = (uint64_t)place * 0x9E3779B97F4A7C15u + (uint64_t)(unsigned)rank * 0xC2B2AE3D27D4EB4Fu +
                 (uint64_t)iteration * 0x165667B19E3779F9u;
    x ^= x >> 31;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ x >> 32;
}

static unsigned char byte_of(int rank, unsigned iteration, size_t offset) {
    return (unsigned char)mix(rank, iteration, offset);
}

static double number_of(int rank, unsigned iteration, size_t index) {
    return (double)(mix(rank, iteration, index) & 0xFFFFF);
}

static bool reduces(const bench_call *call) {
    return bench_has(call->operation, BENCH_REDUCES);
}

static void fill(void *buffer, bool numbers, size_t bytes, int rank, unsigned iteration) {
    if (numbers) {
        double *out = buffer;
        for (size_t i = 0; i < bytes / sizeof *out; i++)
            out[i] = number_of(rank, iteration, i);
    } else {
        unsigned char *out = buffer;
        for (size_t i = 0; i < bytes; i++)
            out[i] = byte_of(rank, iteration, i);
    }
}

void bench_check_fill(const bench_call *call, int rank, int size, unsigned iteration) {
    size_t send_bytes = bench_send_bytes(call, size), recv_bytes = bench_recv_bytes(call, size);
    memset((unsigned char *)call->send + send_bytes, FILLING, BENCH_GUARD_BYTES);
    memset(call->recv, FILLING, recv_bytes + BENCH_GUARD_BYTES);
    fill(call->send, reduces(call), send_bytes, rank, iteration);
    if (call->operation == BENCH_BCAST && rank == call->root)
        fill(call->recv, false, recv_bytes, rank, iteration);
}

/* The first byte of found[0 … bytes-1] that is not what `rank` has from its offset `first` on. */
static bench_mismatch compare_bytes(const char *where, const unsigned char *found, size_t offset, size_t bytes,
                                    int rank, unsigned iteration, size_t first) {
    for (size_t i = 0; i < bytes; i++) {
        unsigned char expected = byte_of(rank, iteration, first + i);
        if (found[offset + i] != expected)
            return (bench_mismatch){where, offset + i, expected, found[offset + i]};
    }
    return (bench_mismatch){0};
}

/* The same for doubles that are the sum over the ranks first … last of what they have from byte `offset` on. */
static bench_mismatch compare_sums(const char *where, const unsigned char *found, size_t bytes, int first, int last,
                                   unsigned iteration, size_t offset) {
    for (size_t i = 0; i < bytes / sizeof(double); i++) {
        unsigned char expected[sizeof(double)];
        double sum = 0;
        for (int rank = first; rank <= last; rank++)
            sum += number_of(rank, iteration, offset / sizeof(double) + i);
        memcpy(expected, &sum, sizeof sum);
        for (size_t j = 0; j < sizeof sum; j++)
            if (found[i * sizeof sum + j] != expected[j])
                return (bench_mismatch){where, i * sizeof sum + j, expected[j], found[i * sizeof sum + j]};
    }
    return (bench_mismatch){0};
}

static bench_mismatch compare_filling(const char *where, const unsigned char *found, size_t offset, size_t bytes) {
    for (size_t i = offset; i < offset + bytes; i++)
        if (found[i] != FILLING)
            return (bench_mismatch){where, i, FILLING, found[i]};
    return (bench_mismatch){0};
}

/* Whether the standard leaves the rank's receive buffer as it was. */
static bool receives_nothing(const bench_call *call, int rank) {
    return (bench_has(call->operation, BENCH_TO_ROOT) && rank != call->root) ||
           (call->operation == BENCH_EXSCAN && rank == 0);
}

static int last_summand(const bench_call *call, int rank, int size) {
    return call->operation == BENCH_SCAN ? rank : call->operation == BENCH_EXSCAN ? rank - 1 : size - 1;
}

/* A rank that gets one of several blocks gets that of its own number. */
static bench_mismatch compare_result(const bench_call *call, int rank, int size, unsigned iteration) {
    static const char result[] = "result";
    const bench_shape *shape = bench_shape_of(call->operation);
    const unsigned char *recv = call->recv;
    size_t first = shape->send == BENCH_BLOCK_A_RANK ? (size_t)rank * call->block : 0;
    bench_mismatch found = {0};
    if (shape->recv == BENCH_NOTHING)
        return found;
    if (receives_nothing(call, rank))
        return compare_filling("receive buffer of a rank that receives nothing", recv, 0, bench_recv_bytes(call, size));
    if (reduces(call))
        return compare_sums(result, recv, call->block, 0, last_summand(call, rank, size), iteration, first);
    if (shape->recv == BENCH_BLOCK)
        return compare_bytes(result, recv, 0, call->block, call->root, iteration, first);
    for (int source = 0; source < size && !found.where; source++)
        found = compare_bytes(result, recv, (size_t)source * call->block, call->block, source, iteration, first);
    return found;
}

bench_mismatch bench_check_verify(const bench_call *call, int rank, int size, unsigned iteration) {
    size_t send_bytes = bench_send_bytes(call, size), recv_bytes = bench_recv_bytes(call, size);
    bench_mismatch found = compare_result(call, rank, size, iteration);
    if (!found.where)
        found = compare_filling("room behind the receive buffer", call->recv, recv_bytes, BENCH_GUARD_BYTES);
    if (!found.where && reduces(call))
        found = compare_sums("send buffer", call->send, send_bytes, rank, rank, iteration, 0);
    else if (!found.where)
        found = compare_bytes("send buffer", call->send, 0, send_bytes, rank, iteration, 0);
    if (!found.where)
        found = compare_filling("room behind the send buffer", call->send, send_bytes, BENCH_GUARD_BYTES);
    return found;
}
