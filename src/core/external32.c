// SPDX-License-Identifier: BSD-3-Clause
#include <core/datatype.h>
#include <core/external32.h>
#include <endian.h>
#include <float.h>
#include <string.h>

_Static_assert(sizeof(short) == 2 && sizeof(int) == 4 && sizeof(long) == 8 && sizeof(long long) == 8, "LP64 only");
_Static_assert(sizeof(wchar_t) == 4, "not the 16 bits of other systems");
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8, "IEEE only");
_Static_assert(LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 113, "long double: x87's 80 bits or binary128");

enum form { SAME, TRUTH, SWAPPED, LONG, UNSIGNED_LONG, WIDE, QUAD };

/* A number in an element. */
typedef struct field {
    enum form form;
    uint8_t at, native_bytes, external_bytes;
} field;

/* An element is one or two of them. */
typedef struct description {
    int fields;
    field field[2];
} description;

#define ONE(form_, n, e)                                                                                               \
    {                                                                                                                  \
        1, {                                                                                                           \
            { form_, 0, n, e }                                                                                         \
        }                                                                                                              \
    }
#define COMPLEX(form_, n)                                                                                              \
    {                                                                                                                  \
        2, {                                                                                                           \
            {form_, 0, n, n}, {                                                                                        \
                form_, n, n, n                                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }
/* The index of a pair lies where the compiler puts an int behind the value. */
#define PAIR(form_, n, e)                                                                                              \
    {                                                                                                                  \
        2, {                                                                                                           \
            {form_, 0, n, e}, {                                                                                        \
                SWAPPED, (n) > 4 ? (n) : 4, 4, 4                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }

static const description by_kind[CORE_KINDS] = {
    [CORE_KIND_BYTE] = ONE(SAME, 1, 1),
    [CORE_KIND_CHAR] = ONE(SAME, 1, 1),
    [CORE_KIND_WCHAR] = ONE(WIDE, 4, 2),
    [CORE_KIND_BOOL] = ONE(TRUTH, 1, 1),
    [CORE_KIND_INT8] = ONE(SAME, 1, 1),
    [CORE_KIND_INT16] = ONE(SWAPPED, 2, 2),
    [CORE_KIND_INT32] = ONE(SWAPPED, 4, 4),
    [CORE_KIND_INT64] = ONE(SWAPPED, 8, 8),
    [CORE_KIND_UINT8] = ONE(SAME, 1, 1),
    [CORE_KIND_UINT16] = ONE(SWAPPED, 2, 2),
    [CORE_KIND_UINT32] = ONE(SWAPPED, 4, 4),
    [CORE_KIND_UINT64] = ONE(SWAPPED, 8, 8),
    [CORE_KIND_FLOAT] = ONE(SWAPPED, 4, 4),
    [CORE_KIND_DOUBLE] = ONE(SWAPPED, 8, 8),
    [CORE_KIND_LONG_DOUBLE] = ONE(QUAD, 16, 16),
    [CORE_KIND_FLOAT_COMPLEX] = COMPLEX(SWAPPED, 4),
    [CORE_KIND_DOUBLE_COMPLEX] = COMPLEX(SWAPPED, 8),
    [CORE_KIND_LONG_DOUBLE_COMPLEX] = COMPLEX(QUAD, 16),
    [CORE_KIND_FLOAT_INT] = PAIR(SWAPPED, 4, 4),
    [CORE_KIND_DOUBLE_INT] = PAIR(SWAPPED, 8, 8),
    [CORE_KIND_LONG_INT] = PAIR(LONG, 8, 4),
    [CORE_KIND_2INT] = PAIR(SWAPPED, 4, 4),
    [CORE_KIND_SHORT_INT] = PAIR(SWAPPED, 2, 2),
    [CORE_KIND_LONG_DOUBLE_INT] = PAIR(QUAD, 16, 16),
};
static const description a_long = ONE(LONG, 8, 4), an_unsigned_long = ONE(UNSIGNED_LONG, 8, 4);

static const description *description_of(const weft_datatype *type) {
    /* long has the kind of int64_t, which has 8 bytes in external32. */
    return type == WEFT_LONG ? &a_long : type == WEFT_UNSIGNED_LONG ? &an_unsigned_long : &by_kind[type->kind];
}

size_t core_external32_bytes(const weft_datatype *predefined) {
    const description *d = description_of(predefined);
    return d->field[0].external_bytes + (d->fields == 2 ? d->field[1].external_bytes : 0u);
}

/* Between the machine's order and the other; the same both ways. */
static void swap(unsigned char *to, const unsigned char *from, size_t bytes) {
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 2:
        memcpy(&two, from, 2);
        two = htobe16(two);
        memcpy(to, &two, 2);
        break;
    case 4:
        memcpy(&four, from, 4);
        four = htobe32(four);
        memcpy(to, &four, 4);
        break;
    default:
        memcpy(&eight, from, 8);
        eight = htobe64(eight);
        memcpy(to, &eight, 8);
    }
}

#if LDBL_MANT_DIG == 64

/*
 * x87:        sign, 15 bits of exponent, the integer bit 1 (0: subnormal), 63 bits of fraction
 * binary128:  sign, 15 bits of exponent,                                  112 bits of fraction
 * with the same bias. `high` is the upper half of binary128: sign and exponent over 48 bits of fraction.
 */
#define EXPONENT_MAX 0x7fffu
#define INTEGER_BIT  (UINT64_C(1) << 63)

static void quad_from_native(unsigned char *to, const unsigned char *from) {
    uint64_t mantissa, high, low;
    uint16_t sign_exponent;
    memcpy(&mantissa, from, 8);
    memcpy(&sign_exponent, from + 8, 2);
    uint64_t sign = sign_exponent & 0x8000u, exponent = sign_exponent & EXPONENT_MAX;
    /* The processor takes numbers without their integer bit for no numbers. */
    if (exponent > 0 && !(mantissa & INTEGER_BIT)) {
        exponent = EXPONENT_MAX;
        mantissa |= INTEGER_BIT >> 1;
    }
    /* A subnormal with the integer bit has the value of the least exponent with it. */
    if (exponent == 0 && (mantissa & INTEGER_BIT))
        exponent = 1;
    uint64_t fraction = mantissa & ~INTEGER_BIT;
    high = (sign | exponent) << 48 | fraction >> 15;
    low = fraction << 49;
    swap(to, (const unsigned char *)&high, 8);
    swap(to + 8, (const unsigned char *)&low, 8);
}

static void quad_to_native(unsigned char *to, const unsigned char *from) {
    uint64_t high, low;
    swap((unsigned char *)&high, from, 8);
    swap((unsigned char *)&low, from + 8, 8);
    uint64_t sign = high >> 48 & 0x8000u, exponent = high >> 48 & EXPONENT_MAX;
    uint64_t fraction = (high & ((UINT64_C(1) << 48) - 1)) << 15 | low >> 49;
    uint64_t lost = low & ((UINT64_C(1) << 49) - 1), half = UINT64_C(1) << 48;
    if (exponent == EXPONENT_MAX) {
        /* What is no number stays none, also if only bits that are lost say so. */
        if (fraction == 0 && lost > 0)
            fraction = INTEGER_BIT >> 1;
    } else if (lost > half || (lost == half && (fraction & 1))) {
        /* To nearest, ties to even. The carry goes on into the exponent, as it should, up to infinity. */
        fraction++;
        exponent += fraction >> 63;
        fraction &= ~INTEGER_BIT;
    }
    uint64_t mantissa = fraction | (exponent > 0 ? INTEGER_BIT : 0);
    uint16_t sign_exponent = (uint16_t)(sign | exponent);
    memcpy(to, &mantissa, 8);
    memcpy(to + 8, &sign_exponent, 2);
}

#else

static void quad_from_native(unsigned char *to, const unsigned char *from) {
    unsigned char halves[16];
    memcpy(halves, from, 16);
    swap(to, halves + (BYTE_ORDER == LITTLE_ENDIAN ? 8 : 0), 8);
    swap(to + 8, halves + (BYTE_ORDER == LITTLE_ENDIAN ? 0 : 8), 8);
}

static void quad_to_native(unsigned char *to, const unsigned char *from) {
    quad_from_native(to, from);
}

#endif

/* Numbers that have as many bytes on both sides, but for long double: both ways alike. False: it is another. */
static bool convert_alike(const field *f, unsigned char *to, const unsigned char *from) {
    switch (f->form) {
    case SAME:
        *to = *from;
        return true;
    case TRUTH:
        *to = *from != 0;
        return true;
    case SWAPPED:
        swap(to, from, f->native_bytes);
        return true;
    default:
        return false;
    }
}

/* False: the number does not fit. */
static bool put(const field *f, unsigned char *to, const unsigned char *from) {
    int64_t value;
    uint64_t unsigned_value;
    uint32_t wide;
    if (convert_alike(f, to, from))
        return true;
    switch (f->form) {
    case LONG:
        memcpy(&value, from, 8);
        swap(to, (const unsigned char *)&(uint32_t){(uint32_t)value}, 4);
        return value >= INT32_MIN && value <= INT32_MAX;
    case UNSIGNED_LONG:
        memcpy(&unsigned_value, from, 8);
        swap(to, (const unsigned char *)&(uint32_t){(uint32_t)unsigned_value}, 4);
        return unsigned_value <= UINT32_MAX;
    case WIDE:
        memcpy(&wide, from, 4);
        swap(to, (const unsigned char *)&(uint16_t){(uint16_t)wide}, 2);
        return wide <= UINT16_MAX;
    default:
        quad_from_native(to, from);
        return true;
    }
}

static void get(const field *f, unsigned char *to, const unsigned char *from) {
    uint32_t narrow;
    uint16_t character;
    if (convert_alike(f, to, from))
        return;
    switch (f->form) {
    case LONG:
        swap((unsigned char *)&narrow, from, 4);
        memcpy(to, &(int64_t){(int32_t)narrow}, 8);
        break;
    case UNSIGNED_LONG:
        swap((unsigned char *)&narrow, from, 4);
        memcpy(to, &(uint64_t){narrow}, 8);
        break;
    case WIDE:
        swap((unsigned char *)&character, from, 2);
        memcpy(to, &(uint32_t){character}, 4);
        break;
    default:
        quad_to_native(to, from);
    }
}

bool core_external32_from_native(void *external, const void *native, const weft_datatype *predefined, size_t count) {
    const description *d = description_of(predefined);
    const unsigned char *from = native;
    unsigned char *to = external;
    bool fits = true;
    for (; count > 0; count--, from += predefined->size_bytes)
        for (int i = 0; i < d->fields; to += d->field[i].external_bytes, i++)
            fits &= put(&d->field[i], to, from + d->field[i].at);
    return fits;
}

void core_external32_to_native(void *native, const void *external, const weft_datatype *predefined, size_t count) {
    const description *d = description_of(predefined);
    const unsigned char *from = external;
    unsigned char *to = native;
    memset(native, 0, count * predefined->size_bytes);
    for (; count > 0; count--, to += predefined->size_bytes)
        for (int i = 0; i < d->fields; from += d->field[i].external_bytes, i++)
            get(&d->field[i], to + d->field[i].at, from);
}
