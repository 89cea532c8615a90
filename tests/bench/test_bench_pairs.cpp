// SPDX-License-Identifier: BSD-3-Clause
// Ranks in twos: everybody's partner has it as partner, and lies where the kind says.
#include <gtest/gtest.h>
#include <pairs.h>
#include <set>
#include <string>
#include <tuple>

namespace {

struct Shape : ::testing::TestWithParam<std::tuple<int, int, bench_pairs>> {
    int processes = std::get<0>(GetParam()), threads = std::get<1>(GetParam());
    bench_pairs kind = std::get<2>(GetParam());

    bench_pair of(int rank) const {
        return bench_pair_of(rank, kind, processes, threads);
    }
};

TEST_P(Shape, PartnersAreEachOthers) {
    std::set<int> numbers;
    int paired = 0;
    for (int rank = 0; rank < processes * threads; rank++) {
        bench_pair mine = of(rank);
        if (mine.partner < 0)
            continue;
        ASSERT_LT(mine.partner, processes * threads);
        bench_pair other = of(mine.partner);
        EXPECT_EQ(other.partner, rank);
        EXPECT_EQ(other.number, mine.number);
        EXPECT_NE(other.first, mine.first);
        EXPECT_EQ(mine.first, rank < mine.partner);
        EXPECT_EQ(rank / threads == mine.partner / threads, kind == BENCH_SAME_NODE);
        if (kind == BENCH_OTHER_NODE) {
            EXPECT_EQ(rank % threads, mine.partner % threads);
        }
        numbers.insert(mine.number);
        paired++;
    }
    int pairs = bench_count_pairs(kind, processes, threads);
    EXPECT_EQ(paired, 2 * pairs);
    EXPECT_EQ(static_cast<int>(numbers.size()), pairs);
    if (pairs > 0) {
        EXPECT_EQ(*numbers.begin(), 0);
        EXPECT_EQ(*numbers.rbegin(), pairs - 1);
        EXPECT_EQ(of(0).number, 0) << "rank 0 prints what the first pair does";
        EXPECT_TRUE(of(0).first);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Shape,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5, 7, 8),
                                            ::testing::Values(1, 2, 3, 4, 5, 13),
                                            ::testing::Values(BENCH_SAME_NODE, BENCH_OTHER_NODE)));

TEST(Pairs, CountsAndKinds) {
    EXPECT_EQ(bench_count_pairs(BENCH_SAME_NODE, 3, 5), 6);
    EXPECT_EQ(bench_count_pairs(BENCH_OTHER_NODE, 3, 5), 5);
    EXPECT_EQ(bench_count_pairs(BENCH_SAME_NODE, 8, 1), 0);
    EXPECT_EQ(bench_count_pairs(BENCH_OTHER_NODE, 1, 8), 0);
    EXPECT_EQ(bench_kind_of_pairs(BENCH_PAIRS_UNSAID, 1), BENCH_OTHER_NODE);
    EXPECT_EQ(bench_kind_of_pairs(BENCH_PAIRS_UNSAID, 2), BENCH_SAME_NODE);
    EXPECT_EQ(bench_kind_of_pairs(BENCH_OTHER_NODE, 2), BENCH_OTHER_NODE);
    EXPECT_EQ(bench_kind_of_pairs(BENCH_SAME_NODE, 1), BENCH_SAME_NODE);
    EXPECT_EQ(std::string(bench_pairs_name(BENCH_SAME_NODE)), "same-node");
    EXPECT_EQ(std::string(bench_pairs_name(BENCH_OTHER_NODE)), "other-node");
}

} // namespace
