// SPDX-License-Identifier: BSD-3-Clause
/**
 * Datatypes. In this version all are predefined and contiguous: size = extent.
 */
#ifndef CORE_DATATYPE_H
#define CORE_DATATYPE_H

#include <stdbool.h>
#include <weft/types.h>

/** What the kernels distinguish: one value a C representation, so that WEFT_INT and WEFT_INT32_T share kernels. */
enum core_kind {
    CORE_KIND_BYTE,
    CORE_KIND_CHAR,
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
    CORE_KIND_FLOAT_INT,
    CORE_KIND_DOUBLE_INT,
    CORE_KIND_LONG_INT,
    CORE_KIND_2INT,
    CORE_KIND_SHORT_INT,
    CORE_KIND_LONG_DOUBLE_INT,
    CORE_KINDS
};

struct weft_datatype {
    uint32_t magic; /* CORE_DATATYPE_MAGIC while valid */
    enum core_kind kind;
    size_t size_bytes;
    const char *name; /* "WEFT_DOUBLE" */
};

#define CORE_DATATYPE_MAGIC 0x77745950u

/** No datatype is larger: what a scratch element needs. */
#define CORE_DATATYPE_MAX_BYTES 32

static inline bool core_datatype_valid(const weft_datatype *type) {
    return type && type->magic == CORE_DATATYPE_MAGIC;
}

#endif
