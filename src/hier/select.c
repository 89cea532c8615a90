// SPDX-License-Identifier: BSD-3-Clause
#include <core/config.h>
#include <core/error.h>
#include <hier/select.h>
#include <intra/team.h>
#include <limits.h>
#include <string.h>

static const char *const thread_names[HIER_THREAD_ALGORITHMS] = {
    [HIER_COUNTER] = "counter", [HIER_FLAGS] = "flags", [HIER_INLINE] = "inline", [HIER_SLICES] = "slices"};

#define BIT(algorithm) (1u << (algorithm))

static const unsigned thread_algorithms[INTER_COLLECTIVES] = {
    [INTER_BARRIER] = BIT(HIER_COUNTER) | BIT(HIER_FLAGS),
    [INTER_BCAST] = BIT(HIER_COUNTER) | BIT(HIER_FLAGS) | BIT(HIER_INLINE),
    [INTER_REDUCE] = BIT(HIER_COUNTER) | BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_ALLREDUCE] = BIT(HIER_COUNTER) | BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_GATHER] = BIT(HIER_FLAGS),
    [INTER_SCATTER] = BIT(HIER_FLAGS),
    [INTER_ALLGATHER] = BIT(HIER_FLAGS),
    [INTER_ALLTOALL] = BIT(HIER_FLAGS),
    [INTER_ALLTOALLV] = BIT(HIER_FLAGS),
    [INTER_GATHERV] = BIT(HIER_FLAGS),
    [INTER_SCATTERV] = BIT(HIER_FLAGS),
    [INTER_ALLGATHERV] = BIT(HIER_FLAGS),
    [INTER_ALLTOALLW] = BIT(HIER_FLAGS),
    [INTER_REDUCE_SCATTER] = BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_REDUCE_SCATTER_BLOCK] = BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_SCAN] = BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_EXSCAN] = BIT(HIER_INLINE) | BIT(HIER_SLICES),
};

#define KIB(number) ((size_t)(number) << 10)

/*
 * The built-in rules, those of a collective together; the first that fits wins, and the last fits all. Two processes were
 * measured; the limits for more are where the prediction (weft-bench --simulate) changes its winner on a fast network.
 */
const hier_rule hier_rules[] = {
    {INTER_BARRIER, INT_MAX, SIZE_MAX, "DISS", HIER_FLAGS},

    {INTER_BCAST, 4, INTRA_INLINE_BYTES, "nbFT", HIER_INLINE},
    {INTER_BCAST, INT_MAX, INTRA_INLINE_BYTES, "MST", HIER_INLINE},
    {INTER_BCAST, 2, SIZE_MAX, "nbFT", HIER_FLAGS},
    {INTER_BCAST, INT_MAX, KIB(128), "MST", HIER_FLAGS},
    {INTER_BCAST, 64, SIZE_MAX, "CHAIN:64K", HIER_FLAGS},
    {INTER_BCAST, INT_MAX, SIZE_MAX, "SAG", HIER_FLAGS},

    {INTER_SCATTER, 8, SIZE_MAX, "nbFT", HIER_FLAGS},
    {INTER_SCATTER, INT_MAX, SIZE_MAX, "MST", HIER_FLAGS},
    {INTER_SCATTERV, INT_MAX, SIZE_MAX, "nbFT", HIER_FLAGS},
    {INTER_GATHER, 8, SIZE_MAX, "nb1FT", HIER_FLAGS},
    {INTER_GATHER, INT_MAX, SIZE_MAX, "MST", HIER_FLAGS},
    {INTER_GATHERV, INT_MAX, SIZE_MAX, "nb1FT", HIER_FLAGS}, /* no round of counts, as in scatterv */

    {INTER_ALLGATHER, 8, SIZE_MAX, "nbFT", HIER_FLAGS},
    {INTER_ALLGATHER, INT_MAX, KIB(1), "BRUCK", HIER_FLAGS},
    {INTER_ALLGATHER, INT_MAX, SIZE_MAX, "nbBKT", HIER_FLAGS},
    {INTER_ALLGATHERV, 8, SIZE_MAX, "nbFT", HIER_FLAGS},
    {INTER_ALLGATHERV, INT_MAX, KIB(1), "BRUCK", HIER_FLAGS},
    {INTER_ALLGATHERV, INT_MAX, SIZE_MAX, "nbBKT", HIER_FLAGS},

    {INTER_ALLTOALL, 8, SIZE_MAX, "nb1FT", HIER_FLAGS},
    {INTER_ALLTOALL, INT_MAX, 256, "BRUCK", HIER_FLAGS},
    {INTER_ALLTOALL, INT_MAX, KIB(32), "nb1FT", HIER_FLAGS},
    {INTER_ALLTOALL, INT_MAX, SIZE_MAX, "PAIR", HIER_FLAGS},
    {INTER_ALLTOALLV, INT_MAX, SIZE_MAX, "nb1FT", HIER_FLAGS},
    {INTER_ALLTOALLW, INT_MAX, SIZE_MAX, "nb1FT", HIER_FLAGS},

    {INTER_REDUCE, INT_MAX, INTRA_INLINE_BYTES, "MST", HIER_INLINE},
    {INTER_REDUCE, 2, KIB(2048), "MST", HIER_SLICES},
    {INTER_REDUCE, 2, SIZE_MAX, "MST:256K", HIER_SLICES},
    {INTER_REDUCE, INT_MAX, KIB(8), "MST", HIER_SLICES},
    {INTER_REDUCE, INT_MAX, KIB(2048), "RAB", HIER_SLICES},
    {INTER_REDUCE, INT_MAX, SIZE_MAX, "RAB:1M", HIER_SLICES},

    {INTER_ALLREDUCE, 1, 256, "nbBDE", HIER_INLINE},
    {INTER_ALLREDUCE, 1, SIZE_MAX, "nbBDE", HIER_SLICES},
    {INTER_ALLREDUCE, INT_MAX, INTRA_INLINE_BYTES, "nbBDE", HIER_INLINE},
    {INTER_ALLREDUCE, 2, KIB(2048), "nbBDE", HIER_SLICES},
    {INTER_ALLREDUCE, 2, SIZE_MAX, "nbBDE:256K", HIER_SLICES},
    {INTER_ALLREDUCE, INT_MAX, KIB(8), "nbBDE", HIER_SLICES},
    {INTER_ALLREDUCE, INT_MAX, KIB(2048), "RAB", HIER_SLICES},
    {INTER_ALLREDUCE, INT_MAX, SIZE_MAX, "RAB:1M", HIER_SLICES},

    {INTER_REDUCE_SCATTER, INT_MAX, INTRA_INLINE_BYTES, "nbBDE", HIER_INLINE},
    {INTER_REDUCE_SCATTER, INT_MAX, INTRA_INLINE_BYTES, "MSTReduce+MSTScatterv", HIER_INLINE},
    {INTER_REDUCE_SCATTER, INT_MAX, KIB(2048), "nbBDE", HIER_SLICES},
    {INTER_REDUCE_SCATTER, INT_MAX, SIZE_MAX, "nbBKT", HIER_SLICES},
    {INTER_REDUCE_SCATTER, INT_MAX, SIZE_MAX, "MSTReduce+MSTScatterv", HIER_SLICES},
    {INTER_REDUCE_SCATTER_BLOCK, INT_MAX, INTRA_INLINE_BYTES, "nbBDE", HIER_INLINE},
    {INTER_REDUCE_SCATTER_BLOCK, INT_MAX, INTRA_INLINE_BYTES, "MSTReduce+MSTScatterv", HIER_INLINE},
    {INTER_REDUCE_SCATTER_BLOCK, INT_MAX, KIB(2048), "nbBDE", HIER_SLICES},
    {INTER_REDUCE_SCATTER_BLOCK, INT_MAX, SIZE_MAX, "nbBKT", HIER_SLICES},
    {INTER_REDUCE_SCATTER_BLOCK, INT_MAX, SIZE_MAX, "MSTReduce+MSTScatterv", HIER_SLICES},

    {INTER_SCAN, INT_MAX, INTRA_INLINE_BYTES, "BDE", HIER_INLINE},
    {INTER_SCAN, INT_MAX, SIZE_MAX, "BDE", HIER_SLICES},
    {INTER_EXSCAN, INT_MAX, INTRA_INLINE_BYTES, "BDE", HIER_INLINE},
    {INTER_EXSCAN, INT_MAX, SIZE_MAX, "BDE", HIER_SLICES},
};

#define RULES (sizeof(hier_rules) / sizeof(hier_rules[0]))
_Static_assert(RULES <= HIER_MAX_RULES, "the selector has room for every rule");

hier_choice hier_select_fixed(const hier_selector *selector, enum inter_collective collective, hier_choice choice,
                              size_t bytes, bool commutative) {
    const hier_override *fixed = &selector->overrides[collective];
    if (fixed->has_thread && (fixed->thread != HIER_INLINE || bytes <= INTRA_INLINE_BYTES))
        choice.thread = fixed->thread;
    if (fixed->has_process && (commutative || !fixed->process.commutes))
        choice.process = &fixed->process;
    return choice;
}

bool hier_thread_algorithm_exists(enum inter_collective collective, enum hier_thread_algorithm algorithm) {
    return thread_algorithms[collective] & BIT(algorithm);
}

const char *hier_thread_algorithm_name(enum hier_thread_algorithm algorithm) {
    return thread_names[algorithm];
}

static int find_collective(const char *name) {
    for (int collective = 0; collective < INTER_COLLECTIVES; collective++)
        if (strcmp(name, inter_collective_name((enum inter_collective)collective)) == 0)
            return collective;
    return -1;
}

static int parse_thread(hier_selector *selector, enum inter_collective collective, const char *name) {
    for (int i = 0; i < HIER_THREAD_ALGORITHMS; i++) {
        enum hier_thread_algorithm algorithm = (enum hier_thread_algorithm)i;
        if (strcmp(name, thread_names[i]) == 0 && hier_thread_algorithm_exists(collective, algorithm)) {
            selector->overrides[collective].has_thread = true;
            selector->overrides[collective].thread = algorithm;
            return WEFT_SUCCESS;
        }
    }
    return core_error(WEFT_ERR_CONFIG,
                      "WEFT_ALGORITHM: %s has no thread-level algorithm \"%s\" (see weft-info --algorithms)",
                      inter_collective_name(collective), name);
}

static int parse_rule(hier_selector *selector, char *text) {
    char *equals = strchr(text, '=');
    if (!equals)
        return core_error(WEFT_ERR_CONFIG, "WEFT_ALGORITHM: \"%s\" is not of the form collective=PROCESS/thread", text);
    *equals = 0;
    int collective = find_collective(text);
    if (collective < 0)
        return core_error(WEFT_ERR_CONFIG, "WEFT_ALGORITHM: there is no collective \"%s\"", text);
    char *process = equals + 1, *slash = strchr(process, '/');
    if (slash)
        *slash = 0;
    if (*process) {
        hier_override *fixed = &selector->overrides[collective];
        if (!inter_algorithm_find((enum inter_collective)collective, process, &fixed->process))
            return core_error(WEFT_ERR_CONFIG,
                              "WEFT_ALGORITHM: %s has no process-level algorithm \"%s\" (see weft-info --algorithms)",
                              text, process);
        fixed->has_process = true;
    }
    return slash ? parse_thread(selector, (enum inter_collective)collective, slash + 1) : WEFT_SUCCESS;
}

int hier_selector_init(hier_selector *selector, const char *text) {
    char copy[CORE_ALGORITHM_BYTES], *rest = NULL;
    memset(selector, 0, sizeof(*selector));
    for (size_t i = RULES; i-- > 0;) {
        if (!inter_algorithm_find(hier_rules[i].collective, hier_rules[i].process, &selector->process[i]))
            return core_error(WEFT_ERR_CONFIG, "the built-in rules name an algorithm %s of %s that does not exist",
                              hier_rules[i].process, inter_collective_name(hier_rules[i].collective));
        selector->rules[hier_rules[i].collective] = &hier_rules[i];
    }
    if (strlen(text) >= sizeof(copy))
        return core_error(WEFT_ERR_CONFIG, "WEFT_ALGORITHM is longer than %zu bytes", sizeof(copy) - 1);
    memcpy(copy, text, strlen(text) + 1);
    for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        int code = parse_rule(selector, item);
        if (code)
            return code;
        selector->overridden = true;
    }
    return WEFT_SUCCESS;
}
