// SPDX-License-Identifier: BSD-3-Clause
// The check must see every wrong byte: right results are made here by one process that plays all ranks, then spoilt.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <sweep.h>
#include <thread>
#include <vector>

namespace {

constexpr size_t ROOM = 4096;

struct Rank {
    std::vector<double> send = std::vector<double>(ROOM), recv = std::vector<double>(ROOM);
};

class Check : public ::testing::TestWithParam<std::tuple<bench_operation, int, size_t>> {
  protected:
    bench_operation operation = std::get<0>(GetParam());
    int size = std::get<1>(GetParam());
    size_t block = std::get<2>(GetParam());
    std::vector<Rank> ranks = std::vector<Rank>(static_cast<size_t>(size));

    bench_call call_of(int rank, int root) {
        Rank &buffers = ranks[static_cast<size_t>(rank)];
        return {operation, root, block, false, buffers.send.data(), buffers.recv.data()};
    }

    void collective(int root) {
        for (int to = 0; to < size; to++)
            for (int from = 0; from < size; from++)
                move(from, to, root);
    }

    void move(int from, int to, int root) {
        Rank &source = ranks[static_cast<size_t>(from)], &target = ranks[static_cast<size_t>(to)];
        char *recv = reinterpret_cast<char *>(target.recv.data());
        const char *send = reinterpret_cast<const char *>(source.send.data());
        if (operation == BENCH_BCAST && from == root && to != root)
            memcpy(recv, source.recv.data(), block);
        if (operation == BENCH_ALLGATHER)
            memcpy(recv + static_cast<size_t>(from) * block, send, block);
        if (operation == BENCH_ALLTOALL)
            memcpy(recv + static_cast<size_t>(from) * block, send + static_cast<size_t>(to) * block, block);
        if (operation == BENCH_ALLREDUCE || (operation == BENCH_REDUCE && to == root))
            for (size_t i = 0; i < block / sizeof(double); i++)
                target.recv[i] = source.send[i] + (from ? target.recv[i] : 0);
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
        bool has_result = operation != BENCH_REDUCE || rank == 0;
        EXPECT_TRUE(!has_result || bench_check_verify(&call, rank, size, 7).where) << "rank " << rank;
    }
}

INSTANTIATE_TEST_SUITE_P(Operations, Check,
                         ::testing::Combine(::testing::Values(BENCH_BCAST, BENCH_REDUCE, BENCH_ALLREDUCE,
                                                              BENCH_ALLGATHER, BENCH_ALLTOALL),
                                            ::testing::Values(1, 2, 3, 5), ::testing::Values(8, 40, 64)));

// One rank alone: a right collective copies; the wrong one forgets the last byte of calls of 64 bytes.
bool forgets;

void copy(void *, const void *data, size_t calls) {
    const bench_call *call = static_cast<const bench_call *>(data);
    for (size_t i = 0; i < calls; i++)
        memcpy(call->recv, call->send, call->block - (forgets && call->block == 64 ? 1 : 0));
}

void nothing(void *) {}

void only_one(void *, double *, size_t) {}

int sweep() {
    static const bench_driver driver = {copy, nothing, only_one};
    const bench_rank rank = {&driver, nullptr, 0, 1};
    bench_options options = {};
    bench_setting setting = {"test", "0", "thread", 1, 1, BENCH_JSON, true};
    options.operation = BENCH_ALLGATHER;
    options.check = true;
    options.repeats = 1;
    options.size_count = bench_parse_sizes("32,63,128", options.sizes);
    return bench_sweep(&rank, &options, &setting);
}

TEST(Sweep, StopsAtTheRowWhoseCheckFails) {
    forgets = false;
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(sweep(), 0);
    EXPECT_NE(::testing::internal::GetCapturedStdout().find("\"bytes\": 128"), std::string::npos);
    forgets = true; // 64 is one byte more than the second row
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(sweep(), 1);
    std::string rows = ::testing::internal::GetCapturedStdout(), message = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(rows.find("\"bytes\": 32"), std::string::npos);
    EXPECT_EQ(rows.find("\"bytes\": 63"), std::string::npos);
    EXPECT_NE(message.find("allgather of 64 bytes, call 0, root 0: rank 0 of 1: result, offset 63"), std::string::npos)
        << message;
}

// Two ranks, whose maximum needs a real meeting; the operation under test may leave it out.
struct Pair {
    pthread_barrier_t meeting;
    double values[2];
    bool waits;
};

struct Member {
    Pair *pair;
    int rank;
};

void meet(void *state) {
    pthread_barrier_wait(&static_cast<Member *>(state)->pair->meeting);
}

void perhaps_meet(void *state, const void *, size_t calls) {
    for (size_t i = 0; i < calls && static_cast<Member *>(state)->pair->waits; i++)
        meet(state);
}

void maximum_of_two(void *state, double *values, size_t count) {
    Member *member = static_cast<Member *>(state);
    for (size_t i = 0; i < count; i++) {
        member->pair->values[member->rank] = values[i];
        meet(state);
        values[i] = std::max(member->pair->values[0], member->pair->values[1]);
        meet(state);
    }
}

int sweep_barrier(Pair *pair, int rank) {
    static const bench_driver driver = {perhaps_meet, meet, maximum_of_two};
    Member member = {pair, rank};
    const bench_rank self = {&driver, &member, rank, 2};
    const bench_setting setting = {"test", "0", "thread", 1, 2, BENCH_JSON, true};
    bench_options options = {};
    options.operation = BENCH_BARRIER;
    options.check = true;
    options.repeats = 1;
    return bench_sweep(&self, &options, &setting);
}

TEST(Sweep, SeesABarrierThatDoesNotWait) {
    for (bool waits : {true, false}) {
        Pair pair = {};
        int other = -1;
        pair.waits = waits;
        pthread_barrier_init(&pair.meeting, nullptr, 2);
        ::testing::internal::CaptureStderr();
        std::thread thread([&] { other = sweep_barrier(&pair, 1); });
        EXPECT_EQ(sweep_barrier(&pair, 0), waits ? 0 : 1);
        thread.join();
        EXPECT_EQ(other, waits ? 0 : 1);
        EXPECT_EQ(::testing::internal::GetCapturedStderr().empty(), waits);
        pthread_barrier_destroy(&pair.meeting);
    }
}

} // namespace
