// SPDX-License-Identifier: BSD-3-Clause
#include <core/datatype.h>

/* The kind follows from the width, so that "long" is right on every platform. */
#define SIGNED_KIND(c_type)                                                                                            \
    (sizeof(c_type) == 1   ? CORE_KIND_INT8                                                                            \
     : sizeof(c_type) == 2 ? CORE_KIND_INT16                                                                           \
     : sizeof(c_type) == 4 ? CORE_KIND_INT32                                                                           \
                           : CORE_KIND_INT64)
#define UNSIGNED_KIND(c_type)                                                                                          \
    (sizeof(c_type) == 1   ? CORE_KIND_UINT8                                                                           \
     : sizeof(c_type) == 2 ? CORE_KIND_UINT16                                                                          \
     : sizeof(c_type) == 4 ? CORE_KIND_UINT32                                                                          \
                           : CORE_KIND_UINT64)

#define DATATYPE(id, c_type, kind_value, text)                                                                         \
    _Static_assert(sizeof(c_type) <= CORE_DATATYPE_MAX_BYTES, "raise CORE_DATATYPE_MAX_BYTES");                        \
    const weft_datatype weft_datatype_##id = {CORE_DATATYPE_MAGIC, kind_value, sizeof(c_type), text}
#define SIGNED(id, c_type, text)   DATATYPE(id, c_type, SIGNED_KIND(c_type), text)
#define UNSIGNED(id, c_type, text) DATATYPE(id, c_type, UNSIGNED_KIND(c_type), text)
#define PAIR(id, value_type, kind_value, text)                                                                         \
    struct id##_layout {                                                                                               \
        value_type value;                                                                                              \
        int index;                                                                                                     \
    };                                                                                                                 \
    DATATYPE(id, struct id##_layout, kind_value, text)

DATATYPE(byte, unsigned char, CORE_KIND_BYTE, "WEFT_BYTE");
DATATYPE(char, char, CORE_KIND_CHAR, "WEFT_CHAR");
DATATYPE(bool, _Bool, CORE_KIND_BOOL, "WEFT_C_BOOL");

SIGNED(int8, int8_t, "WEFT_INT8_T");
SIGNED(int16, int16_t, "WEFT_INT16_T");
SIGNED(int32, int32_t, "WEFT_INT32_T");
SIGNED(int64, int64_t, "WEFT_INT64_T");
SIGNED(short, short, "WEFT_SHORT");
SIGNED(int, int, "WEFT_INT");
SIGNED(long, long, "WEFT_LONG");
SIGNED(long_long, long long, "WEFT_LONG_LONG");

UNSIGNED(uint8, uint8_t, "WEFT_UINT8_T");
UNSIGNED(uint16, uint16_t, "WEFT_UINT16_T");
UNSIGNED(uint32, uint32_t, "WEFT_UINT32_T");
UNSIGNED(uint64, uint64_t, "WEFT_UINT64_T");
UNSIGNED(unsigned_char, unsigned char, "WEFT_UNSIGNED_CHAR");
UNSIGNED(unsigned_short, unsigned short, "WEFT_UNSIGNED_SHORT");
UNSIGNED(unsigned, unsigned, "WEFT_UNSIGNED");
UNSIGNED(unsigned_long, unsigned long, "WEFT_UNSIGNED_LONG");
UNSIGNED(unsigned_long_long, unsigned long long, "WEFT_UNSIGNED_LONG_LONG");

DATATYPE(float, float, CORE_KIND_FLOAT, "WEFT_FLOAT");
DATATYPE(double, double, CORE_KIND_DOUBLE, "WEFT_DOUBLE");
DATATYPE(long_double, long double, CORE_KIND_LONG_DOUBLE, "WEFT_LONG_DOUBLE");
DATATYPE(float_complex, float _Complex, CORE_KIND_FLOAT_COMPLEX, "WEFT_C_FLOAT_COMPLEX");
DATATYPE(double_complex, double _Complex, CORE_KIND_DOUBLE_COMPLEX, "WEFT_C_DOUBLE_COMPLEX");

PAIR(float_int, float, CORE_KIND_FLOAT_INT, "WEFT_FLOAT_INT");
PAIR(double_int, double, CORE_KIND_DOUBLE_INT, "WEFT_DOUBLE_INT");
PAIR(long_int, long, CORE_KIND_LONG_INT, "WEFT_LONG_INT");
struct two_int_layout {
    int value;
    int index;
};
DATATYPE(2int, struct two_int_layout, CORE_KIND_2INT, "WEFT_2INT");
PAIR(short_int, short, CORE_KIND_SHORT_INT, "WEFT_SHORT_INT");
PAIR(long_double_int, long double, CORE_KIND_LONG_DOUBLE_INT, "WEFT_LONG_DOUBLE_INT");

size_t weft_datatype_size(const weft_datatype *type) {
    return core_datatype_valid(type) ? type->size_bytes : 0;
}

const char *weft_datatype_name(const weft_datatype *type) {
    return core_datatype_valid(type) ? type->name : NULL;
}
