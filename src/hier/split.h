// SPDX-License-Identifier: BSD-3-Clause
/**
 * What a split makes of a communicator: who is in the own group, in which order, and where. Every rank finds the same from what all
 * ranks said. Local.
 */
#ifndef HIER_SPLIT_H
#define HIER_SPLIT_H

#include <hier/comm.h>

/** What each rank says. */
typedef struct hier_split_entry {
    int32_t color; /* negative: it is in no group */
    int32_t key;
    int32_t leads; /* under FUNNELED: it is the thread that called weft_init, and becomes thread 0 of its node */
    int32_t error; /* it cannot take part: then nobody does */
} hier_split_entry;

typedef struct hier_split {
    const weft_comm *parent;
    const char *call;
    struct hier_split_member *members, *group; /* of all groups; of the own one, NULL: there is none */
    size_t ranks;                              /* of the own group */
    void *by_node;
    /* Of all groups: */
    uint32_t *contexts;                  /* room for the numbers that they need … */
    int context_count;                   /* … so many: groups without a process in common share one */
    uint64_t wanted[HIER_CONTEXT_WORDS]; /* a bit each: which of them groups of this process use */
    /* Of the own group: */
    int context;        /* which of the numbers; -1: it is within a process */
    hier_layout layout; /* set by hier_split_lay_out(), which hands its memory over */
    int rank, place, node;
    int builder; /* the parent's rank of the thread that makes what the process needs: thread 0 of the node */
} hier_split;

/** Takes the memory for what follows. WEFT_ERR_NOMEM. The caller ends it, in any case. */
int hier_split_begin(hier_split *plan, const weft_comm *parent, const char *call);
/** Finds the groups and what contexts they need; `entries` by rank of the parent. WEFT_ERR_BUSY (more than there are), on all ranks. */
int hier_split_group(hier_split *plan, const hier_split_entry *entries);
/** Finds where the ranks of the own group are. WEFT_ERR_NOMEM. */
int hier_split_lay_out(hier_split *plan);
/** Frees it all, but for a layout that was handed over. */
void hier_split_end(hier_split *plan);

#endif
