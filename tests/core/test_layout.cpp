// SPDX-License-Identifier: BSD-3-Clause
// How data lies and is copied, against type maps that are expanded entry by entry: bounds, packing, unpacking and
// copying of thousands of random types in random windows, how compact layouts are, and displacements beyond 4 GiB.
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
extern "C" {
#include <core/datatype.h>
#include <core/layout.h>
#include <core/nest.h>
#include <core/stream.h>
}
#include <core/type_oracle.h>

using oracle::maker;
using oracle::map;
using oracle::memory;
using oracle::type;

namespace {

const std::vector<const weft_datatype *> leaves = {WEFT_CHAR,       WEFT_SHORT, WEFT_INT,         WEFT_FLOAT,
                                                   WEFT_DOUBLE,     WEFT_LONG,  WEFT_LONG_DOUBLE, WEFT_SHORT_INT,
                                                   WEFT_DOUBLE_INT, WEFT_BYTE,  WEFT_UINT8_T};

void expect_bounds(const type &t) {
    size_t size = 0;
    ptrdiff_t lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    ASSERT_EQ(weft_type_size(t.handle, &size), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_extent(t.handle, &lower, &extent), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_true_extent(t.handle, &true_lower, &true_extent), WEFT_SUCCESS);
    ASSERT_EQ(size, t.of.size());
    ASSERT_EQ(lower, t.of.lower());
    ASSERT_EQ(extent, t.of.extent());
    ASSERT_EQ(true_lower, t.of.true_lower());
    ASSERT_EQ(true_extent, t.of.true_upper() - t.of.true_lower());
    // The contiguous flag is a promise; where the map keeps it the flag may be missing only for want of data.
    std::vector<ptrdiff_t> bytes = t.of.bytes(2);
    bool run = t.of.lower() == 0 && t.of.extent() == ptrdiff_t(t.of.size());
    for (size_t i = 0; i < bytes.size(); i++)
        run = run && bytes[i] == ptrdiff_t(i);
    ASSERT_EQ(t.handle->contiguous, run);
}

void fill(maker &make, std::vector<unsigned char> &bytes) {
    for (unsigned char &byte : bytes)
        byte = static_cast<unsigned char>(make.random());
}

bool overlaps(std::vector<ptrdiff_t> bytes) {
    std::sort(bytes.begin(), bytes.end());
    return std::adjacent_find(bytes.begin(), bytes.end()) != bytes.end();
}

// [0, all) whole or cut into pieces, in any order.
std::vector<std::pair<size_t, size_t>> pieces(maker &make, size_t all) {
    std::vector<std::pair<size_t, size_t>> made;
    if (all > 0 && make.number(0, 2) == 0)
        return {{0, all}};
    for (size_t from = 0; from < all;) {
        size_t to = std::min(all, from + size_t(make.number(1, make.number(0, 1) ? 9 : ptrdiff_t(all))));
        made.emplace_back(from, to);
        from = to;
    }
    std::shuffle(made.begin(), made.end(), make.random);
    return made;
}

// As often as not around the cache, of which all is more than it holds.
const size_t everything = CORE_STREAM_LEAST;

void unpack(maker &make, const core_data &into, const void *packed, size_t from, size_t to) {
    if (make.number(0, 1))
        core_unpack_around(into, packed, from, to, everything);
    else
        core_unpack(into.buffer, packed, into.type, into.count, from, to);
}

void copy(maker &make, const core_data &into, const core_data &out_of, size_t from, size_t to) {
    if (make.number(0, 1))
        core_copy_around(into, out_of, from, to, everything);
    else
        core_copy(into.buffer, into.type, into.count, out_of.buffer, out_of.type, out_of.count, from, to);
}

void expect_packing(maker &make, const type &t) {
    size_t count = size_t(make.number(0, 4));
    std::vector<ptrdiff_t> bytes = t.of.bytes(count);
    memory elements(t.of, count);
    fill(make, elements.bytes);
    std::vector<unsigned char> expected, packed(bytes.size());
    for (ptrdiff_t displ : bytes)
        expected.push_back(elements.at(displ));
    for (auto [from, to] : pieces(make, bytes.size()))
        core_pack(packed.data() + from, elements.buffer(), t.handle, count, from, to);
    ASSERT_EQ(packed, expected);

    if (overlaps(bytes))
        return;
    memory into(t.of, count), wanted(t.of, count);
    fill(make, into.bytes);
    wanted.bytes = into.bytes;
    for (size_t i = 0; i < bytes.size(); i++)
        wanted.at(bytes[i]) = packed[i];
    for (auto [from, to] : pieces(make, bytes.size())) {
        std::vector<unsigned char> part(packed.begin() + ptrdiff_t(from), packed.begin() + ptrdiff_t(to));
        unpack(make, {into.buffer(), t.handle, count}, part.data(), from, to);
    }
    ASSERT_EQ(into.bytes, wanted.bytes);
}

void expect_copying(maker &make, const type &a, const type &b) {
    size_t to_count = size_t(make.number(1, 4)), from_count = size_t(make.number(1, 4));
    std::vector<ptrdiff_t> to_bytes = a.of.bytes(to_count), from_bytes = b.of.bytes(from_count);
    if (overlaps(to_bytes))
        return;
    memory into(a.of, to_count), out_of(b.of, from_count), wanted(a.of, to_count);
    fill(make, out_of.bytes);
    fill(make, into.bytes);
    wanted.bytes = into.bytes;
    size_t all = std::min(to_bytes.size(), from_bytes.size());
    for (size_t i = 0; i < all; i++)
        wanted.at(to_bytes[i]) = out_of.at(from_bytes[i]);
    for (auto [from, to] : pieces(make, all))
        copy(make, {into.buffer(), a.handle, to_count}, {out_of.buffer(), b.handle, from_count}, from, to);
    ASSERT_EQ(into.bytes, wanted.bytes);
}

void expect_elements(maker &make, const type &t) {
    std::vector<size_t> ends = {0};
    for (int element = 0; element < 3; element++)
        for (const oracle::entry &e : t.of.entries)
            ends.push_back(ends.back() + weft_datatype_size(e.type));
    for (int i = 0; i < 8; i++) {
        size_t bytes = make.number(0, 2) ? ends[size_t(make.number(0, ptrdiff_t(ends.size()) - 1))]
                                         : size_t(make.number(0, ptrdiff_t(ends.back())));
        auto found = std::lower_bound(ends.begin(), ends.end(), bytes);
        size_t expected = *found == bytes ? size_t(found - ends.begin()) : SIZE_MAX;
        ASSERT_EQ(core_datatype_elements(t.handle, bytes), expected) << bytes << " bytes";
    }
}

class Layout : public ::testing::TestWithParam<unsigned> {
  protected:
    void SetUp() override {
        core_topology topology = {};
        topology.allowed_cores = topology.cache_cores = 1;
        topology.cache_bytes = 4096;
        core_stream_resolve(&topology);
    }
};

size_t nests(const core_nest *nest) {
    if (!nest)
        return 0;
    size_t all = 1;
    if (nest->form != CORE_NEST_SEQUENCE)
        return all + nests(nest->child.nest);
    for (size_t i = 0; i < nest->count; i++)
        all += nests(nest->items[i].nest);
    return all;
}

} // namespace

TEST_P(Layout, RandomTypesAreWhatTheirMapsSay) {
    maker make(GetParam(), leaves);
    type last = make.make(2);
    for (int round = 0; round < 600; round++) {
        SCOPED_TRACE("seed " + std::to_string(GetParam()) + ", round " + std::to_string(round));
        type t = make.make(int(make.number(1, 5)));
        ASSERT_EQ(make.failures, 0) << weft_last_error();
        ASSERT_NO_FATAL_FAILURE(expect_bounds(t));
        ASSERT_NO_FATAL_FAILURE(expect_packing(make, t));
        ASSERT_NO_FATAL_FAILURE(expect_copying(make, t, last));
        ASSERT_NO_FATAL_FAILURE(expect_elements(make, t));
        last = std::move(t);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Layout, ::testing::Range(1u, 17u));

// Every block size has its loop: evenly apart, listed, and of both against packed bytes and each other.
TEST(LayoutLoops, EveryBlockSize) {
    maker make(7, leaves);
    for (size_t bytes = 1; bytes <= 140; bytes++) {
        map evenly, listed;
        std::vector<ptrdiff_t> displs;
        for (size_t i = 0; i < 9; i++) {
            displs.push_back(ptrdiff_t(i * 3 * bytes + (i % 3)));
            for (size_t b = 0; b < bytes; b++) {
                evenly.entries.push_back({WEFT_BYTE, ptrdiff_t(i * 2 * bytes + b)});
                listed.entries.push_back({WEFT_BYTE, displs[i] + ptrdiff_t(b)});
            }
        }
        type a(evenly, nullptr), b(listed, nullptr);
        ASSERT_EQ(weft_type_hvector(9, bytes, ptrdiff_t(2 * bytes), WEFT_BYTE, &a.handle), WEFT_SUCCESS);
        ASSERT_EQ(weft_type_hindexed_block(9, bytes, displs.data(), WEFT_BYTE, &b.handle), WEFT_SUCCESS);
        for (int round = 0; round < 4; round++) {
            ASSERT_NO_FATAL_FAILURE(expect_packing(make, a));
            ASSERT_NO_FATAL_FAILURE(expect_packing(make, b));
            ASSERT_NO_FATAL_FAILURE(expect_copying(make, a, b));
            ASSERT_NO_FATAL_FAILURE(expect_copying(make, b, a));
        }
    }
}

// `rows` rows, `row` bytes apart, of `count` blocks of `bytes`, `apart` bytes apart.
static type table(size_t rows, ptrdiff_t row, size_t count, ptrdiff_t apart, size_t bytes) {
    map of;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < count; i++)
            of.append_block(map::of(WEFT_BYTE), bytes, ptrdiff_t(r) * row + ptrdiff_t(i) * apart);
    weft_datatype *line = nullptr, *handle = nullptr;
    EXPECT_EQ(weft_type_hvector(count, bytes, apart, WEFT_BYTE, &line), WEFT_SUCCESS);
    EXPECT_EQ(weft_type_hvector(rows, 1, row, line, &handle), WEFT_SUCCESS);
    weft_type_free(&line);
    return {of, handle};
}

// Two levels of loops are copied at once, also where the rows of one side are longer than those of the other, and the
// blocks of one are several of the other.
TEST(LayoutLoops, Tables) {
    maker make(11, leaves);
    auto random_table = [&](size_t bytes, size_t rows, size_t count) {
        bytes *= size_t(make.number(0, 3) ? 1 : make.number(1, 5));
        ptrdiff_t apart = ptrdiff_t(bytes) + make.number(0, 2) * make.number(0, 9);
        ptrdiff_t row = ptrdiff_t(count) * apart + make.number(0, 2) * make.number(0, 30);
        // Backwards too.
        return table(rows, make.number(0, 4) ? row : -row, count, apart, bytes);
    };
    for (int round = 0; round < 1500; round++) {
        SCOPED_TRACE("round " + std::to_string(round));
        const size_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 24};
        size_t bytes = sizes[make.number(0, 7)], rows = size_t(make.number(1, 9)), count = size_t(make.number(1, 9));
        // Of the same shape, of rows that are multiples, or of any other.
        size_t other_rows = make.number(0, 2) ? rows : size_t(make.number(1, 9));
        size_t other_count = make.number(0, 1) ? count : count * size_t(make.number(1, 4));
        size_t other_bytes = bytes;
        if (make.number(0, 3) == 0 && bytes % 2 == 0) {
            // As many bytes in blocks of half the size.
            other_bytes = bytes / 2;
            other_rows = 2 * rows;
            other_count = count;
        }
        type a = random_table(bytes, rows, count), b = random_table(other_bytes, other_rows, other_count);
        ASSERT_NO_FATAL_FAILURE(expect_packing(make, a));
        ASSERT_NO_FATAL_FAILURE(expect_copying(make, a, b));
        ASSERT_NO_FATAL_FAILURE(expect_copying(make, b, a));
    }
}

// Neighbours are joined, but not a few in a list of equal blocks, which would no longer be equal.
TEST(LayoutSize, ListsOfEqualBlocksStayLists) {
    const ptrdiff_t few[] = {0, 1, 5, 7, 10}, many[] = {0, 1, 2, 5, 6, 9}, all[] = {3, 4, 5, 6};
    weft_datatype *type;
    ASSERT_EQ(weft_type_indexed_block(5, 1, few, WEFT_DOUBLE, &type), WEFT_SUCCESS);
    EXPECT_EQ(type->nest->form, CORE_NEST_LIST);
    EXPECT_EQ(type->nest->count, 5u);
    weft_type_free(&type);
    ASSERT_EQ(weft_type_indexed_block(6, 1, many, WEFT_DOUBLE, &type), WEFT_SUCCESS);
    EXPECT_EQ(type->nest->form, CORE_NEST_SEQUENCE);
    EXPECT_EQ(type->nest->count, 3u);
    weft_type_free(&type);
    ASSERT_EQ(weft_type_indexed_block(4, 1, all, WEFT_DOUBLE, &type), WEFT_SUCCESS);
    EXPECT_EQ(type->nest, nullptr) << "one block";
    weft_type_free(&type);
}

TEST(LayoutSize, WhatIsRegularTakesAFewNests) {
    const size_t sizes[] = {1000, 1000, 1000}, subsizes[] = {900, 800, 700}, starts[] = {50, 100, 150};
    weft_datatype *part, *rows, *all, *vector;
    ASSERT_EQ(weft_type_subarray(3, sizes, subsizes, starts, WEFT_ORDER_C, WEFT_DOUBLE, &part), WEFT_SUCCESS);
    EXPECT_EQ(nests(part->nest), 2u);
    EXPECT_EQ(part->size_bytes, size_t(900) * 800 * 700 * 8);
    const size_t row_subsizes[] = {900, 800, 1000}, row_starts[] = {50, 100, 0};
    ASSERT_EQ(weft_type_subarray(3, sizes, row_subsizes, row_starts, WEFT_ORDER_C, WEFT_DOUBLE, &rows), WEFT_SUCCESS);
    EXPECT_EQ(nests(rows->nest), 1u) << "rows that are whole are one block a plane";
    ASSERT_EQ(weft_type_subarray(3, sizes, sizes, starts, WEFT_ORDER_C, WEFT_DOUBLE, &all), WEFT_ERR_ARG);
    const size_t zero[] = {0, 0, 0};
    ASSERT_EQ(weft_type_subarray(3, sizes, sizes, zero, WEFT_ORDER_FORTRAN, WEFT_DOUBLE, &all), WEFT_SUCCESS);
    EXPECT_EQ(nests(all->nest), 0u);
    EXPECT_TRUE(all->contiguous);
    // A vector of vectors whose strides go on evenly is one loop.
    ASSERT_EQ(weft_type_vector(10, 1, 10, part, &vector), WEFT_SUCCESS);
    weft_type_free(&vector);
    weft_datatype *inner;
    ASSERT_EQ(weft_type_hvector(10, 2, 64, WEFT_DOUBLE, &inner), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_hvector(10, 1, 640, inner, &vector), WEFT_SUCCESS);
    EXPECT_EQ(nests(vector->nest), 1u);
    for (weft_datatype *t : {part, rows, all, vector, inner})
        EXPECT_EQ(weft_type_free(&t), WEFT_SUCCESS);
}

TEST(LayoutSize, ListsThatAreRegularBecomeLoops) {
    std::vector<ptrdiff_t> even, odd;
    std::vector<size_t> lengths(1000, 3);
    for (ptrdiff_t i = 0; i < 1000; i++) {
        even.push_back(7 * i - 3);
        odd.push_back(7 * i + i % 2);
    }
    weft_datatype *t;
    ASSERT_EQ(weft_type_indexed(1000, lengths.data(), even.data(), WEFT_INT, &t), WEFT_SUCCESS);
    EXPECT_EQ(t->nest->form, CORE_NEST_LOOP);
    EXPECT_EQ(nests(t->nest), 1u);
    weft_type_free(&t);
    ASSERT_EQ(weft_type_indexed(1000, lengths.data(), odd.data(), WEFT_INT, &t), WEFT_SUCCESS);
    EXPECT_EQ(t->nest->form, CORE_NEST_LIST);
    EXPECT_EQ(nests(t->nest), 1u);
    weft_type_free(&t);
    for (ptrdiff_t i = 0; i < 1000; i++)
        even[size_t(i)] = 3 * i + 12;
    ASSERT_EQ(weft_type_indexed(1000, lengths.data(), even.data(), WEFT_INT, &t), WEFT_SUCCESS);
    EXPECT_EQ(t->nest, nullptr) << "neighbours are one block";
    EXPECT_EQ(t->size_bytes, 12000u);
    weft_type_free(&t);
}

// A type that refers to another twice, 30 times over, would have 2^30 parts if it were spelled out.
TEST(LayoutSize, WhatIsSharedIsNotCopied) {
    weft_datatype *t, *next;
    ASSERT_EQ(weft_type_dup(WEFT_CHAR, &t), WEFT_SUCCESS);
    for (int level = 0; level < 30; level++) {
        ptrdiff_t extent = t->extent, displs[] = {0, extent + 1 + level % 3};
        const size_t lengths[] = {1, 2};
        const weft_datatype *types[] = {t, t};
        ASSERT_EQ(weft_type_struct(2, lengths, displs, types, &next), WEFT_SUCCESS) << weft_last_error();
        weft_type_free(&t);
        t = next;
    }
    size_t size = 1;
    for (int level = 0; level < 29; level++)
        size *= 3;
    EXPECT_EQ(t->size_bytes, 3 * size);
    EXPECT_EQ(core_datatype_elements(t, size + 5), size + 5);
    EXPECT_EQ(weft_type_free(&t), WEFT_SUCCESS);
}

TEST(LayoutLarge, DisplacementsBeyond4GiB) {
    // Address space that is never touched but for a few pages.
    const size_t reserved = size_t(9) << 30;
    void *space = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        GTEST_SKIP() << "no address space of 9 GiB";
    char *buffer = static_cast<char *>(space);
    const ptrdiff_t stride = (ptrdiff_t(1) << 32) + 4096;
    weft_datatype *t;
    ASSERT_EQ(weft_type_hvector(2, 1, stride, WEFT_UINT64_T, &t), WEFT_SUCCESS);
    const uint64_t numbers[] = {0x0123456789abcdef, 0xfedcba9876543210};
    core_unpack(buffer, numbers, t, 1, 0, 16);
    EXPECT_EQ(memcmp(buffer + stride, &numbers[1], 8), 0);
    uint64_t back[2] = {0, 0};
    core_pack(back, buffer, t, 1, 0, 16);
    EXPECT_EQ(back[0], numbers[0]);
    EXPECT_EQ(back[1], numbers[1]);
    weft_type_free(&t);

    // Windows far inside many elements: 2^31 + 3 pairs of bytes, every other one data.
    weft_datatype *byte;
    const size_t count = (size_t(1) << 31) + 3;
    ASSERT_EQ(weft_type_resized(WEFT_BYTE, 0, 2, &byte), WEFT_SUCCESS);
    buffer[2 * (count - 2)] = 'a';
    buffer[2 * (count - 1)] = 'b';
    char two[2];
    core_pack(two, buffer, byte, count, count - 2, count);
    EXPECT_EQ(std::string(two, 2), "ab");
    weft_datatype *many;
    ASSERT_EQ(weft_type_contiguous(count, byte, &many), WEFT_SUCCESS);
    core_copy(two, WEFT_BYTE, 2, buffer, many, 1, 0, 2);
    EXPECT_EQ(two[0], buffer[0]);
    EXPECT_EQ(two[1], buffer[2]);
    core_copy(buffer + 100 - (count - 2), WEFT_BYTE, count, buffer, many, 1, count - 2, count);
    EXPECT_EQ(std::string(buffer + 100, 2), "ab");
    EXPECT_EQ(core_datatype_elements(many, count - 1), count - 1);
    weft_type_free(&many);
    weft_type_free(&byte);
    munmap(space, reserved);
}
