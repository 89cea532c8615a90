// SPDX-License-Identifier: BSD-3-Clause
// Which way pulls take, learned from what they took.
#include <gtest/gtest.h>
extern "C" {
#include <inter/ways.h>
}

namespace {

// How many of `pulls` pulls, of 1 MiB each, took the way of which one takes `reads_ns`, and not that of which one takes `parts_ns`.
unsigned reads_of(inter_ways *ways, unsigned pulls, uint64_t parts_ns, uint64_t reads_ns) {
    unsigned reads = 0;
    for (unsigned pull = 0; pull < pulls; pull++) {
        inter_way by = inter_ways_choose(ways);
        inter_ways_learn(ways, by, by == INTER_BY_READS ? reads_ns : parts_ns, 1 << 20);
        reads += by == INTER_BY_READS;
    }
    return reads;
}

} // namespace

TEST(Ways, MostTakeTheQuicker) {
    inter_ways parts{}, reads{};
    EXPECT_LE(reads_of(&parts, 1000, 50000, 80000), 40u);
    EXPECT_GE(reads_of(&reads, 1000, 110000, 80000), 960u);
}

TEST(Ways, WhatIsQuickerMayChange) {
    inter_ways ways{};
    reads_of(&ways, 1000, 50000, 80000);
    reads_of(&ways, 100, 110000, 80000); // at the next turns of the slower one
    EXPECT_GE(reads_of(&ways, 1000, 110000, 80000), 900u);
    reads_of(&ways, 100, 50000, 80000);
    EXPECT_LE(reads_of(&ways, 1000, 50000, 80000), 100u);
}

TEST(Ways, APauseIsNotTheRule) {
    inter_ways ways{};
    reads_of(&ways, 100, 50000, 80000);
    inter_ways_learn(&ways, INTER_BY_PARTS, 30000000, 1 << 20);
    EXPECT_LE(reads_of(&ways, 100, 50000, 80000), 20u);
}

TEST(Ways, LengthsAreComparable) {
    inter_ways ways{};
    inter_ways_learn(&ways, INTER_BY_PARTS, 10, 32768);
    EXPECT_NEAR(double(ways.cost[INTER_BY_PARTS]), 320, 2);
    inter_ways_learn(&ways, INTER_BY_PARTS, 320, 1 << 20);
    EXPECT_NEAR(double(ways.cost[INTER_BY_PARTS]), 320, 2);
    inter_ways_learn(&ways, INTER_BY_PARTS, 0, 1 << 20); // a clock that stood still
    EXPECT_GT(ways.cost[INTER_BY_PARTS], 0u);
}
