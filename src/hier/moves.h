// SPDX-License-Identifier: BSD-3-Clause
/** Moves: blocks that threads copy straight from one rank's buffer to another's, in the layouts that the ranks gave (sides.h). */
#ifndef HIER_MOVES_H
#define HIER_MOVES_H

#include <core/short.h>
#include <core/stream.h>
#include <hier/sides.h>
#include <hier/thread.h>

/** Shows how what this thread shows beside it lies. */
static inline void hier_show_layout(hier_call *call) {
    INTRA_SHOW(&call->meeting, laid_out, call->arguments->laid_out ? call->arguments : NULL);
}

/** Shows the others of the process where the root's blocks are, and whoever starts the network part how they are joined. */
static inline void hier_show_blocks(hier_call *call, const hier_blocks *blocks) {
    INTRA_SHOW(&call->meeting, send, blocks->buffer);
    INTRA_SHOW(&call->meeting, send_counts, blocks->counts);
    INTRA_SHOW(&call->meeting, send_displs, blocks->displs);
    INTRA_SHOW(&call->meeting, send_type, blocks->type);
    INTRA_SHOW(&call->meeting, blocks, blocks);
}

/** So much of the slot's memory, for the messages of a node; NULL: there is none. By who starts the network part, and then by all, with the same. */
static inline char *hier_slot_memory(const hier_call *call, size_t bytes) {
    return bytes <= call->meeting.team->tray_bytes ? intra_tray(&call->meeting)
                                                   : intra_scratch_take(&call->slot->scratch, bytes);
}

/** One run of bytes. */
static inline core_data hier_run(const void *buffer, size_t bytes) {
    return (core_data){(void *)(uintptr_t)buffer, WEFT_BYTE, bytes};
}

/** Block `index` of those that lie at `buffer`: of `count` elements of the type, if `laid_out`, else of so many bytes. */
static inline core_data hier_equal_block(const void *buffer, size_t index, size_t bytes, bool laid_out,
                                         const weft_datatype *type, size_t count) {
    if (!laid_out)
        return hier_run(hier_at(buffer, index, bytes), bytes);
    return hier_elements_at(buffer, (ptrdiff_t)(index * count), type, count);
}

/** Block `index`, of so many bytes, of what this thread sends or receives. */
static inline core_data hier_own_sent(const hier_call *call, size_t index, size_t bytes) {
    const hier_arguments *own = call->arguments;
    return hier_equal_block(own->send, index, bytes, own->laid_out, own->send_type, own->send_count);
}

static inline core_data hier_own_received(const hier_call *call, size_t index, size_t bytes) {
    const hier_arguments *own = call->arguments;
    return hier_equal_block(own->recv, index, bytes, own->laid_out, own->recv_type, own->recv_count);
}

/** The same of what a thread has shown, with its layout. Acquire: its phase was awaited. */
static inline core_data hier_sent_by(const hier_call *call, int thread, size_t index, size_t bytes) {
    const intra_offer *offer = intra_offer_of(&call->meeting, thread);
    const hier_arguments *by = offer->laid_out;
    return hier_equal_block(offer->send, index, bytes, by, by ? by->send_type : NULL, by ? by->send_count : 0);
}

static inline core_data hier_received_by(const hier_call *call, int thread, size_t index, size_t bytes) {
    const intra_offer *offer = intra_offer_of(&call->meeting, thread);
    const hier_arguments *by = offer->laid_out;
    return hier_equal_block(offer->recv, index, bytes, by, by ? by->recv_type : NULL, by ? by->recv_count : 0);
}

/** Of what a thread sends, where it has shown that as `recv`, as it lies, beside the run that other processes read. */
static inline core_data hier_sent_beside(const hier_call *call, int thread, size_t index, size_t bytes) {
    const intra_offer *offer = intra_offer_of(&call->meeting, thread);
    const hier_arguments *by = offer->laid_out;
    return hier_equal_block(offer->recv, index, bytes, by, by ? by->send_type : NULL, by ? by->send_count : 0);
}

/**
 * What core_stream_pays() is asked. `whole`: half of a thread's part of what those of its node read and write in the call, where what all read
 * counts once.
 */
static inline size_t hier_stream_of(const hier_call *call, size_t whole) {
    return call->arguments->laid_out ? call->arguments->moved : whole;
}

/** Moves a part of a block, in packed bytes, to where the same block is received; nothing where it lies in place. `whole`: see there. */
static inline void hier_move_of(const hier_call *call, core_data to, core_data from, intra_slice part, size_t whole) {
    const bool runs = to.type->contiguous && from.type->contiguous;
    if (to.buffer == from.buffer && (to.type == from.type || runs))
        return;
    if (runs && part.count <= CORE_SHORT_BYTES) {
        core_copy_short(core_offset(to.buffer, (ptrdiff_t)part.begin), core_offset(from.buffer, (ptrdiff_t)part.begin),
                        part.count);
        return;
    }
    const size_t moved = hier_stream_of(call, whole);
    if (moved < HIER_TURNED_LEAST) {
        core_copy(to.buffer, to.type, to.count, from.buffer, from.type, from.count, part.begin,
                  part.begin + part.count);
        return;
    }
    const bool backwards = hier_backwards(call, moved);
    for (intra_slice next; hier_next_part(&part, 1, backwards, &next);)
        core_copy_around(to, from, next.begin, next.begin + next.count, moved);
}

/** The same of the thread's only block. */
static inline void hier_move(const hier_call *call, core_data to, core_data from, intra_slice part) {
    hier_move_of(call, to, from, part, core_data_bytes(to));
}

/** Packs a block of so many bytes. */
static inline void hier_pack(void *packed, core_data from, size_t bytes) {
    if (from.type->contiguous)
        core_copy_short(packed, from.buffer, bytes);
    else
        core_pack(packed, from.buffer, from.type, from.count, 0, bytes);
}

/** Unpacks a part of a block, which begins at `packed`. */
static inline void hier_unpack(const hier_call *call, core_data to, const void *packed, intra_slice part) {
    if (to.type->contiguous && part.count <= CORE_SHORT_BYTES) {
        core_copy_short(core_offset(to.buffer, (ptrdiff_t)part.begin), packed, part.count);
        return;
    }
    const size_t whole = hier_stream_of(call, core_data_bytes(to)), end = part.begin + part.count;
    if (whole >= CORE_STREAM_LEAST)
        core_unpack_around(to, packed, part.begin, end, whole);
    else
        core_unpack(to.buffer, packed, to.type, to.count, part.begin, end);
}

#endif
