// SPDX-License-Identifier: BSD-3-Clause
/**
 * Plans: what a collective of a process communicator is for the engine.
 */
#ifndef HIER_PROCESS_H
#define HIER_PROCESS_H

#include <hier/arguments.h>

typedef struct hier_plan {
    const inter_algorithm *algorithm; /* the selector's */
    inter_view view;
    inter_binding binding;
    size_t *arrays; /* the counts and offsets of the view, in `memory` */
    size_t
        *memory; /* two times `capacity` entries, used in turn; kept for the next plan made here, freed by the owner */
    size_t capacity;               /* entries */
    size_t entries;                /* in use */
    uint64_t contents;             /* the view's: another number when the entries are not those of the plan before */
    size_t own_sent, own_expected; /* alltoallv, alltoallw: bytes of the own block; the fewer go. Else both 0 */
} hier_plan;

/** A plan for arguments that are checked, in a zeroed struct or over an older one. WEFT_ERR_NOMEM. */
int hier_plan_make(const weft_comm *comm, const hier_arguments *arguments, hier_plan *plan);

#endif
