// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes: size and name of each, and what is no datatype. Derived ones: test_datatype_….cpp.
#include <complex>
#include <gtest/gtest.h>
#include <set>
#include <string>
extern "C" {
#include <core/datatype.h>
}

namespace {
template <class T> struct pair_of {
    T value;
    int index;
};
struct expected {
    const weft_datatype *type;
    size_t bytes;
    const char *name;
};
const expected all[] = {
#define TYPE(name, ...)                                                                                                \
    { name, sizeof(__VA_ARGS__), #name }
    TYPE(WEFT_BYTE, unsigned char),
    TYPE(WEFT_CHAR, char),
    TYPE(WEFT_WCHAR, wchar_t),
    TYPE(WEFT_AINT, ptrdiff_t),
    TYPE(WEFT_COUNT, size_t),
    TYPE(WEFT_C_BOOL, bool),
    TYPE(WEFT_INT8_T, int8_t),
    TYPE(WEFT_INT16_T, int16_t),
    TYPE(WEFT_INT32_T, int32_t),
    TYPE(WEFT_INT64_T, int64_t),
    TYPE(WEFT_UINT8_T, uint8_t),
    TYPE(WEFT_UINT16_T, uint16_t),
    TYPE(WEFT_UINT32_T, uint32_t),
    TYPE(WEFT_UINT64_T, uint64_t),
    TYPE(WEFT_SHORT, short),
    TYPE(WEFT_INT, int),
    TYPE(WEFT_LONG, long),
    TYPE(WEFT_LONG_LONG, long long),
    TYPE(WEFT_UNSIGNED_CHAR, unsigned char),
    TYPE(WEFT_UNSIGNED_SHORT, unsigned short),
    TYPE(WEFT_UNSIGNED, unsigned),
    TYPE(WEFT_UNSIGNED_LONG, unsigned long),
    TYPE(WEFT_UNSIGNED_LONG_LONG, unsigned long long),
    TYPE(WEFT_FLOAT, float),
    TYPE(WEFT_DOUBLE, double),
    TYPE(WEFT_LONG_DOUBLE, long double),
    TYPE(WEFT_C_FLOAT_COMPLEX, std::complex<float>),
    TYPE(WEFT_C_DOUBLE_COMPLEX, std::complex<double>),
    TYPE(WEFT_C_LONG_DOUBLE_COMPLEX, std::complex<long double>),
    TYPE(WEFT_FLOAT_INT, pair_of<float>),
    TYPE(WEFT_DOUBLE_INT, pair_of<double>),
    TYPE(WEFT_LONG_INT, pair_of<long>),
    TYPE(WEFT_2INT, pair_of<int>),
    TYPE(WEFT_SHORT_INT, pair_of<short>),
    TYPE(WEFT_LONG_DOUBLE_INT, pair_of<long double>),
};
} // namespace

TEST(Datatype, SizesAreThoseOfTheTypesNamed) {
    for (const expected &e : all) {
        EXPECT_EQ(weft_datatype_size(e.type), e.bytes) << e.name;
        EXPECT_LE(e.bytes, size_t(CORE_DATATYPE_MAX_BYTES)) << e.name;
    }
}

TEST(Datatype, NamesAreThoseOfTheConstants) {
    for (const expected &e : all)
        EXPECT_STREQ(weft_datatype_name(e.type), e.name);
    EXPECT_EQ(WEFT_SIGNED_CHAR, WEFT_INT8_T);
}

TEST(Datatype, EveryKindIsTaken) {
    std::set<int> kinds;
    for (const expected &e : all)
        kinds.insert(e.type->kind);
    EXPECT_EQ(kinds.size(), size_t(CORE_KINDS));
}

TEST(Datatype, TypesOfOneRepresentationShareAKind) {
    EXPECT_EQ(WEFT_INT->kind, WEFT_INT32_T->kind);
    EXPECT_EQ(WEFT_LONG_LONG->kind, WEFT_INT64_T->kind);
    EXPECT_EQ(WEFT_LONG->kind, sizeof(long) == 8 ? CORE_KIND_INT64 : CORE_KIND_INT32);
    EXPECT_EQ(WEFT_UNSIGNED_SHORT->kind, WEFT_UINT16_T->kind);
    EXPECT_NE(WEFT_UNSIGNED->kind, WEFT_INT->kind);
}

TEST(Datatype, WhatIsNoneHasNeitherSizeNorName) {
    weft_datatype stale = *WEFT_INT;
    stale.magic = 0;
    for (const weft_datatype *none : {static_cast<const weft_datatype *>(nullptr), &std::as_const(stale)}) {
        EXPECT_FALSE(core_datatype_valid(none));
        EXPECT_EQ(weft_datatype_size(none), 0u);
        EXPECT_EQ(weft_datatype_name(none), nullptr);
    }
}
