// SPDX-License-Identifier: BSD-3-Clause
// What tells the data of one type from those of another: the kinds of their elements in packed order, however they were described.
#include "type_oracle.h"
#include <gtest/gtest.h>
#include <string>
extern "C" {
#include <core/datatype.h>
}

namespace {

using Elements = std::vector<const weft_datatype *>;

// One struct with an entry for each.
weft_datatype *one_by_one(const Elements &elements) {
    std::vector<size_t> lengths(elements.size(), 1);
    std::vector<ptrdiff_t> displs;
    for (size_t i = 0; i < elements.size(); i++)
        displs.push_back(ptrdiff_t(32 * i));
    weft_datatype *made = nullptr;
    EXPECT_EQ(weft_type_struct(elements.size(), lengths.data(), displs.data(), elements.data(), &made), WEFT_SUCCESS);
    return made;
}

uint64_t hash_of(const Elements &elements) {
    weft_datatype *made = one_by_one(elements);
    uint64_t hash = core_datatype_hash(made, 1);
    weft_type_free(&made);
    return hash;
}

Elements of(const oracle::map &map, size_t count) {
    Elements made;
    for (size_t i = 0; i < count; i++)
        for (const oracle::entry &entry : map.entries)
            made.push_back(entry.type);
    return made;
}

} // namespace

TEST(Signature, IsThatOfTheElementsWhateverTheyWereMadeFrom) {
    oracle::maker maker(7, {WEFT_INT, WEFT_FLOAT, WEFT_DOUBLE, WEFT_INT32_T});
    size_t several = 0;
    for (int i = 0; i < 400; i++) {
        oracle::type made = maker.make(4);
        auto count = size_t(maker.number(0, 5));
        Elements elements = of(made.of, count);
        EXPECT_EQ(core_datatype_hash(made.handle, count), hash_of(elements)) << i;
        several += core_datatype_element(made.handle) == nullptr;
    }
    EXPECT_GT(several, 40u);
}

TEST(Signature, DiffersWhereAnElementDoesOrTheirOrder) {
    oracle::maker maker(11, {WEFT_INT, WEFT_FLOAT});
    for (int i = 0; i < 400; i++) {
        oracle::type made = maker.make(4);
        Elements elements = of(made.of, 2);
        if (elements.empty())
            continue;
        uint64_t hash = core_datatype_hash(made.handle, 2);
        auto at = size_t(maker.number(0, ptrdiff_t(elements.size()) - 1));
        elements[at] = elements[at]->kind == CORE_KIND_FLOAT ? WEFT_INT : WEFT_FLOAT;
        EXPECT_NE(hash, hash_of(elements)) << i;
    }
    EXPECT_NE(hash_of({WEFT_INT, WEFT_FLOAT}), hash_of({WEFT_FLOAT, WEFT_INT}));
    EXPECT_EQ(hash_of({WEFT_INT, WEFT_INT32_T}), core_datatype_hash(WEFT_INT, 2));
    EXPECT_NE(core_datatype_hash(WEFT_INT, 2), core_datatype_hash(WEFT_UNSIGNED, 2));
    EXPECT_EQ(core_datatype_hash(WEFT_INT, 0), 0u);
}

// As the standard defines them (MPI 4.1 section 6.9.4): a contiguous type, and a struct.
TEST(Signature, PairsAreWhatTheyAreMadeOf) {
    EXPECT_EQ(core_datatype_hash(WEFT_2INT, 3), core_datatype_hash(WEFT_INT, 6));
    EXPECT_EQ(core_datatype_hash(WEFT_FLOAT_INT, 2), hash_of({WEFT_FLOAT, WEFT_INT, WEFT_FLOAT, WEFT_INT}));
    EXPECT_EQ(hash_of({WEFT_2INT, WEFT_FLOAT_INT}), hash_of({WEFT_INT, WEFT_INT, WEFT_FLOAT, WEFT_INT}));
    EXPECT_NE(core_datatype_hash(WEFT_FLOAT_INT, 2), hash_of({WEFT_INT, WEFT_FLOAT, WEFT_INT, WEFT_FLOAT}));
    EXPECT_NE(core_datatype_hash(WEFT_FLOAT_INT, 2), core_datatype_hash(WEFT_INT, 4));
    EXPECT_EQ(core_datatype_hash(WEFT_FLOAT_INT, 0), core_datatype_hash(WEFT_INT, 0));
}
