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
    bool has_process, has_thread;
    inter_algorithm process;
    enum hier_thread_algorithm thread;
} hier_override;

/** A built-in rule: serves what no rule of its collective before it serves. One whose algorithm takes operands in another order
 * than that of the ranks serves only operations that commute. */
typedef struct hier_rule {
    enum inter_collective collective;
    int max_nodes;
    size_t max_bytes; /* of one rank's contribution */
    const char *process;
    enum hier_thread_algorithm thread;
} hier_rule;

#define HIER_MAX_RULES 96

typedef struct hier_selector {
    const hier_rule *rules[INTER_COLLECTIVES]; /* the first of each collective; its last fits everything */
    inter_algorithm process[HIER_MAX_RULES];   /* of each rule, looked up by its name */
    bool overridden;
    hier_override overrides[INTER_COLLECTIVES];
} hier_selector;

extern const hier_rule hier_rules[];

/**
 * `text` is "collective=PROCESS/thread,…"; either side of the slash may be left out ("allreduce=/inline",
 * "bcast=nbFT"). Errors: WEFT_ERR_CONFIG, the sentence tells what is wrong.
 */
int hier_selector_init(hier_selector *selector, const char *text);

/** What is left of `choice`, the rules' own, after what WEFT_ALGORITHM fixed. */
hier_choice hier_select_fixed(const hier_selector *selector, enum inter_collective collective, hier_choice choice,
                              size_t bytes, bool commutative);

/** The first rule that fits. `bytes`: what one rank contributes. */
static inline hier_choice hier_select_rule(const hier_selector *selector, enum inter_collective collective, int nodes,
                                           size_t bytes, bool commutative) {
    const hier_rule *rule = selector->rules[collective];
    while (nodes > rule->max_nodes || bytes > rule->max_bytes ||
           (!commutative && selector->process[rule - hier_rules].commutes))
        rule++;
    return (hier_choice){&selector->process[rule - hier_rules], rule->thread};
}

/**
 * The first rule that fits, after the overrides. A fixed algorithm that cannot serve (inline for more than fits, one that loses
 * rank order for an operation that needs it) gives way to the rules.
 */
static inline hier_choice hier_select(const hier_selector *selector, enum inter_collective collective, int nodes,
                                      size_t bytes, bool commutative) {
    hier_choice choice = hier_select_rule(selector, collective, nodes, bytes, commutative);
    return selector->overridden ? hier_select_fixed(selector, collective, choice, bytes, commutative) : choice;
}

/** Does the collective have the thread-level algorithm? For tests and listings. */
bool hier_thread_algorithm_exists(enum inter_collective collective, enum hier_thread_algorithm algorithm);
const char *hier_thread_algorithm_name(enum hier_thread_algorithm algorithm);

#endif
