// SPDX-License-Identifier: BSD-3-Clause
/* --why: what the model says of the candidates. */
#include "rules_show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A prediction takes half a second for so many messages. */
#define MOST_MESSAGES   ((size_t)1000 * 1000)
/* The names, and what the rules have besides. */
#define MOST_CANDIDATES (BENCH_MOST_CANDIDATES + HIER_MAX_RULES)

typedef struct candidate {
    inter_algorithm algorithm;
    double seconds; /* infinite: too many messages to follow */
} candidate;

static void add_candidate(candidate *list, int *count, const inter_algorithm *algorithm) {
    for (int i = 0; i < *count; i++)
        if (strcmp(list[i].algorithm.name, algorithm->name) == 0)
            return;
    list[(*count)++].algorithm = *algorithm;
}

/* Those of --simulate, those of the collective's rules, and what was chosen: each once. */
static int list_candidates(const hier_selector *selector, const hier_key *key, const inter_algorithm *chosen,
                           candidate *list) {
    inter_algorithm common[BENCH_MOST_CANDIDATES];
    int count = 0, commons = bench_candidates(key->collective, common);
    add_candidate(list, &count, chosen);
    for (int i = 0; i < commons; i++)
        add_candidate(list, &count, &common[i]);
    for (size_t i = 0; i < selector->count; i++)
        if (selector->table[i].collective == key->collective)
            add_candidate(list, &count, &selector->process[i]);
    return count;
}

static int by_time(const void *left, const void *right) {
    double a = ((const candidate *)left)->seconds, b = ((const candidate *)right)->seconds;
    return (a > b) - (a < b);
}

static int predict(const rules_question *asked, candidate *list, int count) {
    size_t bytes = asked->bytes;
    inter_view view = bench_process_view(&asked->machine, asked->key.collective, &bytes);
    for (int i = 0; i < count; i++) {
        inter_prediction made;
        enum inter_predicted code =
            inter_predict(&asked->machine.costs, &list[i].algorithm, &view, MOST_MESSAGES, &made);
        if (code != INTER_PREDICTED && code != INTER_PREDICT_TOO_LARGE) {
            fprintf(stderr, "weft-info: %s %s: %s\n", inter_collective_name(view.collective), list[i].algorithm.name,
                    code == INTER_PREDICT_NO_MEMORY ? "no memory" : "its messages do not match: a bug");
            return EXIT_FAILURE;
        }
        list[i].seconds = code == INTER_PREDICTED ? made.seconds : INFINITY;
    }
    qsort(list, (size_t)count, sizeof(*list), by_time);
    return EXIT_SUCCESS;
}

int rules_predict(const rules_question *asked, const hier_selector *selector, const inter_algorithm *chosen) {
    static candidate list[MOST_CANDIDATES];
    if (asked->key.nodes == 1) {
        printf("\nOne node: there is nothing between processes to predict.\n");
        return EXIT_SUCCESS;
    }
    int count = list_candidates(selector, &asked->key, chosen, list), code = predict(asked, list, count);
    printf("\nPredicted between processes, on a machine of %s:\n",
           asked->machine_text ? asked->machine_text : "latency=1us,bandwidth=12.5GB/s (see --machine)");
    for (int i = 0; i < count && !code; i++) {
        printf("  %-24s ", list[i].algorithm.name);
        if (isinf(list[i].seconds))
            printf("  too many messages to follow");
        else
            printf("%12.2f us", 1e6 * list[i].seconds);
        printf("%s%s%s\n", strcmp(list[i].algorithm.name, chosen->name) == 0 ? "  chosen" : "",
               !asked->key.commutative && list[i].algorithm.commutes ? "  loses the order of the ranks" : "",
               asked->key.bracketed && !list[i].algorithm.bracketed ? "  has brackets of its own" : "");
    }
    return code;
}
