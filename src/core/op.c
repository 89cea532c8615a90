// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <core/op.h>
#include <core/pool.h>
#include <core/reduce_kernels.h>
#include <stdlib.h>
#include <string.h>

#define OP(id, op_kind, commutes, text) const weft_op weft_op_##id = {CORE_OP_MAGIC, op_kind, commutes, text, NULL}
OP(sum, CORE_OP_SUM, true, "WEFT_SUM");
OP(prod, CORE_OP_PROD, true, "WEFT_PROD");
OP(max, CORE_OP_MAX, true, "WEFT_MAX");
OP(min, CORE_OP_MIN, true, "WEFT_MIN");
OP(land, CORE_OP_LAND, true, "WEFT_LAND");
OP(lor, CORE_OP_LOR, true, "WEFT_LOR");
OP(lxor, CORE_OP_LXOR, true, "WEFT_LXOR");
OP(band, CORE_OP_BAND, true, "WEFT_BAND");
OP(bor, CORE_OP_BOR, true, "WEFT_BOR");
OP(bxor, CORE_OP_BXOR, true, "WEFT_BXOR");
OP(maxloc, CORE_OP_MAXLOC, true, "WEFT_MAXLOC");
OP(minloc, CORE_OP_MINLOC, true, "WEFT_MINLOC");
OP(replace, CORE_OP_REPLACE, false, "WEFT_REPLACE");
OP(no_op, CORE_OP_NO_OP, false, "WEFT_NO_OP");

#define USER_OP_MAGIC 0x77745550u

typedef struct user_op {
    core_pooled pooled;
    weft_op op; /* its magic is right as long as the other one is */
} user_op;

static core_pool user_ops = CORE_POOL_INITIALIZER;

int weft_op_create(weft_op_function *function, int commutative, weft_op **op) {
    if (!function)
        return core_error(WEFT_ERR_ARG, "weft_op_create: the function is NULL");
    if (!op)
        return core_error(WEFT_ERR_ARG, "weft_op_create: there is no place for the handle (op is NULL)");
    user_op *made = core_pool_take(&user_ops, sizeof(*made), USER_OP_MAGIC);
    if (!made)
        return core_error(WEFT_ERR_NOMEM, "weft_op_create: no memory for an operation");
    made->op = (weft_op){CORE_OP_MAGIC, CORE_OP_USER, commutative != 0, "user", function};
    *op = &made->op;
    return WEFT_SUCCESS;
}

int weft_op_free(weft_op **op) {
    if (!op || !*op)
        return core_error(WEFT_ERR_ARG, "weft_op_free: the operation is NULL");
    if (core_op_valid(*op) && (*op)->kind != CORE_OP_USER)
        return core_error(WEFT_ERR_ARG, "weft_op_free: %s is predefined", (*op)->name);
    uint32_t expected = CORE_OP_MAGIC; /* of two threads that free one operation, one wins */
    if (!__atomic_compare_exchange_n(&(*op)->magic, &expected, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return core_error(WEFT_ERR_ARG, "weft_op_free: the handle is no operation, or was freed before");
    core_pool_give(&user_ops, (char *)*op - offsetof(user_op, op), USER_OP_MAGIC);
    *op = NULL;
    return WEFT_SUCCESS;
}

const char *weft_op_name(const weft_op *op) {
    return core_op_valid(op) ? op->name : NULL;
}

bool core_op_defined(const weft_op *op, const weft_datatype *type) {
    switch (op->kind) {
    case CORE_OP_USER:
    case CORE_OP_REPLACE:
    case CORE_OP_NO_OP:
        return true;
    default:
        return type->kind < CORE_KINDS && core_kernels_generic[op->kind][type->kind] != NULL;
    }
}

bool core_op_depends_on_brackets(const weft_op *op, const weft_datatype *type) {
    bool floating = type->kind >= CORE_KIND_FLOAT && type->kind <= CORE_KIND_LONG_DOUBLE_COMPLEX;
    return op->kind == CORE_OP_USER || (floating && (op->kind == CORE_OP_SUM || op->kind == CORE_OP_PROD));
}

static core_kernel_table *best_kernels(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &core_kernels_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &core_kernels_avx2;
#endif
    return &core_kernels_generic;
}

static core_kernel_table *kernels_in_use(void) {
    /* Relaxed: the tables are constants, and threads that race find the same one. */
    static core_kernel_table *_Atomic chosen;
    core_kernel_table *table = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!table) {
        table = best_kernels();
        atomic_store_explicit(&chosen, table, memory_order_relaxed);
    }
    return table;
}

const char *core_reduce_isa(void) {
    core_kernel_table *table = kernels_in_use();
    return table == &core_kernels_avx512 ? "avx512" : table == &core_kernels_avx2 ? "avx2" : "generic";
}

static void copy(void *to, const void *from, size_t bytes) {
    if (to != from && bytes > 0)
        memcpy(to, from, bytes);
}

/* The function overwrites its second operand: a copy of right, made in `block`, which has room for `most` elements. */
static void reduce_by_blocks(weft_op_function *function, const weft_datatype *type, const char *left, const char *right,
                             char *out, size_t count, char *block, size_t most) {
    size_t size = type->size_bytes;
    for (size_t done = 0; done < count;) {
        size_t now = count - done < most ? count - done : most;
        size_t at = done * size;
        memcpy(block, right + at, now * size);
        function(left + at, block, now, type);
        memcpy(out + at, block, now * size);
        done += now;
    }
}

static int reduce_user(weft_op_function *function, const weft_datatype *type, const void *left, const void *right,
                       void *out, size_t count) {
    _Alignas(64) char block[CORE_REDUCE_BYTES];
    size_t size = type->size_bytes;
    if (out != left) {
        copy(out, right, count * size);
        function(left, out, count, type);
        return WEFT_SUCCESS;
    }
    if (size <= sizeof(block)) {
        reduce_by_blocks(function, type, left, right, out, count, block, sizeof(block) / size);
        return WEFT_SUCCESS;
    }
    char *element = malloc(size);
    if (!element)
        return WEFT_ERR_NOMEM;
    reduce_by_blocks(function, type, left, right, out, count, element, 1);
    free(element);
    return WEFT_SUCCESS;
}

int core_reduce(const weft_op *op, const weft_datatype *type, const void *left, const void *right, void *out,
                size_t count) {
    if (count == 0 || type->size_bytes == 0)
        return WEFT_SUCCESS;
    if (op->kind == CORE_OP_USER)
        return reduce_user(op->function, type, left, right, out, count);
    if (op->kind == CORE_OP_REPLACE || op->kind == CORE_OP_NO_OP)
        copy(out, op->kind == CORE_OP_REPLACE ? right : left, count * type->size_bytes);
    else
        (*kernels_in_use())[op->kind][type->kind](left, right, out, count);
    return WEFT_SUCCESS;
}
