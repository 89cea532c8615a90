// SPDX-License-Identifier: BSD-3-Clause
// Slices cut exactly, and reductions over a meeting's operands are right in order, in place and at the edges of pieces.
#include "affine.h"
#include <cstring>
#include <gtest/gtest.h>
#include <stdatomic.h>
#include <vector>
extern "C" {
#include <intra/combine.h>
#include <weft/error.h>
}

namespace {

using Words = std::vector<uint64_t>;

// A team whose threads are all played by the test, in a meeting where all have shown their operands.
class Combine : public ::testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        ASSERT_EQ(intra_team_create(T, 4, core_waiting_resolve(WEFT_WAIT_AUTO, true), &team), WEFT_SUCCESS);
        meetings.resize(size_t(T));
        for (int thread = 0; thread < T; thread++) {
            intra_take(&meetings[size_t(thread)], &team->members[thread], 0, true);
            intra_occupy(&meetings[size_t(thread)]);
        }
    }
    void TearDown() override {
        intra_team_free(team);
    }
    void fill(size_t words) {
        operands.assign(size_t(T), Words(words));
        for (size_t thread = 0; thread < operands.size(); thread++)
            for (size_t i = 0; i < words; i++)
                operands[thread][i] = affine::operand((thread * 1000003 + i * 7919) << 1);
    }
    void offer() {
        for (size_t thread = 0; thread < operands.size(); thread++)
            meetings[thread].own->payload.offer.send = operands[thread].data();
    }
    // As the thread sees them: its own by its address.
    intra_operands offered(int thread) const {
        return {false, operands[size_t(thread)].data(), op, WEFT_UINT64_T};
    }
    Words oracle() const {
        Words result = operands[0];
        for (size_t thread = 1; thread < operands.size(); thread++)
            for (size_t i = 0; i < result.size(); i++)
                result[i] = affine::after(result[i], operands[thread][i]);
        return result;
    }
    const int T = GetParam();
    const weft_op *op = affine::op();
    intra_team *team = nullptr;
    std::vector<intra_meeting> meetings;
    std::vector<Words> operands;
};

// A piece of 8 KiB holds 1024 words.
const size_t lengths[] = {0, 1, 2, 7, 1023, 1024, 1025, 2048, 3001};

} // namespace

TEST_P(Combine, OfferedOperandsMeetInThreadOrder) {
    for (size_t words : lengths) {
        fill(words);
        offer();
        Words out(words + 2, 77), expected = oracle();
        expected.insert(expected.begin(), 77), expected.push_back(77);
        intra_operands by = offered(0);
        intra_combine(&meetings[0], &by, {0, words}, out.data() + 1);
        EXPECT_EQ(out, expected) << words << " words";
    }
}

TEST_P(Combine, TheResultMayReplaceAnyOperand) {
    for (size_t words : lengths)
        for (int victim = 0; victim < T; victim++) {
            fill(words);
            offer();
            Words expected = oracle();
            std::vector<Words> before = operands;
            intra_operands by = offered(T - 1);
            intra_combine(&meetings[size_t(T - 1)], &by, {0, words}, operands[size_t(victim)].data());
            before[size_t(victim)] = expected;
            EXPECT_EQ(operands, before) << words << " words into operand " << victim;
        }
}

TEST_P(Combine, SlicesOfAllThreadsMakeTheWhole) {
    for (size_t words : lengths) {
        fill(words);
        offer();
        Words out(words, 77);
        for (int thread = 0; thread < T; thread++) {
            intra_slice slice = intra_slice_of(words, sizeof(uint64_t), thread, T);
            intra_operands by = offered(thread);
            intra_combine(&meetings[size_t(thread)], &by, slice, out.data() + slice.begin);
        }
        EXPECT_EQ(out, oracle()) << words << " words";
    }
}

TEST_P(Combine, InlineOperandsComeFromTheCells) {
    for (size_t words : {0, 1, 6, 7, 127, 128}) {
        fill(words);
        for (size_t thread = 0; thread < operands.size(); thread++)
            if (words)
                memcpy(meetings[thread].own->payload.bytes, operands[thread].data(), words * sizeof(uint64_t));
        Words out(words, 77);
        intra_operands by = {true, operands[0].data(), op, WEFT_UINT64_T};
        intra_combine(&meetings[0], &by, {0, words}, out.data());
        EXPECT_EQ(out, oracle()) << words << " words";
    }
}

TEST_P(Combine, ForAllWritesItsSliceEverywhereAndNothingElse) {
    for (size_t words : lengths)
        for (bool in_place : {false, true}) {
            fill(words);
            offer();
            Words result = oracle();
            std::vector<Words> received(size_t(T), Words(words, 77)), expected = received;
            if (in_place)
                expected = operands;
            for (int thread = 0; thread < T; thread++)
                meetings[size_t(thread)].own->payload.offer.recv =
                    in_place ? operands[size_t(thread)].data() : received[size_t(thread)].data();
            int self = T / 2;
            intra_slice slice = intra_slice_of(words, sizeof(uint64_t), self, T);
            for (Words &one : expected)
                std::copy_n(result.begin() + ptrdiff_t(slice.begin), slice.count, one.begin() + ptrdiff_t(slice.begin));
            intra_operands by = offered(self);
            intra_combine_for_all(&meetings[size_t(self)], &by, slice, meetings[size_t(self)].own->payload.offer.recv);
            EXPECT_EQ(in_place ? operands : received, expected) << words << " words" << (in_place ? " in place" : "");
        }
}

// Elements of other sizes: one byte (8192 a piece) and 32 (256 a piece), with an operation that is not the test's.
TEST_P(Combine, PiecesHoldWholeElementsOfAnySize) {
    for (size_t count : {255, 256, 257, 8191, 8192, 8193, 16385}) {
        size_t threads = size_t(T);
        std::vector<std::vector<uint8_t>> bytes(threads, std::vector<uint8_t>(count));
        std::vector<uint8_t> sums(count), out(count, 9);
        struct pair {
            long double value;
            int index;
        };
        std::vector<std::vector<pair>> pairs(threads, std::vector<pair>(count));
        std::vector<pair> most(count);
        for (size_t thread = 0; thread < threads; thread++)
            for (size_t i = 0; i < count; i++) {
                bytes[thread][i] = uint8_t(thread * 31 + i * 7);
                sums[i] = uint8_t(sums[i] + bytes[thread][i]);
                pairs[thread][i] = {static_cast<long double>((i + thread * 5) % 7), int(thread)};
                // The index of the first thread that has the largest value.
                if (!thread || pairs[thread][i].value > most[i].value)
                    most[i] = pairs[thread][i];
            }
        for (size_t thread = 0; thread < threads; thread++)
            meetings[thread].own->payload.offer.send = bytes[thread].data();
        intra_operands of_bytes = {false, bytes[0].data(), WEFT_SUM, WEFT_UINT8_T};
        intra_combine(&meetings[0], &of_bytes, {0, count}, out.data());
        EXPECT_EQ(out, sums) << count;
        for (size_t thread = 0; thread < threads; thread++)
            meetings[thread].own->payload.offer.send = pairs[thread].data();
        std::vector<pair> got(count);
        intra_operands of_pairs = {false, pairs[0].data(), WEFT_MAXLOC, WEFT_LONG_DOUBLE_INT};
        intra_combine(&meetings[0], &of_pairs, {0, count}, got.data());
        for (size_t i = 0; i < count; i++)
            ASSERT_TRUE(got[i].value == most[i].value && got[i].index == most[i].index) << count << ", element " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Threads, Combine, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 12));

TEST(Slices, PartitionEverything) {
    for (size_t size : {1, 2, 4, 8, 12, 16, 24, 32, 64, 100})
        for (size_t count : {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 1000, 4096, 12345})
            for (int parts = 1; parts <= 13; parts++) {
                size_t next = 0, unit = size < 64 ? 64 / size : 1, least = SIZE_MAX, most = 0;
                for (int part = 0; part < parts; part++) {
                    intra_slice slice = intra_slice_of(count, size, part, parts);
                    if (slice.count) {
                        ASSERT_EQ(slice.begin, next) << count << " of " << size << " bytes, part " << part;
                    }
                    EXPECT_LE(slice.begin, count);
                    next += slice.count;
                    least = std::min(least, slice.count);
                    most = std::max(most, slice.count);
                    bool last = next == count;
                    EXPECT_TRUE(last || slice.count % unit == 0) << "only the last may end within a line";
                    EXPECT_TRUE(64 % size || slice.begin * size % 64 == 0 || slice.begin == count);
                }
                EXPECT_EQ(next, count);
                EXPECT_LE(most - least, 2 * unit - 1) << "of nearly equal size";
            }
}

TEST(Slices, DoNotOverflow) {
    size_t count = SIZE_MAX / 64, next = 0;
    for (int part = 0; part < 4096; part++) {
        intra_slice slice = intra_slice_of(count, 64, part, 4096);
        ASSERT_EQ(slice.begin, next);
        next += slice.count;
    }
    EXPECT_EQ(next, count);
}
