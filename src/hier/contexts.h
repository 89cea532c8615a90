// SPDX-License-Identifier: BSD-3-Clause
/**
 * Contexts: the numbers that keep the traffic of communicators apart, equal in all processes of a communicator.
 *
 * Those who make communicators agree over the ranks of the parent alone: a bit mask of what is free, combined by allreduce, as
 * the MPI libraries do. Several threads of a process may be at it at once, each with another parent. So that they neither wait
 * for each other nor take the same number, each offers a bit to one agreement at a time, a word of 64 in a round, and begins with
 * another word, and goes on in other steps, the parent's context says which. Where two met at a word all the same, both go on to their next.
 *
 * What comes with a context may be for one who had it before. So each communicator has an *epoch* too, larger than that of any whose processes
 * it shares and that was freed before.
 */
#ifndef HIER_CONTEXTS_H
#define HIER_CONTEXTS_H

#include <hier/agree.h>
#include <inter/engine.h>
#include <pthread.h>
#include <weft/types.h>

#define HIER_CONTEXT_WORDS (INTER_CONTEXTS / 64)
/** Of a communicator within one process: nothing that is sent names it. */
#define HIER_NO_CONTEXT    UINT32_MAX
/** Of what the library does beside all communicators. */
#define HIER_OWN_CONTEXT   (INTER_CONTEXTS - 1)
/** So many communicators can stand at once in a process, beside its process communicator. */
#define HIER_MOST_CONTEXTS (INTER_CONTEXTS - 2)

/** A process's, under the lock. A bit each. */
typedef struct hier_contexts {
    _Atomic uint64_t epoch; /* the latest; not under the lock */
    pthread_mutex_t lock;
    uint64_t used[HIER_CONTEXT_WORDS];
    uint64_t offered[HIER_CONTEXT_WORDS]; /* free, and another agreement may take it */
    uint64_t lost[HIER_CONTEXT_WORDS];    /* used, but by no communicator any more */
} hier_contexts;

void hier_contexts_init(hier_contexts *contexts);
void hier_contexts_destroy(hier_contexts *contexts);

/**
 * Agrees on `count` numbers that are free in all processes of the parent, and takes them there, and on an epoch for them. Collective over the
 * parent; all ranks get the same. Errors: WEFT_ERR_BUSY (there are not so many), those of hier_agree().
 */
int hier_contexts_agree(weft_comm *parent, hier_caller by, int count, uint32_t *numbers, uint64_t *epoch);

/** Gives one back in this process; nothing happens for HIER_NO_CONTEXT. */
void hier_contexts_return(hier_contexts *contexts, uint32_t number);

/** Nobody uses it any more, and nobody will. */
void hier_contexts_lose(hier_contexts *contexts, uint32_t number);

/** Is it that of a communicator of this process, or may it just now become so? */
bool hier_contexts_expect(hier_contexts *contexts, uint32_t number);

/** Takes one that was given back again, for good; false when somebody else has it, or may get it just now. */
bool hier_contexts_take_back(hier_contexts *contexts, uint32_t number);

#endif
