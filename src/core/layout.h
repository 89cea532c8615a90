// SPDX-License-Identifier: BSD-3-Clause
/**
 * Copying the data of `count` elements of a type, which in *packed* order are count * size_bytes bytes in a row. Each
 * call moves the bytes [from, to) of these, so that a message can be moved in pieces, by several threads and in any
 * order: finding `from` takes a few steps, however much lies before it. Source and destination do not overlap. Any
 * thread; types need not be committed, but must be in use (core_datatype_retain) or valid.
 */
#ifndef CORE_LAYOUT_H
#define CORE_LAYOUT_H

#include <core/datatype.h>
#include <string.h>

/** The data of a message, or a buffer for them. */
typedef struct core_data {
    void *buffer; /* of data to send only read */
    const weft_datatype *type;
    size_t count;
} core_data;

/** A place in a buffer. The buffer may be NULL, of no bytes or with a type that holds addresses: no arithmetic on pointers. */
static inline void *core_offset(const void *from, ptrdiff_t bytes) {
    return (void *)((uintptr_t)from + (uintptr_t)bytes); /* NOLINT(performance-no-int-to-ptr) */
}

static inline size_t core_data_bytes(core_data data) {
    return data.count * data.type->size_bytes;
}

void core_pack_laid_out(void *packed, const void *buffer, const weft_datatype *type, size_t count, size_t from,
                        size_t to);
void core_unpack_laid_out(void *buffer, const void *packed, const weft_datatype *type, size_t count, size_t from,
                          size_t to);
void core_copy_laid_out(void *to_buffer, const weft_datatype *to_type, size_t to_count, const void *from_buffer,
                        const weft_datatype *from_type, size_t from_count, size_t from, size_t to);

/** From elements at `buffer` to packed bytes; `packed` is where byte `from` goes. */
static inline void core_pack(void *packed, const void *buffer, const weft_datatype *type, size_t count, size_t from,
                             size_t to) {
    if (from >= to)
        return;
    if (type->contiguous)
        memcpy(packed, (const char *)buffer + from, to - from);
    else
        core_pack_laid_out(packed, buffer, type, count, from, to);
}

/** From packed bytes to elements at `buffer`; `packed` is where byte `from` is. What is no data stays untouched. */
static inline void core_unpack(void *buffer, const void *packed, const weft_datatype *type, size_t count, size_t from,
                               size_t to) {
    if (from >= to)
        return;
    if (type->contiguous)
        memcpy((char *)buffer + from, packed, to - from);
    else
        core_unpack_laid_out(buffer, packed, type, count, from, to);
}

/** Straight from one layout to another. Both sides have at least `to` bytes. */
static inline void core_copy(void *to_buffer, const weft_datatype *to_type, size_t to_count, const void *from_buffer,
                             const weft_datatype *from_type, size_t from_count, size_t from, size_t to) {
    if (from >= to)
        return;
    if (to_type->contiguous && from_type->contiguous)
        memcpy((char *)to_buffer + from, (const char *)from_buffer + from, to - from);
    else
        core_copy_laid_out(to_buffer, to_type, to_count, from_buffer, from_type, from_count, from, to);
}

/** The same two, of a part of `whole` bytes in all: around the cache where that is more than it holds (stream.h). */
void core_unpack_around(core_data into, const void *packed, size_t from, size_t to, size_t whole);
void core_copy_around(core_data into, core_data out_of, size_t from, size_t to, size_t whole);

#endif
