// SPDX-License-Identifier: BSD-3-Clause
#include <core/config.h>
#include <core/error.h>
#include <hier/select.h>
#include <intra/team.h>
#include <stdio.h>
#include <string.h>

static const char *const thread_names[HIER_THREAD_ALGORITHMS] = {
    [HIER_COUNTER] = "counter", [HIER_DIRECT] = "direct", [HIER_FLAGS] = "flags",
    [HIER_INLINE] = "inline",   [HIER_SLICES] = "slices", [HIER_TREE] = "tree"};

#define BIT(algorithm) (1u << (algorithm))

static const unsigned thread_algorithms[INTER_COLLECTIVES] = {
    [INTER_BARRIER] = BIT(HIER_COUNTER) | BIT(HIER_FLAGS) | BIT(HIER_TREE),
    [INTER_BCAST] = BIT(HIER_COUNTER) | BIT(HIER_FLAGS) | BIT(HIER_INLINE) | BIT(HIER_SLICES) | BIT(HIER_TREE),
    [INTER_REDUCE] = BIT(HIER_COUNTER) | BIT(HIER_FLAGS) | BIT(HIER_INLINE) | BIT(HIER_SLICES) | BIT(HIER_TREE),
    [INTER_ALLREDUCE] = BIT(HIER_COUNTER) | BIT(HIER_FLAGS) | BIT(HIER_INLINE) | BIT(HIER_SLICES) | BIT(HIER_TREE),
    [INTER_GATHER] = BIT(HIER_DIRECT) | BIT(HIER_FLAGS) | BIT(HIER_INLINE),
    [INTER_SCATTER] = BIT(HIER_DIRECT) | BIT(HIER_FLAGS) | BIT(HIER_INLINE),
    [INTER_ALLGATHER] = BIT(HIER_DIRECT) | BIT(HIER_FLAGS) | BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_ALLTOALL] = BIT(HIER_DIRECT) | BIT(HIER_FLAGS) | BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_ALLTOALLV] = BIT(HIER_DIRECT) | BIT(HIER_FLAGS),
    [INTER_GATHERV] = BIT(HIER_DIRECT) | BIT(HIER_FLAGS),
    [INTER_SCATTERV] = BIT(HIER_DIRECT) | BIT(HIER_FLAGS),
    [INTER_ALLGATHERV] = BIT(HIER_DIRECT) | BIT(HIER_FLAGS) | BIT(HIER_SLICES), /* on one node alike */
    [INTER_ALLTOALLW] = BIT(HIER_DIRECT) | BIT(HIER_FLAGS),
    [INTER_REDUCE_SCATTER] = BIT(HIER_FLAGS) | BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_REDUCE_SCATTER_BLOCK] = BIT(HIER_FLAGS) | BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_SCAN] = BIT(HIER_FLAGS) | BIT(HIER_INLINE) | BIT(HIER_SLICES),
    [INTER_EXSCAN] = BIT(HIER_FLAGS) | BIT(HIER_INLINE) | BIT(HIER_SLICES),
};

bool hier_process_override_serves(const hier_override *fixed, hier_key key) {
    return fixed->has_process && (key.commutative || !fixed->process.commutes) &&
           (!key.bracketed || fixed->process.bracketed);
}

bool hier_fits_inline(hier_key key) {
    if (key.bytes > INTRA_INLINE_BYTES)
        return false;
    /* All blocks come together on the tray, which is at least so large. */
    return key.collective != INTER_ALLGATHER || key.nodes == 1 ||
           key.bytes * (size_t)key.nodes <= INTRA_TRAY_BYTES / (size_t)key.threads;
}

bool hier_thread_override_serves(const hier_override *fixed, hier_key key) {
    bool brackets = fixed->thread == HIER_INLINE || fixed->thread == HIER_SLICES;
    return fixed->has_thread && (!key.bracketed || brackets) &&
           (fixed->thread != HIER_INLINE || hier_fits_inline(key)) && (fixed->thread != HIER_DIRECT || key.reads);
}

hier_choice hier_select_fixed(const hier_selector *selector, hier_key key, hier_choice choice) {
    const hier_override *fixed = &selector->overrides[key.collective];
    if (hier_thread_override_serves(fixed, key))
        choice.thread = fixed->thread;
    if (!hier_process_override_serves(fixed, key))
        return choice;
    if (choice.thread == HIER_DIRECT &&
        !hier_thread_override_serves(fixed, key)) { /* whoever names it has it carry the data */
        key.reads = false;
        choice = hier_select_unfixed(selector, key);
    }
    choice.process = &fixed->process;
    return choice;
}

bool hier_thread_algorithm_exists(enum inter_collective collective, enum hier_thread_algorithm algorithm) {
    return thread_algorithms[collective] & BIT(algorithm);
}

const char *hier_thread_algorithm_name(enum hier_thread_algorithm algorithm) {
    return thread_names[algorithm];
}

bool hier_selects(const hier_selector *selector, enum hier_thread_algorithm algorithm) {
    for (size_t row = 0; row < selector->count; row++)
        if (selector->table[row].thread == algorithm)
            return true;
    for (int collective = 0; selector->overridden && collective < INTER_COLLECTIVES; collective++)
        if (selector->overrides[collective].has_thread && selector->overrides[collective].thread == algorithm)
            return true;
    return false;
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
                      "WEFT_ALGORITHM: %s has no thread-level algorithm \"%.200s\" (see weft-info --algorithms)",
                      inter_collective_name(collective), name);
}

static int parse_rule(hier_selector *selector, char *text) {
    char *equals = strchr(text, '=');
    if (!equals)
        return core_error(WEFT_ERR_CONFIG, "WEFT_ALGORITHM: \"%.200s\" is not of the form collective=PROCESS/thread",
                          text);
    *equals = 0;
    int collective = find_collective(text);
    if (collective < 0)
        return core_error(WEFT_ERR_CONFIG, "WEFT_ALGORITHM: there is no collective \"%.200s\"", text);
    char *process = equals + 1, *slash = strchr(process, '/');
    if (slash)
        *slash = 0;
    if (*process) {
        hier_override *fixed = &selector->overrides[collective];
        if (!inter_algorithm_find((enum inter_collective)collective, process, &fixed->process))
            return core_error(
                WEFT_ERR_CONFIG,
                "WEFT_ALGORITHM: %s has no process-level algorithm \"%.200s\" (see weft-info --algorithms)", text,
                process);
        fixed->has_process = true;
    }
    return slash ? parse_thread(selector, (enum inter_collective)collective, slash + 1) : WEFT_SUCCESS;
}

/* The row's algorithm with the row's segment size: named as WEFT_ALGORITHM would, "CHAIN:64K". */
static bool find_algorithm(const hier_rule *rule, inter_algorithm *algorithm) {
    char name[2 * INTER_NAME_BYTES];
    size_t bytes = rule->segment_bytes;
    if (strchr(rule->process, ':') || !inter_algorithm_find(rule->collective, rule->process, algorithm))
        return false;
    if (bytes == 0 && algorithm->segment_bytes == 0)
        return true;
    bool mega = bytes && bytes % (1 << 20) == 0, kilo = bytes && bytes % (1 << 10) == 0;
    snprintf(name, sizeof(name), "%s:%zu%s", rule->process,
             bytes >> (mega   ? 20
                       : kilo ? 10
                              : 0),
             mega   ? "M"
             : kilo ? "K"
                    : "");
    return inter_algorithm_find(rule->collective, name, algorithm);
}

static int take_table(hier_selector *selector, const hier_rule *table, size_t count) {
    if (count > HIER_MAX_RULES)
        return core_error(WEFT_ERR_CONFIG, "there are %zu rules, at most %d are expected", count, HIER_MAX_RULES);
    selector->table = table;
    selector->count = count;
    for (size_t i = count; i-- > 0;) {
        if (!find_algorithm(&table[i], &selector->process[i]))
            return core_error(WEFT_ERR_CONFIG, "rule %zu names an algorithm %s of %s that does not exist", i,
                              table[i].process, inter_collective_name(table[i].collective));
        selector->rules[table[i].collective] = &table[i];
        if (selector->process[i].bracketed)
            selector->bracketed[table[i].collective] = &table[i];
    }
    return WEFT_SUCCESS;
}

int hier_selector_init(hier_selector *selector, const char *text) {
    char copy[CORE_ALGORITHM_BYTES], *rest = NULL;
    memset(selector, 0, sizeof(*selector));
    int code = take_table(selector, hier_rules, hier_rules_count);
    if (code)
        return code;
    if (strlen(text) >= sizeof(copy))
        return core_error(WEFT_ERR_CONFIG, "WEFT_ALGORITHM is longer than %zu bytes", sizeof(copy) - 1);
    memcpy(copy, text, strlen(text) + 1);
    for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        code = parse_rule(selector, item);
        if (code)
            return code;
        selector->overridden = true;
    }
    return WEFT_SUCCESS;
}
