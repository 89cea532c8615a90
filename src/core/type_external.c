// SPDX-License-Identifier: BSD-3-Clause
/*
 * Packing as external32 (MPI 4.1 section 5.3). The signature tells which elements come in which order; the data go
 * through a stage, a window of the packed bytes in the machine's representation that moves on from element to element.
 */
#include <core/error.h>
#include <core/external32.h>
#include <core/layout.h>
#include <core/signature.h>
#include <core/type_packing.h>
#include <weft/datatype.h>

#define STAGE_BYTES 4096

typedef struct stage {
    const core_packing *packing;
    unsigned char *external; /* where the next element goes, or comes from */
    size_t total;            /* packed bytes in the machine's representation */
    size_t from, to;         /* the window, in them */
    size_t at;               /* the next element */
    _Alignas(64) unsigned char bytes[STAGE_BYTES];
} stage;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static bool put_run(void *context, const weft_datatype *type, size_t count) {
    stage *s = context;
    const core_packing *p = s->packing;
    while (count > 0) {
        if (s->to - s->at < type->size_bytes) {
            s->from = s->at;
            s->to = least(s->total, s->from + STAGE_BYTES);
            core_pack(s->bytes, p->buffer, p->type, p->count, s->from, s->to);
        }
        size_t now = least(count, (s->to - s->at) / type->size_bytes);
        if (!core_external32_from_native(s->external, s->bytes + (s->at - s->from), type, now))
            return false;
        s->external += now * core_external32_bytes(type);
        s->at += now * type->size_bytes;
        count -= now;
    }
    return true;
}

static void flush(stage *s) {
    const core_packing *p = s->packing;
    core_unpack((void *)(uintptr_t)p->buffer, s->bytes, p->type, p->count, s->from, s->at);
    s->from = s->at;
}

static bool get_run(void *context, const weft_datatype *type, size_t count) {
    stage *s = context;
    while (count > 0) {
        if (STAGE_BYTES - (s->at - s->from) < type->size_bytes)
            flush(s);
        size_t now = least(count, (STAGE_BYTES - (s->at - s->from)) / type->size_bytes);
        core_external32_to_native(s->bytes + (s->at - s->from), s->external, type, now);
        s->external += now * core_external32_bytes(type);
        s->at += now * type->size_bytes;
        count -= now;
    }
    return true;
}

static int check_representation(const char *call, const char *representation) {
    if (representation && strcmp(representation, "external32") == 0)
        return WEFT_SUCCESS;
    return core_error(WEFT_ERR_ARG, "%s: representation is %s%s%s; it must be \"external32\"", call,
                      representation ? "\"" : "", representation ? representation : "NULL", representation ? "\"" : "");
}

static core_signature signature_of(const weft_datatype *type) {
    return type->kind == CORE_KIND_DERIVED ? *type->signature : core_signature_of_predefined(type);
}

static int external_size(const char *call, size_t count, const weft_datatype *type, size_t *bytes) {
    return core_packing_bytes(call, count, signature_of(type).external_bytes, bytes);
}

/* Checks, and tells how many bytes of external32 there are. */
static int check(const char *representation, const core_packing *p, bool unpacks, size_t *bytes) {
    int code = check_representation(p->call, representation);
    if (!code)
        code = core_packing_check(p);
    if (!code)
        code = external_size(p->call, p->count, p->type, bytes);
    return code ? code : core_packing_room(p, *bytes, unpacks);
}

static bool walk(stage *s, core_signature_visitor *visit) {
    core_signature signature = signature_of(s->packing->type);
    if (!signature.list)
        return s->total == 0 || visit(s, signature.type, s->packing->count * signature.elements);
    for (size_t i = 0; i < s->packing->count; i++)
        if (!core_signature_walk(&signature, visit, s))
            return false;
    return true;
}

int weft_pack_external(const char *representation, const void *buffer, size_t count, const weft_datatype *type,
                       void *packed, size_t packed_bytes, size_t *position) {
    core_packing p = {"weft_pack_external", buffer, count, type, packed, packed_bytes, position};
    size_t bytes;
    int code = check(representation, &p, false, &bytes);
    if (code || !bytes) /* of no bytes the buffers may be NULL */
        return code;
    stage s = {.packing = &p, .total = count * type->size_bytes};
    s.external = (unsigned char *)packed + *position;
    if (!walk(&s, put_run))
        return core_error(WEFT_ERR_ARG,
                          "%s: a number in the buffer does not fit what external32 has for its type (4 bytes for long, "
                          "2 for wchar_t)",
                          p.call);
    *position += bytes;
    return WEFT_SUCCESS;
}

int weft_unpack_external(const char *representation, const void *packed, size_t packed_bytes, size_t *position,
                         void *buffer, size_t count, const weft_datatype *type) {
    core_packing p = {"weft_unpack_external", buffer, count, type, packed, packed_bytes, position};
    size_t bytes;
    int code = check(representation, &p, true, &bytes);
    if (code || !bytes)
        return code;
    stage s = {.packing = &p, .total = count * type->size_bytes};
    s.external = (unsigned char *)(uintptr_t)packed + *position;
    walk(&s, get_run);
    flush(&s);
    *position += bytes;
    return WEFT_SUCCESS;
}

int weft_pack_external_size(const char *representation, size_t count, const weft_datatype *type, size_t *bytes) {
    const char *call = "weft_pack_external_size";
    int code = check_representation(call, representation);
    size_t size;
    if (!code)
        code = core_datatype_check(call, "type", type);
    if (code)
        return code;
    if (!bytes)
        return core_error(WEFT_ERR_ARG, "%s: there is no place for the size (bytes is NULL)", call);
    code = external_size(call, count, type, &size);
    if (!code)
        *bytes = size;
    return code;
}
