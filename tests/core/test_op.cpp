// SPDX-License-Identifier: BSD-3-Clause
// Operations as objects: names, users' operations from creation to a stale handle, and how they are called.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <thread>
#include <vector>
#include <weft/datatype.h>
extern "C" {
#include <core/error.h>
#include <core/op.h>
}

namespace {

// Does not commute: decimal digits appended. Also counts elements and rejects operands that overlap.
std::atomic<size_t> elements, overlaps;
void concatenate(const void *in, void *inout, size_t count, const weft_datatype *type) {
    const uint64_t *left = static_cast<const uint64_t *>(in);
    uint64_t *right = static_cast<uint64_t *>(inout);
    overlaps += left < right + count && right < left + count;
    elements += type == WEFT_UINT64_T ? count : 0;
    for (size_t i = 0; i < count; i++)
        right[i] = left[i] * 10 + right[i];
}

// in wins, whatever the element.
void keep_left(const void *in, void *inout, size_t count, const weft_datatype *type) {
    memcpy(inout, in, count * weft_datatype_size(type));
}

class UserOp : public ::testing::Test {
  protected:
    void SetUp() override {
        elements = overlaps = 0;
        ASSERT_EQ(weft_op_create(concatenate, 0, &op), WEFT_SUCCESS);
    }
    void TearDown() override {
        if (op) {
            EXPECT_EQ(weft_op_free(&op), WEFT_SUCCESS);
        }
    }
    weft_op *op = nullptr;
};

} // namespace

TEST(Op, NamesAndCommutativity) {
    const std::pair<const weft_op *, const char *> all[] = {
        {WEFT_SUM, "WEFT_SUM"},         {WEFT_PROD, "WEFT_PROD"},     {WEFT_MAX, "WEFT_MAX"},
        {WEFT_MIN, "WEFT_MIN"},         {WEFT_LAND, "WEFT_LAND"},     {WEFT_LOR, "WEFT_LOR"},
        {WEFT_LXOR, "WEFT_LXOR"},       {WEFT_BAND, "WEFT_BAND"},     {WEFT_BOR, "WEFT_BOR"},
        {WEFT_BXOR, "WEFT_BXOR"},       {WEFT_MAXLOC, "WEFT_MAXLOC"}, {WEFT_MINLOC, "WEFT_MINLOC"},
        {WEFT_REPLACE, "WEFT_REPLACE"}, {WEFT_NO_OP, "WEFT_NO_OP"}};
    EXPECT_EQ(std::size(all), size_t(CORE_OPS));
    for (auto [op, name] : all) {
        EXPECT_TRUE(core_op_valid(op));
        EXPECT_STREQ(weft_op_name(op), name);
        EXPECT_EQ(op->commutative, op != WEFT_REPLACE && op != WEFT_NO_OP) << name;
    }
    EXPECT_EQ(weft_op_name(nullptr), nullptr);
}

TEST(Op, TheInstructionSetIsOneOfThree) {
    std::string isa = core_reduce_isa();
    EXPECT_TRUE(isa == "generic" || isa == "avx2" || isa == "avx512") << isa;
#if defined(__x86_64__)
    EXPECT_EQ(isa != "generic", __builtin_cpu_supports("avx2") != 0);
#endif
}

TEST(Op, NothingToReduceTouchesNothing) {
    core_reduce(WEFT_SUM, WEFT_DOUBLE, nullptr, nullptr, nullptr, 0);
    core_reduce(WEFT_REPLACE, WEFT_DOUBLE, nullptr, nullptr, nullptr, 0);
}

TEST(Op, PredefinedOnesCannotBeFreed) {
    weft_op *sum = const_cast<weft_op *>(WEFT_SUM);
    EXPECT_EQ(weft_op_free(&sum), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_op_free: WEFT_SUM is predefined");
    EXPECT_EQ(sum, WEFT_SUM);
}

TEST(Op, WrongArguments) {
    weft_op *op = nullptr;
    EXPECT_EQ(weft_op_create(nullptr, 1, &op), WEFT_ERR_ARG);
    EXPECT_EQ(op, nullptr);
    EXPECT_EQ(weft_op_create(concatenate, 1, nullptr), WEFT_ERR_ARG);
    EXPECT_EQ(weft_op_free(nullptr), WEFT_ERR_ARG);
    EXPECT_EQ(weft_op_free(&op), WEFT_ERR_ARG);
}

TEST_F(UserOp, KnowsWhatItWasMadeWith) {
    EXPECT_STREQ(weft_op_name(op), "user");
    EXPECT_FALSE(op->commutative);
    weft_op *other;
    ASSERT_EQ(weft_op_create(keep_left, 7, &other), WEFT_SUCCESS);
    EXPECT_TRUE(other->commutative);
    EXPECT_NE(other, op);
    EXPECT_EQ(weft_op_free(&other), WEFT_SUCCESS);
}

TEST_F(UserOp, AStaleHandleIsRefused) {
    weft_op *stale = op;
    EXPECT_EQ(weft_op_free(&op), WEFT_SUCCESS);
    EXPECT_EQ(op, nullptr);
    EXPECT_FALSE(core_op_valid(stale));
    EXPECT_EQ(weft_op_name(stale), nullptr);
    EXPECT_EQ(weft_op_free(&stale), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_op_free: the handle is no operation, or was freed before");
    EXPECT_NE(stale, nullptr);
}

TEST_F(UserOp, ExistsForEveryType) {
    for (const weft_datatype *type : {WEFT_BYTE, WEFT_CHAR, WEFT_DOUBLE, WEFT_LONG_DOUBLE_INT})
        EXPECT_TRUE(core_op_defined(op, type));
}

TEST_F(UserOp, CombinesInOrderWhereverTheOutputIs) {
    for (size_t count : {0, 1, 3, 511, 512, 513, 1000, 5000}) {
        std::vector<uint64_t> left(count), right(count), expected(count);
        for (size_t i = 0; i < count; i++) {
            left[i] = i % 9 + 1;
            right[i] = i % 7 + 2;
            expected[i] = left[i] * 10 + right[i];
        }
        std::vector<uint64_t> apart(count), in_left = left, in_right = right;
        elements = 0;
        core_reduce(op, WEFT_UINT64_T, left.data(), right.data(), apart.data(), count);
        EXPECT_EQ(apart, expected);
        core_reduce(op, WEFT_UINT64_T, in_left.data(), right.data(), in_left.data(), count);
        EXPECT_EQ(in_left, expected);
        core_reduce(op, WEFT_UINT64_T, left.data(), in_right.data(), in_right.data(), count);
        EXPECT_EQ(in_right, expected);
        EXPECT_EQ(elements, 3 * count) << "each element once";
    }
    EXPECT_EQ(overlaps, 0u);
}

TEST_F(UserOp, LeftRightAndOutputMayAllBeOneBuffer) {
    std::vector<uint64_t> all(700, 4);
    core_reduce(op, WEFT_UINT64_T, all.data(), all.data(), all.data(), all.size());
    EXPECT_EQ(all, std::vector<uint64_t>(700, 44));
    EXPECT_EQ(overlaps, 0u);
}

TEST_F(UserOp, TheLargestTypeFitsTheScratchBlock) {
    weft_op *first;
    ASSERT_EQ(weft_op_create(keep_left, 0, &first), WEFT_SUCCESS);
    std::vector<unsigned char> left(32 * 1000), right(32 * 1000, 0xee);
    std::iota(left.begin(), left.end(), 0);
    std::vector<unsigned char> out = left;
    core_reduce(first, WEFT_LONG_DOUBLE_INT, out.data(), right.data(), out.data(), 1000);
    EXPECT_EQ(out, left);
    core_reduce(first, WEFT_LONG_DOUBLE_INT, left.data(), right.data(), right.data(), 1000);
    EXPECT_EQ(right, left);
    EXPECT_EQ(weft_op_free(&first), WEFT_SUCCESS);
}

TEST_F(UserOp, ElementsMayBeLongerThanTheScratchBlockOrEmpty) {
    weft_op *first;
    ASSERT_EQ(weft_op_create(keep_left, 0, &first), WEFT_SUCCESS);
    for (size_t bytes : {4096, 4097, 20000, 0}) {
        weft_datatype *type = nullptr;
        ASSERT_EQ(weft_type_contiguous(bytes, WEFT_BYTE, &type), WEFT_SUCCESS);
        std::vector<unsigned char> left(bytes * 5), right(bytes * 5, 0xee);
        std::iota(left.begin(), left.end(), 0);
        std::vector<unsigned char> out = left;
        EXPECT_EQ(core_reduce(first, type, out.data(), right.data(), out.data(), 5), WEFT_SUCCESS);
        EXPECT_EQ(out, left);
        EXPECT_EQ(core_reduce(first, type, left.data(), right.data(), right.data(), 5), WEFT_SUCCESS);
        EXPECT_EQ(right, left);
        EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
    }
    EXPECT_EQ(weft_op_free(&first), WEFT_SUCCESS);
}

TEST(OpThreads, CreateReduceAndFreeFromManyThreads) {
    auto body = [](int thread) {
        for (int round = 0; round < 200; round++) {
            weft_op *op = nullptr;
            ASSERT_EQ(weft_op_create(thread % 2 ? concatenate : keep_left, 0, &op), WEFT_SUCCESS);
            uint64_t left = uint64_t(thread) + 1, right = 5, out = 0;
            core_reduce(op, WEFT_UINT64_T, &left, &right, &out, 1);
            ASSERT_EQ(out, thread % 2 ? left * 10 + 5 : left);
            core_reduce(WEFT_SUM, WEFT_UINT64_T, &left, &right, &out, 1);
            ASSERT_EQ(out, left + right);
            ASSERT_EQ(weft_op_free(&op), WEFT_SUCCESS);
        }
    };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; thread++)
        threads.emplace_back(body, thread);
    for (std::thread &thread : threads)
        thread.join();
}
