// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the data of a type are: the sequence of predefined elements in packed order (the type's signature, MPI 4.1
 * section 5.1), kept as runs of one type, repeated lists of runs, and so on, so that it takes no more memory than the
 * constructor's arguments. As nests, signatures never change and are shared.
 */
#ifndef CORE_SIGNATURE_H
#define CORE_SIGNATURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/types.h>

typedef struct core_signature_list core_signature_list;

/** Elements in a row. */
typedef struct core_signature {
    size_t elements;
    size_t bytes;              /* packed */
    size_t external_bytes;     /* in external32 */
    const weft_datatype *type; /* of all of them, when list is NULL */
    core_signature_list *list; /* or several kinds */
} core_signature;

/** A sequence in two numbers: a polynomial of its elements' kinds (Karp and Rabin 1987), and that of as many to multiply one before it with. */
typedef struct core_digest {
    uint64_t sum, power;
} core_digest;

/** An item of a list and where it ends, counted from the list's beginning. */
typedef struct core_signature_item {
    core_signature signature;
    size_t end_elements, end_bytes;
} core_signature_item;

/** The items, one after the other, `repeats` times over. */
struct core_signature_list {
    _Atomic size_t uses;
    int depth; /* itself included; at most CORE_NEST_DEPTH */
    size_t repeats, length;
    core_digest digest; /* of all */
    int kind;           /* that of all elements (enum core_kind), whatever their names; −1: there are several */
    core_signature_item items[];
};

/** One use more. */
core_signature core_signature_keep(core_signature signature);

/** One use less: the last one frees it. */
void core_signature_drop(core_signature signature);

/** Of one predefined element. */
core_signature core_signature_of_predefined(const weft_datatype *type);

/**
 * `count` times `child`. *made is a use of the caller's. Errors, in sentences that begin with `call`: WEFT_ERR_NOMEM,
 * WEFT_ERR_ARG (too deep). The bytes of all must fit size_t.
 */
int core_signature_repeat(const char *call, size_t count, core_signature child, core_signature *made);

/**
 * `count` signatures in this order, a list that is overwritten and whose uses are taken over in any case. Errors as
 * above.
 */
int core_signature_sequence(const char *call, size_t count, core_signature *list, core_signature *made);

/**
 * The elements in the first `bytes` bytes, at most those that there are; SIZE_MAX when these do not end with an
 * element.
 */
size_t core_signature_elements(const core_signature *signature, size_t bytes);

/**
 * Tells sequences of as many bytes apart, whatever they were made from: 0 for none, and for one of `count` signatures with data the same
 * number as for any other with these elements in this order.
 */
uint64_t core_signature_hash(const core_signature *signature, size_t count);

/** Told of a run of `count` elements; false stops the walk. */
typedef bool core_signature_visitor(void *context, const weft_datatype *type, size_t count);

/** Tells of all runs in packed order. Returns false when it was stopped. */
bool core_signature_walk(const core_signature *signature, core_signature_visitor *visit, void *context);

#endif
