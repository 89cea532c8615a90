// SPDX-License-Identifier: BSD-3-Clause
/**
 * The selector: which pair of algorithms serves a collective, as in "nbBDE/slices" (process level / thread level).
 *
 * It reads a table of rules from the top; the first that fits wins, and WEFT_ALGORITHM has the last word. Rows name
 * algorithms. `weft-info --why` shows how it comes to a choice.
 */
#ifndef HIER_SELECT_H
#define HIER_SELECT_H

#include <inter/algorithm.h>

enum hier_thread_algorithm {
    HIER_COUNTER,
    HIER_DIRECT,
    HIER_FLAGS,
    HIER_INLINE,
    HIER_SLICES,
    HIER_TREE,
    HIER_THREAD_ALGORITHMS
};

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

/** What a choice depends on; the same on all ranks. */
typedef struct hier_key {
    enum inter_collective collective;
    int nodes;    /* that take part in the process level */
    int threads;  /* of the node that has most */
    size_t bytes; /* what one rank contributes in all, blocks for others together; 0 where only some ranks know it */
    bool commutative;
    bool bracketed; /* operands must meet in the fixed bracketing (core/bracket.h) */
    bool one_host;  /* all nodes are processes of one host … */
    bool crowded;   /* … and a core has to carry several of their threads */
    bool reads;     /* … several nodes, and each may read the memory of the others */
} hier_key;

/** Where a rule's limits and its process-level algorithm come from. */
enum hier_origin {
    HIER_MODEL,    /* no other algorithm is predicted to be much faster (inter/predict.h); tests/hier/test_rules.cpp */
    HIER_HOST,     /* measured on one host, where the model's network does not hold; serves nobody else */
    HIER_CROWD,    /* as HIER_HOST, where a core has to carry several threads */
    HIER_CROWDS,   /* measured where a core has to carry several threads, on hosts of their own */
    HIER_CORES,    /* as HIER_HOST, where each thread has a core */
    HIER_READS,    /* as HIER_HOST, where processes may read each other's memory */
    HIER_STRUCTURE /* ranks know too little, or the thread level asks for it */
};

/**
 * A row of the table: serves what no row of its collective before it serves. One whose algorithm takes operands in another
 * order than that of the ranks serves only operations that commute. Behind the row that fits everything else stand those of the
 * fixed bracketing, for which no other rows serve.
 */
typedef struct hier_rule {
    enum inter_collective collective;
    int max_nodes, max_threads;
    size_t max_bytes;
    const char *process;  /* without a segment size */
    size_t segment_bytes; /* vectors are cut into segments of so many; 0: they are not */
    enum hier_thread_algorithm thread;
    enum hier_origin origin;
} hier_rule;

#define HIER_MAX_RULES 512

typedef struct hier_selector {
    const hier_rule *table;
    size_t count;
    const hier_rule *rules[INTER_COLLECTIVES]; /* the first of each collective … */
    const hier_rule
        *bracketed[INTER_COLLECTIVES];       /* … of a reduction, in the fixed bracketing; its last fits everything */
    inter_algorithm process[HIER_MAX_RULES]; /* of each row, looked up by its name */
    bool overridden;
    hier_override overrides[INTER_COLLECTIVES];
} hier_selector;

/** The built-in table, the rows of a collective together. */
extern const hier_rule hier_rules[];
extern const size_t hier_rules_count;

/** Why a row does not serve: the first reason in this order. */
enum hier_miss {
    HIER_FITS,
    HIER_MISS_NODES,
    HIER_MISS_THREADS,
    HIER_MISS_BYTES,
    HIER_MISS_HOSTS,
    HIER_MISS_CROWD,
    HIER_MISS_CORES,
    HIER_MISS_READS,
    HIER_MISS_ORDER,
    HIER_MISS_BRACKETS
};

/**
 * `text` is "collective=PROCESS/thread,…"; either side of the slash may be left out ("allreduce=/inline",
 * "bcast=nbFT"). Errors: WEFT_ERR_CONFIG, the sentence tells what is wrong.
 */
int hier_selector_init(hier_selector *selector, const char *text);

/** What is left of `choice`, the rules' own, after what WEFT_ALGORITHM fixed. */
hier_choice hier_select_fixed(const hier_selector *selector, hier_key key, hier_choice choice);

/** Has the thread level room for it in the cells and, of what all gather on several nodes, on the tray? The same on all ranks. */
bool hier_fits_inline(hier_key key);

/*
 * A fixed algorithm that cannot serve (inline for more than fits, one that loses rank order or the bracketing for an operation that
 * needs it) gives way to the rules.
 */
bool hier_process_override_serves(const hier_override *fixed, hier_key key);
bool hier_thread_override_serves(const hier_override *fixed, hier_key key);

static inline const inter_algorithm *hier_rule_algorithm(const hier_selector *selector, const hier_rule *rule) {
    return &selector->process[rule - selector->table];
}

static inline enum hier_miss hier_rule_misses(const hier_selector *selector, const hier_rule *rule, hier_key key) {
    if (key.nodes > rule->max_nodes)
        return HIER_MISS_NODES;
    if (key.threads > rule->max_threads)
        return HIER_MISS_THREADS;
    if (key.bytes > rule->max_bytes)
        return HIER_MISS_BYTES;
    if (!key.one_host && (rule->origin == HIER_HOST || rule->origin == HIER_CROWD || rule->origin == HIER_CORES))
        return HIER_MISS_HOSTS;
    if (!key.crowded && (rule->origin == HIER_CROWD || rule->origin == HIER_CROWDS))
        return HIER_MISS_CROWD;
    if (key.crowded && rule->origin == HIER_CORES)
        return HIER_MISS_CORES;
    if (!key.reads && rule->origin == HIER_READS)
        return HIER_MISS_READS;
    if (!key.commutative && hier_rule_algorithm(selector, rule)->commutes)
        return HIER_MISS_ORDER;
    if (key.bracketed && !hier_rule_algorithm(selector, rule)->bracketed)
        return HIER_MISS_BRACKETS;
    return HIER_FITS;
}

/** The first rule that fits. */
static inline const hier_rule *hier_select_rule(const hier_selector *selector, hier_key key) {
    const hier_rule *rule = (key.bracketed ? selector->bracketed : selector->rules)[key.collective];
    while (hier_rule_misses(selector, rule, key) != HIER_FITS)
        rule++;
    return rule;
}

/** What the rules choose, whatever WEFT_ALGORITHM says. */
static inline hier_choice hier_select_unfixed(const hier_selector *selector, hier_key key) {
    const hier_rule *rule = hier_select_rule(selector, key);
    return (hier_choice){hier_rule_algorithm(selector, rule), rule->thread};
}

/** What the rules choose, after the overrides. */
static inline hier_choice hier_select(const hier_selector *selector, hier_key key) {
    hier_choice choice = hier_select_unfixed(selector, key);
    return selector->overridden ? hier_select_fixed(selector, key, choice) : choice;
}

/** May it be chosen for some collective? */
bool hier_selects(const hier_selector *selector, enum hier_thread_algorithm algorithm);

/** Does the collective have the thread-level algorithm? For tests and listings. */
bool hier_thread_algorithm_exists(enum inter_collective collective, enum hier_thread_algorithm algorithm);
const char *hier_thread_algorithm_name(enum hier_thread_algorithm algorithm);

#endif
