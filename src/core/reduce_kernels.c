// SPDX-License-Identifier: BSD-3-Clause
/**
 * Compiled once for each instruction set, with -DCORE_KERNELS_ISA=generic|avx2|avx512 and the compiler's flags for it.
 *
 * Every loop loads both operands of an element before it stores the result, and touches no other element: it is right
 * when `out` is `left` or `right`, and the compiler may be told that iterations are independent (`restrict` would be a
 * lie, and without either the compiler tests for overlap at run time and runs scalar code in place).
 */
#include <core/reduce_kernels.h>

#if defined(__clang__)
#define INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
/* long double cannot be vectorised, and nothing can under UBSan. */
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

/* User buffers may have another C type of the same representation (long and long long). */
#define MAY_ALIAS __attribute__((may_alias))
typedef uint8_t MAY_ALIAS u8;
typedef uint16_t MAY_ALIAS u16;
typedef uint32_t MAY_ALIAS u32;
typedef uint64_t MAY_ALIAS u64;
typedef int8_t MAY_ALIAS i8;
typedef int16_t MAY_ALIAS i16;
typedef int32_t MAY_ALIAS i32;
typedef int64_t MAY_ALIAS i64;
typedef float MAY_ALIAS f32;
typedef double MAY_ALIAS f64;
typedef long double MAY_ALIAS fld;

/* o[i] = expression of a = l[i] and b = r[i]. */
#define KERNEL(name, type, expression)                                                                                 \
    static void name(const void *left, const void *right, void *out, size_t count) {                                   \
        const type *l = left, *r = right;                                                                              \
        type *o = out;                                                                                                 \
        INDEPENDENT_ITERATIONS                                                                                         \
        for (size_t i = 0; i < count; i++) {                                                                           \
            type a = l[i], b = r[i];                                                                                   \
            o[i] = expression;                                                                                         \
        }                                                                                                              \
    }

/*
 * Integers. Signed sums, products, bitwise and logical operations have the bits of the unsigned ones, which cannot
 * overflow; `1u *` keeps the product of two 16-bit numbers from being one of ints.
 */
#define ORDER_KERNELS(type)                                                                                            \
    KERNEL(max_##type, type, a < b ? b : a)                                                                            \
    KERNEL(min_##type, type, b < a ? b : a)
#define INTEGER_KERNELS(type)                                                                                          \
    KERNEL(sum_##type, type, a + b)                                                                                    \
    KERNEL(prod_##type, type, 1u * a * b)                                                                              \
    KERNEL(land_##type, type, (a != 0) & (b != 0))                                                                     \
    KERNEL(lor_##type, type, (a | b) != 0)                                                                             \
    KERNEL(lxor_##type, type, (a != 0) != (b != 0))                                                                    \
    KERNEL(band_##type, type, (a & b))                                                                                 \
    KERNEL(bor_##type, type, a | b)                                                                                    \
    KERNEL(bxor_##type, type, a ^ b)                                                                                   \
    ORDER_KERNELS(type)
INTEGER_KERNELS(u8)
INTEGER_KERNELS(u16)
INTEGER_KERNELS(u32)
INTEGER_KERNELS(u64)
ORDER_KERNELS(i8)
ORDER_KERNELS(i16)
ORDER_KERNELS(i32)
ORDER_KERNELS(i64)

/* Floating point. A NaN beats every number, so that maxima and minima do not depend on the order of combination. */
#define FLOAT_KERNELS(type)                                                                                            \
    KERNEL(sum_##type, type, a + b)                                                                                    \
    KERNEL(prod_##type, type, (a * b))                                                                                 \
    KERNEL(max_##type, type, ((a < b) | (b != b)) ? b : a)                                                             \
    KERNEL(min_##type, type, ((b < a) | (b != b)) ? b : a)
FLOAT_KERNELS(f32)
FLOAT_KERNELS(f64)
FLOAT_KERNELS(fld)

/* gcc 12 fuses the multiplications of neighbouring a - b and a + b, in spite of -ffp-contract=off. */
#if defined(__x86_64__) && !defined(__clang__)
#define UNFUSED __attribute__((target("no-avx512f,no-fma,no-fma4")))
#else
#define UNFUSED
#endif

/* Complex: a sum is that of twice as many reals; the product is written out, for C's own calls a function for NaNs. */
#define COMPLEX_KERNELS(name, real)                                                                                    \
    typedef struct MAY_ALIAS {                                                                                         \
        real re, im;                                                                                                   \
    } name;                                                                                                            \
    static void sum_##name(const void *left, const void *right, void *out, size_t count) {                             \
        sum_##real(left, right, out, 2 * count);                                                                       \
    }                                                                                                                  \
    UNFUSED static void prod_##name(const void *left, const void *right, void *out, size_t count) {                    \
        const name *l = left, *r = right;                                                                              \
        name *o = out;                                                                                                 \
        INDEPENDENT_ITERATIONS                                                                                         \
        for (size_t i = 0; i < count; i++) {                                                                           \
            name a = l[i], b = r[i];                                                                                   \
            o[i].re = a.re * b.re - a.im * b.im;                                                                       \
            o[i].im = a.re * b.im + a.im * b.re;                                                                       \
        }                                                                                                              \
    }
COMPLEX_KERNELS(c32, f32)
COMPLEX_KERNELS(c64, f64)
COMPLEX_KERNELS(cld, fld)

/* Pairs: the winning value with its index; the lower index when neither value beats the other. */
#define ABOVE(x, y)       ((x) > (y))
#define BELOW(x, y)       ((x) < (y))
#define FLOAT_ABOVE(x, y) (((x) > (y)) | (((x) != (x)) & ((y) == (y))))
#define FLOAT_BELOW(x, y) (((x) < (y)) | (((x) != (x)) & ((y) == (y))))
#define LOC_KERNEL(name, type, beats)                                                                                  \
    static void name(const void *left, const void *right, void *out, size_t count) {                                   \
        const type *l = left, *r = right;                                                                              \
        type *o = out;                                                                                                 \
        INDEPENDENT_ITERATIONS                                                                                         \
        for (size_t i = 0; i < count; i++) {                                                                           \
            type a = l[i], b = r[i];                                                                                   \
            int take_b = beats(b.value, a.value) | (!beats(a.value, b.value) & (b.index < a.index));                   \
            o[i].value = take_b ? b.value : a.value;                                                                   \
            o[i].index = take_b ? b.index : a.index;                                                                   \
        }                                                                                                              \
    }
#define PAIR_KERNELS(name, value_type, above, below)                                                                   \
    typedef struct MAY_ALIAS {                                                                                         \
        value_type value;                                                                                              \
        int index;                                                                                                     \
    } name;                                                                                                            \
    LOC_KERNEL(maxloc_##name, name, above)                                                                             \
    LOC_KERNEL(minloc_##name, name, below)
PAIR_KERNELS(float_int, float, FLOAT_ABOVE, FLOAT_BELOW)
PAIR_KERNELS(double_int, double, FLOAT_ABOVE, FLOAT_BELOW)
PAIR_KERNELS(long_double_int, long double, FLOAT_ABOVE, FLOAT_BELOW)
PAIR_KERNELS(long_int, long, ABOVE, BELOW)
PAIR_KERNELS(two_int, int, ABOVE, BELOW)
PAIR_KERNELS(short_int, short, ABOVE, BELOW)

#define UNSIGNED_ROW(op)                                                                                               \
    [CORE_KIND_UINT8] = op##_u8, [CORE_KIND_UINT16] = op##_u16, [CORE_KIND_UINT32] = op##_u32,                         \
    [CORE_KIND_UINT64] = op##_u64
#define SIGNED_ROW(op, sign)                                                                                           \
    [CORE_KIND_INT8] = op##_##sign##8, [CORE_KIND_INT16] = op##_##sign##16, [CORE_KIND_INT32] = op##_##sign##32,       \
    [CORE_KIND_INT64] = op##_##sign##64
#define FLOAT_ROW(op) [CORE_KIND_FLOAT] = op##_f32, [CORE_KIND_DOUBLE] = op##_f64, [CORE_KIND_LONG_DOUBLE] = op##_fld
#define COMPLEX_ROW(op)                                                                                                \
    [CORE_KIND_FLOAT_COMPLEX] = op##_c32, [CORE_KIND_DOUBLE_COMPLEX] = op##_c64,                                       \
    [CORE_KIND_LONG_DOUBLE_COMPLEX] = op##_cld
#define LOGICAL_ROW(op) [CORE_KIND_BOOL] = op##_u8
#define BITWISE_ROW(op) [CORE_KIND_BYTE] = op##_u8
#define PAIR_ROW(op)                                                                                                   \
    [CORE_KIND_FLOAT_INT] = op##_float_int, [CORE_KIND_DOUBLE_INT] = op##_double_int,                                  \
    [CORE_KIND_LONG_DOUBLE_INT] = op##_long_double_int, [CORE_KIND_LONG_INT] = op##_long_int,                          \
    [CORE_KIND_2INT] = op##_two_int, [CORE_KIND_SHORT_INT] = op##_short_int

#define TABLE_OF(isa) core_kernels_##isa
#define TABLE(isa)    TABLE_OF(isa)

core_kernel_table TABLE(CORE_KERNELS_ISA) = {
    [CORE_OP_SUM] = {UNSIGNED_ROW(sum), SIGNED_ROW(sum, u), FLOAT_ROW(sum), COMPLEX_ROW(sum)},
    [CORE_OP_PROD] = {UNSIGNED_ROW(prod), SIGNED_ROW(prod, u), FLOAT_ROW(prod), COMPLEX_ROW(prod)},
    [CORE_OP_MAX] = {UNSIGNED_ROW(max), SIGNED_ROW(max, i), FLOAT_ROW(max)},
    [CORE_OP_MIN] = {UNSIGNED_ROW(min), SIGNED_ROW(min, i), FLOAT_ROW(min)},
    [CORE_OP_LAND] = {UNSIGNED_ROW(land), SIGNED_ROW(land, u), LOGICAL_ROW(land)},
    [CORE_OP_LOR] = {UNSIGNED_ROW(lor), SIGNED_ROW(lor, u), LOGICAL_ROW(lor)},
    [CORE_OP_LXOR] = {UNSIGNED_ROW(lxor), SIGNED_ROW(lxor, u), LOGICAL_ROW(lxor)},
    [CORE_OP_BAND] = {UNSIGNED_ROW(band), SIGNED_ROW(band, u), BITWISE_ROW(band)},
    [CORE_OP_BOR] = {UNSIGNED_ROW(bor), SIGNED_ROW(bor, u), BITWISE_ROW(bor)},
    [CORE_OP_BXOR] = {UNSIGNED_ROW(bxor), SIGNED_ROW(bxor, u), BITWISE_ROW(bxor)},
    [CORE_OP_MAXLOC] = {PAIR_ROW(maxloc)},
    [CORE_OP_MINLOC] = {PAIR_ROW(minloc)},
};
