// SPDX-License-Identifier: BSD-3-Clause
// The check must see every wrong byte: right results are made here by one process that plays all ranks, then spoilt.
#include <check.h>
#include <cstring>
#include <gtest/gtest.h>
#include <tuple>
#include <vector>

namespace {

constexpr size_t ROOM = 4096;

struct Rank {
    std::vector<double> send = std::vector<double>(ROOM), recv = std::vector<double>(ROOM);
};

class Check : public ::testing::TestWithParam<std::tuple<int, int, size_t>> {
  protected:
    bench_operation operation = static_cast<bench_operation>(std::get<0>(GetParam()));
    int size = std::get<1>(GetParam());
    size_t block = std::get<2>(GetParam());
    std::vector<Rank> ranks = std::vector<Rank>(static_cast<size_t>(size));

    bench_call call_of(int rank, int root) {
        Rank &buffers = ranks[static_cast<size_t>(rank)];
        bench_call call = {};
        call.operation = operation;
        call.root = root;
        call.block = block;
        call.send = buffers.send.data();
        call.recv = buffers.recv.data();
        return call;
    }

    void collective(int root) {
        for (int to = 0; to < size; to++)
            for (int from = 0; from < size; from++)
                move(from, to, root);
    }

    // What `from` contributes to the result of `to`, written down once more: the check must not be its own oracle.
    void move(int from, int to, int root) {
        char *recv = reinterpret_cast<char *>(ranks[static_cast<size_t>(to)].recv.data());
        const Rank &source = ranks[static_cast<size_t>(from)];
        const char *send = reinterpret_cast<const char *>(source.send.data());
        size_t own = static_cast<size_t>(to) * block, theirs = static_cast<size_t>(from) * block;
        switch (operation) {
        case BENCH_BCAST:
            if (from == root && to != root)
                memcpy(recv, source.recv.data(), block);
            break;
        case BENCH_SCATTER:
        case BENCH_SCATTERV:
            if (from == root)
                memcpy(recv, send + own, block);
            break;
        case BENCH_GATHER:
        case BENCH_GATHERV:
            if (to == root)
                memcpy(recv + theirs, send, block);
            break;
        case BENCH_ALLGATHER:
        case BENCH_ALLGATHERV:
            memcpy(recv + theirs, send, block);
            break;
        case BENCH_ALLTOALL:
        case BENCH_ALLTOALLV:
        case BENCH_ALLTOALLW:
            memcpy(recv + theirs, send + own, block);
            break;
        default:
            add(from, to, root);
        }
    }

    void add(int from, int to, int root) {
        bool scattered = operation == BENCH_REDUCE_SCATTER || operation == BENCH_REDUCE_SCATTER_BLOCK;
        std::vector<double> &sum = ranks[static_cast<size_t>(to)].recv;
        size_t count = block / sizeof(double), first = scattered ? count * static_cast<size_t>(to) : 0;
        if ((operation == BENCH_REDUCE && to != root) || (operation == BENCH_SCAN && from > to) ||
            (operation == BENCH_EXSCAN && from >= to))
            return;
        for (size_t i = 0; i < count; i++)
            sum[i] = ranks[static_cast<size_t>(from)].send[first + i] + (from ? sum[i] : 0);
    }

    bool receives(int rank, int root) const {
        bool to_root = operation == BENCH_REDUCE || operation == BENCH_GATHER || operation == BENCH_GATHERV;
        return (!to_root || rank == root) && (operation != BENCH_EXSCAN || rank > 0);
    }

    // Every byte of a buffer and of the room behind it, turned around and back: each must be missed at its own offset.
    void spoil(const bench_call &call, int rank, void *buffer, size_t bytes) {
        unsigned char *at = static_cast<unsigned char *>(buffer);
        for (size_t offset = 0; offset < bytes; offset++) {
            at[offset] ^= 0x10;
            bench_mismatch found = bench_check_verify(&call, rank, size, 7);
            at[offset] ^= 0x10;
            ASSERT_NE(found.where, nullptr) << "offset " << offset;
            ASSERT_EQ(found.offset, offset) << found.where;
            ASSERT_NE(found.expected, found.found);
        }
    }
};

TEST_P(Check, PassesARightResultAndSeesEveryWrongByte) {
    for (int root = 0; root < size; root++) {
        for (int rank = 0; rank < size; rank++) {
            bench_call call = call_of(rank, root);
            bench_check_fill(&call, rank, size, 7);
        }
        collective(root);
        for (int rank = 0; rank < size; rank++) {
            bench_call call = call_of(rank, root);
            bench_mismatch found = bench_check_verify(&call, rank, size, 7);
            ASSERT_EQ(found.where, nullptr) << found.where << " offset " << found.offset;
            spoil(call, rank, call.recv, bench_recv_bytes(&call, size) + BENCH_GUARD_BYTES);
            spoil(call, rank, call.send, bench_send_bytes(&call, size) + BENCH_GUARD_BYTES);
        }
    }
}

TEST_P(Check, SeesTheResultOfAnotherIteration) {
    for (int rank = 0; rank < size; rank++) {
        bench_call call = call_of(rank, 0);
        bench_check_fill(&call, rank, size, 6);
    }
    collective(0);
    for (int rank = 0; rank < size; rank++) {
        bench_call call = call_of(rank, 0);
        bench_mismatch found = bench_check_verify(&call, rank, size, 7);
        ASSERT_NE(found.where, nullptr) << "rank " << rank;
        if (receives(rank, 0)) {
            EXPECT_STREQ(found.where, "result") << "rank " << rank;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Operations, Check,
                         ::testing::Combine(::testing::Range<int>(BENCH_BCAST, BENCH_COLLECTIVES),
                                            ::testing::Values(1, 2, 3, 5), ::testing::Values(8, 40, 64)));

} // namespace
