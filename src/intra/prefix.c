// SPDX-License-Identifier: BSD-3-Clause
#include <intra/prefix.h>
#include <stdlib.h>
#include <string.h>
#include <weft/error.h>

/* The prefix before is still in the first-level cache when the next one is made of it; two operands are kept beside it. */
#define PIECE_BYTES 4096

static const char *send_of(const intra_meeting *meeting, int thread, size_t at) {
    return (const char *)intra_offer_of(meeting, thread)->send + at;
}

static char *recv_of(const intra_meeting *meeting, int thread, size_t at) {
    return (char *)intra_offer_of(meeting, thread)->recv + at;
}

static intra_slice piece_of(intra_slice slice, size_t done, size_t size) {
    size_t most = size < PIECE_BYTES ? PIECE_BYTES / size : 1, left = slice.count - done;
    return (intra_slice){slice.begin + done, left < most ? left : most};
}

static int scan_piece(const intra_meeting *meeting, const weft_op *op, const weft_datatype *type, intra_slice piece) {
    size_t at = piece.begin * type->size_bytes;
    const char *first = send_of(meeting, 0, at);
    char *sum = recv_of(meeting, 0, at);
    if (sum != first)
        memcpy(sum, first, piece.count * type->size_bytes);
    for (int thread = 1; thread < meeting->team->threads; thread++) {
        char *next = recv_of(meeting, thread, at);
        int code = core_reduce(op, type, sum, send_of(meeting, thread, at), next, piece.count);
        if (code)
            return code;
        sum = next;
    }
    return WEFT_SUCCESS;
}

int intra_scan(const intra_meeting *meeting, const weft_op *op, const weft_datatype *type, intra_slice slice) {
    int code = WEFT_SUCCESS;
    size_t done = 0;
    while (!code && done < slice.count && type->size_bytes) {
        intra_slice piece = piece_of(slice, done, type->size_bytes);
        code = scan_piece(meeting, op, type, piece);
        done += piece.count;
    }
    return code;
}

/* out = left op right, or right alone where there is no left. */
static int put(const weft_op *op, const weft_datatype *type, const char *left, const char *right, char *out,
               size_t count) {
    if (left)
        return core_reduce(op, type, left, right, out, count);
    memcpy(out, right, count * type->size_bytes);
    return WEFT_SUCCESS;
}

/*
 * Prefix t is prefix t − 1 and operand t − 1. In place it comes to where operand t stands, which the next one needs: such an
 * operand is kept in one of two pieces in turn.
 */
static int exscan_piece(const intra_meeting *meeting, const weft_op *op, const weft_datatype *type, intra_slice piece,
                        char *total, char *const kept[2]) {
    size_t at = piece.begin * type->size_bytes;
    const char *sum = NULL, *operand = send_of(meeting, 0, at);
    for (int thread = 1; thread < meeting->team->threads; thread++) {
        char *out = recv_of(meeting, thread, at);
        const char *next = send_of(meeting, thread, at);
        if (next == out)
            next = memcpy(kept[thread % 2], next, piece.count * type->size_bytes);
        int code = put(op, type, sum, operand, out, piece.count);
        if (code)
            return code;
        sum = out;
        operand = next;
    }
    return total ? put(op, type, sum, operand, total + at, piece.count) : WEFT_SUCCESS;
}

int intra_exscan(const intra_meeting *meeting, const weft_op *op, const weft_datatype *type, intra_slice slice,
                 void *total) {
    alignas(64) char pieces[2 * PIECE_BYTES];
    size_t size = type->size_bytes, room = PIECE_BYTES;
    char *memory = NULL;
    int code = WEFT_SUCCESS;
    if (size > PIECE_BYTES) {
        memory = malloc(2 * size);
        if (!memory)
            return WEFT_ERR_NOMEM;
        room = size;
    }
    char *const kept[2] = {memory ? memory : pieces, (memory ? memory : pieces) + room};
    size_t done = 0;
    while (!code && done < slice.count && size) {
        intra_slice piece = piece_of(slice, done, size);
        code = exscan_piece(meeting, op, type, piece, total, kept);
        done += piece.count;
    }
    free(memory);
    return code;
}
