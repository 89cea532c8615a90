// SPDX-License-Identifier: BSD-3-Clause
/**
 * Collectives that weft itself calls, within one of the user's that makes a team or a communicator. In errors, in roll-calls and where
 * ranks are in different calls they go by that call's name, and they match none of the user's own.
 */
#ifndef HIER_AGREE_H
#define HIER_AGREE_H

#include <stdint.h>
#include <weft/types.h>

/** The user's call, and where it stands in his program. */
typedef struct hier_caller {
    const char *call;
    const void *place;
    unsigned step; /* tells collectives of one call apart that are alike otherwise */
} hier_caller;

/** In a public function. */
#define HIER_CALLER ((hier_caller){__func__, __builtin_return_address(0), 0})

/** As weft_allgather: `bytes` bytes of each rank; `own` may be WEFT_IN_PLACE. */
int hier_exchange(weft_comm *comm, hier_caller by, const void *own, size_t bytes, void *all);
/** As weft_allgatherv, of bytes and in place. */
int hier_exchange_blocks(weft_comm *comm, hier_caller by, void *all, const size_t *bytes, const ptrdiff_t *displs);
/** As weft_allreduce in place, of `count` words. */
int hier_agree(weft_comm *comm, hier_caller by, uint64_t *words, size_t count, const weft_op *op);

/**
 * Who has no memory for the first of these in a call has not begun, and the call can be made again. Of those after it the others would wait for ever:
 * their memory is had before. On process communicators; WEFT_ERR_NOMEM.
 */
int hier_agree_reserve(weft_comm *comm, hier_caller by, size_t most);
int hier_exchange_blocks_reserve(weft_comm *comm, hier_caller by, void *all, const size_t *bytes,
                                 const ptrdiff_t *displs);

#endif
