// SPDX-License-Identifier: BSD-3-Clause
/**
 * Datatypes as objects: the predefined ones, which are constants, and the derived ones, which are counted. Where the
 * data of a derived type lie is in core/nest.h, what they are in core/signature.h, and how they are copied in
 * core/layout.h.
 */
#ifndef CORE_DATATYPE_H
#define CORE_DATATYPE_H

#include <stdbool.h>
#include <weft/types.h>

/** What the kernels distinguish: one value a C representation, so that WEFT_INT and WEFT_INT32_T share kernels. */
enum core_kind {
    CORE_KIND_BYTE,
    CORE_KIND_CHAR,
    CORE_KIND_WCHAR,
    CORE_KIND_BOOL,
    CORE_KIND_INT8,
    CORE_KIND_INT16,
    CORE_KIND_INT32,
    CORE_KIND_INT64,
    CORE_KIND_UINT8,
    CORE_KIND_UINT16,
    CORE_KIND_UINT32,
    CORE_KIND_UINT64,
    CORE_KIND_FLOAT,
    CORE_KIND_DOUBLE,
    CORE_KIND_LONG_DOUBLE,
    CORE_KIND_FLOAT_COMPLEX,
    CORE_KIND_DOUBLE_COMPLEX,
    CORE_KIND_LONG_DOUBLE_COMPLEX,
    CORE_KIND_FLOAT_INT,
    CORE_KIND_DOUBLE_INT,
    CORE_KIND_LONG_INT,
    CORE_KIND_2INT,
    CORE_KIND_SHORT_INT,
    CORE_KIND_LONG_DOUBLE_INT,
    CORE_KIND_DERIVED,
    CORE_KINDS = CORE_KIND_DERIVED /* with kernels */
};

struct core_nest;
struct core_signature;

/* A type does not change after it is made, but for its magic and `committed`. Bounds are those of MPI 4.1 section 5.1, in bytes. */
struct weft_datatype {
    uint32_t magic; /* CORE_DATATYPE_MAGIC while valid */
    enum core_kind kind;
    size_t size_bytes; /* of data */
    const char *name;  /* "WEFT_DOUBLE" */
    ptrdiff_t lower_bound, extent;
    ptrdiff_t true_lower_bound, true_extent; /* of the data alone; 0 without data */
    size_t
        alignment; /* of that of its elements which has the strictest; to a multiple of it extents that were not given are rounded */
    bool contiguous; /* the data of n elements are one run of n * size_bytes bytes that begins at the buffer */
    bool marked;     /* the bounds were given (resized, subarray, darray), and so are those of what is made of it */
    bool committed;
    /* Of a derived type; where its first byte lies, and how all lie from there on (NULL: one block). */
    ptrdiff_t first_byte;
    struct core_nest *nest;
    const struct core_signature *signature;
};

#define CORE_DATATYPE_MAGIC 0x77745950u
/* Freed by its owner, and still in use: queries answer, nothing new may begin. */
#define CORE_DATATYPE_FREED 0x77745946u

/** No predefined datatype is larger: what a scratch element needs. */
#define CORE_DATATYPE_MAX_BYTES 32

/*
 * The builtins instead of <stdatomic.h>: this header is included by tests in C++, and a constant has no atomic members.
 * Relaxed: who passes a handle to another thread synchronises with it.
 */
static inline bool core_datatype_valid(const weft_datatype *type) {
    return type && __atomic_load_n(&type->magic, __ATOMIC_RELAXED) == CORE_DATATYPE_MAGIC;
}

/** Of a valid type: may it be used in communication? Predefined types always may. */
static inline bool core_datatype_committed(const weft_datatype *type) {
    return __atomic_load_n(&type->committed, __ATOMIC_RELAXED);
}

/** Of a valid type: do its displacements lead from address 0 to real memory, so that its buffer is NULL? (MPI 4.1, section 5.1.12) */
static inline bool core_datatype_has_addresses(const weft_datatype *type) {
    return !type->contiguous && type->true_lower_bound >= 65536; /* nothing of a process is below (mmap_min_addr) */
}

void core_datatype_retain_derived(const weft_datatype *type);
void core_datatype_release_derived(const weft_datatype *type);

/**
 * Keeps a valid type until core_datatype_release(), even if its owner frees it. Predefined types are not counted. Any
 * thread.
 */
static inline void core_datatype_retain(const weft_datatype *type) {
    if (type->kind == CORE_KIND_DERIVED)
        core_datatype_retain_derived(type);
}

/** Ends what core_datatype_retain() began, or the owner's use; the last one gives the memory back. Any thread. */
static inline void core_datatype_release(const weft_datatype *type) {
    if (type->kind == CORE_KIND_DERIVED)
        core_datatype_release_derived(type);
}

/**
 * A derived type, uncommitted, with the fields of `fields` that say where the data lie, whose uses it takes over. NULL:
 * no memory.
 */
weft_datatype *core_datatype_make(const weft_datatype *fields);

/** Do so many elements, one extent apart, lie within what addresses can tell apart? */
static inline bool core_datatype_has_room(const weft_datatype *type, size_t elements) {
    ptrdiff_t span;
    return type->contiguous || !__builtin_mul_overflow(elements, type->extent, &span);
}

/**
 * The predefined elements in the first `bytes` bytes of a sequence of elements; SIZE_MAX when the bytes do not end with
 * one.
 */
size_t core_datatype_elements(const weft_datatype *type, size_t bytes);

/** Of what kinds the data of `count` elements are, in their order: core_signature_hash() of them. */
uint64_t core_datatype_hash_others(const weft_datatype *type, size_t count);

static inline uint64_t core_datatype_hash(const weft_datatype *type, size_t count) {
    if (type->kind >= CORE_KIND_FLOAT_INT) /* pairs, and derived ones */
        return core_datatype_hash_others(type, count);
    return count ? (uint64_t)type->kind + 1 : 0;
}

/** The name of the one kind that all data of a type are of; NULL: there are several. */
const char *core_datatype_element_derived(const weft_datatype *type);

static inline const char *core_datatype_element(const weft_datatype *type) {
    return type->kind == CORE_KIND_DERIVED ? core_datatype_element_derived(type) : type->name;
}

/**
 * WEFT_SUCCESS, or WEFT_ERR_ARG with a sentence that begins with `call`: `what` (as in "type") is NULL, freed, or no
 * type.
 */
int core_datatype_check(const char *call, const char *what, const weft_datatype *type);

#endif
