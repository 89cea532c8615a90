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
};

/* The built-in rules, those of a collective together; the first that fits wins. Every rule keeps rank order. */
const hier_rule hier_rules[] = {
    {INTER_BARRIER, INT_MAX, SIZE_MAX, "DISS", HIER_FLAGS},
    {INTER_BCAST, 4, INTRA_INLINE_BYTES, "nbFT", HIER_INLINE},
    {INTER_BCAST, INT_MAX, INTRA_INLINE_BYTES, "MST", HIER_INLINE},
    {INTER_BCAST, INT_MAX, SIZE_MAX, "MST", HIER_FLAGS},
    {INTER_REDUCE, INT_MAX, INTRA_INLINE_BYTES, "MST", HIER_INLINE},
    {INTER_REDUCE, INT_MAX, SIZE_MAX, "MST", HIER_SLICES},
    {INTER_ALLREDUCE, 1, 256, "nbBDE", HIER_INLINE},
    {INTER_ALLREDUCE, 1, SIZE_MAX, "nbBDE", HIER_SLICES},
    {INTER_ALLREDUCE, INT_MAX, INTRA_INLINE_BYTES, "nbBDE", HIER_INLINE},
    {INTER_ALLREDUCE, INT_MAX, SIZE_MAX, "nbBDE", HIER_SLICES},
    {INTER_GATHER, INT_MAX, SIZE_MAX, "MST", HIER_FLAGS},
    {INTER_SCATTER, INT_MAX, SIZE_MAX, "MST", HIER_FLAGS},
    {INTER_ALLGATHER, INT_MAX, SIZE_MAX, "nbBKT", HIER_FLAGS},
    {INTER_ALLTOALL, INT_MAX, SIZE_MAX, "nb1FT", HIER_FLAGS},
    {INTER_ALLTOALLV, INT_MAX, SIZE_MAX, "nb1FT", HIER_FLAGS},
};

#define RULES (sizeof(hier_rules) / sizeof(hier_rules[0]))
_Static_assert(RULES <= HIER_MAX_RULES, "the selector has room for every rule");

hier_choice hier_select_fixed(const hier_selector *selector, enum inter_collective collective, hier_choice choice,
                              size_t bytes, bool commutative) {
    const hier_override *fixed = &selector->overrides[collective];
    if (fixed->has_thread && (fixed->thread != HIER_INLINE || bytes <= INTRA_INLINE_BYTES))
        choice.thread = fixed->thread;
    if (fixed->process && (commutative || fixed->process->keeps_order))
        choice.process = fixed->process;
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
        const inter_algorithm *algorithm = inter_algorithm_find((enum inter_collective)collective, process);
        if (!algorithm)
            return core_error(WEFT_ERR_CONFIG,
                              "WEFT_ALGORITHM: %s has no process-level algorithm \"%s\" (see weft-info --algorithms)",
                              text, process);
        selector->overrides[collective].process = algorithm;
    }
    return slash ? parse_thread(selector, (enum inter_collective)collective, slash + 1) : WEFT_SUCCESS;
}

int hier_selector_init(hier_selector *selector, const char *text) {
    char copy[CORE_ALGORITHM_BYTES], *rest = NULL;
    memset(selector, 0, sizeof(*selector));
    for (size_t i = RULES; i-- > 0;) {
        selector->process[i] = inter_algorithm_find(hier_rules[i].collective, hier_rules[i].process);
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
