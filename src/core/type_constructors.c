// SPDX-License-Identifier: BSD-3-Clause
/*
 * The constructors of MPI 4.1 sections 5.1.2, 5.1.7 and 5.1.10: copies, blocks, bounds. Those of arrays: type_arrays.c.
 */
#include <core/error.h>
#include <core/type_shape.h>
#include <weft/datatype.h>

static int check(const char *call, const weft_datatype *old, weft_datatype **type) {
    int code = core_datatype_check(call, "old", old);
    if (code)
        return code;
    if (!type)
        return core_error(WEFT_ERR_ARG, "%s: there is no place for the type (type is NULL)", call);
    return WEFT_SUCCESS;
}

int weft_type_contiguous(size_t count, const weft_datatype *old, weft_datatype **type) {
    const char *call = "weft_type_contiguous";
    int code = check(call, old, type);
    if (code)
        return code;
    core_shape shape = core_shape_of(old);
    code = core_shape_repeat(call, count, old->extent, &shape);
    if (!code)
        return core_shape_type(call, &shape, type);
    core_shape_drop(&shape);
    return code;
}

static int vector(const char *call, size_t count, size_t block_length, ptrdiff_t stride_bytes, const weft_datatype *old,
                  weft_datatype **type) {
    core_shape shape = core_shape_of(old);
    int code = core_shape_repeat(call, block_length, old->extent, &shape);
    if (!code)
        code = core_shape_repeat(call, count, stride_bytes, &shape);
    if (!code)
        return core_shape_type(call, &shape, type);
    core_shape_drop(&shape);
    return code;
}

int weft_type_vector(size_t count, size_t block_length, ptrdiff_t stride, const weft_datatype *old,
                     weft_datatype **type) {
    const char *call = "weft_type_vector";
    ptrdiff_t stride_bytes = 0;
    int code = check(call, old, type);
    if (code)
        return code;
    /* The stride of a single block, or of none, is of no account. */
    if (count > 1 && block_length > 0 && __builtin_mul_overflow(stride, old->extent, &stride_bytes))
        return core_error(WEFT_ERR_ARG, "%s: a stride of %td elements does not fit ptrdiff_t in bytes", call, stride);
    return vector(call, count, block_length, stride_bytes, old, type);
}

int weft_type_hvector(size_t count, size_t block_length, ptrdiff_t stride_bytes, const weft_datatype *old,
                      weft_datatype **type) {
    const char *call = "weft_type_hvector";
    int code = check(call, old, type);
    return code ? code : vector(call, count, block_length, stride_bytes, old, type);
}

static int make_blocks(const core_blocks *blocks, weft_datatype **type) {
    core_shape shape;
    int code = core_shape_blocks(blocks, &shape);
    return code ? code : core_shape_type(blocks->call, &shape, type);
}

/* Lists may be NULL when they are empty. `lengths`: there is one. */
static int check_lists(const core_blocks *blocks, bool lengths, const char *displs_name) {
    if (blocks->count == 0)
        return WEFT_SUCCESS;
    if (blocks->count > PTRDIFF_MAX / sizeof(core_placed)) /* than lists can have */
        return core_error(WEFT_ERR_ARG, "%s: count is %zu, more than memory can hold", blocks->call, blocks->count);
    if (lengths && !blocks->lengths)
        return core_error(WEFT_ERR_ARG, "%s: block_lengths is NULL, but there are %zu blocks", blocks->call,
                          blocks->count);
    if (!blocks->displs)
        return core_error(WEFT_ERR_ARG, "%s: %s is NULL, but there are %zu blocks", blocks->call, displs_name,
                          blocks->count);
    return WEFT_SUCCESS;
}

static int indexed(core_blocks blocks, bool lengths, const char *displs_name, weft_datatype **type) {
    int code = check(blocks.call, blocks.type, type);
    if (!code)
        code = check_lists(&blocks, lengths, displs_name);
    if (code)
        return code;
    if (blocks.unit == 0)
        blocks.unit = blocks.type->extent;
    return make_blocks(&blocks, type);
}

int weft_type_indexed(size_t count, const size_t block_lengths[], const ptrdiff_t displs[], const weft_datatype *old,
                      weft_datatype **type) {
    core_blocks blocks = {
        .call = "weft_type_indexed", .count = count, .lengths = block_lengths, .displs = displs, .type = old};
    return indexed(blocks, true, "displs", type);
}

int weft_type_hindexed(size_t count, const size_t block_lengths[], const ptrdiff_t displs_bytes[],
                       const weft_datatype *old, weft_datatype **type) {
    core_blocks blocks = {.call = "weft_type_hindexed",
                          .count = count,
                          .lengths = block_lengths,
                          .displs = displs_bytes,
                          .unit = 1,
                          .type = old};
    return indexed(blocks, true, "displs_bytes", type);
}

int weft_type_indexed_block(size_t count, size_t block_length, const ptrdiff_t displs[], const weft_datatype *old,
                            weft_datatype **type) {
    core_blocks blocks = {
        .call = "weft_type_indexed_block", .count = count, .length = block_length, .displs = displs, .type = old};
    return indexed(blocks, false, "displs", type);
}

int weft_type_hindexed_block(size_t count, size_t block_length, const ptrdiff_t displs_bytes[],
                             const weft_datatype *old, weft_datatype **type) {
    core_blocks blocks = {.call = "weft_type_hindexed_block",
                          .count = count,
                          .length = block_length,
                          .displs = displs_bytes,
                          .unit = 1,
                          .type = old};
    return indexed(blocks, false, "displs_bytes", type);
}

int weft_type_struct(size_t count, const size_t block_lengths[], const ptrdiff_t displs_bytes[],
                     const weft_datatype *const types[], weft_datatype **type) {
    core_blocks blocks = {.call = "weft_type_struct",
                          .count = count,
                          .lengths = block_lengths,
                          .displs = displs_bytes,
                          .unit = 1,
                          .types = types,
                          .type = WEFT_BYTE};
    int code = check(blocks.call, WEFT_BYTE, type);
    if (!code)
        code = check_lists(&blocks, true, "displs_bytes");
    if (code)
        return code;
    if (count > 0 && !types)
        return core_error(WEFT_ERR_ARG, "%s: types is NULL, but there are %zu blocks", blocks.call, count);
    for (size_t i = 0; i < count; i++)
        if (!core_datatype_valid(types[i]))
            return core_error(WEFT_ERR_ARG, "%s: types[%zu] is %s", blocks.call, i,
                              types[i] ? "no datatype, or was freed before" : "NULL");
    return make_blocks(&blocks, type);
}

int weft_type_resized(const weft_datatype *old, ptrdiff_t lower_bound, ptrdiff_t extent, weft_datatype **type) {
    const char *call = "weft_type_resized";
    int code = check(call, old, type);
    if (code)
        return code;
    core_shape shape = core_shape_of(old);
    code = core_shape_mark(call, lower_bound, extent, &shape);
    if (!code)
        return core_shape_type(call, &shape, type);
    core_shape_drop(&shape);
    return code;
}

int weft_type_dup(const weft_datatype *old, weft_datatype **type) {
    const char *call = "weft_type_dup";
    int code = check(call, old, type);
    if (code)
        return code;
    core_shape shape = core_shape_of(old);
    weft_datatype *made = NULL;
    code = core_shape_type(call, &shape, &made);
    if (code)
        return code;
    made->committed = core_datatype_committed(old);
    *type = made;
    return WEFT_SUCCESS;
}
