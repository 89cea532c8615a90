// SPDX-License-Identifier: BSD-3-Clause
/**
 * Staging: how collectives take types whose data are not one run. What such a type describes is packed into memory of
 * ours, the collective runs on that as on bytes, and what has come is unpacked into the user's layout, where only the
 * bytes of the type are written.
 *
 *     movement:     block r of count elements    ⇄  count * size bytes, the blocks one after the other
 *     reductions:   element i                    ⇄  window i: an element as the type lays it out, holes and all, since
 *                                                   the user's function works on it where it lies
 *                   one that overhangs           ⇄  its bytes, packed, since a window would be as long as what lies between
 *                                                   them; the function gets it laid out elsewhere, alone
 *
 * Which sides are packed is each rank's own affair for movement, where ranks may use different types for the same bytes.
 * In reductions all ranks have the same type.
 */
#ifndef HIER_STAGING_H
#define HIER_STAGING_H

#include <hier/thread.h>

typedef struct hier_staging hier_staging;

/** What all ranks of a reduction must have alike of a derived type for each to combine elements of the others as its own. */
uint64_t hier_hash_of_elements(const weft_datatype *type);

/**
 * Stages a call whose checked arguments are `strided`: these become the ones to run, on memory that arguments->staging
 * owns, which the caller frees. The types stay in use until then, the user's arrays need not. Nothing is packed yet. Of a call that is
 * `blocking` the part between processes may take long data as they lie: both sides then pack and unpack part by part, while they wait. Of
 * one that goes on while its caller computes what is packed at the start needs nobody's help.
 * Errors: WEFT_ERR_NOMEM, with nothing to free.
 */
int hier_stage(const weft_comm *comm, hier_arguments *arguments, bool blocking);

/** Packs what the user's buffers hold now, unless hier_staging_lay_out() is going to; before each start. */
void hier_staging_pack(hier_staging *staging);
/**
 * Of a part between processes that is prepared, where a rank is a process: shows it how the data lie, and packs what it does not take so. To
 * be called before it is run.
 */
void hier_staging_lay_out(hier_staging *staging, const inter_execution *execution, inter_binding *binding);
/** Unpacks what has come, when a start is over without an error of the network; the first time that it is asked to. */
void hier_staging_unpack(hier_staging *staging);
void hier_staging_free(hier_staging *staging);
/** Frees the memory that is kept for those to come. */
void hier_staging_forget(void);

/** `run`, a blocking collective of a thread communicator, staged. The arguments are checked and strided. */
int hier_thread_staged(weft_comm *comm, const hier_arguments *arguments, hier_runner *run);

#endif
