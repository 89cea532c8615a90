// SPDX-License-Identifier: BSD-3-Clause
// The sweep of messages against a library of two ranks in one process: the check, the rows, and what a message costs.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <message_check.h>
#include <messages.h>
#include <mutex>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

struct Faults {
    int bytes_missing;   // of each message, at its end
    bool writes_the_gap; // of a vector
    bool writes_behind;  // the buffer
};

struct World {
    pthread_barrier_t all;
    double *offered[2];
    const bench_call *calls[2];
    Faults faults;
};

struct Rank {
    World *world;
    int number, prepared, starts, tests, waits;
};

void barrier(void *state) {
    pthread_barrier_wait(&static_cast<Rank *>(state)->world->all);
}

void maximum(void *state, double *values, size_t count) {
    Rank *self = static_cast<Rank *>(state);
    World *world = self->world;
    world->offered[self->number] = values;
    barrier(self);
    std::vector<double> both(count);
    for (size_t i = 0; i < count; i++)
        both[i] = std::max(world->offered[0][i], world->offered[1][i]);
    barrier(self);
    std::copy(both.begin(), both.end(), values);
}

// A message from layout to layout, as faulty as wanted.
void copy(const Faults &faults, const bench_call *call, const void *send, bool from_vector, void *recv,
          bool to_vector) {
    const char *from = static_cast<const char *>(send);
    char *into = static_cast<char *>(recv);
    for (size_t i = 0; i + static_cast<size_t>(faults.bytes_missing) < call->block; i++) {
        size_t strided = i / 64 * 128 + i % 64;
        into[to_vector ? strided : i] = from[from_vector ? strided : i];
    }
    if (faults.writes_the_gap && to_vector)
        into[64] = 0;
    if (faults.writes_behind)
        into[to_vector ? 2 * call->block : call->block] = 0;
}

// Each fetches what it receives from the other's buffer.
void exchange(Rank *self, const bench_call *call) {
    World *world = self->world;
    world->calls[self->number] = call;
    barrier(self);
    const bench_call *other = world->calls[1 - self->number];
    if (call->motion != BENCH_ONE_WINDOW || !call->pair.first)
        copy(world->faults, call, other->send, call->vector, call->recv, call->vector);
    barrier(self);
}

void run(void *state, const void *data, size_t calls) {
    Rank *self = static_cast<Rank *>(state);
    const bench_call *call = static_cast<const bench_call *>(data);
    EXPECT_EQ(self->prepared, 1);
    EXPECT_EQ(call->pair.partner, 1 - self->number);
    if (call->motion <= BENCH_EXCHANGE)
        exchange(self, call); // once for all calls: as good
    else if (call->pair.first)
        copy(self->world->faults, call, call->send, call->motion == BENCH_PACK, call->recv,
             call->motion == BENCH_UNPACK);
    usleep(static_cast<useconds_t>(20 * calls));
}

void prepare(void *state, const bench_call *) {
    static_cast<Rank *>(state)->prepared++;
}

void release(void *state, const bench_call *) {
    static_cast<Rank *>(state)->prepared--;
}

void start(void *state, const bench_call *call) {
    Rank *self = static_cast<Rank *>(state);
    self->starts++;
    exchange(self, call);
}

void test(void *state, const bench_call *) {
    static_cast<Rank *>(state)->tests++;
}

void wait_for(void *state, const bench_call *) {
    static_cast<Rank *>(state)->waits++;
}

const bench_library library = {{run, barrier, maximum}, prepare, release, start, test, wait_for};

// What both ranks return, added up: 0 or 2. Rows come to stdout.
int sweep(bench_operation operation, const char *sizes, Faults faults, Rank ranks[2]) {
    World world = {};
    bench_options options = {};
    bench_setting setting = {"test", "0", "process", 2, 1, 2, BENCH_JSON, true, false, nullptr};
    int returned[2];
    std::vector<std::thread> threads;
    threads.reserve(2);
    options.operation = operation;
    options.check = true;
    options.repeats = 2;
    options.tests = 5;
    options.size_count = bench_parse_sizes(sizes, options.sizes);
    world.faults = faults;
    pthread_barrier_init(&world.all, nullptr, 2);
    for (int number = 0; number < 2; number++)
        threads.emplace_back([&, number] {
            ranks[number] = {&world, number, 0, 0, 0, 0};
            const bench_rank rank = {&library, &ranks[number], number, 2};
            returned[number] = bench_message_sweep(&rank, &options, &setting);
            EXPECT_EQ(ranks[number].prepared, 0) << "what is prepared is released";
        });
    for (std::thread &thread : threads)
        thread.join();
    pthread_barrier_destroy(&world.all);
    return returned[0] + returned[1];
}

size_t times_in(const std::string &text, const std::string &part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        count++;
    return count;
}

struct Operation : ::testing::TestWithParam<bench_operation> {};

TEST_P(Operation, HasARowForEachSizeAndSaysItsPair) {
    Rank ranks[2];
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(sweep(GetParam(), "8,100,1000", {}, ranks), 0);
    std::string rows = ::testing::internal::GetCapturedStdout();
    size_t lines = GetParam() == BENCH_DATATYPES ? 5 : 1;
    EXPECT_EQ(times_in(rows, "\n"), 3 * lines) << rows;
    EXPECT_EQ(times_in(rows, "\"pair\": \"other-node\""), 3 * lines);
    EXPECT_EQ(times_in(rows, "\"check\": \"passed\""), 3 * lines);
    EXPECT_EQ(times_in(rows, GetParam() == BENCH_DATATYPES ? "\"bytes\": 1024," : "\"bytes\": 1000,"), lines) << rows;
}

TEST_P(Operation, IsChecked) {
    const Faults faults[] = {{1, false, false}, {0, false, true}, {0, true, false}};
    for (const Faults &fault : faults) {
        Rank ranks[2];
        if (fault.writes_the_gap && GetParam() != BENCH_DATATYPES)
            continue;
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(sweep(GetParam(), "128", fault, ranks), 2) << "both ranks know";
        EXPECT_EQ(::testing::internal::GetCapturedStdout(), "") << "nothing wrong is timed";
        EXPECT_NE(::testing::internal::GetCapturedStderr().find("check failed"), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Operation,
                         ::testing::Values(BENCH_PINGPONG, BENCH_STREAM, BENCH_MESSAGE_RATE, BENCH_MULTI_PAIR,
                                           BENCH_OVERLAP, BENCH_DATATYPES));

TEST(Messages, OverlapStartsTestsAndWaits) {
    Rank ranks[2];
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(sweep(BENCH_OVERLAP, "64", {}, ranks), 0);
    EXPECT_EQ(times_in(::testing::internal::GetCapturedStdout(), "\"tests\": 5"), 1u);
    for (const Rank &rank : ranks) { // three checks with one test each, two samples with five
        EXPECT_EQ(rank.starts, 5);
        EXPECT_EQ(rank.waits, 5);
        EXPECT_EQ(rank.tests, 3 + 2 * 5);
    }
}

TEST(Messages, ARowCountsMessagesOfAllPairs) {
    const bench_setting setting = {"test", "0", "process", 2, 1, 2, BENCH_JSON, false, false, "other-node"};
    const bench_subject subject = {"stream", BENCH_NONBLOCKING, 1000};
    const bench_timing timing = {128, 10, {1.5, 2.0, 4.0}};
    ::testing::internal::CaptureStdout();
    bench_report_messages(&setting, &subject, &timing, 3);
    std::string row = ::testing::internal::GetCapturedStdout();
    EXPECT_NE(row.find("\"pairs\": 3, \"messages\": 1280, \"samples\": 10, \"min_us\": 1.5000, \"median_us\": 2.0000, "
                       "\"p99_us\": 4.0000, \"mb_per_s\": 1500.00, \"messages_per_s\": 1500000}\n"),
              std::string::npos)
        << row;
}

TEST(Messages, ACallIsDividedByItsMessages) {
    EXPECT_EQ(bench_messages_of(BENCH_ROUND_TRIP), 2);
    EXPECT_EQ(bench_messages_of(BENCH_ONE_WINDOW), BENCH_WINDOW);
    for (bench_motion motion : {BENCH_EXCHANGE, BENCH_COPY, BENCH_PACK, BENCH_UNPACK})
        EXPECT_EQ(bench_messages_of(motion), 1);
}

// A rank without a partner, and the second one of what the first does alone, must find their buffer as it was.
TEST(MessageCheck, WhoGetsNothingHasNothing) {
    char send[256 + BENCH_GUARD_BYTES], recv[256 + BENCH_GUARD_BYTES];
    for (int motion = BENCH_ROUND_TRIP; motion <= BENCH_UNPACK; motion++) {
        bench_call call = {};
        call.operation = BENCH_DATATYPES;
        call.block = 128;
        call.send = send;
        call.recv = recv;
        call.motion = static_cast<bench_motion>(motion);
        call.pair = {-1, 0, true};
        bench_message_fill(&call, 5, 1);
        EXPECT_EQ(bench_message_verify(&call, 5, 1).where, nullptr) << motion;
        recv[100]++;
        EXPECT_EQ(bench_message_verify(&call, 5, 1).offset, 100u) << motion;
        call.pair = {4, 0, motion == BENCH_ONE_WINDOW};
        bench_message_fill(&call, 5, 1);
        bool gets = motion == BENCH_ROUND_TRIP || motion == BENCH_EXCHANGE;
        EXPECT_EQ(bench_message_verify(&call, 5, 1).where != nullptr, gets) << motion;
    }
}

} // namespace
