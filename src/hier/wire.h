// SPDX-License-Identifier: BSD-3-Clause
/**
 * The header of a message between processes. Word 0: context, flags, epoch, thread, number; word 1: source and tag. The epoch (contexts.h) tells
 * communicators apart that had a context one after the other, as far as there is room for it; what is older has been taken out (take_old in carrier.c).
 */
#ifndef HIER_WIRE_H
#define HIER_WIRE_H

#include <inter/engine.h>
#include <weft/team.h>

#define HIER_NUMBER_BITS 24 /* modulo that: those on their way are far fewer */
#define HIER_THREAD_BITS 12
#define HIER_EPOCH_BITS  12
#define HIER_FLAG_BITS   4
#define HIER_FLAG_EMPTY  1u /* the one byte that it has stands for none: only what has bytes can be fetched */
#define HIER_FLAG_STOP   2u /* no message: see flow.c */
#define HIER_FLAG_GO     4u
#define HIER_FLAG_CALLS  8u /* no message, and no number: see ledger.h */
#define HIER_PLACE_BITS  (HIER_EPOCH_BITS + HIER_THREAD_BITS)
_Static_assert(INTER_CONTEXT_BITS + HIER_FLAG_BITS + HIER_PLACE_BITS + HIER_NUMBER_BITS <= 64, "word 0");
_Static_assert(WEFT_MAX_TEAM_THREADS <= 1 << HIER_THREAD_BITS, "a thread's number in a header");

/** Of a message to thread `thread` of a process; without flags and number. */
static inline inter_am_header hier_wire_header(uint32_t context, uint64_t epoch, int thread, int32_t source,
                                               int32_t tag) {
    uint64_t of = epoch & ((1u << HIER_EPOCH_BITS) - 1);
    uint64_t place =
        (uint64_t)context << (HIER_FLAG_BITS + HIER_PLACE_BITS) | of << HIER_THREAD_BITS | (uint64_t)thread;
    return (inter_am_header){{place << HIER_NUMBER_BITS, (uint64_t)(uint32_t)source << 32 | (uint32_t)tag}};
}

static inline void hier_wire_set(inter_am_header *header, unsigned flags, uint32_t number) {
    header->words[0] |=
        (uint64_t)flags << (HIER_NUMBER_BITS + HIER_PLACE_BITS) | (number & ((1u << HIER_NUMBER_BITS) - 1));
}

/** Is it the message with this number? */
static inline bool hier_wire_is_number(const inter_am_header *header, uint32_t number) {
    return !((header->words[0] ^ number) & ((1u << HIER_NUMBER_BITS) - 1));
}

static inline unsigned hier_wire_flags(const inter_am_header *header) {
    return header->words[0] >> (HIER_NUMBER_BITS + HIER_PLACE_BITS) & ((1u << HIER_FLAG_BITS) - 1);
}

static inline size_t hier_wire_thread(const inter_am_header *header) {
    return header->words[0] >> HIER_NUMBER_BITS & ((1u << HIER_THREAD_BITS) - 1);
}

/** Is it of the epoch, as far as the header tells? */
static inline bool hier_wire_is_of(const inter_am_header *header, uint64_t epoch) {
    return !((header->words[0] >> (HIER_NUMBER_BITS + HIER_THREAD_BITS) ^ epoch) & ((1u << HIER_EPOCH_BITS) - 1));
}

static inline size_t hier_wire_context(const inter_am_header *header) {
    return header->words[0] >> (HIER_NUMBER_BITS + HIER_PLACE_BITS + HIER_FLAG_BITS) & (INTER_CONTEXTS - 1);
}

static inline int32_t hier_wire_source(const inter_am_header *header) {
    return (int32_t)(header->words[1] >> 32);
}

static inline int32_t hier_wire_tag(const inter_am_header *header) {
    return (int32_t)(uint32_t)header->words[1];
}

#endif
