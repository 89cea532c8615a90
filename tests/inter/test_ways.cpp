// SPDX-License-Identifier: BSD-3-Clause
// Which way pulls take, learned from what they took.
#include <array>
#include <gtest/gtest.h>
extern "C" {
#include <inter/ways.h>
}

namespace {

using Times = std::array<uint64_t, INTER_WAYS>; // of 1 MiB: by parts, by reads, by halves

// How many of `pulls` pulls, of 1 MiB each, took each way.
std::array<unsigned, INTER_WAYS> taken(inter_ways *ways, unsigned pulls, const Times &ns) {
    std::array<unsigned, INTER_WAYS> taken{};
    for (unsigned pull = 0; pull < pulls; pull++) {
        inter_way by = inter_ways_choose(ways);
        inter_ways_learn(ways, by, ns[by], 1 << 20);
        taken[by]++;
    }
    return taken;
}

const Times near = {50000, 80000, 60000}, far = {110000, 80000, 90000};

} // namespace

TEST(Ways, MostTakeTheQuickestAndTheOthersStayKnown) {
    for (unsigned quickest = 0; quickest < INTER_WAYS; quickest++) {
        inter_ways ways{};
        Times ns = {90000, 90000, 90000};
        ns[quickest] = 60000;
        const auto counts = taken(&ways, 1000, ns);
        for (unsigned way = 0; way < INTER_WAYS; way++) {
            if (way == quickest)
                EXPECT_GE(counts[way], 960u);
            else
                EXPECT_GE(counts[way], 15u);
        }
    }
}

TEST(Ways, WhatIsQuickestMayChange) {
    inter_ways ways{};
    taken(&ways, 1000, near);
    taken(&ways, 200, far); // at the next turns of the slower ones
    EXPECT_GE(taken(&ways, 1000, far)[INTER_BY_READS], 900u);
    taken(&ways, 200, near);
    EXPECT_GE(taken(&ways, 1000, near)[INTER_BY_PARTS], 900u);
}

TEST(Ways, OneThatTookVeryLongChangesLittle) {
    inter_ways ways{};
    const Times apart = {50000, 80000, 80000};
    taken(&ways, 100, apart);
    inter_ways_learn(&ways, INTER_BY_PARTS, 30000000, 1 << 20);
    EXPECT_GE(taken(&ways, 100, apart)[INTER_BY_PARTS], 80u);
}

TEST(Ways, TheFirstOfAllMayTakeLonger) { // its buffer's pages are touched for the first time
    inter_ways ways{};
    inter_ways_learn(&ways, inter_ways_choose(&ways), 1000000, 1 << 20);
    taken(&ways, INTER_WAYS_FIRST, near);
    EXPECT_GE(taken(&ways, 200, near)[INTER_BY_PARTS], 100u);
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

// Cores are far when two timed copies in a row were slow, and near as soon as one was not; meanwhile one in so many is tried.
TEST(Pace, FollowsTheCores) {
    inter_pace pace{};
    const size_t bytes = 8192;
    const uint64_t near_ns = 100 * bytes / 1024, far_ns = 300 * bytes / 1024;
    unsigned timed = 0, pulled = 0, tried = 0;
    for (int i = 0; i < 800; i++) {
        EXPECT_FALSE(inter_pace_pulls(&pace));
        if (inter_pace_is_timed(&pace)) {
            timed++;
            inter_pace_learn(&pace, timed % 3 ? near_ns : far_ns,
                             bytes); // now and then one that something else held up
        }
    }
    EXPECT_EQ(timed, 800u / INTER_PACE_TIMED);
    for (int i = 0; i < 2 * INTER_PACE_TIMED && !inter_pace_is_far(&pace); i++)
        if (inter_pace_is_timed(&pace))
            inter_pace_learn(&pace, far_ns, bytes);
    EXPECT_TRUE(inter_pace_is_far(&pace));
    for (int i = 0; i < 10 * INTER_PACE_TRIED; i++) {
        if (inter_pace_pulls(&pace)) {
            pulled++;
            continue;
        }
        EXPECT_TRUE(inter_pace_is_timed(&pace));
        inter_pace_learn(&pace, far_ns, bytes);
        tried++;
    }
    EXPECT_EQ(tried, 10u);
    EXPECT_EQ(pulled, 10u * (INTER_PACE_TRIED - 1));
    inter_pace_learn(&pace, near_ns, bytes);
    EXPECT_FALSE(inter_pace_is_far(&pace));
}
