// SPDX-License-Identifier: BSD-3-Clause
/* weft_pack and its kin (MPI 4.1 section 5.2). The forms for external32: type_external.c. */
#include <core/error.h>
#include <core/layout.h>
#include <core/type_packing.h>
#include <weft/datatype.h>

int core_packing_bytes(const char *call, size_t count, size_t size, size_t *bytes) {
    if (__builtin_mul_overflow(count, size, bytes) || *bytes > PTRDIFF_MAX)
        return core_error(WEFT_ERR_ARG, "%s: no memory holds %zu elements of %zu bytes (count)", call, count, size);
    return WEFT_SUCCESS;
}

int core_packing_check(const core_packing *p) {
    int code = core_datatype_check(p->call, "type", p->type);
    size_t bytes;
    if (code)
        return code;
    if (!core_datatype_committed(p->type))
        return core_error(WEFT_ERR_ARG, "%s: type is not committed (weft_type_commit)", p->call);
    if (!p->position)
        return core_error(WEFT_ERR_ARG, "%s: position is NULL", p->call);
    code = core_packing_bytes(p->call, p->count, p->type->size_bytes, &bytes);
    if (code)
        return code;
    if (!core_datatype_has_room(p->type, p->count))
        return core_error(WEFT_ERR_ARG, "%s: no memory holds %zu elements of %td bytes from one to the next (count)",
                          p->call, p->count, p->type->extent);
    if (bytes > 0 && p->buffer == WEFT_IN_PLACE)
        return core_error(WEFT_ERR_ARG, "%s: buffer is WEFT_IN_PLACE, expected a buffer", p->call);
    if (bytes > 0 && ((!p->buffer && !core_datatype_has_addresses(p->type)) || !p->packed))
        return core_error(WEFT_ERR_ARG, "%s: %s is NULL, but there are %zu bytes", p->call,
                          p->packed ? "buffer" : "packed", bytes);
    if (*p->position > p->packed_bytes)
        return core_error(WEFT_ERR_ARG, "%s: *position is %zu; it must be 0 … %zu (packed_bytes)", p->call,
                          *p->position, p->packed_bytes);
    return WEFT_SUCCESS;
}

int core_packing_room(const core_packing *p, size_t bytes, bool unpacks) {
    size_t left = p->packed_bytes - *p->position;
    if (bytes <= left)
        return WEFT_SUCCESS;
    return core_error(WEFT_ERR_TRUNCATE,
                      unpacks ? "%s: %zu elements have %zu bytes, but only %zu are left behind position %zu"
                              : "%s: %zu elements take %zu bytes, but there is room for %zu behind position %zu",
                      p->call, p->count, bytes, left, *p->position);
}

/* How many bytes there are to copy: 0 in case of an error. */
static int check(const core_packing *p, bool unpacks, size_t *bytes) {
    int code = core_packing_check(p);
    *bytes = code ? 0 : p->count * p->type->size_bytes;
    if (!code)
        code = core_packing_room(p, *bytes, unpacks);
    *bytes = code ? 0 : *bytes;
    return code;
}

int weft_pack(const void *buffer, size_t count, const weft_datatype *type, void *packed, size_t packed_bytes,
              size_t *position) {
    core_packing p = {"weft_pack", buffer, count, type, packed, packed_bytes, position};
    size_t bytes;
    int code = check(&p, false, &bytes);
    if (bytes == 0)
        return code;
    core_pack((char *)packed + *position, buffer, type, count, 0, bytes);
    *position += bytes;
    return WEFT_SUCCESS;
}

int weft_unpack(const void *packed, size_t packed_bytes, size_t *position, void *buffer, size_t count,
                const weft_datatype *type) {
    core_packing p = {"weft_unpack", buffer, count, type, packed, packed_bytes, position};
    size_t bytes;
    int code = check(&p, true, &bytes);
    if (bytes == 0)
        return code;
    core_unpack(buffer, (const char *)packed + *position, type, count, 0, bytes);
    *position += bytes;
    return WEFT_SUCCESS;
}

int weft_pack_size(size_t count, const weft_datatype *type, size_t *bytes) {
    int code = core_datatype_check("weft_pack_size", "type", type);
    size_t size;
    if (code)
        return code;
    if (!bytes)
        return core_error(WEFT_ERR_ARG, "weft_pack_size: there is no place for the size (bytes is NULL)");
    code = core_packing_bytes("weft_pack_size", count, type->size_bytes, &size);
    if (!code)
        *bytes = size;
    return code;
}
