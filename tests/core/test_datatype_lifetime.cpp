// SPDX-License-Identifier: BSD-3-Clause
// Derived types as objects: commit, free and stale handles, uses that outlive the owner, the queries, and threads.
#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>
#include <weft/datatype.h>
#include <weft/error.h>
extern "C" {
#include <core/datatype.h>
#include <core/layout.h>
#include <core/op.h>
}

namespace {

weft_datatype *every_other(const weft_datatype *old, size_t count = 4) {
    weft_datatype *made = nullptr;
    EXPECT_EQ(weft_type_vector(count, 1, 2, old, &made), WEFT_SUCCESS) << weft_last_error();
    return made;
}

} // namespace

TEST(DatatypeLifetime, FromCreationToAStaleHandle) {
    weft_datatype *type = every_other(WEFT_INT), *stale = type;
    EXPECT_TRUE(core_datatype_valid(type));
    EXPECT_FALSE(core_datatype_committed(type));
    EXPECT_STREQ(weft_datatype_name(type), "derived");
    EXPECT_EQ(weft_datatype_size(type), 16u);
    EXPECT_EQ(weft_type_commit(&type), WEFT_SUCCESS);
    EXPECT_TRUE(core_datatype_committed(type));
    EXPECT_EQ(weft_type_commit(&type), WEFT_SUCCESS) << "again does nothing";
    EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
    EXPECT_EQ(type, nullptr);
    EXPECT_FALSE(core_datatype_valid(stale));
    EXPECT_EQ(weft_datatype_size(stale), 0u);
    EXPECT_EQ(weft_datatype_name(stale), nullptr);
    EXPECT_EQ(weft_type_free(&stale), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_free: *type is no datatype, or was freed before");
    EXPECT_NE(stale, nullptr);
    EXPECT_EQ(weft_type_commit(&stale), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_commit: *type is no datatype, or was freed before");
    weft_datatype *made = nullptr;
    EXPECT_EQ(weft_type_contiguous(1, stale, &made), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_contiguous: old is no datatype, or was freed before");
    EXPECT_EQ(made, nullptr);
}

TEST(DatatypeLifetime, PredefinedTypesAreCommittedAndStay) {
    weft_datatype *type = const_cast<weft_datatype *>(WEFT_DOUBLE);
    EXPECT_EQ(weft_type_commit(&type), WEFT_SUCCESS);
    EXPECT_TRUE(core_datatype_committed(type));
    EXPECT_EQ(weft_type_free(&type), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_free: WEFT_DOUBLE is predefined");
    EXPECT_EQ(type, WEFT_DOUBLE);
    core_datatype_retain(type);
    core_datatype_release(type);
    core_datatype_release(type);
    EXPECT_TRUE(core_datatype_valid(type));
}

TEST(DatatypeLifetime, NullHandles) {
    weft_datatype *none = nullptr;
    EXPECT_EQ(weft_type_free(nullptr), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_free: type is NULL");
    EXPECT_EQ(weft_type_free(&none), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_free: *type is NULL");
    EXPECT_EQ(weft_type_commit(nullptr), WEFT_ERR_ARG);
    EXPECT_EQ(weft_type_commit(&none), WEFT_ERR_ARG);
}

TEST(DatatypeLifetime, WhatIsInUseOutlivesItsOwner) {
    weft_datatype *type = every_other(WEFT_INT, 2), *used = type;
    ASSERT_EQ(weft_type_commit(&type), WEFT_SUCCESS);
    core_datatype_retain(used);
    core_datatype_retain(used);
    EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
    core_datatype_release(used);
    // Nothing new may begin, but what goes on may copy and ask.
    EXPECT_FALSE(core_datatype_valid(used));
    EXPECT_EQ(weft_datatype_size(used), 8u);
    EXPECT_STREQ(weft_datatype_name(used), "derived");
    ptrdiff_t lower = -1, extent = -1;
    EXPECT_EQ(weft_type_extent(used, &lower, &extent), WEFT_SUCCESS);
    EXPECT_EQ(extent, 12);
    const int from[] = {1, 2, 3};
    int packed[2] = {0, 0};
    core_pack(packed, from, used, 1, 0, 8);
    EXPECT_EQ(packed[1], 3);
    weft_datatype *again = used;
    EXPECT_EQ(weft_type_free(&again), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_free: *type is no datatype, or was freed before");
    core_datatype_release(used);
    EXPECT_EQ(weft_datatype_size(used), 0u);
}

TEST(DatatypeLifetime, WhatATypeIsMadeOfMayGoFirst) {
    weft_datatype *inner = every_other(WEFT_SHORT, 3), *middle, *outer;
    const size_t lengths[] = {1, 2};
    const ptrdiff_t displs[] = {0, 20};
    const weft_datatype *types[] = {WEFT_DOUBLE, inner};
    ASSERT_EQ(weft_type_struct(2, lengths, displs, types, &middle), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_free(&inner), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_hvector(2, 1, 64, middle, &outer), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_free(&middle), WEFT_SUCCESS);
    // Its memory may be another's by now.
    std::vector<weft_datatype *> others;
    for (int i = 0; i < 100; i++)
        others.push_back(every_other(WEFT_CHAR, 5));
    unsigned char buffer[128], packed[40];
    for (int i = 0; i < 128; i++)
        buffer[i] = static_cast<unsigned char>(i);
    core_pack(packed, buffer, outer, 1, 0, 40);
    const unsigned char expected[] = {0,  1,  2,  3,  4,  5,  6,  7,  20, 21, 24, 25, 28, 29, 30, 31, 34, 35, 38,  39,
                                      64, 65, 66, 67, 68, 69, 70, 71, 84, 85, 88, 89, 92, 93, 94, 95, 98, 99, 102, 103};
    EXPECT_EQ(memcmp(packed, expected, 40), 0);
    EXPECT_EQ(core_datatype_elements(outer, 12), 3u);
    EXPECT_EQ(weft_type_free(&outer), WEFT_SUCCESS);
    for (weft_datatype *other : others)
        EXPECT_EQ(weft_type_free(&other), WEFT_SUCCESS);
}

TEST(DatatypeLifetime, DuplicatesAreTypesOfTheirOwnAndAsCommitted) {
    weft_datatype *type = every_other(WEFT_INT), *early, *late, *of_predefined;
    ASSERT_EQ(weft_type_dup(type, &early), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_commit(&type), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_dup(type, &late), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_dup(WEFT_INT, &of_predefined), WEFT_SUCCESS);
    EXPECT_FALSE(core_datatype_committed(early));
    EXPECT_TRUE(core_datatype_committed(late));
    EXPECT_TRUE(core_datatype_committed(of_predefined));
    EXPECT_TRUE(of_predefined->contiguous);
    EXPECT_NE(late, type);
    EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
    EXPECT_EQ(weft_datatype_size(late), 16u);
    for (weft_datatype *t : {early, late, of_predefined})
        EXPECT_EQ(weft_type_free(&t), WEFT_SUCCESS);
}

TEST(DatatypeLifetime, QueriesSayWhatIsMissing) {
    size_t bytes = 5;
    ptrdiff_t a = 6, b = 7;
    EXPECT_EQ(weft_type_size(nullptr, &bytes), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_size: type is NULL");
    EXPECT_EQ(weft_type_size(WEFT_INT, nullptr), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_size: there is no place for the size (bytes is NULL)");
    EXPECT_EQ(weft_type_extent(nullptr, &a, &b), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_extent: type is NULL");
    EXPECT_EQ(weft_type_extent(WEFT_INT, &a, nullptr), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_extent: there is no place for the result (extent is NULL)");
    EXPECT_EQ(weft_type_extent(WEFT_INT, nullptr, &b), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_extent: there is no place for the result (lower_bound is NULL)");
    EXPECT_EQ(weft_type_true_extent(nullptr, &a, &b), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_true_extent: type is NULL");
    EXPECT_EQ(weft_type_true_extent(WEFT_INT, &a, nullptr), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_type_true_extent: there is no place for the result (true_extent is NULL)");
    EXPECT_EQ(weft_type_true_extent(WEFT_INT, nullptr, &b), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(),
                 "weft_type_true_extent: there is no place for the result (true_lower_bound is NULL)");
    EXPECT_EQ(bytes, 5u);
    EXPECT_EQ(a, 6);
    EXPECT_EQ(b, 7);
    EXPECT_EQ(weft_type_true_extent(WEFT_SHORT_INT, &a, &b), WEFT_SUCCESS);
    EXPECT_EQ(a, 0);
    EXPECT_EQ(b, 8);
}

TEST(DatatypeLifetime, OnlyUsersOperationsReduceDerivedTypes) {
    weft_datatype *type = nullptr;
    ASSERT_EQ(weft_type_dup(WEFT_INT, &type), WEFT_SUCCESS);
    weft_op *op;
    ASSERT_EQ(weft_op_create([](const void *, void *, size_t, const weft_datatype *) {}, 1, &op), WEFT_SUCCESS);
    for (const weft_op *built_in : {WEFT_SUM, WEFT_MAX, WEFT_BAND, WEFT_MINLOC, WEFT_LOR})
        EXPECT_FALSE(core_op_defined(built_in, type)) << weft_op_name(built_in);
    EXPECT_TRUE(core_op_defined(op, type));
    EXPECT_TRUE(core_op_defined(WEFT_REPLACE, type));
    EXPECT_EQ(weft_op_free(&op), WEFT_SUCCESS);
    EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
}

TEST(DatatypeThreads, OneTypeIsUsedByManyAndFreedByOne) {
    for (int round = 0; round < 50; round++) {
        weft_datatype *type = every_other(WEFT_DOUBLE), *shared = type;
        ASSERT_EQ(weft_type_commit(&type), WEFT_SUCCESS);
        std::atomic<int> wrong{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; t++) {
            core_datatype_retain(shared);
            threads.emplace_back([shared, &wrong] {
                double from[7] = {1, 0, 2, 0, 3, 0, 4}, packed[4] = {0, 0, 0, 0};
                core_pack(packed, from, shared, 1, 0, 32);
                wrong += packed[3] != 4 || weft_datatype_size(shared) != 32;
                core_datatype_release(shared);
            });
        }
        EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
        for (std::thread &thread : threads)
            thread.join();
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(weft_datatype_size(shared), 0u);
    }
}

TEST(DatatypeThreads, ManyMakeTypesOfOne) {
    weft_datatype *base = every_other(WEFT_INT);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; t++)
        threads.emplace_back([base, &wrong] {
            for (int i = 0; i < 300; i++) {
                weft_datatype *made = nullptr;
                const size_t lengths[] = {1, 1};
                const ptrdiff_t displs[] = {0, 100 + i};
                const weft_datatype *types[] = {base, WEFT_DOUBLE};
                wrong += weft_type_struct(2, lengths, displs, types, &made) != WEFT_SUCCESS;
                wrong += weft_type_commit(&made) != WEFT_SUCCESS;
                wrong += weft_datatype_size(made) != 24;
                wrong += weft_type_free(&made) != WEFT_SUCCESS;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(weft_type_free(&base), WEFT_SUCCESS);
}

TEST(DatatypeThreads, OfTwoWhoFreeOneWins) {
    for (int round = 0; round < 100; round++) {
        weft_datatype *type = every_other(WEFT_INT);
        std::atomic<int> freed{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; t++)
            threads.emplace_back([type, &freed]() mutable { freed += weft_type_free(&type) == WEFT_SUCCESS; });
        for (std::thread &thread : threads)
            thread.join();
        EXPECT_EQ(freed, 1);
    }
}
