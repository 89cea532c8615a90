// SPDX-License-Identifier: BSD-3-Clause
/* A machine from its description, and what the threads of its processes do. */
#include "simulate.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum unit { COUNT, SECONDS, BYTES_A_SECOND };

/* A field of bench_machine: an int for a COUNT, else a double in seconds, or seconds a byte. */
static const struct key {
    const char *name;
    enum unit unit;
    size_t field;
    const char *otherwise, *meaning;
} keys[] = {
    {"nodes", COUNT, offsetof(bench_machine, nodes), "2", "machines"},
    {"processes", COUNT, offsetof(bench_machine, costs.processes), "1", "of a node, placed node by node"},
    {"threads", COUNT, offsetof(bench_machine, threads), "1", "of a process; each is a rank"},
    {"latency", SECONDS, offsetof(bench_machine, costs.between.latency), "1us", "between nodes, on the way (L)"},
    {"overhead", SECONDS, offsetof(bench_machine, costs.between.overhead), "200ns", "of the CPU, at each end (o)"},
    {"gap", SECONDS, offsetof(bench_machine, costs.between.gap), "100ns", "from message to message, at least (g)"},
    {"bandwidth", BYTES_A_SECOND, offsetof(bench_machine, costs.between.byte), "12.5GB/s", "of a process's link (1/G)"},
    {"intra_latency", SECONDS, offsetof(bench_machine, costs.within.latency), "200ns", "the same inside a node"},
    {"intra_overhead", SECONDS, offsetof(bench_machine, costs.within.overhead), "100ns", ""},
    {"intra_gap", SECONDS, offsetof(bench_machine, costs.within.gap), "50ns", ""},
    {"intra_bandwidth", BYTES_A_SECOND, offsetof(bench_machine, costs.within.byte), "10GB/s", ""},
    {"reduce", BYTES_A_SECOND, offsetof(bench_machine, costs.reduce_byte), "10GB/s", "operands combined by a thread"},
    {"copy", BYTES_A_SECOND, offsetof(bench_machine, costs.copy_byte), "10GB/s", "copied by a thread"},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

static const struct suffix {
    const char *name;
    enum unit unit;
    double factor;
} suffixes[] = {
    {"s", SECONDS, 1},
    {"ms", SECONDS, 1e-3},
    {"us", SECONDS, 1e-6},
    {"ns", SECONDS, 1e-9},
    {"B/s", BYTES_A_SECOND, 1},
    {"KB/s", BYTES_A_SECOND, 1e3},
    {"MB/s", BYTES_A_SECOND, 1e6},
    {"GB/s", BYTES_A_SECOND, 1e9},
    {"TB/s", BYTES_A_SECOND, 1e12},
    {"bit/s", BYTES_A_SECOND, 1.0 / 8},
    {"Kbit/s", BYTES_A_SECOND, 1e3 / 8},
    {"Mbit/s", BYTES_A_SECOND, 1e6 / 8},
    {"Gbit/s", BYTES_A_SECOND, 1e9 / 8},
    {"Tbit/s", BYTES_A_SECOND, 1e12 / 8},
};
enum { SUFFIXES = sizeof(suffixes) / sizeof(suffixes[0]) };

static const char *expected(enum unit unit) {
    static const char *const sentences[] = {
        [COUNT] = "a number from 1 to 65536",
        [SECONDS] = "a time such as 1.5us, in s, ms, us or ns",
        [BYTES_A_SECOND] = "a bandwidth above 0 such as 12.5GB/s, in B/s or bit/s, with K, M, G or T before it",
    };
    return sentences[unit];
}

static bool parse_count(const char *text, int *count) {
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < 1 || number > BENCH_MOST_PROCESSES)
        return false;
    *count = (int)number;
    return true;
}

/* In s or B/s. No blanks, signs, infinities or hexadecimals. */
static bool parse_quantity(const char *text, enum unit unit, double *quantity) {
    char *end;
    size_t digits = strspn(text, "0123456789.");
    if (!digits || *text == '.')
        return false;
    double number = strtod(text, &end);
    if (end != text + digits)
        return false;
    for (int i = 0; i < SUFFIXES; i++)
        if (suffixes[i].unit == unit && strcmp(end, suffixes[i].name) == 0) {
            *quantity = number * suffixes[i].factor;
            return isfinite(*quantity);
        }
    return false;
}

static bool set(bench_machine *machine, const struct key *key, const char *value) {
    void *field = (char *)machine + key->field;
    double quantity;
    if (key->unit == COUNT)
        return parse_count(value, field);
    if (!parse_quantity(value, key->unit, &quantity))
        return false;
    if (key->unit == BYTES_A_SECOND && !(quantity > 0 && isfinite(1 / quantity)))
        return false;
    *(double *)field = key->unit == SECONDS ? quantity : 1 / quantity;
    return true;
}

static const struct key *find(const char *name) {
    for (int k = 0; k < KEYS; k++)
        if (strcmp(keys[k].name, name) == 0)
            return &keys[k];
    return NULL;
}

/* One "key=value"; `given` has a bit for each key that has been there. */
static int set_one(bench_machine *machine, char *word, unsigned *given, char *message, size_t message_bytes) {
    char *value = strchr(word, '=');
    if (value)
        *value++ = '\0';
    const struct key *key = find(word);
    if (!key)
        snprintf(message, message_bytes, "a machine has no \"%s\"", word);
    else if (!value)
        snprintf(message, message_bytes, "%s has no value; expected %s=%s", word, word, key->otherwise);
    else if (*given >> (key - keys) & 1)
        snprintf(message, message_bytes, "%s is there twice", word);
    else if (!set(machine, key, value))
        snprintf(message, message_bytes, "%s is \"%s\"; expected %s", word, value, expected(key->unit));
    else {
        *given |= 1u << (key - keys);
        return 0;
    }
    return -1;
}

int bench_parse_machine(const char *text, bench_machine *machine, char *message, size_t message_bytes) {
    char *copy = strdup(text), *rest = copy, *word;
    unsigned given = 0;
    int code = copy ? 0 : -1;
    if (!copy)
        snprintf(message, message_bytes, "no memory");
    *machine = (bench_machine){0};
    for (int k = 0; k < KEYS; k++)
        set(machine, &keys[k], keys[k].otherwise);
    while (!code && (word = strsep(&rest, ",")))
        code = set_one(machine, word, &given, message, message_bytes);
    if (!code && (long)machine->nodes * machine->costs.processes > BENCH_MOST_PROCESSES) {
        snprintf(message, message_bytes, "%d nodes of %d processes are more than %d processes", machine->nodes,
                 machine->costs.processes, BENCH_MOST_PROCESSES);
        code = -1;
    }
    free(copy);
    return code;
}

void bench_print_machine_keys(void) {
    for (int k = 0; k < KEYS; k++)
        printf("  %-16s %-10s %s\n", keys[k].name, keys[k].otherwise, keys[k].meaning);
}

double bench_thread_phases(const bench_machine *machine, enum inter_collective collective, double bytes) {
    double flag = machine->costs.within.latency, copy = bytes * machine->costs.copy_byte;
    double reduce = bytes * machine->costs.reduce_byte;
    double ranks = (double)machine->nodes * machine->costs.processes * machine->threads;
    if (machine->threads == 1)
        return 0;
    if (inter_is(collective, INTER_REDUCTIONS)) {
        double phases = 3 * flag + reduce * (machine->threads - 1) / machine->threads;
        if (inter_is(collective, INTER_SCANS))
            return phases + reduce;
        if (inter_is(collective, INTER_REDUCE_SCATTERS))
            return phases + copy / ranks;
        return collective == INTER_ALLREDUCE ? phases + copy : phases;
    }
    if (collective == INTER_BARRIER)
        return 2 * flag;
    if (inter_is(collective, INTER_ALLGATHERS))
        return 2 * flag + copy + ranks * copy;
    return 2 * flag + (inter_is(collective, INTER_ALLTOALLS) ? 2 * copy : copy);
}

inter_view bench_process_view(const bench_machine *machine, enum inter_collective collective, size_t *bytes) {
    size_t threads = (size_t)machine->threads, ranks, block;
    inter_view view = {.collective = collective, .size = machine->nodes * machine->costs.processes};
    ranks = (size_t)view.size * threads;
    view.element_bytes = inter_is(collective, INTER_REDUCTIONS) ? sizeof(double) : 1;
    size_t elements = *bytes / view.element_bytes + (*bytes % view.element_bytes > 0);
    block = elements / ranks + (elements % ranks > 0);
    if (collective == INTER_BARRIER)
        elements = 0;
    else if (inter_is(collective, INTER_VECTORS))
        view.count = elements;
    else if (inter_is(collective, INTER_ALLTOALLS | INTER_REDUCE_SCATTERS)) {
        view.count = block * threads * (inter_is(collective, INTER_ALLTOALLS) ? threads : 1);
        elements = block * ranks;
    } else
        view.count = elements * threads;
    *bytes = elements * view.element_bytes;
    return view;
}

int bench_candidates(enum inter_collective collective, inter_algorithm candidates[BENCH_MOST_CANDIDATES]) {
    static const char *const segmented[] = {"MST:64K", "nbBDE:64K", "RAB:1M", "BDE:64K"};
    inter_algorithm *next = candidates;
    inter_algorithm *end = next + BENCH_MOST_CANDIDATES - sizeof(segmented) / sizeof(segmented[0]);
    int names = inter_algorithm_names(collective);
    for (int i = 0; i < names && next < end && inter_algorithm_at(collective, i, next); i++)
        next += !next->bracketed;
    for (size_t s = 0; s < sizeof(segmented) / sizeof(segmented[0]); s++)
        if (inter_is(collective, INTER_VECTORS) && inter_algorithm_find(collective, segmented[s], next))
            next++;
    return (int)(next - candidates);
}
