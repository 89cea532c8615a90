// SPDX-License-Identifier: BSD-3-Clause
/**
 * Alltoallv and alltoallw: what their compositions have in common. Every thread shows its arrays of counts and where its blocks are, or
 * puts the blocks into its cell when they are short together (bundle.h).
 */
#ifndef HIER_ALLTOALLV_H
#define HIER_ALLTOALLV_H

#include <hier/bundle.h>

/** Between processes of one host: thread_alltoallv_direct.c. All else: thread_alltoallv.c. */
hier_collective hier_alltoallv_directly;

/** Notes, in the meeting's `mine`, what this thread has to offer: in place what is received. Field by field, as it is read. */
intra_offer *hier_alltoallv_mine(hier_call *call);

/** Puts the blocks of `mine` into the cell, with so many entries more than they need; false: they are too long. */
bool hier_alltoallv_bundle(hier_call *call, const intra_offer *mine, size_t more);

/**
 * Shows `mine` instead. `copies`: its blocks are copied together first, as in place, where the others would read what is being
 * overwritten. Without memory for that it shows no counts.
 */
void hier_alltoallv_offer(hier_call *call, intra_offer *mine, bool copies);

/** What all have shown: has a thread no memory? Then the call's error is set. */
bool hier_alltoallv_has_memory(hier_call *call);

/** Where the block for a rank lies, of an offer. */
core_data hier_alltoallv_block(const intra_offer *offer, size_t rank);

/** What a thread of this node has for a rank, in its cell or where it has shown it: another thread than this one not for itself. */
core_data hier_alltoallv_given(const hier_call *call, int thread, size_t rank);

/** Where this thread expects the block of a rank. */
core_data hier_alltoallv_place(const hier_call *call, size_t rank);

/** From the threads of this node, straight or out of their cells. */
void hier_alltoallv_copy_local(hier_call *call);

/** A block for this thread, from rank `source`, that lies packed. */
void hier_alltoallv_unpack(hier_call *call, size_t source, const char *from, size_t bytes);

#endif
