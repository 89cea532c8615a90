// SPDX-License-Identifier: BSD-3-Clause
// Order statistics by hand-computed examples, and the sampling against a driver that counts.
#include <gtest/gtest.h>
#include <sampling.h>
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

} // namespace
