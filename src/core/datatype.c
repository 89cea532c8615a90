// SPDX-License-Identifier: BSD-3-Clause
#include <core/datatype.h>
#include <core/error.h>
#include <core/nest.h>
#include <core/pool.h>
#include <core/signature.h>
#include <stdatomic.h>
#include <weft/datatype.h>

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
    const weft_datatype weft_datatype_##id = {.magic = CORE_DATATYPE_MAGIC,                                            \
                                              .kind = (kind_value),                                                    \
                                              .size_bytes = sizeof(c_type),                                            \
                                              .name = (text),                                                          \
                                              .extent = sizeof(c_type),                                                \
                                              .true_extent = sizeof(c_type),                                           \
                                              .alignment = _Alignof(c_type),                                           \
                                              .contiguous = true,                                                      \
                                              .committed = true}
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
DATATYPE(wchar, wchar_t, CORE_KIND_WCHAR, "WEFT_WCHAR");
DATATYPE(bool, _Bool, CORE_KIND_BOOL, "WEFT_C_BOOL");

SIGNED(int8, int8_t, "WEFT_INT8_T");
SIGNED(int16, int16_t, "WEFT_INT16_T");
SIGNED(int32, int32_t, "WEFT_INT32_T");
SIGNED(int64, int64_t, "WEFT_INT64_T");
SIGNED(short, short, "WEFT_SHORT");
SIGNED(int, int, "WEFT_INT");
SIGNED(long, long, "WEFT_LONG");
SIGNED(long_long, long long, "WEFT_LONG_LONG");
SIGNED(aint, ptrdiff_t, "WEFT_AINT");

UNSIGNED(uint8, uint8_t, "WEFT_UINT8_T");
UNSIGNED(uint16, uint16_t, "WEFT_UINT16_T");
UNSIGNED(uint32, uint32_t, "WEFT_UINT32_T");
UNSIGNED(uint64, uint64_t, "WEFT_UINT64_T");
UNSIGNED(unsigned_char, unsigned char, "WEFT_UNSIGNED_CHAR");
UNSIGNED(unsigned_short, unsigned short, "WEFT_UNSIGNED_SHORT");
UNSIGNED(unsigned, unsigned, "WEFT_UNSIGNED");
UNSIGNED(unsigned_long, unsigned long, "WEFT_UNSIGNED_LONG");
UNSIGNED(unsigned_long_long, unsigned long long, "WEFT_UNSIGNED_LONG_LONG");
UNSIGNED(count, size_t, "WEFT_COUNT");

DATATYPE(float, float, CORE_KIND_FLOAT, "WEFT_FLOAT");
DATATYPE(double, double, CORE_KIND_DOUBLE, "WEFT_DOUBLE");
DATATYPE(long_double, long double, CORE_KIND_LONG_DOUBLE, "WEFT_LONG_DOUBLE");
DATATYPE(float_complex, float _Complex, CORE_KIND_FLOAT_COMPLEX, "WEFT_C_FLOAT_COMPLEX");
DATATYPE(double_complex, double _Complex, CORE_KIND_DOUBLE_COMPLEX, "WEFT_C_DOUBLE_COMPLEX");
DATATYPE(long_double_complex, long double _Complex, CORE_KIND_LONG_DOUBLE_COMPLEX, "WEFT_C_LONG_DOUBLE_COMPLEX");

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

/* A derived type. The block comes from a pool, so that a stale handle can be looked at. */
typedef struct derived {
    core_pooled pooled;
    _Atomic size_t uses; /* the owner's, until it frees the type, and those of what goes on with it */
    core_signature signature;
    weft_datatype type; /* the handle points here */
} derived;

#define DERIVED_MAGIC 0x77744452u

static core_pool pool = CORE_POOL_INITIALIZER;

static derived *derived_of(const weft_datatype *type) {
    return (derived *)((uintptr_t)type - offsetof(derived, type));
}

weft_datatype *core_datatype_make(const weft_datatype *fields) {
    derived *made = core_pool_take(&pool, sizeof(*made), DERIVED_MAGIC);
    if (!made)
        return NULL;
    atomic_store_explicit(&made->uses, 1, memory_order_relaxed);
    made->signature = *fields->signature;
    made->type = *fields;
    made->type.signature = &made->signature;
    made->type.kind = CORE_KIND_DERIVED;
    made->type.name = "derived";
    made->type.committed = false;
    __atomic_store_n(&made->type.magic, CORE_DATATYPE_MAGIC, __ATOMIC_RELAXED);
    return &made->type;
}

void core_datatype_retain_derived(const weft_datatype *type) {
    /* Relaxed: whoever makes a new use has one. */
    atomic_fetch_add_explicit(&derived_of(type)->uses, 1, memory_order_relaxed);
}

void core_datatype_release_derived(const weft_datatype *type) {
    derived *released = derived_of(type);
    /* Release: what was read through this use was read before; acquire: pairs with it before the memory goes. */
    if (atomic_fetch_sub_explicit(&released->uses, 1, memory_order_acq_rel) > 1)
        return;
    __atomic_store_n(&released->type.magic, 0, __ATOMIC_RELAXED);
    core_part_drop((core_part){released->type.size_bytes, released->type.nest});
    core_signature_drop(released->signature);
    core_pool_give(&pool, released, DERIVED_MAGIC);
}

size_t core_datatype_elements(const weft_datatype *type, size_t bytes) {
    if (type->size_bytes == 0)
        return bytes == 0 ? 0 : SIZE_MAX;
    size_t whole = bytes / type->size_bytes, rest = bytes % type->size_bytes;
    if (type->kind != CORE_KIND_DERIVED)
        return rest == 0 ? whole : SIZE_MAX;
    size_t elements = core_signature_elements(type->signature, rest);
    return elements == SIZE_MAX ? SIZE_MAX : whole * type->signature->elements + elements;
}

uint64_t core_datatype_hash_others(const weft_datatype *type, size_t count) {
    const core_signature one = {.elements = 1, .type = type};
    return core_signature_hash(type->kind == CORE_KIND_DERIVED ? type->signature : &one, count);
}

const char *core_datatype_element_derived(const weft_datatype *type) {
    return type->signature->elements && !type->signature->list ? type->signature->type->name : NULL;
}

int core_datatype_check(const char *call, const char *what, const weft_datatype *type) {
    if (core_datatype_valid(type))
        return WEFT_SUCCESS;
    if (!type)
        return core_error(WEFT_ERR_ARG, "%s: %s is NULL", call, what);
    return core_error(WEFT_ERR_ARG, "%s: %s is no datatype, or was freed before", call, what);
}

/* Also while a type that was freed is in use: who uses it may ask. */
static bool answers(const weft_datatype *type) {
    return core_datatype_valid(type) ||
           (type && __atomic_load_n(&type->magic, __ATOMIC_RELAXED) == CORE_DATATYPE_FREED);
}

size_t weft_datatype_size(const weft_datatype *type) {
    return answers(type) ? type->size_bytes : 0;
}

const char *weft_datatype_name(const weft_datatype *type) {
    return answers(type) ? type->name : NULL;
}

int weft_type_size(const weft_datatype *type, size_t *bytes) {
    int code = answers(type) ? WEFT_SUCCESS : core_datatype_check("weft_type_size", "type", type);
    if (code)
        return code;
    if (!bytes)
        return core_error(WEFT_ERR_ARG, "weft_type_size: there is no place for the size (bytes is NULL)");
    *bytes = type->size_bytes;
    return WEFT_SUCCESS;
}

/* The bounds, or those of the data alone. */
static int answer_bounds(const weft_datatype *type, bool of_data, ptrdiff_t *lower_bound, ptrdiff_t *extent) {
    const char *call = of_data ? "weft_type_true_extent" : "weft_type_extent";
    int code = answers(type) ? WEFT_SUCCESS : core_datatype_check(call, "type", type);
    if (code)
        return code;
    if (!lower_bound || !extent)
        return core_error(WEFT_ERR_ARG, "%s: there is no place for the result (%s%s is NULL)", call,
                          of_data ? "true_" : "", lower_bound ? "extent" : "lower_bound");
    *lower_bound = of_data ? type->true_lower_bound : type->lower_bound;
    *extent = of_data ? type->true_extent : type->extent;
    return WEFT_SUCCESS;
}

int weft_type_extent(const weft_datatype *type, ptrdiff_t *lower_bound, ptrdiff_t *extent) {
    return answer_bounds(type, false, lower_bound, extent);
}

int weft_type_true_extent(const weft_datatype *type, ptrdiff_t *true_lower_bound, ptrdiff_t *true_extent) {
    return answer_bounds(type, true, true_lower_bound, true_extent);
}

int weft_type_commit(weft_datatype **type) {
    if (!type)
        return core_error(WEFT_ERR_ARG, "weft_type_commit: type is NULL");
    if (!core_datatype_valid(*type))
        return core_datatype_check("weft_type_commit", "*type", *type);
    /* Predefined types are constants: no write. */
    if (!core_datatype_committed(*type))
        __atomic_store_n(&(*type)->committed, true, __ATOMIC_RELAXED);
    return WEFT_SUCCESS;
}

int weft_type_free(weft_datatype **type) {
    if (!type)
        return core_error(WEFT_ERR_ARG, "weft_type_free: type is NULL");
    weft_datatype *freed = *type;
    if (!core_datatype_valid(freed))
        return core_datatype_check("weft_type_free", "*type", freed);
    if (freed->kind != CORE_KIND_DERIVED)
        return core_error(WEFT_ERR_ARG, "weft_type_free: %s is predefined", freed->name);
    uint32_t expected = CORE_DATATYPE_MAGIC;
    /* Of two threads that free the same type, one wins. */
    if (!__atomic_compare_exchange_n(&freed->magic, &expected, CORE_DATATYPE_FREED, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return core_error(WEFT_ERR_ARG, "weft_type_free: *type is no datatype, or was freed before");
    *type = NULL;
    core_datatype_release(freed);
    return WEFT_SUCCESS;
}
