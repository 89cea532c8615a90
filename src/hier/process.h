// SPDX-License-Identifier: BSD-3-Clause
/**
 * Plans: what a collective is for the engine where every process has one rank: of a process communicator, or of teams of one thread.
 */
#ifndef HIER_PROCESS_H
#define HIER_PROCESS_H

#include <inter/engine.h>

struct weft_comm;
struct hier_arguments;

/** The blocks of a side, by rank, in bytes (of reduce_scatter: counts only, of elements), as the plan before had them. */
typedef struct hier_plan_side {
    size_t *counts;
    ptrdiff_t *displs;
    ptrdiff_t lowest; /* the displacement of the lowest block, where the side's memory begins */
} hier_plan_side;

/** Made again and again, for one collective of one communicator; or for another after hier_plan_clear(). */
typedef struct hier_plan {
    const inter_algorithm *algorithm; /* the selector's; NULL: there is no plan yet */
    bool repeated;                    /* the algorithm and the view are those of the plan before: so is its schedule */
    bool commutative, bracketed;      /* what else the algorithm depends on */
    inter_view view;
    inter_binding binding;
    hier_plan_side receives, sends;
    size_t *arrays;    /* the counts and offsets of the view, those of the sides behind them; freed by the owner */
    uint64_t contents; /* the view's: another number when the sides are not those of the plan before */
} hier_plan;

/** A plan for arguments that are checked, in a zeroed struct or over the one before. WEFT_ERR_NOMEM. */
int hier_plan_make(const struct weft_comm *comm, const struct hier_arguments *arguments, hier_plan *plan);

/** Frees what it has. No later plan's contents are taken for those of one before. */
void hier_plan_clear(hier_plan *plan);

#endif
