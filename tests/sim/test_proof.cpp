// SPDX-License-Identifier: BSD-3-Clause
// Every process-level algorithm, proven in memory: for every number of ranks from 1 to 64, some to 256 (all by WEFT_TEST_PARTS=1)
// and a few to 4096, several roots, counts and orders of delivery, blocks even and not, packed and not, in place and not, and in segments. Compiled
// once for each set of collectives (SIM_COLLECTIVES), to run side by side.
#include "effort.h"
#include "proof.h"
#include "table_of_names.h"

namespace sim {
namespace {

class Proof : public ::testing::TestWithParam<Algorithm> {};
class Composed : public ::testing::TestWithParam<Algorithm> {};

template <class List> List part_of(const List &all, size_t shift) {
    return effort::part_of(all, shift, effort::proof_parts);
}

Shape shape_number(int size, unsigned n) {
    return varied(size, n, n % 3 == 2 ? 3 : 1 + n / 16 % 3);
}
constexpr unsigned variations = 48;
constexpr size_t most_messages = 600000; // of a large job
const size_t large_parts = std::max(effort::proof_parts, size_t(effort::rank_parts));
const unsigned stride = 2 * effort::proof_parts - 1; // has no divisor in common with those
// Sanitizers look at the builders' memory and not at what they prove.
const int size_step = effort::sanitized ? 400 : 1;

bool is_quadratic(const Algorithm &algorithm) {
    return messages_of(algorithm, 64) > 64 * 20;
}

std::set<int> roots_for(const Algorithm &algorithm, int size, bool all) {
    if (!inter_is(algorithm.collective, INTER_ROOTED))
        return {0};
    if (!all)
        return is_quadratic(algorithm) ? std::set<int>{size / 2, size - 1} : some_roots(size);
    std::set<int> roots;
    for (int root = 0; root < size; root++)
        roots.insert(root);
    return roots;
}

// From `first` every size below `all_to`, and of those from there on a part: of the algorithms, which share their builders, another one takes
// another part. A smaller one where messages go by the square of the size, which are most of what there is to run.
std::vector<int> sizes_to_256(const Algorithm &algorithm, int first, int all_to) {
    const int parts = is_quadratic(algorithm) ? effort::rank_parts * effort::rank_parts : effort::rank_parts;
    const int part = int(strlen(algorithm.is.name) + size_t(algorithm.collective)) % parts;
    std::vector<int> sizes;
    for (int size = first; size <= 256; size += size_step)
        if (size < all_to || size % parts == part || size_step > 1)
            sizes.push_back(size);
    return sizes;
}

} // namespace

TEST_P(Proof, EveryShapeOfSmallJobs) {
    for (int size = 1; size <= 17; size++)
        for (int root : roots_for(GetParam(), size, size <= 9))
            for (unsigned n = unsigned(root + size) % (size <= 9 ? stride : 5); n < variations;
                 n += stride * (size <= 9 ? 1 : 5)) {
                Shape shape = shape_number(size, n);
                shape.root = root;
                ASSERT_TRUE(prove(GetParam(), shape, size <= 9 ? 2 : 6));
            }
}

TEST_P(Proof, ContributionsOfEveryLength) {
    for (int size : {1, 2, 3, 5, 7, 8, 13, 16, 31})
        for (size_t count : {0, 1, 2, 4, 7, 8, 9, 31, 257})
            for (unsigned n : part_of(std::vector<unsigned>{0, 1, 6, 15}, count)) {
                Shape shape = shape_number(size, n);
                shape.count = count;
                shape.root = size * 2 / 3;
                ASSERT_TRUE(prove(GetParam(), shape, 2));
            }
}

TEST_P(Proof, EverySizeTo256) {
    bool quadratic = is_quadratic(GetParam());
    for (int size : sizes_to_256(GetParam(), 18, 64)) {
        for (int root : roots_for(GetParam(), size, false)) {
            Shape shape = shape_number(size, unsigned(size * 29 + root * 7) % variations);
            shape.root = root;
            ASSERT_TRUE(prove(GetParam(), shape, quadratic || size > 64 ? 1 : 3));
        }
    }
}

TEST_P(Proof, LargeJobs) {
    const bool everybody_has_all = inter_is(GetParam().collective, with_blocks | INTER_ALLTOALLS) &&
                                   !inter_is(GetParam().collective, INTER_ROOTED);
    unsigned n = 0;
    const std::vector<int> sizes = {257,  300,  384,  511,  512,  513,  777,  1000,
                                    1023, 1024, 1025, 2047, 2048, 3000, 4095, 4096};
    for (int size : effort::part_of(sizes, strlen(GetParam().is.name) + size_t(GetParam().collective), large_parts)) {
        if (messages_of(GetParam(), size) > most_messages || (everybody_has_all && size > 1024))
            break;
        Shape shape = shape_number(size, n++ * 7 % variations);
        shape.count = 1;
        for (int root : roots_for(GetParam(), size, false)) {
            shape.root = root;
            ASSERT_TRUE(prove(GetParam(), shape, 1));
        }
    }
}

TEST_P(Proof, SegmentsAreStrands) {
    if (!inter_is(GetParam().collective, INTER_VECTORS))
        return;
    for (const char *bytes : {":1", ":16", ":40", ":1K"})
        for (int size : {1, 2, 3, 5, 8, 13, 33})
            for (size_t count : {0, 1, 2, 37, 200})
                for (bool in_place : part_of(std::vector<char>{0, 1}, (size + count) % 2)) {
                    Algorithm segmented = GetParam();
                    std::string name = segmented.is.name + std::string(bytes);
                    ASSERT_TRUE(inter_algorithm_find(segmented.collective, name.c_str(), &segmented.is)) << name;
                    Shape shape{size, size / 2, count};
                    shape.in_place = in_place;
                    ASSERT_TRUE(prove(segmented, shape, 3));
                }
}

// Every block in as many segments, whatever its length and wherever it lies.
TEST_P(Proof, SegmentsOfBlocksAreStrands) {
    if (!inter_is(GetParam().collective, INTER_CUT_BLOCKS))
        return;
    Algorithm segmented = GetParam();
    unsigned n = 0;
    for (size_t bytes : {1, 16, 40, 1024})
        for (int size : {1, 2, 3, 5, 8, 13, 33})
            for (size_t count : part_of(std::vector<size_t>{0, 1, 2, 37, 130}, size_t(size))) {
                segmented.is.segment_bytes = bytes;
                ASSERT_TRUE(prove(segmented, varied(size, n++, count), 2));
            }
}

TEST_P(Composed, EverySizeTo32) {
    for (int size = 1; size <= 32; size++)
        for (unsigned n = unsigned(size) % 5; n < 8; n += 5)
            ASSERT_TRUE(prove(GetParam(), shape_number(size, n), 2));
}

// A composition's parts are proven alone.
TEST_P(Composed, EverySizeTo256) {
    for (int size : sizes_to_256(GetParam(), 33, 33))
        ASSERT_TRUE(prove(GetParam(), shape_number(size, unsigned(size) % variations), 1));
}

// One each, a smaller one where that takes too many messages; with sanitizers the smallest. The parts are proven to 4096 alone.
TEST_P(Composed, LargeJobs) {
    const int sizes[] = {300, 777, 1024};
    size_t which = effort::sanitized ? 0 : strlen(GetParam().is.name) % std::size(sizes);
    while (which && messages_of(GetParam(), sizes[which]) > most_messages)
        which--;
    if (messages_of(GetParam(), sizes[which]) > most_messages)
        return;
    Shape shape = shape_number(sizes[which], unsigned(sizes[which]) % variations);
    shape.count = 1;
    ASSERT_TRUE(prove(GetParam(), shape, 1));
}

// At the end of the program: has every name of the table been proven?
class Completeness : public ::testing::Environment {
  public:
    void TearDown() override {
        if (GTEST_FLAG_GET(filter) != "*" || getenv("GTEST_TOTAL_SHARDS"))
            return;
        for (int c = 0; c < INTER_COLLECTIVES; c++) {
            std::string collective = inter_collective_name(inter_collective(c));
            if (!inter_is(inter_collective(c), SIM_COLLECTIVES))
                continue;
            for (const std::string &name : table_of_names().at(collective))
                EXPECT_TRUE(proven().count(collective + " " + name))
                    << collective << " " << name << " has not been run";
        }
    }
};
static const ::testing::Environment *const completeness = ::testing::AddGlobalTestEnvironment(new Completeness);

INSTANTIATE_TEST_SUITE_P(Every, Proof, ::testing::ValuesIn(algorithms_of(SIM_COLLECTIVES, false)), test_name);
INSTANTIATE_TEST_SUITE_P(Every, Composed, ::testing::ValuesIn(algorithms_of(SIM_COLLECTIVES, true)), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Composed);

} // namespace sim
