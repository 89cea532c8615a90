// SPDX-License-Identifier: BSD-3-Clause
// An operation that does not commute, for all tests that ask whether operands meet in rank order: affine maps x → a·x + b over
// 32-bit numbers, (a, b) packed into a word, done one after the other.
#ifndef TESTS_AFFINE_H
#define TESTS_AFFINE_H

#include <cstddef>
#include <cstdint>
#include <weft/types.h>

namespace affine {

// Any word as an operand: with an odd factor the map loses nothing.
inline uint64_t operand(uint64_t word) {
    return word | uint64_t(1) << 32;
}

inline uint64_t after(uint64_t first, uint64_t then) {
    uint32_t a = uint32_t(first >> 32), b = uint32_t(first), c = uint32_t(then >> 32), d = uint32_t(then);
    return uint64_t(a * c) << 32 | uint32_t(b * c + d);
}

// A weft_op_function on WEFT_UINT64_T.
inline void combine(const void *in, void *inout, size_t count, const weft_datatype *) {
    const uint64_t *left = static_cast<const uint64_t *>(in);
    uint64_t *right = static_cast<uint64_t *>(inout);
    for (size_t i = 0; i < count; i++)
        right[i] = after(left[i], right[i]);
}

// Lives as long as the program.
inline const weft_op *op() {
    static weft_op *const made = [] {
        weft_op *op = nullptr;
        return weft_op_create(combine, 0, &op) ? nullptr : op;
    }();
    return made;
}

} // namespace affine

#endif
