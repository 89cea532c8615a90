// SPDX-License-Identifier: BSD-3-Clause
/**
 * Checks what a user gives.
 */
#ifndef HIER_CHECK_H
#define HIER_CHECK_H

#include <hier/comm.h>

/** What the selector is asked with for a collective of which no more is known. */
static inline hier_key hier_key_without_bytes(enum inter_collective collective, const hier_layout *layout) {
    return (hier_key){.collective = collective,
                      .nodes = layout->nodes,
                      .threads = layout->threads,
                      .bytes = 0,
                      .commutative = true,
                      .bracketed = false,
                      .one_host = layout->one_host,
                      .crowded = layout->crowded,
                      .reads = layout->reads};
}

/** With all that is known. An alltoall's `bytes` are those of one block: a rank contributes one for each rank. */
static inline hier_key hier_key_of(const hier_arguments *arguments, const hier_layout *layout) {
    hier_key key = hier_key_without_bytes(arguments->collective, layout);
    key.bytes = arguments->bytes * (arguments->collective == INTER_ALLTOALL ? (size_t)hier_layout_size(layout) : 1);
    key.commutative = !arguments->op || arguments->op->commutative;
    key.bracketed = arguments->bracketed;
    return key;
}

/** Whose counts, displacements and types, for each rank, a checked call has looked at: HIER_SENDS, HIER_RECEIVES, both or (0) nobody's. */
enum { HIER_SENDS = 1, HIER_RECEIVES = 2 };
int hier_sides_with_arrays(const weft_comm *comm, const hier_arguments *arguments);

/** WEFT_ERR_ARG: the handle is none. */
int hier_no_comm(const char *call) __attribute__((cold));

/** Checks the communicator and the calling thread. */
int hier_check_comm(const weft_comm *comm, const char *call);

/** Is it a thread communicator's handle of the calling thread, to which that check would do nothing? */
static inline bool hier_is_own_handle(const weft_comm *comm) {
    return hier_comm_valid(comm) && comm->owner == core_self() && !comm->lends;
}

/*
 * Parts of what follows, for messages too. `name` is the argument's.
 */

int hier_check_type(const weft_comm *comm, const char *call, const weft_datatype *type, const char *name);
/** Sets *bytes to those of a block; `ranks` of them must lie within what addresses can tell apart. */
int hier_check_bytes(const weft_comm *comm, const char *call, size_t count, const weft_datatype *type, int ranks,
                     size_t *bytes);
/**
 * A buffer that is read or written: real memory when there is something in it, unless its type, or one of them, has addresses
 * (`absolute`).
 */
int hier_check_buffer(const weft_comm *comm, const char *call, const void *buffer, size_t bytes, bool absolute,
                      const char *name);

/** Checks the rest, resolves in place, and fills in bytes; before anything is sent. The communicator has been checked. */
int hier_check_arguments(const weft_comm *comm, hier_arguments *arguments);

#endif
