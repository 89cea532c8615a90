// SPDX-License-Identifier: BSD-3-Clause
#include "problem.h"
#include <gtest/gtest.h>
#include <weft/error.h>

namespace sim {

namespace {

constexpr word is_moved = word(1) << 62, is_reduced = word(2) << 62, kind = word(3) << 62, wrong = word(3) << 62;
constexpr unsigned high = 47, low = 32; // where the two ranks stand, 15 bits each; the index is below
constexpr word rank_mask = 0x7fff, index_mask = 0xffffffff;

template <word (*combine)(word, word)> void apply(const void *in, void *inout, size_t count, const weft_datatype *) {
    const word *left = static_cast<const word *>(in);
    word *right = static_cast<word *>(inout);
    for (size_t i = 0; i < count; i++)
        right[i] = combine(left[i], right[i]);
}

const weft_op *make(weft_op_function *function, int commutes) {
    weft_op *op = nullptr;
    EXPECT_EQ(weft_op_create(function, commutes, &op), WEFT_SUCCESS);
    return op;
}

} // namespace

word moved(int from, int to, size_t index) {
    return is_moved | word(from) << high | word(to) << low | index;
}

word reduced(int first, int last, size_t index) {
    return is_reduced | word(first) << high | word(last) << low | index;
}

// splitmix64's finaliser.
word commuting(int rank, size_t index) {
    word x = (word(rank) << 32 ^ index) + 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

word combine_in_order(word left, word right) {
    bool both = (left & kind) == is_reduced && (right & kind) == is_reduced;
    bool follow = (left >> low & rank_mask) + 1 == (right >> high & rank_mask);
    if (!both || !follow || (left & index_mask) != (right & index_mask))
        return wrong;
    return (left & ~(rank_mask << low)) | (right & rank_mask << low);
}

word combine_in_any_order(word left, word right) {
    return left + right;
}

const weft_op *op_in_order() {
    static const weft_op *op = make(apply<combine_in_order>, 0);
    return op;
}

const weft_op *op_in_any_order() {
    static const weft_op *op = make(apply<combine_in_any_order>, 1);
    return op;
}

std::string describe(word symbol) {
    std::string a = std::to_string(symbol >> high & rank_mask), b = std::to_string(symbol >> low & rank_mask);
    std::string index = "[" + std::to_string(symbol & index_mask) + "]";
    if ((symbol & kind) == is_moved)
        return a + "→" + b + index;
    if ((symbol & kind) == is_reduced)
        return a + "…" + b + index;
    char text[32];
    snprintf(text, sizeof(text), "%#llx", static_cast<unsigned long long>(symbol));
    return symbol == wrong ? "wrong" : text;
}

std::ostream &operator<<(std::ostream &out, const Shape &shape) {
    return out << "p = " << shape.size << ", root " << shape.root << ", " << shape.count << " elements"
               << (shape.uneven ? ", uneven" : "") << (shape.in_place ? ", in place" : "")
               << (shape.spread ? ", spread" : "") << (shape.alone ? ", own block only" : "");
}

} // namespace sim
