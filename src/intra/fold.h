// SPDX-License-Identifier: BSD-3-Clause
/**
 * Reductions in the fixed bracketing (core/bracket.h) of operands in memory: those of threads, and what other processes have
 * combined.
 */
#ifndef INTRA_FOLD_H
#define INTRA_FOLD_H

#include <core/op.h>
#include <intra/combine.h>

/** The value of a block of 2^level ranks; where its element 0 stands. */
typedef struct intra_leaf {
    const char *at;
    int level;
    char *prefix; /* where element 0 of the prefix goes that ends with it (intra_fold_prefixes), or NULL */
} intra_leaf;

/** Sets *leaf to the next one in rank order, from rank 0 on; false when there is none. NULL: back to the first. */
typedef bool intra_next_leaf(void *cursor, intra_leaf *leaf);

typedef struct intra_folding {
    const weft_op *op;
    const weft_datatype *type;
    intra_next_leaf *next;
    void *cursor;
    int ranks; /* at most so many leaves */
} intra_folding;

/**
 * out = elements begin … begin+count-1 of all leaves (there are some), combined; `out`, where element `begin` goes, may be the place of
 * the same element of a leaf. WEFT_SUCCESS, or WEFT_ERR_NOMEM without memory for an element of some hundred bytes or more.
 */
int intra_fold(const intra_folding *folding, intra_slice slice, void *out);

/**
 * Each leaf that has a place for it gets the prefix of these elements: of all leaves up to it, or (`exclusive`) before it; where there are
 * none nothing is written. A leaf's place may be the leaf. Returns as intra_fold().
 */
int intra_fold_prefixes(const intra_folding *folding, bool exclusive, intra_slice slice);

#endif
