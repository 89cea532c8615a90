// SPDX-License-Identifier: BSD-3-Clause
// Order statistics by hand-computed examples, and the sampling against a driver that counts.
#include <gtest/gtest.h>
#include <overlap.h>
#include <string>
#include <vector>

namespace {

TEST(Median, IsTheMiddleOfAnOddNumberOfValues) {
    const double values[] = {1, 2, 30};
    EXPECT_EQ(bench_median(values, 3), 2);
    EXPECT_EQ(bench_median(values, 1), 1);
}

TEST(Median, IsTheMeanOfTheTwoInTheMiddleOfAnEvenNumber) {
    const double values[] = {1, 2, 4, 100};
    EXPECT_EQ(bench_median(values, 2), 1.5);
    EXPECT_EQ(bench_median(values, 4), 3);
}

TEST(Percentile, IsTheNearestRank) {
    std::vector<double> values;
    for (int i = 1; i <= 1000; i++)
        values.push_back(i);
    EXPECT_EQ(bench_percentile(values.data(), 1000, 99), 990);
    EXPECT_EQ(bench_percentile(values.data(), 1000, 50), 500);
    EXPECT_EQ(bench_percentile(values.data(), 1000, 100), 1000);
    EXPECT_EQ(bench_percentile(values.data(), 1000, 0.01), 1);
    EXPECT_EQ(bench_percentile(values.data(), 100, 99), 99);
    EXPECT_EQ(bench_percentile(values.data(), 101, 99), 100);
    EXPECT_EQ(bench_percentile(values.data(), 10, 99), 10);
    EXPECT_EQ(bench_percentile(values.data(), 1, 99), 1);
}

TEST(Summary, SortsFirst) {
    double values[] = {5, -1, 3, 3, 2};
    bench_summary summary = bench_summarise(values, 5);
    EXPECT_EQ(summary.min, -1);
    EXPECT_EQ(summary.median, 3);
    EXPECT_EQ(summary.p99, 5);
    for (int i = 1; i < 5; i++)
        EXPECT_LE(values[i - 1], values[i]);
}

// A single rank, whose maximum adds what another rank would have been slower by.
struct Counter {
    size_t calls = 0, barriers = 0;
    double slower = 0;
};

void count_calls(void *rank, const void *, size_t calls) {
    static_cast<Counter *>(rank)->calls += calls;
}

void count_barrier(void *rank) {
    static_cast<Counter *>(rank)->barriers++;
}

void other_is_slower(void *rank, double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        values[i] += static_cast<Counter *>(rank)->slower;
}

const bench_driver driver = {count_calls, count_barrier, other_is_slower};

TEST(Sampling, TakesAsManySamplesAsAskedEachAfterABarrier) {
    Counter counter;
    bench_timing timing;
    counter.slower = 1000; // a batch of one call is long enough, for this rank waits for the other
    ASSERT_EQ(bench_sample(&driver, &counter, nullptr, 7, &timing), 0);
    EXPECT_EQ(timing.samples, 7u);
    EXPECT_EQ(timing.calls, 1u);
    EXPECT_GE(counter.barriers, 7u);
    EXPECT_GE(timing.us.min, 1000);
    EXPECT_LE(timing.us.min, timing.us.median);
    EXPECT_LE(timing.us.median, timing.us.p99);
}

TEST(Sampling, EnlargesTheBatchOfAShortCall) {
    Counter counter;
    bench_timing timing;
    ASSERT_EQ(bench_sample(&driver, &counter, nullptr, 1, &timing), 0);
    EXPECT_EQ(timing.calls, BENCH_MOST_CALLS) << "calls that take no time";
}

TEST(Sampling, LimitsTheSamplesOfALongCall) {
    Counter counter;
    bench_timing timing;
    counter.slower = BENCH_ROW_US;
    ASSERT_EQ(bench_sample(&driver, &counter, nullptr, 0, &timing), 0);
    EXPECT_EQ(timing.samples, size_t{BENCH_LEAST_SAMPLES});
}

// Notes which of two calls is run; the one takes time, the other none.
struct Turns {
    std::string order;
};

void note_turn(void *rank, const void *call, size_t) {
    static_cast<Turns *>(rank)->order += *static_cast<const char *>(call);
    double until = bench_now_us() + (*static_cast<const char *>(call) == 'a' ? 2 * BENCH_SAMPLE_US : 0);
    while (bench_now_us() < until)
        continue;
}

void no_barrier(void *) {}

void own_maximum(void *, double *, size_t) {}

TEST(Sampling, CallsTakeTurnsAndEachHasItsOwnBatchAndTimes) {
    static const bench_driver noting = {note_turn, no_barrier, own_maximum};
    const char names[] = "ab";
    const void *const calls[] = {&names[0], &names[1]};
    Turns turns;
    bench_timing timings[2];
    ASSERT_EQ(bench_sample_in_turn(&noting, &turns, calls, 2, 6, timings), 0);
    EXPECT_EQ(turns.order.substr(turns.order.size() - 12), "abababababab");
    EXPECT_EQ(timings[0].samples, 6u);
    EXPECT_EQ(timings[1].samples, 6u);
    EXPECT_EQ(timings[0].calls, 1u);
    EXPECT_EQ(timings[1].calls, BENCH_MOST_CALLS);
    EXPECT_GE(timings[0].us.min, 2 * BENCH_SAMPLE_US);
    EXPECT_LT(timings[1].us.min, timings[0].us.min);
}

TEST(Hidden, IsTheShareThatIsNotExposedWithinItsBounds) {
    bench_overlap_us us = {};
    us.blocking = 200;
    us.exposed = 50;
    EXPECT_EQ(bench_hidden_percent(&us), 75);
    us.exposed = 220;
    EXPECT_EQ(bench_hidden_percent(&us), 0);
    us.exposed = -1;
    EXPECT_EQ(bench_hidden_percent(&us), 100);
    us.blocking = 0;
    EXPECT_EQ(bench_hidden_percent(&us), 0);
}

// A library of one rank that takes a fixed time: all of it in the start, or none of it when started.
struct Taker {
    double start_us;
};

constexpr double BLOCKING_US = 300;

void take(double us) {
    double until = bench_now_us() + us;
    while (bench_now_us() < until)
        continue;
}

void take_blocking(void *, const void *, size_t) {
    take(BLOCKING_US);
}

void take_start(void *rank, const bench_call *) {
    take(static_cast<Taker *>(rank)->start_us);
}

void take_none(void *, const bench_call *) {}

bench_overlap_us overlap_of(double start_us) {
    static const bench_library library = {
        {take_blocking, no_barrier, own_maximum}, take_none, take_none, take_start, take_none, take_none};
    Taker taker = {start_us};
    const bench_rank rank = {&library, &taker, 0, 1};
    bench_call call = {};
    bench_overlap_timing timing;
    call.mode = BENCH_NONBLOCKING;
    EXPECT_EQ(bench_overlap(&rank, &call, 21, 5, &timing), 0);
    EXPECT_EQ(timing.samples, 21u);
    EXPECT_EQ(timing.tests, 5);
    return timing.us;
}

// Lower bounds only: they hold however the machine is loaded.
TEST(Overlap, TellsTheTimeInCallsFromTheComputation) {
    bench_overlap_us us = overlap_of(BLOCKING_US);
    EXPECT_GE(us.blocking, BLOCKING_US);
    EXPECT_GE(us.calls, BLOCKING_US);
    EXPECT_GE(us.total, us.calls);
    EXPECT_GT(us.compute, 0);
    EXPECT_EQ(us.exposed, us.total - us.compute) << "there is one rank only";
}

} // namespace
