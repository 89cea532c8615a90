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

/*
 * One piece, of the first `threads` operands: from the last operand down, so that a user's function `inout = in op inout` is called as it stands, with
 * the sum so far in a scratch piece. The first operand comes last and meets the sum straight in `out`; so `out` may be
 * any operand.
 */
static inline int combine_piece(const intra_meeting *meeting, int threads, const intra_operands *operands,
                                intra_slice piece, void *out, void *scratch) {
    size_t size = operands->type->size_bytes, at = piece.begin * size;
    int last = threads - 1;
    const void *sum = intra_operand_of(meeting, operands, last) + at;
    for (int thread = last - 1; thread >= 0; thread--) {
        void *next = thread ? scratch : out;
        int code = core_reduce(operands->op, operands->type, intra_operand_of(meeting, operands, thread) + at, sum,
                               next, piece.count);
        if (code)
            return code;
        sum = next;
    }
    if (last == 0 && sum != out)
        memcpy(out, sum, piece.count * size);
    return WEFT_SUCCESS;
}

/* Puts a piece of the result that is in `out` where else it belongs. */
static void spread(const intra_meeting *meeting, intra_slice piece, size_t size, const void *out) {
    for (int thread = 0; thread < meeting->team->threads; thread++)
        if (thread != meeting->member->thread)
            memcpy((char *)intra_offer_of(meeting, thread)->recv + piece.begin * size, out, piece.count * size);
}

/* How a slice is combined: so many elements at a time, for which `scratch` has room. */
typedef struct way {
    size_t most;
    void *scratch;
    bool for_all;
} way;

static int combine_pieces(const intra_meeting *meeting, int threads, const intra_operands *operands, intra_slice slice,
                          char *out, const way *by) {
    size_t size = operands->type->size_bytes;
    for (size_t done = 0; done < slice.count; done += by->most) {
        size_t count = slice.count - done < by->most ? slice.count - done : by->most;
        intra_slice piece = {slice.begin + done, count};
        char *place = out + done * size;
        int code = combine_piece(meeting, threads, operands, piece, place, by->scratch);
        if (code)
            return code;
        if (by->for_all)
            spread(meeting, piece, size, place);
    }
    return WEFT_SUCCESS;
}

static int combine(const intra_meeting *meeting, int threads, const intra_operands *operands, intra_slice slice,
                   char *out, bool for_all) {
    alignas(64) unsigned char scratch[PIECE_BYTES];
    size_t size = operands->type->size_bytes;
    way by = {.scratch = scratch, .for_all = for_all};
    if (size <= PIECE_BYTES) {
        by.most = PIECE_BYTES / size;
        return combine_pieces(meeting, threads, operands, slice, out, &by);
    }
    by.most = 1;
    by.scratch = malloc(size);
    if (!by.scratch)
        return WEFT_ERR_NOMEM;
    int code = combine_pieces(meeting, threads, operands, slice, out, &by);
    free(by.scratch);
    return code;
}

/* Then buffers may be NULL. */
static bool is_empty(const intra_operands *operands, intra_slice slice) {
    return operands->type->size_bytes == 0 || slice.count == 0;
}

int intra_combine_first(const intra_meeting *meeting, int threads, const intra_operands *operands, intra_slice slice,
                        void *out) {
    if (is_empty(operands, slice))
        return WEFT_SUCCESS;
    /* Up to two operands need no scratch: one pass over all. */
    if (threads == 2)
        return intra_combine_two(meeting, operands, slice, out);
    if (threads == 1)
        return combine_piece(meeting, threads, operands, slice, out, NULL);
    return combine(meeting, threads, operands, slice, out, false);
}

int intra_combine_for_all(const intra_meeting *meeting, const intra_operands *operands, intra_slice slice, void *recv) {
    if (is_empty(operands, slice))
        return WEFT_SUCCESS;
    /* Piece by piece, since each should still be in the cache when it is spread. */
    char *out = (char *)recv + slice.begin * operands->type->size_bytes;
    return combine(meeting, meeting->team->threads, operands, slice, out, true);
}
