// SPDX-License-Identifier: BSD-3-Clause
/* The selector's table. */
#include "rules_show.h"

#include <limits.h>
#include <weft/weft.h>

/* "64K"; "any" without a limit. */
static const char *bytes_text(size_t bytes, char text[32]) {
    bool mega = bytes && bytes % (1 << 20) == 0, kilo = bytes && bytes % (1 << 10) == 0;
    if (bytes == SIZE_MAX)
        return "any";
    snprintf(text, 32, "%zu%s", bytes >> (mega ? 20 : kilo ? 10 : 0), mega ? "M" : kilo ? "K" : "");
    return text;
}

static const char *number_text(int number, char text[32]) {
    if (number == INT_MAX)
        return "any";
    snprintf(text, 32, "%d", number);
    return text;
}

void rules_print_head(void) {
    printf("%-20s %7s %7s %7s  %-30s %s\n", "collective", "nodes", "threads", "bytes", "algorithms", "from");
}

void rules_print_rule(const hier_selector *selector, const hier_rule *rule, const char *note) {
    static const char *const origins[] = {
        [HIER_MODEL] = "model", [HIER_HOST] = "host",   [HIER_CROWD] = "crowd",        [HIER_CROWDS] = "crowds",
        [HIER_CORES] = "cores", [HIER_READS] = "reads", [HIER_STRUCTURE] = "structure"};
    char nodes[32], threads[32], bytes[32], pair[INTER_NAME_BYTES + 16];
    snprintf(pair, sizeof(pair), "%s/%s", hier_rule_algorithm(selector, rule)->name,
             hier_thread_algorithm_name(rule->thread));
    printf("%-20s %7s %7s %7s  %-30s %-*s%s\n", inter_collective_name(rule->collective),
           number_text(rule->max_nodes, nodes), number_text(rule->max_threads, threads),
           bytes_text(rule->max_bytes, bytes), pair, *note ? 11 : 0, origins[rule->origin], note);
}

int rules_show(void) {
    static hier_selector selector;
    int code = hier_selector_init(&selector, "");
    if (code)
        return code;
    rules_print_head();
    for (size_t i = 0; i < selector.count; i++) {
        bool commutes = selector.process[i].commutes;
        rules_print_rule(&selector, &selector.table[i], commutes ? "operations that commute" : "");
    }
    printf("A row serves up to so many nodes (processes), threads a node, and bytes that one rank contributes; the "
           "first one\n"
           "that fits wins. WEFT_ALGORITHM has the last word. --why explains a choice.\n");
    return WEFT_SUCCESS;
}
