// SPDX-License-Identifier: BSD-3-Clause
// The parts of IS that need no communication: the random numbers, the keys made of them, and who has which.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

extern "C" {
#include <is/partition.h>
#include <is/random.h>
}

namespace {

constexpr uint64_t seed = 314159265, modulus = uint64_t{1} << 46;

// The definition, with a product that does not wrap.
uint64_t step(uint64_t x) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(x) * 1220703125 % modulus);
}

TEST(IsRandom, FollowsTheDefinition) {
    uint64_t x = seed;
    for (uint64_t k = 0; k < 10000; k++) {
        ASSERT_EQ(is_random_at(k), x) << "number " << k;
        ASSERT_EQ(is_random_next(x), step(x)) << "number " << k;
        x = step(x);
    }
}

TEST(IsRandom, JumpsFar) {
    for (int bit = 0; bit < 44; bit++) {
        const uint64_t k = (uint64_t{1} << bit) + 12345;
        EXPECT_EQ(is_random_at(k + 1), step(is_random_at(k))) << "number " << k;
    }
}

TEST(IsRandom, PeriodIsTwoToThe44) {
    const uint64_t period = uint64_t{1} << 44;
    EXPECT_EQ(is_random_at(period), seed);
    EXPECT_NE(is_random_at(period / 2), seed);
    EXPECT_EQ(is_random_at(period + 7), is_random_at(7));
}

// The published formula in floating point; every step of it is exact, since a sum of four numbers has 48 bits.
TEST(IsRandom, KeysAreScaledMeansOfFourNumbers) {
    for (unsigned log2 : {11u, 16u, 19u, 21u, 23u}) {
        std::vector<uint32_t> keys(5000);
        is_random_keys(keys.data(), 0, keys.size(), log2);
        uint64_t x = seed;
        for (size_t i = 0; i < keys.size(); i++) {
            double sum = 0;
            for (int j = 0; j < 4; j++) {
                x = step(x);
                sum += std::ldexp(static_cast<double>(x), -46);
            }
            ASSERT_EQ(keys[i], static_cast<uint32_t>(std::ldexp(sum, static_cast<int>(log2) - 2))) << "key " << i;
            ASSERT_LT(keys[i], 1u << log2);
        }
    }
}

TEST(IsRandom, BlocksOfAnyNumberOfRanksMakeTheSameSequence) {
    constexpr size_t total = 4096;
    std::vector<uint32_t> whole(total);
    is_random_keys(whole.data(), 0, total, 16);
    for (int size : {1, 2, 3, 5, 7, 8, 13, 4096, 5000}) {
        std::vector<uint32_t> pieces(total);
        ASSERT_EQ(is_partition_first_key(total, 0, size), 0u);
        ASSERT_EQ(is_partition_first_key(total, size, size), total);
        for (int rank = 0; rank < size; rank++) {
            const uint64_t first = is_partition_first_key(total, rank, size);
            const uint64_t end = is_partition_first_key(total, rank + 1, size);
            ASSERT_LE(first, end);
            ASSERT_LE(end - first, total / static_cast<size_t>(size) + 1);
            is_random_keys(pieces.data() + first, first, end - first, 16);
        }
        EXPECT_EQ(pieces, whole) << size << " ranks";
    }
}

// Ranges follow each other, cover all buckets, and no cut is further from the even one than half the largest bucket.
void expect_even_cuts(const std::vector<uint32_t> &keys) {
    const uint64_t total = std::accumulate(keys.begin(), keys.end(), uint64_t{0});
    const double half = 0.5 * *std::max_element(keys.begin(), keys.end());
    for (int size = 1; size <= 40; size++) {
        std::vector<size_t> first(static_cast<size_t>(size) + 1, 12345);
        is_partition_buckets(keys.data(), keys.size(), size, first.data());
        ASSERT_EQ(first.front(), 0u);
        ASSERT_EQ(first.back(), keys.size());
        for (int rank = 1; rank < size; rank++) {
            const size_t cut = first[static_cast<size_t>(rank)];
            ASSERT_LE(first[static_cast<size_t>(rank) - 1], cut);
            ASSERT_LE(cut, keys.size());
            const uint64_t before =
                std::accumulate(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(cut), uint64_t{0});
            const double even = static_cast<double>(total) * rank / size;
            ASSERT_LE(std::abs(static_cast<double>(before) - even), half + 1) << "rank " << rank << " of " << size;
        }
    }
}

TEST(IsPartition, CutsBucketsEvenly) {
    std::mt19937 random(1);
    std::vector<uint32_t> buckets(512);
    for (uint32_t &b : buckets)
        b = random() % 1000;
    expect_even_cuts(buckets);
    std::fill(buckets.begin(), buckets.end(), 16u);
    expect_even_cuts(buckets);
    for (size_t i = 0; i < buckets.size(); i++) // bell-shaped, as the keys of IS are
        buckets[i] = static_cast<uint32_t>(4000 * std::exp(-std::pow((static_cast<double>(i) - 256) / 80, 2)));
    expect_even_cuts(buckets);
}

TEST(IsPartition, ManagesOneFullBucketAndNone) {
    std::vector<uint32_t> buckets(64);
    expect_even_cuts(buckets);
    for (size_t full : {size_t{0}, size_t{31}, size_t{63}}) {
        std::fill(buckets.begin(), buckets.end(), 0u);
        buckets[full] = 1u << 27;
        expect_even_cuts(buckets);
    }
}

TEST(IsPartition, DoesNotOverflow) {
    expect_even_cuts(std::vector<uint32_t>(1024, 4000000000u));
}

} // namespace
