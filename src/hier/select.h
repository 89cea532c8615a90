// SPDX-License-Identifier: BSD-3-Clause
/**
 * The selector: which pair of algorithms serves a collective, as in "nbBDE/slices" (process level / thread level).
 */
#ifndef HIER_SELECT_H
#define HIER_SELECT_H

#include <inter/algorithm.h>

enum hier_thread_algorithm { HIER_COUNTER, HIER_FLAGS, HIER_INLINE, HIER_SLICES, HIER_THREAD_ALGORITHMS };

typedef struct hier_choice {
    const inter_algorithm *process;
    enum hier_thread_algorithm thread;
} hier_choice;

/** What WEFT_ALGORITHM fixed for one collective. */
typedef struct hier_override {
    const inter_algorithm *process; /* NULL: not fixed */
    bool has_thread;
    enum hier_thread_algorithm thread;
} hier_override;

#define HIER_MAX_RULES 64

typedef struct hier_selector {
    hier_override overrides[INTER_COLLECTIVES];
    const inter_algorithm *rule_process[HIER_MAX_RULES]; /* of each built-in rule, looked up by its name */
} hier_selector;

/**
 * `text` is "collective=PROCESS/thread,…"; either side of the slash may be left out ("allreduce=/inline",
 * "bcast=nbFT"). Errors: WEFT_ERR_CONFIG, the sentence tells what is wrong.
 */
int hier_selector_init(hier_selector *selector, const char *text);

/**
 * The first rule that fits, after the overrides. `bytes`: what one rank contributes. A fixed algorithm that cannot
 * serve (inline for more than fits, one that loses rank order for an operation that needs it) gives way to the rules.
 */
hier_choice hier_select(const hier_selector *selector, enum inter_collective collective, int nodes, size_t bytes,
                        bool commutative);

/** Does the collective have the thread-level algorithm? For tests and listings. */
bool hier_thread_algorithm_exists(enum inter_collective collective, enum hier_thread_algorithm algorithm);
const char *hier_thread_algorithm_name(enum hier_thread_algorithm algorithm);

#endif
