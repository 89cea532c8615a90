// SPDX-License-Identifier: BSD-3-Clause
// external32: sizes and bytes of each predefined type, long double against the compiler's binary128, random derived
// types against their type maps, and what does not fit.
#include <cfloat>
#include <climits>
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <limits>
#include <string>
extern "C" {
#include <core/datatype.h>
#include <core/external32.h>
}
#include <core/type_oracle.h>

namespace {

using bytes = std::vector<unsigned char>;

template <class T> bytes packed(const weft_datatype *type, const T &value) {
    bytes made(64);
    size_t position = 0;
    EXPECT_EQ(weft_pack_external("external32", &value, 1, type, made.data(), made.size(), &position), WEFT_SUCCESS)
        << weft_last_error();
    made.resize(position);
    return made;
}

template <class T> T unpacked(const weft_datatype *type, const bytes &from) {
    T value;
    memset(static_cast<void *>(&value), 0xee, sizeof(value));
    size_t position = 0;
    EXPECT_EQ(weft_unpack_external("external32", from.data(), from.size(), &position, &value, 1, type), WEFT_SUCCESS)
        << weft_last_error();
    EXPECT_EQ(position, from.size());
    return value;
}

template <class T> void expect_both_ways(const weft_datatype *type, const T &value, const bytes &expected) {
    EXPECT_EQ(packed(type, value), expected) << weft_datatype_name(type);
    T back = unpacked<T>(type, expected);
    EXPECT_EQ(packed(type, back), expected) << weft_datatype_name(type);
}

template <class T> struct pair_of {
    T value;
    int index;
};

__extension__ typedef unsigned __int128 wide;

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 binary128;
#define HAS_BINARY128 1
#elif LDBL_MANT_DIG == 113
typedef long double binary128;
#define HAS_BINARY128 1
#endif

#ifdef HAS_BINARY128
// Big-endian bytes of the low `count` ones of `value`.
bytes big_endian(wide value, size_t count) {
    bytes made;
    for (size_t i = count; i-- > 0;)
        made.push_back(static_cast<unsigned char>(value >> (8 * i)));
    return made;
}

bytes as_binary128(long double value) {
    binary128 quad = value;
    wide bits;
    memcpy(&bits, &quad, 16);
    return big_endian(bits, 16);
}
#endif

} // namespace

TEST(External32, SizesAreTheTablesOfTheStandard) {
    const std::pair<const weft_datatype *, size_t> all[] = {{WEFT_BYTE, 1},
                                                            {WEFT_CHAR, 1},
                                                            {WEFT_WCHAR, 2},
                                                            {WEFT_AINT, 8},
                                                            {WEFT_COUNT, 8},
                                                            {WEFT_C_BOOL, 1},
                                                            {WEFT_INT8_T, 1},
                                                            {WEFT_INT16_T, 2},
                                                            {WEFT_INT32_T, 4},
                                                            {WEFT_INT64_T, 8},
                                                            {WEFT_UINT8_T, 1},
                                                            {WEFT_UINT16_T, 2},
                                                            {WEFT_UINT32_T, 4},
                                                            {WEFT_UINT64_T, 8},
                                                            {WEFT_SIGNED_CHAR, 1},
                                                            {WEFT_SHORT, 2},
                                                            {WEFT_INT, 4},
                                                            {WEFT_LONG, 4},
                                                            {WEFT_LONG_LONG, 8},
                                                            {WEFT_UNSIGNED_CHAR, 1},
                                                            {WEFT_UNSIGNED_SHORT, 2},
                                                            {WEFT_UNSIGNED, 4},
                                                            {WEFT_UNSIGNED_LONG, 4},
                                                            {WEFT_FLOAT, 4},
                                                            {WEFT_UNSIGNED_LONG_LONG, 8},
                                                            {WEFT_DOUBLE, 8},
                                                            {WEFT_LONG_DOUBLE, 16},
                                                            {WEFT_C_FLOAT_COMPLEX, 8},
                                                            {WEFT_C_DOUBLE_COMPLEX, 16},
                                                            {WEFT_C_LONG_DOUBLE_COMPLEX, 32},
                                                            {WEFT_FLOAT_INT, 8},
                                                            {WEFT_DOUBLE_INT, 12},
                                                            {WEFT_LONG_INT, 8},
                                                            {WEFT_2INT, 8},
                                                            {WEFT_SHORT_INT, 6},
                                                            {WEFT_LONG_DOUBLE_INT, 20}};
    for (auto [type, size] : all) {
        size_t bytes = 0;
        EXPECT_EQ(weft_pack_external_size("external32", 3, type, &bytes), WEFT_SUCCESS);
        EXPECT_EQ(bytes, 3 * size) << weft_datatype_name(type);
    }
}

TEST(External32, NumbersAreBigEndian) {
    expect_both_ways<char>(WEFT_CHAR, 'w', {'w'});
    expect_both_ways<wchar_t>(WEFT_WCHAR, wchar_t(0xf8ff), {0xf8, 0xff});
    expect_both_ways<ptrdiff_t>(WEFT_AINT, -2, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe});
    expect_both_ways<size_t>(WEFT_COUNT, size_t(5) << 32, {0, 0, 0, 5, 0, 0, 0, 0});
    expect_both_ways<int16_t>(WEFT_INT16_T, -2, {0xff, 0xfe});
    expect_both_ways<int>(WEFT_INT, 0x01020304, {1, 2, 3, 4});
    expect_both_ways<unsigned long long>(WEFT_UNSIGNED_LONG_LONG, 0x0102030405060708, {1, 2, 3, 4, 5, 6, 7, 8});
    expect_both_ways<float>(WEFT_FLOAT, 1.0f, {0x3f, 0x80, 0, 0});
    expect_both_ways<double>(WEFT_DOUBLE, -2.0, {0xc0, 0, 0, 0, 0, 0, 0, 0});
    bytes quads(32);
    quads[0] = 0x3f, quads[1] = 0xff, quads[16] = 0xc0;
    expect_both_ways<std::complex<long double>>(WEFT_C_LONG_DOUBLE_COMPLEX, {1.0L, -2.0L}, quads);
    expect_both_ways<std::complex<float>>(WEFT_C_FLOAT_COMPLEX, {1.0f, -2.0f}, {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0});
    expect_both_ways<std::complex<double>>(WEFT_C_DOUBLE_COMPLEX, {1.0, -2.0},
                                           {0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0});
}

TEST(External32, LongsHaveFourBytes) {
    expect_both_ways<long>(WEFT_LONG, -2, {0xff, 0xff, 0xff, 0xfe});
    expect_both_ways<long>(WEFT_LONG, INT32_MAX, {0x7f, 0xff, 0xff, 0xff});
    expect_both_ways<long>(WEFT_LONG, INT32_MIN, {0x80, 0, 0, 0});
    expect_both_ways<unsigned long>(WEFT_UNSIGNED_LONG, UINT32_MAX, {0xff, 0xff, 0xff, 0xff});
    EXPECT_EQ(unpacked<long>(WEFT_LONG, {0xff, 0xff, 0xff, 0xfe}), -2);
    EXPECT_EQ(unpacked<unsigned long>(WEFT_UNSIGNED_LONG, {0xff, 0xff, 0xff, 0xfe}), 0xfffffffeul);
    // int64_t is another type, and has all.
    expect_both_ways<int64_t>(WEFT_INT64_T, -2, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe});
}

TEST(External32, LongsThatDoNotFitAreRefused) {
    const long too_much[] = {5, long(INT32_MAX) + 1, long(INT32_MIN) - 1, LONG_MIN};
    const unsigned long more = 1ul << 32;
    const pair_of<long> pair = {LONG_MAX, 3};
    const wchar_t beyond = wchar_t(0x1f642);
    char buffer[64];
    size_t position = 1;
    const std::pair<const weft_datatype *, const void *> all[] = {
        {WEFT_LONG, &too_much[1]},   {WEFT_LONG, &too_much[2]}, {WEFT_LONG, &too_much[3]},
        {WEFT_UNSIGNED_LONG, &more}, {WEFT_LONG_INT, &pair},    {WEFT_WCHAR, &beyond}};
    for (auto [type, at] : all) {
        EXPECT_EQ(weft_pack_external("external32", at, 1, type, buffer, sizeof(buffer), &position), WEFT_ERR_ARG);
        EXPECT_STREQ(weft_last_error(), "weft_pack_external: a number in the buffer does not fit what external32 has "
                                        "for its type (4 bytes for long, "
                                        "2 for wchar_t)");
        EXPECT_EQ(position, 1u);
    }
}

TEST(External32, BooleansAreZeroOrOne) {
    const unsigned char odd = 0x40;
    EXPECT_EQ(packed(WEFT_C_BOOL, odd), bytes({1}));
    EXPECT_EQ(unpacked<unsigned char>(WEFT_C_BOOL, {0x80}), 1);
    EXPECT_EQ(unpacked<unsigned char>(WEFT_C_BOOL, {0}), 0);
}

TEST(External32, PairsAreTheirMembers) {
    expect_both_ways<pair_of<float>>(WEFT_FLOAT_INT, {1.0f, 2}, {0x3f, 0x80, 0, 0, 0, 0, 0, 2});
    expect_both_ways<pair_of<double>>(WEFT_DOUBLE_INT, {1.0, 2}, {0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2});
    expect_both_ways<pair_of<long>>(WEFT_LONG_INT, {-1, 2}, {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2});
    expect_both_ways<pair_of<int>>(WEFT_2INT, {-1, 2}, {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2});
    expect_both_ways<pair_of<short>>(WEFT_SHORT_INT, {-1, 2}, {0xff, 0xff, 0, 0, 0, 2});
    bytes quad = {0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    expect_both_ways<pair_of<long double>>(WEFT_LONG_DOUBLE_INT, {1.0L, 2}, quad);
    pair_of<short> back = unpacked<pair_of<short>>(WEFT_SHORT_INT, {0xff, 0xfd, 0, 0, 1, 2});
    EXPECT_EQ(back.value, -3);
    EXPECT_EQ(back.index, 258);
}

#ifdef HAS_BINARY128

TEST(External32, LongDoublesAreBinary128) {
    using limits = std::numeric_limits<long double>;
    std::vector<long double> all = {0.0L,
                                    -0.0L,
                                    1.0L,
                                    -1.0L,
                                    0.1L,
                                    1e4000L,
                                    -1e-4000L,
                                    limits::max(),
                                    limits::min(),
                                    limits::denorm_min(),
                                    limits::min() / 3,
                                    -limits::infinity(),
                                    limits::infinity(),
                                    limits::epsilon()};
    std::mt19937_64 random(5);
    for (int i = 0; i < 20000; i++) {
        int exponent = int(random() % 32800) - 16450;
        all.push_back(ldexpl((i % 2 ? 1 : -1) * (long double)random(), exponent - 63));
    }
    for (long double value : all) {
        bytes expected = as_binary128(value);
        ASSERT_EQ(packed(WEFT_LONG_DOUBLE, value), expected) << value;
        ASSERT_EQ(unpacked<long double>(WEFT_LONG_DOUBLE, expected), value);
        ASSERT_EQ(std::signbit(unpacked<long double>(WEFT_LONG_DOUBLE, expected)), std::signbit(value));
    }
}

// Whatever another machine wrote is rounded as the compiler rounds it.
TEST(External32, Binary128IsRoundedToLongDouble) {
    std::mt19937_64 random(6);
    const wide fraction_bits = (wide(1) << 112) - 1, ties = wide(1) << 48;
    for (int i = 0; i < 60000; i++) {
        wide bits = wide(random()) << 64 | random();
        switch (i % 6) {
        case 0: // exact ties, to even either way
            bits = (bits & ~((ties << 1) - 1)) | ties;
            break;
        case 1: // one off a tie
            bits = ((bits & ~((ties << 1) - 1)) | ties) + (random() % 2 ? 1 : -1);
            break;
        case 2: // subnormal
            bits &= wide(1) << 127 | fraction_bits;
            break;
        case 3: // a carry through all of the fraction
            bits |= fraction_bits & ~wide(random() % 4);
            break;
        case 4: // the largest exponents
            bits |= wide(0x7ffe) << 112;
            break;
        default:
            break;
        }
        binary128 quad;
        memcpy(&quad, &bits, 16);
        long double expected = static_cast<long double>(quad);
        long double found = unpacked<long double>(WEFT_LONG_DOUBLE, big_endian(bits, 16));
        if (std::isnan(expected))
            ASSERT_TRUE(std::isnan(found)) << i;
        else
            ASSERT_EQ(memcmp(&expected, &found, LDBL_MANT_DIG == 64 ? 10 : 16), 0)
                << i << ": " << expected << " and " << found;
    }
}

TEST(External32, WhatIsNoNumberStaysNone) {
    long double nan = std::numeric_limits<long double>::quiet_NaN();
    bytes quad = packed(WEFT_LONG_DOUBLE, nan);
    EXPECT_EQ(quad[0] & 0x7f, 0x7f);
    EXPECT_EQ(quad[1], 0xff);
    EXPECT_NE(bytes(quad.begin() + 2, quad.end()), bytes(14, 0));
    EXPECT_TRUE(std::isnan(unpacked<long double>(WEFT_LONG_DOUBLE, quad)));
    // Only the lowest bit, which has no place in 80 bits, says that this is not infinity.
    EXPECT_TRUE(std::isnan(unpacked<long double>(WEFT_LONG_DOUBLE, big_endian((wide(0x7fff) << 112) + 1, 16))));
#if LDBL_MANT_DIG == 64
    // Encodings that the processor refuses: an exponent without the integer bit.
    const unsigned char unnormal[16] = {1, 0, 0, 0, 0, 0, 0, 0x40, 0xff, 0x3f};
    EXPECT_TRUE(std::isnan(unpacked<long double>(WEFT_LONG_DOUBLE, packed(WEFT_LONG_DOUBLE, unnormal))));
    // A pseudo-denormal is the least normal number.
    const unsigned char pseudo[16] = {0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0};
    EXPECT_EQ(unpacked<long double>(WEFT_LONG_DOUBLE, packed(WEFT_LONG_DOUBLE, pseudo)),
              std::numeric_limits<long double>::min());
#endif
}

#endif

namespace {

// What an element of a random type has in external32, from its bytes; types without long.
bytes external(const weft_datatype *type, const bytes &native) {
    bytes made = native;
    if (type == WEFT_SHORT_INT)
        return {native[1], native[0], native[7], native[6], native[5], native[4]};
    if (type == WEFT_C_BOOL)
        return {static_cast<unsigned char>(native[0] != 0)};
    if (type == WEFT_C_FLOAT_COMPLEX) {
        std::reverse(made.begin(), made.begin() + 4);
        std::reverse(made.begin() + 4, made.end());
    } else {
        std::reverse(made.begin(), made.end());
    }
    return made;
}

} // namespace

class External32Random : public ::testing::TestWithParam<unsigned> {};

TEST_P(External32Random, DerivedTypes) {
    oracle::maker make(GetParam(), {WEFT_CHAR, WEFT_SHORT, WEFT_INT, WEFT_DOUBLE, WEFT_INT64_T, WEFT_SHORT_INT,
                                    WEFT_C_BOOL, WEFT_C_FLOAT_COMPLEX});
    for (int round = 0; round < 200; round++) {
        oracle::type t = make.make(4);
        ASSERT_EQ(weft_type_commit(&t.handle), WEFT_SUCCESS);
        // Often more than the stage holds.
        size_t count = size_t(make.number(0, 40));
        oracle::memory elements(t.of, count), back(t.of, count);
        for (unsigned char &byte : elements.bytes)
            byte = static_cast<unsigned char>(make.random());
        bytes expected = {0xaa};
        ptrdiff_t extent = t.of.extent();
        for (size_t i = 0; i < count; i++)
            for (const oracle::entry &e : t.of.entries) {
                bytes native;
                for (size_t b = 0; b < weft_datatype_size(e.type); b++)
                    native.push_back(elements.at(e.displ + ptrdiff_t(i) * extent + ptrdiff_t(b)));
                for (unsigned char byte : external(e.type, native))
                    expected.push_back(byte);
            }
        bytes found(expected.size(), 0xaa);
        size_t position = 1, size = 0;
        ASSERT_EQ(weft_pack_external_size("external32", count, t.handle, &size), WEFT_SUCCESS);
        ASSERT_EQ(size, expected.size() - 1);
        ASSERT_EQ(
            weft_pack_external("external32", elements.buffer(), count, t.handle, found.data(), found.size(), &position),
            WEFT_SUCCESS)
            << weft_last_error();
        ASSERT_EQ(position, expected.size());
        ASSERT_EQ(found, expected);
        // And back: packed again it is the same, where elements do not overlap.
        std::vector<ptrdiff_t> displs = t.of.bytes(count);
        std::sort(displs.begin(), displs.end());
        if (std::adjacent_find(displs.begin(), displs.end()) != displs.end())
            continue;
        position = 1;
        ASSERT_EQ(
            weft_unpack_external("external32", found.data(), found.size(), &position, back.buffer(), count, t.handle),
            WEFT_SUCCESS);
        ASSERT_EQ(position, expected.size());
        bytes again(expected.size(), 0xaa);
        position = 1;
        ASSERT_EQ(
            weft_pack_external("external32", back.buffer(), count, t.handle, again.data(), again.size(), &position),
            WEFT_SUCCESS);
        ASSERT_EQ(again, expected);
    }
    EXPECT_EQ(make.failures, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, External32Random, ::testing::Range(100u, 106u));

TEST(External32, OfNothingBuffersMayBeNull) {
    size_t position = 0;
    EXPECT_EQ(weft_pack_external("external32", nullptr, 0, WEFT_INT, nullptr, 0, &position), WEFT_SUCCESS);
    EXPECT_EQ(weft_unpack_external("external32", nullptr, 0, &position, nullptr, 0, WEFT_INT), WEFT_SUCCESS);
    EXPECT_EQ(position, 0u);
}

TEST(External32, WrongArguments) {
    int value = 1;
    char buffer[8];
    size_t position = 0, size = 77;
    EXPECT_EQ(weft_pack_external("native", &value, 1, WEFT_INT, buffer, 8, &position), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack_external: representation is \"native\"; it must be \"external32\"");
    EXPECT_EQ(weft_unpack_external(nullptr, buffer, 8, &position, &value, 1, WEFT_INT), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_unpack_external: representation is NULL; it must be \"external32\"");
    EXPECT_EQ(weft_pack_external_size("external64", 1, WEFT_INT, &size), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(),
                 "weft_pack_external_size: representation is \"external64\"; it must be \"external32\"");
    EXPECT_EQ(weft_pack_external_size("external32", 1, WEFT_INT, nullptr), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "weft_pack_external_size: there is no place for the size (bytes is NULL)");
    EXPECT_EQ(weft_pack_external_size("external32", 1, nullptr, &size), WEFT_ERR_ARG);
    EXPECT_EQ(weft_pack_external_size("external32", SIZE_MAX / 2, WEFT_INT, &size), WEFT_ERR_ARG);
    EXPECT_EQ(size, 77u);
    EXPECT_EQ(weft_pack_external("external32", &value, 1, WEFT_INT, buffer, 3, &position), WEFT_ERR_TRUNCATE);
    EXPECT_STREQ(weft_last_error(),
                 "weft_pack_external: 1 elements take 4 bytes, but there is room for 3 behind position 0");
    EXPECT_EQ(weft_unpack_external("external32", buffer, 3, &position, &value, 1, WEFT_INT), WEFT_ERR_TRUNCATE);
    EXPECT_STREQ(weft_last_error(),
                 "weft_unpack_external: 1 elements have 4 bytes, but only 3 are left behind position 0");
    EXPECT_EQ(position, 0u);
    EXPECT_EQ(value, 1);
}
