// SPDX-License-Identifier: BSD-3-Clause
// What each operation means on one element, in plain C++ that shares nothing with the kernels, and values that hurt.
#ifndef TESTS_CORE_REDUCE_ORACLE_H
#define TESTS_CORE_REDUCE_ORACLE_H

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <ostream>
#include <random>
#include <type_traits>
extern "C" {
#include <core/op.h>
}

namespace oracle {

// Types that C++ would take for integers.
struct byte {
    uint8_t bits;
};
struct character {
    char value;
};
template <class T> struct pair_of {
    using value_type = T;
    T value;
    int index;
};

template <class T> struct is_pair : std::false_type {};
template <class T> struct is_pair<pair_of<T>> : std::true_type {};
template <class T> struct is_complex : std::false_type {};
template <class T> struct is_complex<std::complex<T>> : std::true_type {};
template <class T> constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T> constexpr bool is_float = std::is_floating_point_v<T>;

// MPI 4.0 section 6.9.2.
template <class T> bool defined(core_op_kind op) {
    switch (op) {
    case CORE_OP_SUM:
    case CORE_OP_PROD:
        return is_integer<T> || is_float<T> || is_complex<T>::value;
    case CORE_OP_MAX:
    case CORE_OP_MIN:
        return is_integer<T> || is_float<T>;
    case CORE_OP_LAND:
    case CORE_OP_LOR:
    case CORE_OP_LXOR:
        return is_integer<T> || std::is_same_v<T, bool>;
    case CORE_OP_BAND:
    case CORE_OP_BOR:
    case CORE_OP_BXOR:
        return is_integer<T> || std::is_same_v<T, byte>;
    case CORE_OP_MAXLOC:
    case CORE_OP_MINLOC:
        return is_pair<T>::value;
    default:
        return true;
    }
}

template <class T> bool not_a_number(T a) {
    if constexpr (is_float<T>)
        return std::isnan(a);
    return false;
}

// Does a beat b? A NaN beats every number.
template <class T> bool beats(bool maximum, T a, T b) {
    if (not_a_number(a) || not_a_number(b))
        return not_a_number(a) && !not_a_number(b);
    return maximum ? a > b : a < b;
}

template <class T> T integer(core_op_kind op, T a, T b) {
    using wide = unsigned __int128; // sums and products modulo 2^bits
    switch (op) {
    case CORE_OP_SUM:
        return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
    case CORE_OP_PROD:
        return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b));
    case CORE_OP_LAND:
        return a && b ? 1 : 0;
    case CORE_OP_LOR:
        return a || b ? 1 : 0;
    case CORE_OP_LXOR:
        return !a != !b ? 1 : 0;
    case CORE_OP_BAND:
        return static_cast<T>(a & b);
    case CORE_OP_BOR:
        return static_cast<T>(a | b);
    default:
        return static_cast<T>(a ^ b);
    }
}

template <class T> T combine(core_op_kind op, T a, T b) {
    if (op == CORE_OP_REPLACE)
        return b;
    if (op == CORE_OP_NO_OP)
        return a;
    if constexpr (is_pair<T>::value) {
        if (beats(op == CORE_OP_MAXLOC, a.value, b.value))
            return a;
        if (beats(op == CORE_OP_MAXLOC, b.value, a.value))
            return b;
        return b.index < a.index ? b : a;
    } else if constexpr (is_complex<T>::value) {
        if (op == CORE_OP_SUM)
            return {a.real() + b.real(), a.imag() + b.imag()};
        return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    } else if constexpr (is_integer<T> || is_float<T> || std::is_same_v<T, bool>) {
        if (op == CORE_OP_MAX || op == CORE_OP_MIN)
            return beats(op == CORE_OP_MAX, b, a) ? b : a;
        if constexpr (is_float<T>)
            return op == CORE_OP_SUM ? a + b : a * b;
        else
            return integer<T>(op, a, b);
    } else if constexpr (std::is_same_v<T, byte>) {
        return {integer<uint8_t>(op, a.bits, b.bits)};
    } else {
        return a;
    }
}

// The same value: of zeros also the sign, of NaNs only that they are.
template <class T> bool same(const T &a, const T &b) {
    if constexpr (is_pair<T>::value)
        return a.index == b.index && same(a.value, b.value);
    else if constexpr (is_complex<T>::value)
        return same(a.real(), b.real()) && same(a.imag(), b.imag());
    else if constexpr (is_float<T>)
        return std::isnan(a) || std::isnan(b) ? std::isnan(a) && std::isnan(b)
                                              : a == b && std::signbit(a) == std::signbit(b);
    else if constexpr (std::is_same_v<T, byte>)
        return a.bits == b.bits;
    else if constexpr (std::is_same_v<T, character>)
        return a.value == b.value;
    else
        return a == b;
}

// Any value: limits, zeros, infinities and NaNs one time in four; few different ones in pairs, so that values tie.
template <class T> T any(std::mt19937_64 &random) {
    if constexpr (is_pair<T>::value) {
        using V = typename T::value_type;
        V value = random() % 4 == 0 ? any<V>(random) : static_cast<V>(static_cast<int>(random() % 3) - 1);
        return {value, static_cast<int>(random() % 5) - 2};
    } else if constexpr (is_complex<T>::value) {
        using R = typename T::value_type;
        R re = any<R>(random), im = any<R>(random);
        return {re, im};
    } else if constexpr (is_float<T>) {
        using L = std::numeric_limits<T>;
        const T special[] = {T(0), -T(0), L::infinity(), -L::infinity(), L::max(), L::lowest(), L::quiet_NaN()};
        if (random() % 4 == 0)
            return special[random() % 7];
        return std::uniform_real_distribution<T>(-100, 100)(random);
    } else if constexpr (std::is_same_v<T, bool>) {
        return random() % 2;
    } else if constexpr (std::is_same_v<T, byte>) {
        return {static_cast<uint8_t>(random())};
    } else if constexpr (std::is_same_v<T, character>) {
        return {static_cast<char>(random())};
    } else {
        const T special[] = {0, 1, static_cast<T>(-1), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
        return random() % 4 == 0 ? special[random() % 5] : static_cast<T>(random());
    }
}

} // namespace oracle

#endif
