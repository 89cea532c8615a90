// SPDX-License-Identifier: BSD-3-Clause
#include <core/bracket.h>
#include <intra/fold.h>
#include <stdlib.h>
#include <string.h>
#include <weft/error.h>

/* Of the values on the stack: they stay in the first-level cache while the leaves pass by. */
#define SCRATCH_BYTES 16384

/* Two values beside those of the stack: one that is yet to be pushed, and what a prefix is combined in. */
#define MORE 2

/* Work on a piece, the values of which fit the scratch memory. */
typedef struct work {
    const intra_folding *folding;
    intra_slice piece;
    size_t bytes; /* of a value */
    char *scratch;
    const char *values[CORE_BRACKET_DEPTH]; /* by depth: in the scratch memory, or leaves */
    core_bracket bracket;
    int error;
} work;

static char *scratch_at(const work *by, int depth) {
    return by->scratch + (size_t)depth * by->bytes;
}

static void combine(work *by, const void *left, const void *right, void *out) {
    const intra_folding *folding = by->folding;
    if (!by->error)
        by->error = core_reduce(folding->op, folding->type, left, right, out, by->piece.count);
}

/* Combines what is ready. Pushed values are leaves or at their own depth: what a pair makes goes to the depth of the left one. */
static void merge(work *by) {
    while (core_bracket_merges(&by->bracket, false)) {
        int left = by->bracket.depth - 1;
        combine(by, by->values[left], by->values[left + 1], scratch_at(by, left));
        by->values[left] = scratch_at(by, left);
    }
}

static void push(work *by, const char *value, int level) {
    by->values[by->bracket.depth] = value;
    core_bracket_push(&by->bracket, level);
}

/* out = all on the stack, which stays as it is but for the scratch memory at `free`. */
static void combine_stack(work *by, char *free, void *out) {
    int depth = by->bracket.depth - 1;
    const char *sum = by->values[depth];
    while (depth-- > 0) {
        char *to = depth ? free : out;
        combine(by, by->values[depth], sum, to);
        sum = to;
    }
    if (sum != out && !by->error)
        memcpy(out, sum, by->bytes);
}

static void fold_piece(work *by, char *out) {
    const intra_folding *folding = by->folding;
    intra_leaf leaf, after;
    bool more = folding->next(folding->cursor, &leaf);
    while (more) {
        more = folding->next(folding->cursor, &after);
        push(by, leaf.at + by->piece.begin * folding->type->size_bytes, leaf.level);
        if (more)
            merge(by);
        leaf = after;
    }
    /* Halves of one block included: the last pair of all goes straight to its place, and `out` is written but then. */
    combine_stack(by, scratch_at(by, by->bracket.depth), out);
}

/* Leaves are copied, since the prefix of one may overwrite it. */
static void prefix_piece(work *by, bool exclusive) {
    const intra_folding *folding = by->folding;
    size_t at = by->piece.begin * folding->type->size_bytes;
    intra_leaf leaf;
    while (folding->next(folding->cursor, &leaf)) {
        int depth = by->bracket.depth;
        char *copy = scratch_at(by, depth), *free = scratch_at(by, depth + 1);
        memcpy(copy, leaf.at + at, by->bytes);
        if (exclusive && leaf.prefix && depth)
            combine_stack(by, free, leaf.prefix + at);
        push(by, copy, leaf.level);
        if (!exclusive && leaf.prefix)
            combine_stack(by, free, leaf.prefix + at);
        merge(by);
    }
}

/* `out`: NULL for prefixes. */
static int run(const intra_folding *folding, intra_slice slice, bool exclusive, char *out) {
    alignas(64) char memory[SCRATCH_BYTES];
    size_t size = folding->type->size_bytes, values = (size_t)core_bracket_most(folding->ranks) + MORE;
    if (!size || !slice.count)
        return WEFT_SUCCESS;
    size_t most = SCRATCH_BYTES / values / size;
    work by; /* field by field: the stack would take longer to be set to 0 than a short vector to be combined */
    by.folding = folding;
    by.scratch = memory;
    by.error = WEFT_SUCCESS;
    if (out && folding->ranks <= 2)
        most = slice.count; /* no value is kept */
    else if (!most)
        by.scratch = malloc(values * size);
    if (!by.scratch)
        return WEFT_ERR_NOMEM;
    most = most ? most : 1;
    for (size_t done = 0; done < slice.count && !by.error; done += most) {
        by.piece = (intra_slice){slice.begin + done, slice.count - done < most ? slice.count - done : most};
        by.bytes = by.piece.count * size;
        by.bracket.depth = 0;
        folding->next(folding->cursor, NULL);
        if (out)
            fold_piece(&by, out + done * size);
        else
            prefix_piece(&by, exclusive);
    }
    if (by.scratch != memory)
        free(by.scratch);
    return by.error;
}

int intra_fold(const intra_folding *folding, intra_slice slice, void *out) {
    return run(folding, slice, false, out);
}

int intra_fold_prefixes(const intra_folding *folding, bool exclusive, intra_slice slice) {
    return run(folding, slice, exclusive, NULL);
}
