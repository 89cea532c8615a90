// SPDX-License-Identifier: BSD-3-Clause
// The constructors one by one: examples worked out by hand after MPI 4.1 chapter 5, empty types, numbers that are too
// large, the sentence of every error, and packing.
#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <weft/datatype.h>
#include <weft/error.h>
extern "C" {
#include <core/datatype.h>
#include <core/layout.h>
}

namespace {

struct bounds {
    size_t size;
    ptrdiff_t lower, extent, true_lower, true_extent;
    bool operator==(const bounds &o) const {
        return size == o.size && lower == o.lower && extent == o.extent && true_lower == o.true_lower &&
               true_extent == o.true_extent;
    }
};

std::ostream &operator<<(std::ostream &out, const bounds &b) {
    return out << "size " << b.size << " lower " << b.lower << " extent " << b.extent << " true lower " << b.true_lower
               << " true extent " << b.true_extent;
}

// Keeps what a test makes, and frees it.
class Constructors : public ::testing::Test {
  protected:
    template <class F, class... A> weft_datatype *make(F constructor, A... arguments) {
        weft_datatype *made = nullptr;
        EXPECT_EQ(constructor(arguments..., &made), WEFT_SUCCESS) << weft_last_error();
        if (made)
            all.push_back(made);
        return made;
    }
    template <class F, class... A> void expect_error(const std::string &sentence, F constructor, A... arguments) {
        weft_datatype *made = nullptr;
        EXPECT_EQ(constructor(arguments..., &made), WEFT_ERR_ARG);
        EXPECT_EQ(weft_last_error(), sentence);
        EXPECT_EQ(made, nullptr);
    }
    static bounds of(const weft_datatype *type) {
        bounds b{};
        EXPECT_EQ(weft_type_size(type, &b.size), WEFT_SUCCESS);
        EXPECT_EQ(weft_type_extent(type, &b.lower, &b.extent), WEFT_SUCCESS);
        EXPECT_EQ(weft_type_true_extent(type, &b.true_lower, &b.true_extent), WEFT_SUCCESS);
        return b;
    }
    void TearDown() override {
        for (weft_datatype *type : all)
            EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
    }
    // {(double, 0), (char, 8)} with the extent of a C struct.
    weft_datatype *double_and_char() {
        static const size_t lengths[] = {1, 1};
        static const ptrdiff_t displs[] = {0, 8};
        static const weft_datatype *types[] = {WEFT_DOUBLE, WEFT_CHAR};
        return make(weft_type_resized, make(weft_type_struct, 2, lengths, displs, types), 0, 16);
    }
    std::vector<weft_datatype *> all;
};

const std::string too_large = ": the type's size or extent would not fit ptrdiff_t";

} // namespace

// As that of a C struct; unless it was given.
TEST_F(Constructors, ExtentIsRoundedUpToTheAlignment) {
    const size_t lengths[] = {1, 1}, none_first[] = {0, 1};
    const ptrdiff_t displs[] = {0, 8}, odd[] = {4, 12}, backwards[] = {3, 1}, near_end[] = {0, PTRDIFF_MAX - 2};
    const weft_datatype *types[] = {WEFT_DOUBLE, WEFT_CHAR}, *complex[] = {WEFT_C_DOUBLE_COMPLEX, WEFT_CHAR};
    weft_datatype *both = make(weft_type_struct, 2, lengths, displs, types);
    EXPECT_EQ(of(both), (bounds{9, 0, 16, 0, 9}));
    EXPECT_EQ(of(make(weft_type_dup, both)), (bounds{9, 0, 16, 0, 9}));
    EXPECT_EQ(of(make(weft_type_contiguous, 3, both)), (bounds{27, 0, 48, 0, 41}));
    EXPECT_EQ(of(make(weft_type_struct, 2, lengths, odd, types)), (bounds{9, 4, 16, 4, 9}));
    EXPECT_EQ(of(make(weft_type_struct, 2, lengths, backwards, types)), (bounds{9, 1, 16, 1, 10}));
    EXPECT_EQ(of(make(weft_type_struct, 2, none_first, displs, types)), (bounds{1, 8, 1, 8, 1}));
    EXPECT_EQ(of(make(weft_type_struct, 2, lengths, displs, complex)), (bounds{17, 0, 16, 0, 16}));
    EXPECT_EQ(of(make(weft_type_hvector, 2, 1, 12, WEFT_DOUBLE)), (bounds{16, 0, 24, 0, 20}));
    EXPECT_EQ(of(make(weft_type_resized, both, 0, 9)), (bounds{9, 0, 9, 0, 9}));
    /* The second stands in what the first is rounded up by: only data count. */
    const weft_datatype *overlapping[] = {both, both};
    const ptrdiff_t nine[] = {0, 9};
    EXPECT_EQ(of(make(weft_type_struct, 2, lengths, nine, overlapping)), (bounds{18, 0, 24, 0, 18}));
    expect_error("weft_type_struct" + too_large, weft_type_struct, 2, lengths, near_end, types);
}

// The examples of section 5.1.2, with blocks of {(double, 0), (char, 8)}.
TEST_F(Constructors, ExamplesOfTheStandard) {
    weft_datatype *old = double_and_char();
    EXPECT_EQ(of(make(weft_type_contiguous, 3, old)), (bounds{27, 0, 48, 0, 41}));
    EXPECT_EQ(of(make(weft_type_vector, 2, 3, 4, old)), (bounds{54, 0, 112, 0, 105}));
    EXPECT_EQ(of(make(weft_type_vector, 3, 1, -2, old)), (bounds{27, -64, 80, -64, 73}));
    const size_t lengths[] = {3, 1};
    const ptrdiff_t displs[] = {4, 0};
    EXPECT_EQ(of(make(weft_type_indexed, 2, lengths, displs, old)), (bounds{36, 0, 112, 0, 105}));
    const size_t struct_lengths[] = {2, 1, 3};
    const ptrdiff_t struct_displs[] = {0, 16, 26};
    const weft_datatype *types[] = {WEFT_FLOAT, old, WEFT_CHAR};
    // The given bounds of the second component are the only ones that count (section 5.1.7).
    EXPECT_EQ(of(make(weft_type_struct, 3, struct_lengths, struct_displs, types)), (bounds{20, 16, 16, 0, 29}));
    weft_datatype *type1 = make(weft_type_resized, WEFT_INT, -3, 9);
    EXPECT_EQ(of(type1), (bounds{4, -3, 9, 0, 4}));
    EXPECT_EQ(of(make(weft_type_contiguous, 2, type1)), (bounds{8, -3, 18, 0, 13}));
}

TEST_F(Constructors, NegativeExtentsAndStrides) {
    weft_datatype *back = make(weft_type_resized, WEFT_INT, 0, -8);
    EXPECT_EQ(of(back), (bounds{4, 0, -8, 0, 4}));
    // Lower bounds at 0, -8, -16; upper bounds at -8, -16, -24.
    EXPECT_EQ(of(make(weft_type_contiguous, 3, back)), (bounds{12, -16, 8, -16, 20}));
    EXPECT_EQ(of(make(weft_type_hvector, 3, 2, -10, WEFT_SHORT)), (bounds{12, -20, 24, -20, 24}));
    weft_datatype *again = make(weft_type_resized, make(weft_type_contiguous, 2, back), -1, 5);
    EXPECT_EQ(of(again), (bounds{8, -1, 5, -8, 12})) << "old bounds are erased";
}

TEST_F(Constructors, NothingIsAType) {
    const bounds nothing = {0, 0, 0, 0, 0};
    const size_t lengths[] = {0, 0};
    const ptrdiff_t displs[] = {5, -7};
    const weft_datatype *types[] = {WEFT_INT, WEFT_INT};
    weft_datatype *empty = make(weft_type_contiguous, 0, WEFT_INT);
    EXPECT_EQ(of(empty), nothing);
    EXPECT_EQ(of(make(weft_type_vector, 0, 3, 4, WEFT_INT)), nothing);
    EXPECT_EQ(of(make(weft_type_vector, 3, 0, PTRDIFF_MAX, WEFT_INT)), nothing);
    EXPECT_EQ(of(make(weft_type_indexed, 2, lengths, displs, WEFT_INT)), nothing);
    EXPECT_EQ(of(make(weft_type_struct, 2, lengths, displs, types)), nothing);
    EXPECT_EQ(of(make(weft_type_struct, 0, nullptr, nullptr, nullptr)), nothing);
    EXPECT_EQ(of(make(weft_type_hindexed, 0, nullptr, nullptr, WEFT_INT)), nothing);
    EXPECT_EQ(of(make(weft_type_contiguous, SIZE_MAX, empty)), nothing);
    // Where nothing lies says nothing about the bounds of the rest.
    const size_t one[] = {1, 1};
    const weft_datatype *with_empty[] = {empty, WEFT_INT};
    EXPECT_EQ(of(make(weft_type_struct, 2, one, displs, with_empty)), (bounds{4, -7, 4, -7, 4}));
    // But bounds may be given to it.
    weft_datatype *hole = make(weft_type_resized, empty, -4, 24);
    EXPECT_EQ(of(hole), (bounds{0, -4, 24, 0, 0}));
    EXPECT_EQ(of(make(weft_type_contiguous, 3, hole)), (bounds{0, -4, 72, 0, 0}));
    size_t position = 3, size = 9;
    EXPECT_EQ(weft_type_commit(&hole), WEFT_SUCCESS);
    EXPECT_EQ(weft_pack(nullptr, 7, hole, nullptr, 3, &position), WEFT_SUCCESS);
    EXPECT_EQ(position, 3u);
    EXPECT_EQ(weft_pack_size(SIZE_MAX, hole, &size), WEFT_SUCCESS);
    EXPECT_EQ(size, 0u);
    EXPECT_EQ(core_datatype_elements(hole, 0), 0u);
    EXPECT_EQ(core_datatype_elements(hole, 1), SIZE_MAX);
}

TEST_F(Constructors, ContiguousMeansOneRunFromTheBuffer) {
    const ptrdiff_t displs[] = {0, 2, 4}, later[] = {1, 3, 5};
    EXPECT_TRUE(make(weft_type_indexed_block, 3, 2, displs, WEFT_INT)->contiguous);
    EXPECT_FALSE(make(weft_type_indexed_block, 3, 2, later, WEFT_INT)->contiguous);
    EXPECT_TRUE(make(weft_type_vector, 5, 3, 3, WEFT_DOUBLE)->contiguous);
    EXPECT_TRUE(make(weft_type_vector, 1, 3, 77, WEFT_DOUBLE)->contiguous);
    EXPECT_FALSE(make(weft_type_vector, 5, 3, 4, WEFT_DOUBLE)->contiguous);
    EXPECT_FALSE(make(weft_type_resized, WEFT_INT, 0, 5)->contiguous);
    EXPECT_FALSE(make(weft_type_resized, WEFT_INT, 1, 4)->contiguous);
    const size_t lengths[] = {1, 1};
    const ptrdiff_t swapped[] = {8, 0};
    EXPECT_FALSE(make(weft_type_hindexed, 2, lengths, swapped, WEFT_DOUBLE)->contiguous) << "not in this order";
}

TEST_F(Constructors, LargeNumbers) {
    const size_t giga = size_t(1) << 31;
    EXPECT_EQ(of(make(weft_type_contiguous, 3 * giga, WEFT_DOUBLE)),
              (bounds{24 * giga, 0, ptrdiff_t(24 * giga), 0, ptrdiff_t(24 * giga)}));
    weft_datatype *far = make(weft_type_vector, giga, 1, ptrdiff_t(giga) / 2, WEFT_INT);
    EXPECT_EQ(of(far).size, 4 * giga);
    EXPECT_EQ(of(far).extent, ptrdiff_t((giga - 1) * (giga / 2) * 4 + 4));
    EXPECT_EQ(core_datatype_elements(far, 4 * giga - 4), giga - 1);
    EXPECT_EQ(of(make(weft_type_contiguous, PTRDIFF_MAX, WEFT_CHAR)).extent, PTRDIFF_MAX);
    const ptrdiff_t lowest[] = {PTRDIFF_MIN}, highest[] = {PTRDIFF_MAX - 1};
    EXPECT_EQ(of(make(weft_type_hindexed_block, 1, 1, lowest, WEFT_CHAR)).lower, PTRDIFF_MIN);
    EXPECT_EQ(of(make(weft_type_hindexed_block, 1, 1, highest, WEFT_CHAR)).extent, 1);
}

// Sums and differences of what is not there, or was rounded up, are not formed: UndefinedBehaviorSanitizer sees to it.
TEST_F(Constructors, NumbersAtTheEnds) {
    const weft_datatype *types[] = {WEFT_CHAR, make(weft_type_contiguous, 0, WEFT_CHAR)};
    const size_t one[] = {1, 1};
    const ptrdiff_t before[] = {PTRDIFF_MIN, 5}, behind[] = {8, PTRDIFF_MAX - 1};
    EXPECT_EQ(of(make(weft_type_struct, 2, one, before, types)), (bounds{1, PTRDIFF_MIN, 1, PTRDIFF_MIN, 1}));
    types[0] = WEFT_INT;
    types[1] = WEFT_CHAR;
    weft_datatype *rounded = make(weft_type_struct, 2, one, behind, types);
    EXPECT_EQ(of(rounded), (bounds{5, 8, PTRDIFF_MAX - 7, 8, PTRDIFF_MAX - 8}));
    EXPECT_EQ(of(make(weft_type_contiguous, 1, rounded)), of(rounded));
}

TEST_F(Constructors, NumbersThatAreTooLarge) {
    const size_t half = size_t(1) << 62;
    expect_error("weft_type_contiguous" + too_large, weft_type_contiguous, half * 2, WEFT_CHAR);
    expect_error("weft_type_contiguous" + too_large, weft_type_contiguous, SIZE_MAX, WEFT_DOUBLE);
    expect_error("weft_type_vector" + too_large, weft_type_vector, half, 1, 3, WEFT_CHAR);
    expect_error("weft_type_vector" + too_large, weft_type_vector, 3, 1, -ptrdiff_t(half), WEFT_CHAR);
    expect_error("weft_type_vector: a stride of 4611686018427387904 elements does not fit ptrdiff_t in bytes",
                 weft_type_vector, 2, 1, ptrdiff_t(half), WEFT_INT);
    expect_error("weft_type_hvector" + too_large, weft_type_hvector, half, half, 0, WEFT_CHAR);
    const size_t lengths[] = {half, half};
    const ptrdiff_t displs[] = {0, 1}, apart[] = {PTRDIFF_MIN, PTRDIFF_MAX - 1}, large[] = {PTRDIFF_MAX / 2, 0};
    expect_error("weft_type_indexed" + too_large, weft_type_indexed, 2, lengths, displs, WEFT_CHAR);
    expect_error("weft_type_indexed_block" + too_large, weft_type_indexed_block, 2, 1, large, WEFT_INT);
    expect_error("weft_type_hindexed" + too_large, weft_type_hindexed, 2, lengths, displs, WEFT_CHAR);
    expect_error("weft_type_hindexed_block" + too_large, weft_type_hindexed_block, 2, 1, apart, WEFT_CHAR);
    const weft_datatype *types[] = {WEFT_CHAR, WEFT_INT};
    const size_t one[] = {1, 1};
    expect_error("weft_type_struct" + too_large, weft_type_struct, 2, one, apart, types);
    expect_error("weft_type_resized" + too_large, weft_type_resized, WEFT_INT, PTRDIFF_MAX, 1);
    EXPECT_EQ(of(make(weft_type_resized, WEFT_INT, 0, PTRDIFF_MAX)).extent, PTRDIFF_MAX);
}

TEST_F(Constructors, NestedTooDeep) {
    weft_datatype *type = make(weft_type_dup, WEFT_CHAR), *made = nullptr;
    int levels = 0, code;
    const size_t lengths[] = {1, 1};
    for (;; levels++) {
        // A sequence around a sequence cannot be made flatter.
        const ptrdiff_t displs[] = {0, type->extent + 1};
        const weft_datatype *types[] = {type, WEFT_DOUBLE};
        code = weft_type_struct(2, lengths, displs, types, &made);
        if (code != WEFT_SUCCESS || levels == 1000)
            break;
        all.push_back(type = made);
    }
    EXPECT_EQ(code, WEFT_ERR_ARG);
    EXPECT_EQ(levels, 64);
    EXPECT_STREQ(weft_last_error(), "weft_type_struct: the type is nested deeper than 64 levels");
    // Nor is the limit reached by what is regular.
    type = make(weft_type_dup, WEFT_CHAR);
    for (int level = 0; level < 200; level++)
        type = make(weft_type_contiguous, level % 50 == 0 ? 2 : 1, type);
    EXPECT_EQ(type->size_bytes, 16u);
}

TEST_F(Constructors, EveryCallNamesWhatIsNull) {
    const size_t one[] = {1};
    const ptrdiff_t zero[] = {0};
    const weft_datatype *types[] = {WEFT_INT}, *null_types[] = {nullptr};
    const weft_datatype *none = nullptr;
    expect_error("weft_type_contiguous: old is NULL", weft_type_contiguous, 1, none);
    expect_error("weft_type_vector: old is NULL", weft_type_vector, 1, 1, 1, none);
    expect_error("weft_type_hvector: old is NULL", weft_type_hvector, 1, 1, 1, none);
    expect_error("weft_type_indexed: old is NULL", weft_type_indexed, 1, one, zero, none);
    expect_error("weft_type_hindexed: old is NULL", weft_type_hindexed, 1, one, zero, none);
    expect_error("weft_type_indexed_block: old is NULL", weft_type_indexed_block, 1, 1, zero, none);
    expect_error("weft_type_hindexed_block: old is NULL", weft_type_hindexed_block, 1, 1, zero, none);
    expect_error("weft_type_resized: old is NULL", weft_type_resized, none, 0, 0);
    expect_error("weft_type_dup: old is NULL", weft_type_dup, none);
    expect_error("weft_type_struct: types[0] is NULL", weft_type_struct, 1, one, zero, null_types);
    for (size_t count : {SIZE_MAX, SIZE_MAX / 16}) {
        const std::string what = ": count is " + std::to_string(count) + ", more than memory can hold";
        expect_error(("weft_type_indexed" + what).c_str(), weft_type_indexed, count, one, zero, WEFT_INT);
        expect_error(("weft_type_hindexed_block" + what).c_str(), weft_type_hindexed_block, count, 1, zero, WEFT_INT);
        expect_error(("weft_type_struct" + what).c_str(), weft_type_struct, count, one, zero, types);
    }
    expect_error("weft_type_indexed: block_lengths is NULL, but there are 1 blocks", weft_type_indexed, 1, nullptr,
                 zero, WEFT_INT);
    expect_error("weft_type_indexed: displs is NULL, but there are 1 blocks", weft_type_indexed, 1, one, nullptr,
                 WEFT_INT);
    expect_error("weft_type_hindexed: displs_bytes is NULL, but there are 1 blocks", weft_type_hindexed, 1, one,
                 nullptr, WEFT_INT);
    expect_error("weft_type_indexed_block: displs is NULL, but there are 2 blocks", weft_type_indexed_block, 2, 1,
                 nullptr, WEFT_INT);
    expect_error("weft_type_hindexed_block: displs_bytes is NULL, but there are 2 blocks", weft_type_hindexed_block, 2,
                 1, nullptr, WEFT_INT);
    expect_error("weft_type_struct: block_lengths is NULL, but there are 1 blocks", weft_type_struct, 1, nullptr, zero,
                 types);
    expect_error("weft_type_struct: displs_bytes is NULL, but there are 1 blocks", weft_type_struct, 1, one, nullptr,
                 types);
    expect_error("weft_type_struct: types is NULL, but there are 1 blocks", weft_type_struct, 1, one, zero, nullptr);
    const std::string place = ": there is no place for the type (type is NULL)";
    EXPECT_EQ(weft_type_contiguous(1, WEFT_INT, nullptr), WEFT_ERR_ARG);
    EXPECT_EQ(weft_last_error(), "weft_type_contiguous" + place);
    EXPECT_EQ(weft_type_struct(1, one, zero, types, nullptr), WEFT_ERR_ARG);
    EXPECT_EQ(weft_last_error(), "weft_type_struct" + place);
    EXPECT_EQ(weft_type_hvector(1, 1, 1, WEFT_INT, nullptr), WEFT_ERR_ARG);
    EXPECT_EQ(weft_last_error(), "weft_type_hvector" + place);
    EXPECT_EQ(weft_type_dup(WEFT_INT, nullptr), WEFT_ERR_ARG);
    EXPECT_EQ(weft_last_error(), "weft_type_dup" + place);
    EXPECT_EQ(weft_type_resized(WEFT_INT, 0, 4, nullptr), WEFT_ERR_ARG);
    EXPECT_EQ(weft_last_error(), "weft_type_resized" + place);
}

TEST_F(Constructors, BuffersArePackedOneBehindTheOther) {
    weft_datatype *column = make(weft_type_vector, 3, 1, 3, WEFT_INT);
    ASSERT_EQ(weft_type_commit(&column), WEFT_SUCCESS);
    const int matrix[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const char text[] = "abc";
    char packed[64];
    size_t position = 0, size = 0;
    ASSERT_EQ(weft_pack(text, 3, WEFT_CHAR, packed, sizeof(packed), &position), WEFT_SUCCESS);
    ASSERT_EQ(weft_pack(matrix + 1, 1, column, packed, sizeof(packed), &position), WEFT_SUCCESS);
    EXPECT_EQ(position, 15u);
    ASSERT_EQ(weft_pack_size(1, column, &size), WEFT_SUCCESS);
    EXPECT_EQ(size, 12u);
    int back[3] = {0, 0, 0};
    char back_text[4] = "";
    position = 0;
    ASSERT_EQ(weft_unpack(packed, 15, &position, back_text, 3, WEFT_CHAR), WEFT_SUCCESS);
    ASSERT_EQ(weft_unpack(packed, 15, &position, back, 3, WEFT_INT), WEFT_SUCCESS);
    EXPECT_STREQ(back_text, "abc");
    EXPECT_EQ(back[0], 2);
    EXPECT_EQ(back[1], 5);
    EXPECT_EQ(back[2], 8);
    EXPECT_EQ(weft_unpack(packed, 15, &position, back, 1, WEFT_INT), WEFT_ERR_TRUNCATE);
    EXPECT_STREQ(weft_last_error(), "weft_unpack: 1 elements have 4 bytes, but only 0 are left behind position 15");
}

TEST_F(Constructors, PackingSaysWhatIsWrong) {
    weft_datatype *type = make(weft_type_vector, 2, 1, 2, WEFT_INT);
    int buffer[3] = {1, 2, 3};
    char packed[16] = "untouched";
    size_t position = 0, beyond = 17, size = 7;
    EXPECT_EQ(weft_pack(buffer, 1, type, packed, 16, &position), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack: type is not committed (weft_type_commit)");
    EXPECT_EQ(weft_unpack(packed, 16, &position, buffer, 1, type), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_unpack: type is not committed (weft_type_commit)");
    ASSERT_EQ(weft_type_commit(&type), WEFT_SUCCESS);
    EXPECT_EQ(weft_pack(buffer, 1, nullptr, packed, 16, &position), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack: type is NULL");
    EXPECT_EQ(weft_pack(buffer, 1, type, packed, 16, nullptr), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack: position is NULL");
    EXPECT_EQ(weft_pack(nullptr, 1, type, packed, 16, &position), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack: buffer is NULL, but there are 8 bytes");
    EXPECT_EQ(weft_pack(buffer, 1, type, nullptr, 16, &position), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack: packed is NULL, but there are 8 bytes");
    EXPECT_EQ(weft_pack(buffer, 1, type, packed, 16, &beyond), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack: *position is 17; it must be 0 … 16 (packed_bytes)");
    EXPECT_EQ(weft_pack(buffer, SIZE_MAX, type, packed, 16, &position), WEFT_ERR_ARG);
    EXPECT_EQ(weft_last_error(),
              "weft_pack: no memory holds " + std::to_string(SIZE_MAX) + " elements of 8 bytes (count)");
    EXPECT_EQ(weft_pack(WEFT_IN_PLACE, 1, type, packed, 16, &position), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack: buffer is WEFT_IN_PLACE, expected a buffer");
    weft_datatype *wide = make(weft_type_resized, WEFT_INT, 0, ptrdiff_t(1) << 62);
    ASSERT_EQ(weft_type_commit(&wide), WEFT_SUCCESS);
    EXPECT_EQ(weft_pack(buffer, 3, wide, packed, 16, &position), WEFT_ERR_ARG);
    EXPECT_EQ(weft_unpack(packed, 16, &position, buffer, 3, wide), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_unpack: no memory holds 3 elements of 4611686018427387904 bytes from one to "
                                    "the next (count)");
    EXPECT_EQ(weft_pack(buffer, 1, type, packed, 7, &position), WEFT_ERR_TRUNCATE);
    EXPECT_STREQ(weft_last_error(), "weft_pack: 1 elements take 8 bytes, but there is room for 7 behind position 0");
    EXPECT_EQ(weft_pack_size(1, nullptr, &size), WEFT_ERR_ARG);
    EXPECT_EQ(weft_pack_size(1, type, nullptr), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack_size: there is no place for the size (bytes is NULL)");
    EXPECT_EQ(weft_pack_size(SIZE_MAX / 2, type, &size), WEFT_ERR_ARG);
    EXPECT_EQ(position, 0u);
    EXPECT_EQ(size, 7u);
    EXPECT_STREQ(packed, "untouched");
}
