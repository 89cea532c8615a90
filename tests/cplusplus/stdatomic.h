// SPDX-License-Identifier: BSD-3-Clause
/**
 * C11 atomics for the library's own headers in a C++17 test: an atomic object is a plain one of the same size, and every
 * access that the headers make goes through the compiler's atomic builtins, as in C. First in the include path of the
 * tests that look at such headers; nothing but the headers uses it.
 */
#ifndef TESTS_CPLUSPLUS_STDATOMIC_H
#define TESTS_CPLUSPLUS_STDATOMIC_H
#ifdef __cplusplus

#define _Atomic
#define _Static_assert static_assert

extern "C++" {
#include <atomic>

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

// The same type twice: T is deduced from the object alone, as a C generic macro does.
template <class T> struct tests_same { typedef T type; };

template <class T> T atomic_load_explicit(const T *object, memory_order order) {
    return __atomic_load_n(object, order);
}

template <class T> void atomic_store_explicit(T *object, typename tests_same<T>::type value, memory_order order) {
    __atomic_store_n(object, value, order);
}

template <class T> T atomic_exchange_explicit(T *object, typename tests_same<T>::type value, memory_order order) {
    return __atomic_exchange_n(object, value, order);
}

template <class T> T atomic_fetch_add_explicit(T *object, typename tests_same<T>::type value, memory_order order) {
    return __atomic_fetch_add(object, value, order);
}

template <class T> T atomic_fetch_sub_explicit(T *object, typename tests_same<T>::type value, memory_order order) {
    return __atomic_fetch_sub(object, value, order);
}

template <class T> T atomic_fetch_or_explicit(T *object, typename tests_same<T>::type value, memory_order order) {
    return __atomic_fetch_or(object, value, order);
}

template <class T>
bool atomic_compare_exchange_weak_explicit(T *object, typename tests_same<T>::type *expected,
                                           typename tests_same<T>::type value, memory_order success,
                                           memory_order failure) {
    return __atomic_compare_exchange_n(object, expected, value, true, success, failure);
}

template <class T>
bool atomic_compare_exchange_strong_explicit(T *object, typename tests_same<T>::type *expected,
                                             typename tests_same<T>::type value, memory_order success,
                                             memory_order failure) {
    return __atomic_compare_exchange_n(object, expected, value, false, success, failure);
}
}

#else
#include_next <stdatomic.h>
#endif
#endif
