// SPDX-License-Identifier: BSD-3-Clause
#include <core/datatype.h>
#include <core/error.h>
#include <core/external32.h>
#include <core/nest.h>
#include <core/signature.h>
#include <stdint.h>
#include <stdlib.h>

core_signature core_signature_keep(core_signature signature) {
    /* Relaxed: whoever makes a new use has one. */
    if (signature.list)
        atomic_fetch_add_explicit(&signature.list->uses, 1, memory_order_relaxed);
    return signature;
}

// NOLINTNEXTLINE(misc-no-recursion): no deeper than CORE_NEST_DEPTH
void core_signature_drop(core_signature signature) {
    core_signature_list *list = signature.list;
    /* Release: what was read through this use was read before; acquire: pairs with it before the memory goes. */
    if (!list || atomic_fetch_sub_explicit(&list->uses, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < list->length; i++)
        core_signature_drop(list->items[i].signature);
    free(list);
}

core_signature core_signature_of_predefined(const weft_datatype *type) {
    return (core_signature){1, type->size_bytes, core_external32_bytes(type), type, NULL};
}

static core_signature times(size_t count, core_signature one) {
    one.elements *= count;
    one.bytes *= count;
    one.external_bytes *= count;
    return one;
}

static core_digest joined(core_digest first, core_digest second) {
    return (core_digest){first.sum * second.power + second.sum, first.power * second.power};
}

static core_digest repeated(size_t count, core_digest one) {
    core_digest made = {0, 1};
    for (; count; count >>= 1, one = joined(one, one))
        if (count & 1)
            made = joined(made, one);
    return made;
}

/* WEFT_2INT and WEFT_FLOAT_INT are as long as what they stand for, a contiguous type and a struct; other pairs have gaps, and are alone. */
static int kind_of(const core_signature *of) {
    if (of->list)
        return of->list->kind;
    int kind = (int)of->type->kind;
    return kind == CORE_KIND_2INT ? CORE_KIND_INT32 : kind == CORE_KIND_FLOAT_INT ? -1 : kind;
}

static core_digest digest_of_kind(enum core_kind kind) {
    return (core_digest){(uint64_t)kind + 1, 0x9e3779b97f4a7c15u};
}

static core_digest digest_of(const core_signature *of) {
    if (of->list)
        return of->list->digest;
    core_digest one = digest_of_kind(of->type->kind), number = digest_of_kind(CORE_KIND_INT32);
    if (of->type->kind == CORE_KIND_2INT)
        one = joined(number, number);
    else if (of->type->kind == CORE_KIND_FLOAT_INT)
        one = joined(digest_of_kind(CORE_KIND_FLOAT), number);
    return repeated(of->elements, one);
}

uint64_t core_signature_hash(const core_signature *signature, size_t count) {
    if (!signature->elements || !count)
        return 0;
    if (kind_of(signature) >= 0) /* their number follows from the bytes */
        return (uint64_t)kind_of(signature) + 1;
    return repeated(count, digest_of(signature)).sum;
}

/* Joins neighbouring runs of one type, drops what is empty; returns how many are left. */
static size_t tidy(size_t count, core_signature *list) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        core_signature *last = kept > 0 ? &list[kept - 1] : NULL;
        if (list[i].elements == 0)
            continue;
        if (last && !last->list && !list[i].list && last->type == list[i].type) {
            last->elements += list[i].elements;
            last->bytes += list[i].bytes;
            last->external_bytes += list[i].external_bytes;
        } else {
            list[kept++] = list[i];
        }
    }
    return kept;
}

/* `repeats` times the `length` items. */
static int new_list(const char *call, size_t repeats, size_t length, const core_signature *items,
                    core_signature *made) {
    int depth = 1;
    for (size_t i = 0; i < length; i++)
        if (items[i].list && items[i].list->depth >= depth)
            depth = items[i].list->depth + 1;
    if (depth > CORE_NEST_DEPTH)
        return core_error(WEFT_ERR_ARG, "%s: the type is nested deeper than %d levels", call, CORE_NEST_DEPTH);
    size_t bytes;
    core_signature_list *list = __builtin_mul_overflow(length, sizeof(core_signature_item), &bytes) ||
                                        __builtin_add_overflow(bytes, sizeof(*list), &bytes)
                                    ? NULL
                                    : malloc(bytes);
    if (!list)
        return core_error(WEFT_ERR_NOMEM, "%s: no memory for a signature of %zu parts", call, length);
    list->depth = depth;
    list->repeats = repeats;
    list->length = length;
    list->kind = kind_of(&items[0]);
    atomic_store_explicit(&list->uses, 1, memory_order_relaxed);
    core_signature all = {.list = list};
    core_digest digest = {0, 1};
    for (size_t i = 0; i < length; i++) {
        all.elements += items[i].elements;
        all.bytes += items[i].bytes;
        all.external_bytes += items[i].external_bytes;
        digest = joined(digest, digest_of(&items[i]));
        if (kind_of(&items[i]) != list->kind)
            list->kind = -1;
        list->items[i] = (core_signature_item){core_signature_keep(items[i]), all.elements, all.bytes};
    }
    list->digest = repeated(repeats, digest);
    *made = times(repeats, all);
    return WEFT_SUCCESS;
}

int core_signature_repeat(const char *call, size_t count, core_signature child, core_signature *made) {
    if (count == 0 || child.elements == 0) {
        *made = (core_signature){.elements = 0};
        return WEFT_SUCCESS;
    }
    if (count == 1 || !child.list) {
        *made = times(count, core_signature_keep(child));
        return WEFT_SUCCESS;
    }
    if (child.list->length == 1)
        return new_list(call, count * child.list->repeats, 1, &child.list->items[0].signature, made);
    return new_list(call, count, 1, &child, made);
}

int core_signature_sequence(const char *call, size_t count, core_signature *list, core_signature *made) {
    int code = WEFT_SUCCESS;
    /* What this drops has no list. */
    count = tidy(count, list);
    if (count > 1)
        code = new_list(call, 1, count, list, made);
    else
        *made = count == 0 ? (core_signature){.elements = 0} : core_signature_keep(list[0]);
    for (size_t i = 0; i < count; i++)
        core_signature_drop(list[i]);
    return code;
}

/* The first item that ends behind `bytes`. */
static size_t item_at(const core_signature_list *list, size_t bytes) {
    size_t low = 0, high = list->length - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].end_bytes > bytes)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

size_t core_signature_elements(const core_signature *signature, size_t bytes) {
    size_t elements = 0;
    if (bytes >= signature->bytes)
        return signature->elements;
    while (signature->list && bytes > 0) {
        const core_signature_list *list = signature->list;
        const core_signature_item *last = &list->items[list->length - 1];
        elements += bytes / last->end_bytes * last->end_elements;
        bytes %= last->end_bytes;
        size_t at = item_at(list, bytes);
        if (at > 0) {
            elements += list->items[at - 1].end_elements;
            bytes -= list->items[at - 1].end_bytes;
        }
        signature = &list->items[at].signature;
    }
    if (bytes == 0)
        return elements;
    size_t size = signature->type->size_bytes;
    return bytes % size == 0 ? elements + bytes / size : SIZE_MAX;
}

// NOLINTNEXTLINE(misc-no-recursion): no deeper than CORE_NEST_DEPTH
bool core_signature_walk(const core_signature *signature, core_signature_visitor *visit, void *context) {
    const core_signature_list *list = signature->list;
    if (signature->elements == 0)
        return true;
    if (!list)
        return visit(context, signature->type, signature->elements);
    for (size_t round = 0; round < list->repeats; round++)
        for (size_t i = 0; i < list->length; i++)
            if (!core_signature_walk(&list->items[i].signature, visit, context))
                return false;
    return true;
}
