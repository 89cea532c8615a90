// SPDX-License-Identifier: BSD-3-Clause
/* weft-bench --simulate: the command line, the runs and the table. */
#include "simulate.h"

#include "options.h"
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What is followed of one algorithm, at one size and at all together: a million messages take about a second and up to 100 MB.
 * Where one node can stand for all, its messages alone are followed, but the schedules of all ranks may have to be compared
 * before, which is not counted: up to a second at each size.
 */
#define MOST_MESSAGES        ((size_t)10 * 1000 * 1000)
#define MOST_MESSAGES_IN_ALL (4 * MOST_MESSAGES)
#define DEFAULT_SIZES        "8,64,512,4K,32K,256K,2M,16M"

typedef struct bench_simulation {
    bench_machine machine;
    enum inter_collective collective;
    bool json, help;
    size_t sizes[BENCH_MOST_SIZES];
    int size_count;
    inter_algorithm algorithms[BENCH_MOST_CANDIDATES];
    size_t messages_run[BENCH_MOST_CANDIDATES];
    size_t too_large[BENCH_MOST_CANDIDATES]; /* from so many bytes on; 0: no such size is known */
    int algorithm_count;
} bench_simulation;

/* What one algorithm takes at one size; infinite when that is not known. */
typedef struct result {
    double seconds;
    inter_prediction process;
} result;

static int wrong(const char *what, const char *value) {
    fprintf(stderr, "weft-bench --simulate: %s%s%s (--simulate --help shows the usage)\n", what, value ? ": " : "",
            value ? value : "");
    return 2;
}

static void print_help(void) {
    printf("usage: weft-bench --simulate MACHINE COLLECTIVE [--bytes SIZES] [--format table|json]\n\n"
           "Predicts what each algorithm would take on a machine that is not at hand; needs no launcher. MACHINE is\n"
           "a list such as nodes=1024,threads=16,latency=1us,bandwidth=12.5GB/s of\n\n");
    bench_print_machine_keys();
    printf("\nin which the second column is what counts when it is not given. At most %d processes.\n"
           "COLLECTIVE is one of\n\n ",
           BENCH_MOST_PROCESSES);
    for (int c = 0; c < INTER_COLLECTIVES; c++)
        printf("%s %s", c == INTER_REDUCE ? "\n " : "", inter_collective_name((enum inter_collective)c));
    printf("\n\n  --bytes SIZES        what one rank contributes, as without --simulate; default " DEFAULT_SIZES "\n"
           "  --format table|json  json: one object a line\n"
           "\n"
           "The schedules of all processes run under the LogGP model: a message of n bytes takes L + 2o + n/bandwidth\n"
           "when nothing is in its way, the CPU is busy for o at each end, and a link carries one message at a time.\n"
           "With threads, the phases before and after are added: flags (intra_latency), reductions in which each\n"
           "thread combines its share of all operands, and copies; they do not overlap with the schedule here.\n"
           "Algorithms that have too many messages to follow, %zu a run, are left out (-).\n",
           MOST_MESSAGES);
}

static int parse_collective(const char *name, bench_simulation *simulation) {
    for (int c = 0; c < INTER_COLLECTIVES; c++)
        if (strcmp(name, inter_collective_name((enum inter_collective)c)) == 0) {
            simulation->collective = (enum inter_collective)c;
            return 0;
        }
    return wrong("unknown collective", name);
}

static int parse_option(int letter, const char *value, bench_simulation *simulation) {
    char message[256];
    switch (letter) {
    case 's':
        if (strcmp(value, "--help") == 0)
            simulation->help = true;
        else if (bench_parse_machine(value, &simulation->machine, message, sizeof message))
            return wrong(message, NULL);
        return 0;
    case 'b':
        simulation->size_count = bench_parse_sizes(value, simulation->sizes);
        return simulation->size_count < 0 ? wrong("--bytes takes sizes such as 8, 64K, 8..4M", value) : 0;
    case 'f':
        simulation->json = strcmp(value, "json") == 0;
        return simulation->json || strcmp(value, "table") == 0 ? 0 : wrong("--format is table or json", value);
    case 'h':
        simulation->help = true;
        return 0;
    default:
        return wrong("unknown option, or one without its value", NULL);
    }
}

/* What all ranks have together is counted in a size_t. */
static int check_sizes(const bench_simulation *simulation) {
    const bench_machine *machine = &simulation->machine;
    const size_t ranks = (size_t)machine->nodes * (size_t)machine->costs.processes * (size_t)machine->threads;
    const size_t most = SIZE_MAX / 8 / (inter_is(simulation->collective, INTER_VECTORS) ? 1 : ranks);
    char message[96];
    for (int s = 0; s < simulation->size_count; s++)
        if (simulation->sizes[s] > most) {
            snprintf(message, sizeof message, "%zu bytes are too many, at most %zu here", simulation->sizes[s], most);
            return wrong(message, NULL);
        }
    return 0;
}

static int parse(int argc, char **argv, bench_simulation *simulation) {
    static const struct option all[] = {
        {"simulate", 1, 0, 's'}, {"bytes", 1, 0, 'b'}, {"format", 1, 0, 'f'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
    int letter, code = 0;
    while (!code && !simulation->help && (letter = getopt_long(argc, argv, "", all, NULL)) != -1)
        code = parse_option(letter, optarg, simulation);
    if (code || simulation->help)
        return code;
    if (!simulation->machine.nodes)
        return wrong("--simulate takes a machine", NULL);
    if (argc - optind != 1)
        return wrong("name one collective", NULL);
    if (!simulation->size_count)
        simulation->size_count = bench_parse_sizes(DEFAULT_SIZES, simulation->sizes);
    if (strcmp(argv[optind], inter_collective_name(INTER_BARRIER)) == 0)
        simulation->size_count = 1;
    return parse_collective(argv[optind], simulation) ? 2 : check_sizes(simulation);
}

static result predict(bench_simulation *simulation, int index, const inter_view *view, size_t bytes) {
    size_t *run = &simulation->messages_run[index], *too_large = &simulation->too_large[index];
    size_t left = MOST_MESSAGES_IN_ALL - *run, most = left < MOST_MESSAGES ? left : MOST_MESSAGES;
    const inter_algorithm *algorithm = &simulation->algorithms[index];
    result made = {.seconds = INFINITY};
    if (*too_large && bytes >= *too_large)
        return made;
    enum inter_predicted code = inter_predict(&simulation->machine.costs, algorithm, view, most, &made.process);
    if (code == INTER_PREDICT_TOO_LARGE) {
        *too_large = bytes + (bytes == 0);
        return made;
    }
    if (code != INTER_PREDICTED) {
        fprintf(stderr, "weft-bench --simulate: %s %s, %zu bytes: %s\n", inter_collective_name(simulation->collective),
                algorithm->name, bytes,
                code == INTER_PREDICT_NO_MEMORY ? "no memory" : "its messages do not match: a bug");
        exit(EXIT_FAILURE);
    }
    *run += made.process.messages_run;
    made.seconds =
        made.process.seconds + bench_thread_phases(&simulation->machine, simulation->collective, (double)bytes);
    return made;
}

static int width(const bench_simulation *simulation, int index) {
    int letters = (int)strlen(simulation->algorithms[index].name);
    return letters > 11 ? letters + 1 : 12;
}

static void print_head(const bench_simulation *simulation) {
    const bench_machine *machine = &simulation->machine;
    if (simulation->json)
        return;
    printf("# %s predicted: %d nodes x %d processes x %d threads, times in us\n# %8s",
           inter_collective_name(simulation->collective), machine->nodes, machine->costs.processes, machine->threads,
           "bytes");
    for (int i = 0; i < simulation->algorithm_count; i++)
        printf("%*s", width(simulation, i), simulation->algorithms[i].name);
    if (machine->threads > 1)
        printf("%12s", "(threads)");
    printf("  best\n");
}

static void print_row(const bench_simulation *simulation, size_t bytes, const result *results, int best) {
    printf("%10zu", bytes);
    for (int i = 0; i < simulation->algorithm_count; i++)
        if (isinf(results[i].seconds))
            printf("%*s", width(simulation, i), "-");
        else
            printf(results[i].seconds < 1 ? "%*.2f" : "%*.4g", width(simulation, i), 1e6 * results[i].seconds);
    if (simulation->machine.threads > 1)
        printf("%12.2f", 1e6 * bench_thread_phases(&simulation->machine, simulation->collective, (double)bytes));
    printf("  %s\n", best < 0 ? "-" : simulation->algorithms[best].name);
}

static void print_objects(const bench_simulation *simulation, size_t bytes, const result *results, int best) {
    const bench_machine *machine = &simulation->machine;
    for (int i = 0; i < simulation->algorithm_count; i++) {
        const inter_prediction *process = &results[i].process;
        printf("{\"simulated\": \"%s\", \"nodes\": %d, \"processes\": %d, \"threads\": %d, \"bytes\": %zu, "
               "\"algorithm\": \"%s\", ",
               inter_collective_name(simulation->collective), machine->nodes, machine->costs.processes,
               machine->threads, bytes, simulation->algorithms[i].name);
        if (isinf(results[i].seconds))
            printf("\"us\": null, \"reason\": \"too many messages\"}\n");
        else
            printf("\"us\": %.4f, \"threads_us\": %.4f, \"messages_between\": %.0f, \"messages_within\": %.0f, "
                   "\"bytes_between\": %.0f, \"bytes_within\": %.0f, \"best\": %s}\n",
                   1e6 * results[i].seconds, 1e6 * (results[i].seconds - process->seconds), process->messages_between,
                   process->messages_within, process->bytes_between, process->bytes_within,
                   i == best ? "true" : "false");
    }
}

static void predict_row(bench_simulation *simulation, size_t bytes) {
    result results[BENCH_MOST_CANDIDATES];
    int best = -1;
    inter_view view = bench_process_view(&simulation->machine, simulation->collective, &bytes);
    for (int i = 0; i < simulation->algorithm_count; i++) {
        results[i] = predict(simulation, i, &view, bytes);
        if (!isinf(results[i].seconds) && (best < 0 || results[i].seconds < results[best].seconds))
            best = i;
    }
    if (simulation->json)
        print_objects(simulation, bytes, results, best);
    else
        print_row(simulation, bytes, results, best);
    fflush(stdout);
}

int bench_simulate(int argc, char **argv) {
    bench_simulation simulation = {.size_count = 0};
    int code = parse(argc, argv, &simulation);
    if (code)
        return code;
    if (simulation.help) {
        print_help();
        return 0;
    }
    simulation.algorithm_count = bench_candidates(simulation.collective, simulation.algorithms);
    print_head(&simulation);
    for (int s = 0; s < simulation.size_count; s++)
        predict_row(&simulation, simulation.sizes[s]);
    for (int i = 0; i < simulation.algorithm_count && !simulation.json; i++)
        if (simulation.too_large[i])
            printf("# %s: - where there are too many messages to follow, see --simulate --help\n",
                   simulation.algorithms[i].name);
    return 0;
}
