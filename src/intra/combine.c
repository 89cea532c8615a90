// SPDX-License-Identifier: BSD-3-Clause
#include <intra/combine.h>
#include <string.h>

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
 * One piece: from the last operand down, so that a user's function `inout = in op inout` is called as it stands, with
 * the sum so far in a scratch piece. The first operand comes last and meets the sum straight in `out`; so `out` may be
 * any operand.
 */
static void combine_piece(const intra_meeting *meeting, intra_operands operands, const weft_op *op,
                          const weft_datatype *type, intra_slice piece, void *out) {
    alignas(64) unsigned char scratch[PIECE_BYTES];
    size_t at = piece.begin * type->size_bytes;
    int last = meeting->team->threads - 1;
    const void *sum = operand(meeting, operands, last) + at;
    for (int thread = last - 1; thread >= 0; thread--) {
        void *next = thread ? scratch : out;
        core_reduce(op, type, operand(meeting, operands, thread) + at, sum, next, piece.count);
        sum = next;
    }
    if (last == 0 && sum != out)
        memcpy(out, sum, piece.count * type->size_bytes);
}

void intra_combine(const intra_meeting *meeting, intra_operands operands, const weft_op *op, const weft_datatype *type,
                   intra_slice slice, void *out) {
    size_t size = type->size_bytes;
    /* Up to two operands need no scratch: one pass over all. */
    size_t most = meeting->team->threads <= 2 ? slice.count : PIECE_BYTES / size;
    for (size_t done = 0; done < slice.count; done += most) {
        size_t count = slice.count - done < most ? slice.count - done : most;
        combine_piece(meeting, operands, op, type, (intra_slice){slice.begin + done, count}, (char *)out + done * size);
    }
}

void intra_combine_for_all(const intra_meeting *meeting, const void *own, void *recv, const weft_op *op,
                           const weft_datatype *type, intra_slice slice) {
    size_t size = type->size_bytes, most = PIECE_BYTES / size;
    int self = meeting->member->thread;
    for (size_t done = 0; done < slice.count; done += most) {
        size_t begin = slice.begin + done, count = slice.count - done < most ? slice.count - done : most;
        char *out = (char *)recv + begin * size;
        combine_piece(meeting, (intra_operands){false, own}, op, type, (intra_slice){begin, count}, out);
        for (int thread = 0; thread < meeting->team->threads; thread++)
            if (thread != self)
                memcpy((char *)intra_offer_of(meeting, thread)->recv + begin * size, out, count * size);
    }
}
