// SPDX-License-Identifier: BSD-3-Clause
/* --why: each rule that is looked at, what WEFT_ALGORITHM does to the choice, and what the model says of the candidates. */
#include "rules_show.h"

#include <core/config.h>
#include <core/error.h>
#include <errno.h>
#include <getopt.h>
#include <intra/team.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <weft/team.h>

enum { WHY = 1, BYTES, NODES, THREADS, CROWDED, NONCOMMUTATIVE, REPRODUCIBLE, MACHINE };
static const struct option options[] = {{"why", 1, 0, WHY},
                                        {"bytes", 1, 0, BYTES},
                                        {"nodes", 1, 0, NODES},
                                        {"threads", 1, 0, THREADS},
                                        {"crowded", 0, 0, CROWDED},
                                        {"noncommutative", 0, 0, NONCOMMUTATIVE},
                                        {"reproducible", 0, 0, REPRODUCIBLE},
                                        {"machine", 1, 0, MACHINE},
                                        {0, 0, 0, 0}};

/* Collectives whose counts only some ranks know. */
#define UNKNOWN_BYTES                                                                                                  \
    (INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV) | INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW))

__attribute__((format(printf, 1, 2))) static int wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("weft-info: --why: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs(" (--help shows the usage)\n", stderr);
    va_end(arguments);
    return 2;
}

bool rules_why_asked(int argc, char **argv) {
    for (int a = 1; a < argc; a++)
        if (strcmp(argv[a], "--why") == 0 || strncmp(argv[a], "--why=", 6) == 0)
            return true;
    return false;
}

void rules_why_help(FILE *file) {
    fprintf(
        file,
        "\nOr explains a choice of algorithms:\n\n"
        "  --why COLLECTIVE   which rules were looked at, what was chosen, and what the model predicts\n"
        "    --bytes B        that one rank contributes in all, as in 64K (alltoall: all of its blocks); default 8\n"
        "    --nodes N        processes; default 2\n"
        "    --threads T      of a node; default 1\n"
        "    --crowded        the nodes' host has fewer cores than they have threads\n"
        "    --noncommutative the operation must keep the order of the ranks\n"
        "    --reproducible   a sum of floating-point numbers under WEFT_REPRODUCIBLE=1\n"
        "    --machine TEXT   what predictions are for, as in latency=5us,bandwidth=1GB/s,processes=4 (here:\n"
        "                     so many nodes share a host, and rules differ where all do); weft-bench --simulate\n"
        "                     --help lists what there is\n");
}

/* "64K" */
static int parse_bytes(const char *text, size_t *bytes) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (*text < '0' || *text > '9' || errno || end[shift ? 1 : 0] || number > (1ull << 40) >> shift)
        return wrong("--bytes is \"%s\"; expected a number up to 1024G such as 8, 64K or 4M", text);
    *bytes = (size_t)number << shift;
    return 0;
}

static int parse_number(const char *name, const char *text, int most, int *number) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < 1 || value > most)
        return wrong("--%s is \"%s\"; expected a number from 1 to %d", name, text, most);
    *number = (int)value;
    return 0;
}

static int parse_collective(const char *name, enum inter_collective *collective) {
    for (int c = 0; c < INTER_COLLECTIVES; c++)
        if (strcmp(name, inter_collective_name((enum inter_collective)c)) == 0) {
            *collective = (enum inter_collective)c;
            return 0;
        }
    return wrong("there is no collective \"%s\"", name);
}

static int parse_option(int letter, const char *value, rules_question *asked) {
    switch (letter) {
    case WHY:
        return parse_collective(value, &asked->key.collective);
    case BYTES:
        return parse_bytes(value, &asked->bytes);
    case NODES:
        return parse_number("nodes", value, BENCH_MOST_PROCESSES, &asked->key.nodes);
    case THREADS:
        return parse_number("threads", value, WEFT_MAX_TEAM_THREADS, &asked->key.threads);
    case CROWDED:
        asked->key.crowded = true;
        return 0;
    case NONCOMMUTATIVE:
        asked->key.commutative = false;
        return 0;
    case REPRODUCIBLE:
        asked->key.bracketed = true;
        return 0;
    case MACHINE:
        asked->machine_text = value;
        return 0;
    default:
        return wrong("wrong option, or one without its value");
    }
}

/* The machine on which the nodes of the question are. */
static int make_machine(rules_question *asked) {
    char message[256];
    const char *text = asked->machine_text ? asked->machine_text : "nodes=1";
    if (bench_parse_machine(text, &asked->machine, message, sizeof message))
        return wrong("--machine: %s", message);
    if (asked->machine_text && (strstr(text, "nodes=") || strstr(text, "threads=")))
        return wrong("--machine has nodes or threads, for which there are --nodes and --threads");
    int processes = asked->machine.costs.processes;
    if (asked->key.nodes % processes)
        return wrong("%d nodes cannot share hosts with %d on each", asked->key.nodes, processes);
    asked->machine.nodes = asked->key.nodes / processes;
    asked->machine.threads = asked->key.threads;
    asked->key.one_host = asked->machine.nodes == 1;
    asked->key.reads = asked->key.one_host && asked->key.nodes > 1;
    return 0;
}

static int parse(int argc, char **argv, rules_question *asked) {
    int letter, code = 0;
    opterr = 0;
    while (!code && (letter = getopt_long(argc, argv, "", options, NULL)) != -1)
        code = parse_option(letter, optarg, asked);
    if (code)
        return code;
    if (optind < argc)
        return wrong("unexpected argument '%s'", argv[optind]);
    if (!asked->key.commutative && !inter_is(asked->key.collective, INTER_REDUCTIONS))
        return wrong("--noncommutative is for reductions");
    if (asked->key.bracketed && !inter_is(asked->key.collective, INTER_REDUCTIONS))
        return wrong("--reproducible is for reductions");
    if (asked->key.collective == INTER_BARRIER)
        asked->bytes = 0;
    if (asked->bytes > (size_t)PTRDIFF_MAX / (size_t)asked->key.nodes / (size_t)asked->key.threads)
        return wrong("all ranks together have more bytes than addresses can tell apart");
    asked->key.bytes = inter_is(asked->key.collective, UNKNOWN_BYTES) ? 0 : asked->bytes;
    return make_machine(asked);
}

static void print_question(const rules_question *asked) {
    const hier_key *key = &asked->key;
    printf("%s of %zu bytes a rank, %d node%s%s of %d thread%s", inter_collective_name(key->collective), asked->bytes,
           key->nodes, key->nodes == 1 ? "" : "s", key->nodes > 1 && key->one_host ? " of one host" : "", key->threads,
           key->threads == 1 ? "" : "s");
    if (key->crowded)
        printf(" on fewer cores");
    if (inter_is(key->collective, INTER_REDUCTIONS))
        printf(", an operation that %s%s", key->commutative ? "commutes" : "keeps the order of the ranks",
               key->bracketed ? ", in the fixed bracketing" : "");
    printf("\n%s\n", inter_is(key->collective, UNKNOWN_BYTES)
                         ? "(bytes: not known to all ranks, so no rule asks for them)\n"
                         : "");
}

static const char *reason(const hier_rule *rule, enum hier_miss miss, const hier_key *key, char text[96]) {
    switch (miss) {
    case HIER_FITS:
        return "fits";
    case HIER_MISS_NODES:
        snprintf(text, 96, "no: %d nodes, at most %d", key->nodes, rule->max_nodes);
        return text;
    case HIER_MISS_THREADS:
        snprintf(text, 96, "no: %d threads a node, at most %d", key->threads, rule->max_threads);
        return text;
    case HIER_MISS_BYTES:
        snprintf(text, 96, "no: %zu bytes, at most %zu", key->bytes, rule->max_bytes);
        return text;
    case HIER_MISS_HOSTS:
        return "no: for nodes of one host";
    case HIER_MISS_CROWD:
        return "no: for threads that share cores";
    case HIER_MISS_CORES:
        return "no: for threads with a core each";
    case HIER_MISS_READS:
        return "no: for nodes of one host that may read each other's memory";
    case HIER_MISS_ORDER:
        return "no: loses the order of the ranks";
    case HIER_MISS_BRACKETS:
        break;
    }
    return "no: has brackets of its own";
}

static void print_rules(const hier_selector *selector, const hier_key *key) {
    const hier_rule *chosen = hier_select_rule(selector, *key), *end = selector->table + selector->count;
    char text[96];
    rules_print_head();
    for (const hier_rule *rule = selector->rules[key->collective]; rule < end && rule->collective == key->collective;
         rule++)
        rules_print_rule(selector, rule,
                         rule > chosen ? "not looked at"
                                       : reason(rule, hier_rule_misses(selector, rule, *key), key, text));
}

/* What WEFT_ALGORITHM fixed, and whether it serves. */
static void print_override(const hier_selector *selector, const hier_key *key) {
    const hier_override *fixed = &selector->overrides[key->collective];
    if (!fixed->has_process && !fixed->has_thread)
        printf("WEFT_ALGORITHM says nothing of %s\n", inter_collective_name(key->collective));
    const char *brackets = " gives way: it has brackets of its own";
    if (fixed->has_process)
        printf("WEFT_ALGORITHM: %s%s\n", fixed->process.name,
               hier_process_override_serves(fixed, *key)     ? ""
               : key->bracketed && !fixed->process.bracketed ? brackets
                                                             : " gives way: it loses the order of the ranks");
    if (fixed->has_thread)
        printf("WEFT_ALGORITHM: /%s%s\n", hier_thread_algorithm_name(fixed->thread),
               hier_thread_override_serves(fixed, *key)         ? ""
               : key->bracketed && fixed->thread != HIER_INLINE ? brackets
               : fixed->thread == HIER_DIRECT                   ? " gives way: no other process's memory can be read"
               : key->bytes > INTRA_INLINE_BYTES                ? " gives way: more bytes than a cell has room for"
                                                                : " gives way: more blocks than there is room for");
}

/* What is read directly needs to know where, which alltoallv brings; and where no process has several threads they go together in nothing. */
static void print_remarks(const hier_selector *selector, const hier_key *key, hier_choice choice) {
    const bool alone =
        key->nodes > 1 && key->threads == 1 && !key->bracketed &&
        !inter_is(key->collective, INTER_BIT(INTER_BARRIER) | INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV));
    if (alone) {
        printf("(nodes of one thread: the processes' messages alone, by %s)\n", choice.process->name);
    } else if (key->collective == INTER_ALLTOALL && !inter_is(INTER_ALLTOALLV, choice.process->collectives)) {
        printf("(on thread communicators by the rules of alltoallv: %s moves equal blocks only)\n",
               choice.process->name);
    } else if (choice.thread == HIER_DIRECT && !inter_is(INTER_ALLTOALLV, choice.process->collectives)) {
        hier_key where = *key;
        where.collective = INTER_ALLTOALLV;
        where.bytes = 0;
        printf("(%s only where the blocks are not read: who reads them learns where they lie by %s)\n",
               choice.process->name, hier_select_unfixed(selector, where).process->name);
    }
    if (choice.process->needs_counts && inter_is(key->collective, UNKNOWN_BYTES))
        printf("(on thread communicators by the rules: %s needs all counts)\n", choice.process->name);
}

static hier_choice print_choice(const hier_selector *selector, const hier_key *key) {
    hier_choice choice = hier_select(selector, *key);
    printf("\n");
    print_override(selector, key);
    printf("chosen: %s/%s\n", choice.process->name, hier_thread_algorithm_name(choice.thread));
    print_remarks(selector, key, choice);
    return choice;
}

int rules_why(int argc, char **argv) {
    static hier_selector selector;
    core_config config;
    rules_question asked = {.key = {.nodes = 2, .threads = 1, .commutative = true}, .bytes = 8};
    int code = parse(argc, argv, &asked);
    if (code)
        return code;
    if (core_config_load(&config, NULL) || hier_selector_init(&selector, config.algorithm)) {
        fprintf(stderr, "weft-info: %s\n", weft_last_error());
        return EXIT_FAILURE;
    }
    asked.key.reads &= config.lines != 0; /* it is the lines that tell whose memory can be read */
    print_question(&asked);
    print_rules(&selector, &asked.key);
    hier_choice choice = print_choice(&selector, &asked.key);
    return rules_predict(&asked, &selector, choice.process);
}
