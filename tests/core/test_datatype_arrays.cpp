// SPDX-License-Identifier: BSD-3-Clause
// Subarrays and distributed arrays: examples by hand, that the parts of all processes are the whole, random arrays (the
// type oracle finds the elements of each by their indices), and the sentence of every error.
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>
#include <weft/datatype.h>
#include <weft/error.h>
extern "C" {
#include <core/datatype.h>
#include <core/layout.h>
}
#include <core/type_oracle.h>

namespace {

// The numbers of the elements of an array of ints that the type has.
std::vector<int> elements(const weft_datatype *type) {
    std::vector<int> array(size_t(type->extent) / sizeof(int)), packed(type->size_bytes / sizeof(int));
    std::iota(array.begin(), array.end(), 0);
    core_pack(packed.data(), array.data(), type, 1, 0, type->size_bytes);
    return packed;
}

constexpr size_t by_default = WEFT_DISTRIBUTE_DFLT_DARG;

struct grid {
    int size, rank;
    std::vector<size_t> gsizes;
    std::vector<enum weft_distribute> distribs;
    std::vector<size_t> args;
    std::vector<int> psizes;
    enum weft_order order = WEFT_ORDER_C;
    int make(weft_datatype **type) const {
        return weft_type_darray(size, rank, int(gsizes.size()), gsizes.data(), distribs.data(), args.data(),
                                psizes.data(), order, WEFT_INT, type);
    }
    std::vector<int> part() const {
        weft_datatype *type = nullptr;
        EXPECT_EQ(make(&type), WEFT_SUCCESS) << weft_last_error();
        if (!type)
            return {};
        size_t all = std::accumulate(gsizes.begin(), gsizes.end(), size_t(1), std::multiplies<>());
        EXPECT_EQ(type->extent, ptrdiff_t(all * sizeof(int)));
        EXPECT_EQ(type->lower_bound, 0);
        std::vector<int> found = elements(type);
        EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
        return found;
    }
    void expect_error(const std::string &sentence) const {
        weft_datatype *type = nullptr;
        EXPECT_EQ(make(&type), WEFT_ERR_ARG);
        EXPECT_EQ(weft_last_error(), "weft_type_darray: " + sentence);
        EXPECT_EQ(type, nullptr);
    }
};

constexpr auto NONE = WEFT_DISTRIBUTE_NONE;
constexpr auto BLOCK = WEFT_DISTRIBUTE_BLOCK;
constexpr auto CYCLIC = WEFT_DISTRIBUTE_CYCLIC;

} // namespace

TEST(Subarray, BothOrders) {
    const size_t sizes[] = {3, 4}, subsizes[] = {2, 2}, starts[] = {1, 2};
    weft_datatype *type;
    ASSERT_EQ(weft_type_subarray(2, sizes, subsizes, starts, WEFT_ORDER_C, WEFT_INT, &type), WEFT_SUCCESS);
    EXPECT_EQ(elements(type), std::vector<int>({6, 7, 10, 11}));
    EXPECT_EQ(type->extent, 48);
    EXPECT_EQ(type->true_lower_bound, 24);
    EXPECT_EQ(type->true_extent, 24);
    weft_type_free(&type);
    ASSERT_EQ(weft_type_subarray(2, sizes, subsizes, starts, WEFT_ORDER_FORTRAN, WEFT_INT, &type), WEFT_SUCCESS);
    EXPECT_EQ(elements(type), std::vector<int>({7, 8, 10, 11}));
    weft_type_free(&type);
}

TEST(Subarray, WrongArguments) {
    const size_t sizes[] = {3, 4}, subsizes[] = {2, 2}, starts[] = {1, 2}, none[] = {2, 0}, many[] = {4, 2};
    const size_t late[] = {1, 3}, huge[] = {size_t(1) << 40, size_t(1) << 40}, zero[] = {0, 0};
    weft_datatype *type = nullptr;
    auto expect = [&](const std::string &sentence, int code) {
        EXPECT_EQ(code, WEFT_ERR_ARG);
        EXPECT_EQ(weft_last_error(), "weft_type_subarray: " + sentence);
        EXPECT_EQ(type, nullptr);
    };
    const auto order = WEFT_ORDER_C;
    expect("old is NULL", weft_type_subarray(2, sizes, subsizes, starts, order, nullptr, &type));
    expect("there is no place for the type (type is NULL)",
           weft_type_subarray(2, sizes, subsizes, starts, order, WEFT_INT, nullptr));
    expect("an array of 0 dimensions; it must have at least 1",
           weft_type_subarray(0, sizes, subsizes, starts, order, WEFT_INT, &type));
    expect("order is 2; it must be WEFT_ORDER_C or WEFT_ORDER_FORTRAN",
           weft_type_subarray(2, sizes, subsizes, starts, static_cast<enum weft_order>(2), WEFT_INT, &type));
    expect("sizes is NULL", weft_type_subarray(2, nullptr, subsizes, starts, order, WEFT_INT, &type));
    expect("subsizes is NULL", weft_type_subarray(2, sizes, nullptr, starts, order, WEFT_INT, &type));
    expect("starts is NULL", weft_type_subarray(2, sizes, subsizes, nullptr, order, WEFT_INT, &type));
    expect("subsizes[1] is 0; it must be 1 … 4 (sizes[1])",
           weft_type_subarray(2, sizes, none, starts, order, WEFT_INT, &type));
    expect("subsizes[0] is 4; it must be 1 … 3 (sizes[0])",
           weft_type_subarray(2, sizes, many, starts, order, WEFT_INT, &type));
    expect("starts[1] is 3; it must be 0 … 2 (sizes[1] - subsizes[1])",
           weft_type_subarray(2, sizes, subsizes, late, order, WEFT_INT, &type));
    expect("the array's extent would not fit ptrdiff_t",
           weft_type_subarray(2, huge, subsizes, zero, order, WEFT_INT, &type));
}

TEST(Darray, BlocksAndRounds) {
    EXPECT_EQ((grid{3, 0, {10}, {BLOCK}, {by_default}, {3}}.part()), std::vector<int>({0, 1, 2, 3}));
    EXPECT_EQ((grid{3, 2, {10}, {BLOCK}, {by_default}, {3}}.part()), std::vector<int>({8, 9}));
    EXPECT_EQ((grid{3, 2, {10}, {BLOCK}, {5}, {3}}.part()), std::vector<int>());
    EXPECT_EQ((grid{2, 0, {10}, {CYCLIC}, {2}, {2}}.part()), std::vector<int>({0, 1, 4, 5, 8, 9}));
    EXPECT_EQ((grid{2, 0, {9}, {CYCLIC}, {2}, {2}}.part()), std::vector<int>({0, 1, 4, 5, 8}));
    EXPECT_EQ((grid{2, 1, {9}, {CYCLIC}, {by_default}, {2}}.part()), std::vector<int>({1, 3, 5, 7}));
    EXPECT_EQ((grid{2, 1, {2, 4}, {NONE, BLOCK}, {by_default, 2}, {1, 2}}.part()), std::vector<int>({2, 3, 6, 7}));
    EXPECT_EQ((grid{1, 0, {3}, {CYCLIC}, {SIZE_MAX - 1}, {1}}.part()), std::vector<int>({0, 1, 2}));
}

TEST(Darray, RanksAreRowMajorInBothOrders) {
    // Rank 1 of a 2 x 2 grid is at (0, 1).
    EXPECT_EQ((grid{4, 1, {2, 2}, {BLOCK, BLOCK}, {by_default, by_default}, {2, 2}}.part()), std::vector<int>({1}));
    EXPECT_EQ((grid{4, 1, {2, 2}, {BLOCK, BLOCK}, {by_default, by_default}, {2, 2}, WEFT_ORDER_FORTRAN}.part()),
              std::vector<int>({2}));
}

TEST(Darray, ThePartsOfAllProcessesAreTheArray) {
    for (enum weft_order order : {WEFT_ORDER_C, WEFT_ORDER_FORTRAN}) {
        std::vector<int> all, expected(5 * 7 * 4);
        std::iota(expected.begin(), expected.end(), 0);
        for (int rank = 0; rank < 12; rank++)
            for (int element :
                 grid{12, rank, {5, 7, 4}, {CYCLIC, CYCLIC, BLOCK}, {by_default, 2, by_default}, {2, 3, 2}, order}
                     .part())
                all.push_back(element);
        std::sort(all.begin(), all.end());
        EXPECT_EQ(all, expected);
    }
}

TEST(Darray, RandomArraysOfRandomTypes) {
    oracle::maker make(99, {WEFT_CHAR, WEFT_SHORT, WEFT_DOUBLE});
    for (int round = 0; round < 1500; round++) {
        oracle::type old = make.make(2);
        if (old.of.entries.size() > 50)
            continue;
        oracle::type t = make.darray(old);
        ASSERT_EQ(make.failures, 0) << weft_last_error();
        ASSERT_EQ(t.handle->size_bytes, t.of.size());
        ASSERT_EQ(t.handle->lower_bound, t.of.lower());
        ASSERT_EQ(t.handle->extent, t.of.extent());
        ASSERT_EQ(t.handle->true_lower_bound, t.of.true_lower());
        ASSERT_EQ(t.handle->true_extent, t.of.true_upper() - t.of.true_lower());
        oracle::memory array(t.of, 1);
        for (unsigned char &byte : array.bytes)
            byte = static_cast<unsigned char>(make.random());
        std::vector<unsigned char> packed(t.of.size()), expected;
        for (ptrdiff_t displ : t.of.bytes(1))
            expected.push_back(array.at(displ));
        core_pack(packed.data(), array.buffer(), t.handle, 1, 0, packed.size());
        ASSERT_EQ(packed, expected) << "round " << round;
    }
}

TEST(Darray, WrongArguments) {
    const grid good = {4, 1, {8, 8}, {BLOCK, CYCLIC}, {4, 2}, {2, 2}};
    EXPECT_EQ(good.part().size(), 16u);
    grid g = good;
    g.size = 0;
    g.expect_error("size is 0; it must be at least 1");
    g = good;
    g.rank = 4;
    g.expect_error("rank is 4; it must be 0 … 3");
    g.rank = -1;
    g.expect_error("rank is -1; it must be 0 … 3");
    g = good;
    g.gsizes[1] = 0;
    g.expect_error("gsizes[1] is 0; it must be at least 1");
    g = good;
    g.psizes[0] = 0;
    g.expect_error("psizes[0] is 0; it must be at least 1");
    g.psizes[0] = 3;
    g.expect_error("the product of psizes is not size, which is 4");
    g.psizes = {INT32_MAX, INT32_MAX};
    g.expect_error("the product of psizes is not size, which is 4");
    g = good;
    g.args[0] = 3;
    g.expect_error("args[0] is 3; 2 blocks of it must hold 8 elements (gsizes[0])");
    g.args[0] = 0;
    g.expect_error("args[0] is 0; 2 blocks of it must hold 8 elements (gsizes[0])");
    g = good;
    g.args[1] = 0;
    g.expect_error("args[1] is 0; it must be at least 1");
    g = good;
    g.distribs[1] = NONE;
    g.expect_error("psizes[1] is 2; a dimension that is not dealt out has 1");
    g.distribs[1] = static_cast<enum weft_distribute>(3);
    g.expect_error("distribs[1] is 3; it must be a WEFT_DISTRIBUTE_ constant");
    g = good;
    g.gsizes = {size_t(1) << 40, size_t(1) << 40};
    g.args = {by_default, by_default};
    g.expect_error("the type's size or extent would not fit ptrdiff_t");
    weft_datatype *type = nullptr;
    EXPECT_EQ(weft_type_darray(4, 1, 2, good.gsizes.data(), good.distribs.data(), good.args.data(), good.psizes.data(),
                               static_cast<enum weft_order>(7), WEFT_INT, &type),
              WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_darray: order is 7; it must be WEFT_ORDER_C or WEFT_ORDER_FORTRAN");
    EXPECT_EQ(weft_type_darray(4, 1, 2, good.gsizes.data(), nullptr, good.args.data(), good.psizes.data(), good.order,
                               WEFT_INT, &type),
              WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_darray: distribs is NULL");
}
