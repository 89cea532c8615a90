// SPDX-License-Identifier: BSD-3-Clause
/**
 * What weft_pack, weft_unpack and their forms for external32 check alike.
 */
#ifndef CORE_TYPE_PACKING_H
#define CORE_TYPE_PACKING_H

#include <core/datatype.h>

/** The arguments of a call. */
typedef struct core_packing {
    const char *call;
    const void *buffer;
    size_t count;
    const weft_datatype *type;
    const void *packed;
    size_t packed_bytes;
    const size_t *position;
} core_packing;

/** *bytes = count * size; WEFT_ERR_ARG when that is more than PTRDIFF_MAX, *bytes is undefined then. */
int core_packing_bytes(const char *call, size_t count, size_t size, size_t *bytes);

/** WEFT_SUCCESS or WEFT_ERR_ARG. After it count * size_bytes fits ptrdiff_t. */
int core_packing_check(const core_packing *packing);

/** WEFT_SUCCESS, or WEFT_ERR_TRUNCATE when there are not `bytes` bytes behind the position. */
int core_packing_room(const core_packing *packing, size_t bytes, bool unpacks);

#endif
