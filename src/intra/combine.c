// SPDX-License-Identifier: BSD-3-Clause
#include <intra/combine.h>
#include <stdlib.h>
#include <string.h>
#include <weft/error.h>

/* Pieces that stay in the first-level cache while several operands pass over them. */
#define PIECE_BYTES 8192

intra_slice intra_slice_of(size_t count, size_t element_bytes, int index, int parts) {
    size_t unit = element_bytes < 64 ? 64 / element_bytes : 1; /* elements of about a line */
    size_t units = (count + unit - 1) / unit, each = units / (size_t)parts, more = units % (size_t)parts;
    size_t i = (size_t)index;
    size_t begin = (i * each + (i < more ? i : more)) * unit;
    size_t end = begin + (each + (i < more)) * unit;
    begin = begin < count ? begin : count;
    end = end < count ? end : count;
    return (intra_slice){begin, end - begin};
}

static const char *operand(const intra_meeting *meeting, intra_operands operands, int thread) {
    const intra_cell *cell = &meeting->cells[thread];
    if (thread == meeting->member->thread)
        return operands.own;
    return operands.in_cells ? (const char *)cell->payload.bytes : (const char *)cell->payload.offer.send;
}

/*
 * One piece, of the first `threads` operands: from the last operand down, so that a user's function `inout = in op inout` is called as it stands, with
 * the sum so far in a scratch piece. The first operand comes last and meets the sum straight in `out`; so `out` may be
 * any operand.
 */
static int combine_piece(const intra_meeting *meeting, int threads, intra_operands operands, const weft_op *op,
                         const weft_datatype *type, intra_slice piece, void *out, void *scratch) {
    size_t at = piece.begin * type->size_bytes;
    int last = threads - 1;
    const void *sum = operand(meeting, operands, last) + at;
    for (int thread = last - 1; thread >= 0; thread--) {
        void *next = thread ? scratch : out;
        int code = core_reduce(op, type, operand(meeting, operands, thread) + at, sum, next, piece.count);
        if (code)
            return code;
        sum = next;
    }
    if (last == 0 && sum != out)
        memcpy(out, sum, piece.count * type->size_bytes);
    return WEFT_SUCCESS;
}

/* Puts a piece of the result that is in `out` where else it belongs. */
static void spread(const intra_meeting *meeting, intra_slice piece, size_t size, const void *out) {
    for (int thread = 0; thread < meeting->team->threads; thread++)
        if (thread != meeting->member->thread)
            memcpy((char *)intra_offer_of(meeting, thread)->recv + piece.begin * size, out, piece.count * size);
}

/* `most` elements at a time, for which `scratch` has room. */
static int combine_pieces(const intra_meeting *meeting, int threads, intra_operands operands, const weft_op *op,
                          const weft_datatype *type, intra_slice slice, void *out, bool for_all, size_t most,
                          void *scratch) {
    size_t size = type->size_bytes;
    for (size_t done = 0; done < slice.count; done += most) {
        size_t count = slice.count - done < most ? slice.count - done : most;
        intra_slice piece = {slice.begin + done, count};
        char *place = (char *)out + done * size;
        int code = combine_piece(meeting, threads, operands, op, type, piece, place, scratch);
        if (code)
            return code;
        if (for_all)
            spread(meeting, piece, size, place);
    }
    return WEFT_SUCCESS;
}

static int combine(const intra_meeting *meeting, int threads, intra_operands operands, const weft_op *op,
                   const weft_datatype *type, intra_slice slice, void *out, bool for_all) {
    alignas(64) unsigned char scratch[PIECE_BYTES];
    size_t size = type->size_bytes;
    if (size == 0 || slice.count == 0)
        return WEFT_SUCCESS;
    /* Up to two operands need no scratch: one pass over all, unless it should still be in the cache afterwards. */
    if (!for_all && threads <= 2)
        return combine_pieces(meeting, threads, operands, op, type, slice, out, false, slice.count, NULL);
    if (size <= PIECE_BYTES)
        return combine_pieces(meeting, threads, operands, op, type, slice, out, for_all, PIECE_BYTES / size, scratch);
    void *element = malloc(size);
    if (!element)
        return WEFT_ERR_NOMEM;
    int code = combine_pieces(meeting, threads, operands, op, type, slice, out, for_all, 1, element);
    free(element);
    return code;
}

int intra_combine(const intra_meeting *meeting, intra_operands operands, const weft_op *op, const weft_datatype *type,
                  intra_slice slice, void *out) {
    return combine(meeting, meeting->team->threads, operands, op, type, slice, out, false);
}

int intra_combine_first(const intra_meeting *meeting, int threads, intra_operands operands, const weft_op *op,
                        const weft_datatype *type, intra_slice slice, void *out) {
    return combine(meeting, threads, operands, op, type, slice, out, false);
}

int intra_combine_for_all(const intra_meeting *meeting, const void *own, void *recv, const weft_op *op,
                          const weft_datatype *type, intra_slice slice) {
    char *out = (char *)recv + slice.begin * type->size_bytes;
    return combine(meeting, meeting->team->threads, (intra_operands){false, own}, op, type, slice, out, true);
}
