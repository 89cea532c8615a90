// SPDX-License-Identifier: BSD-3-Clause
// Operands whose reductions are exact in every order: small whole numbers in floating point, few different values in pairs so
// that they tie, bits that do not all vanish. And two operations of the tests' own.
#ifndef TESTS_HIER_ORACLE_OPERANDS_H
#define TESTS_HIER_ORACLE_OPERANDS_H

#include "../core/reduce_oracle.h"
#include "oracle_job.h"

#include <vector>

namespace oracle {

template <class T> T whole(int value) {
    return static_cast<T>(value);
}

// Even elements are mostly true (all bits set), odd ones mostly false, so that neither and nor or is a constant.
template <class T> T logical(uint64_t random, bool mostly) {
    T odd_one = std::is_same_v<T, bool> ? static_cast<T>(!mostly)
                                        : static_cast<T>(static_cast<T>(mostly ? ~uint64_t(0) : 0) ^
                                                         static_cast<T>(uint64_t(1) << random / 64 % (8 * sizeof(T))));
    if (random % 8 == 0)
        return odd_one;
    if constexpr (std::is_same_v<T, bool>)
        return mostly;
    else
        return static_cast<T>(mostly ? ~uint64_t(0) : 0);
}

// The operand of a rank.
template <class T> T operand(core_op_kind op, int rank, size_t index) {
    uint64_t random = job::hash((uint64_t)op, (uint64_t)rank, index);
    if constexpr (is_pair<T>::value) {
        return {static_cast<typename T::value_type>(static_cast<int>(random % 3) - 1),
                static_cast<int>(random / 3 % 7) - 3};
    } else if constexpr (is_complex<T>::value) {
        const T factors[] = {{1, 0}, {0, 1}, {-1, 0}, {1, 1}};
        using R = typename T::value_type;
        return op == CORE_OP_PROD ? factors[random % 4]
                                  : T(whole<R>((int)(random % 17) - 8), whole<R>((int)(random / 17 % 17) - 8));
    } else if constexpr (is_float<T>) {
        const T factors[] = {1, -1, 2, T(0.5)};
        return op == CORE_OP_PROD ? factors[random % 4] : whole<T>((int)(random % 17) - 8);
    } else if constexpr (std::is_same_v<T, byte>) {
        return {logical<uint8_t>(random, index % 2 == 0)};
    } else if constexpr (std::is_same_v<T, character>) {
        return {static_cast<char>(random)};
    } else if constexpr (std::is_same_v<T, bool>) {
        return logical<T>(random, index % 2 == 0);
    } else {
        bool bits = op >= CORE_OP_LAND && op <= CORE_OP_BXOR;
        return bits ? logical<T>(random, index % 2 == 0) : static_cast<T>(random);
    }
}

// Calls f(datatype, value of its C++ type) for every predefined datatype.
template <class F> void for_each_type(F f) {
    f(WEFT_BYTE, byte());
    f(WEFT_CHAR, character());
    f(WEFT_C_BOOL, bool());
    f(WEFT_INT8_T, int8_t()), f(WEFT_INT16_T, int16_t()), f(WEFT_INT32_T, int32_t()), f(WEFT_INT64_T, int64_t());
    f(WEFT_UINT8_T, uint8_t()), f(WEFT_UINT16_T, uint16_t()), f(WEFT_UINT32_T, uint32_t());
    f(WEFT_UINT64_T, uint64_t());
    f(WEFT_SHORT, short()), f(WEFT_INT, int()), f(WEFT_LONG, long()), f(WEFT_LONG_LONG, (long long)0);
    f(WEFT_UNSIGNED_CHAR, (unsigned char)0), f(WEFT_UNSIGNED_SHORT, (unsigned short)0), f(WEFT_UNSIGNED, 0u);
    f(WEFT_UNSIGNED_LONG, 0ul), f(WEFT_UNSIGNED_LONG_LONG, 0ull);
    f(WEFT_FLOAT, float()), f(WEFT_DOUBLE, double()), f(WEFT_LONG_DOUBLE, (long double)0);
    f(WEFT_C_FLOAT_COMPLEX, std::complex<float>()), f(WEFT_C_DOUBLE_COMPLEX, std::complex<double>());
    f(WEFT_C_LONG_DOUBLE_COMPLEX, std::complex<long double>());
    f(WEFT_FLOAT_INT, pair_of<float>()), f(WEFT_DOUBLE_INT, pair_of<double>()), f(WEFT_LONG_INT, pair_of<long>());
    f(WEFT_2INT, pair_of<int>()), f(WEFT_SHORT_INT, pair_of<short>());
    f(WEFT_LONG_DOUBLE_INT, pair_of<long double>());
}

inline const weft_op *const operations[] = {WEFT_SUM,    WEFT_PROD,   WEFT_MAX,     WEFT_MIN,  WEFT_LAND,
                                            WEFT_LOR,    WEFT_LXOR,   WEFT_BAND,    WEFT_BOR,  WEFT_BXOR,
                                            WEFT_MAXLOC, WEFT_MINLOC, WEFT_REPLACE, WEFT_NO_OP};

// x → a x + b modulo 2^32 as (a, b); one map after the other is associative and does not commute.
struct affine {
    uint32_t a, b;
    static affine combine(affine first, affine second) {
        return {first.a * second.a, second.a * first.b + second.b};
    }
    static affine operand(int rank, size_t index) {
        uint64_t random = job::hash((uint64_t)rank, index, 99);
        return {static_cast<uint32_t>(random), static_cast<uint32_t>(random >> 32)};
    }
};
inline bool same(const affine &x, const affine &y) {
    return x.a == y.a && x.b == y.b;
}

// Keeps the first operand's value and counts: wide (32 bytes), so that blocks of a user's operation are cut differently.
using wide = pair_of<long double>;
inline wide first_and_count(const wide &left, const wide &right) {
    return {left.value, left.index + right.index};
}

} // namespace oracle

#endif
