// SPDX-License-Identifier: BSD-3-Clause
/* Options, sizes with suffixes and ranges, and the help text. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "limits"};

/* The lines as they are printed. */
/* clang-format off */
static const char help_text[] =
    "  --bytes SIZES        what one rank contributes: 8, 64K, 8..4M (doubling), or a list\n"
    "                       with commas; suffixes K, M, G; default 8..4M. A row shows what was\n"
    "                       really contributed.\n"
    "                       bcast: the message\n"
    "                       reduce, allreduce: the vector; doubles, summed, rounded up to whole ones\n"
    "                       allgather: the block that a rank gives\n"
    "                       alltoall: a rank's whole send buffer, one block for each rank, rounded\n"
    "                       up to whole bytes a block\n"
    "  --format table|json  json: one object a line\n"
    "  --check              before a row is timed, verify every byte of the results of its size, of\n"
    "                       one element less and of one more, with other data and another root in\n"
    "                       each call (barrier: that nobody leaves before all came); a mismatch ends\n"
    "                       the run with status 1\n"
    "  --repeats R          samples a row; default: what fits into 0.3 s, 10 to 1000\n"
    "  --help\n"
    "\n"
    "A sample is a batch of calls that lasts at least 20 us and that all ranks start together; its\n"
    "value is the time of the slowest rank, divided by the calls. min, median and p99 are taken over\n"
    "the samples. In bcast and reduce a barrier follows each call, in weft and in the peers alike:\n"
    "otherwise the ranks that only send would run ahead.\n";
/* clang-format on */

/* clang-format off */
static const char limits_text[] =
    "\n"
    "Threads are bound to a core each where the process may use that many cores.\n"
    "\n"
    "limits: what the machine and hand-written loops reach: limit:flag_latency (one way, one cache\n"
    "line), limit:memcpy1 and limit:memcpyall (one thread, all threads; from 4K on), floor:barrier\n"
    "(two flags) and floor:allreduce (two threads, each adds half of the vector for both; to 1K also\n"
    "with the values beside the flags, and the faster of the two counts).\n";
/* clang-format on */

void bench_print_help(const char *program, bool peer) {
    printf("usage: %s barrier|bcast|reduce|allreduce|allgather|alltoall [OPTION ...]\n", program);
    if (peer)
        printf("\n");
    else
        printf("       %s limits [--threads T] [--bytes SIZES] [--format table|json] [--repeats R]\n\n"
               "Run it under a launcher: weftrun -n PROCESSES -t THREADS %s allreduce. Threads come from OpenMP.\n\n"
               "  --level LEVEL        thread (default): every thread is a rank; process: every process is one\n",
               program, program);
    fputs(help_text, stdout);
    if (!peer)
        fputs(limits_text, stdout);
}

const char *bench_operation_name(enum bench_operation operation) {
    return names[operation];
}

/* A number above 0 and its suffix, from *text, which is moved behind it. Returns -1 for anything else. */
static int parse_size(const char **text, size_t *bytes) {
    static const char suffixes[] = "KMG";
    char *end;
    const char *suffix;
    unsigned long long number;
    if (!isdigit((unsigned char)**text))
        return -1;
    errno = 0;
    number = strtoull(*text, &end, 10);
    if (errno || number == 0)
        return -1;
    suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    if (suffix) {
        int shift = 10 * (int)(suffix - suffixes + 1);
        if (number > SIZE_MAX >> shift)
            return -1;
        number <<= shift;
        end++;
    }
    *text = end;
    *bytes = (size_t)number;
    return 0;
}

int bench_parse_sizes(const char *text, size_t *sizes) {
    int count = 0;
    for (;;) {
        size_t first, last;
        if (parse_size(&text, &first))
            return -1;
        last = first;
        if (strncmp(text, "..", 2) == 0) {
            text += 2;
            if (parse_size(&text, &last) || last < first)
                return -1;
        }
        for (size_t bytes = first;; bytes *= 2) {
            if (count == BENCH_MOST_SIZES)
                return -1;
            sizes[count++] = bytes;
            if (bytes > last / 2)
                break;
        }
        if (*text == '\0')
            return count;
        if (*text++ != ',')
            return -1;
    }
}

static int wrong(const char *program, const char *what, const char *value) {
    fprintf(stderr, "%s: %s%s%s (--help shows the usage)\n", program, what, value ? ": " : "", value ? value : "");
    return -1;
}

static int parse_count(const char *text, long most, long *value) {
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return errno || end == text || *end || *value < 1 || *value > most ? -1 : 0;
}

static int parse_option(const char *program, int letter, const char *value, bench_options *options) {
    long number;
    switch (letter) {
    case 'l':
        options->process_level = strcmp(value, "process") == 0;
        return options->process_level || strcmp(value, "thread") == 0
                   ? 0
                   : wrong(program, "--level takes thread or process", value);
    case 'b':
        options->size_count = bench_parse_sizes(value, options->sizes);
        return options->size_count > 0 ? 0 : wrong(program, "--bytes takes sizes as in 8, 64K or 8..4M", value);
    case 'f':
        options->format = strcmp(value, "json") == 0 ? BENCH_JSON : BENCH_TABLE;
        return options->format == BENCH_JSON || strcmp(value, "table") == 0
                   ? 0
                   : wrong(program, "--format takes table or json", value);
    case 'c':
        options->check = true;
        return 0;
    case 'r':
        if (parse_count(value, 1000000, &number))
            return wrong(program, "--repeats takes a number from 1 to 1000000", value);
        options->repeats = (size_t)number;
        return 0;
    case 't':
        if (parse_count(value, 1024, &number) || number < 2)
            return wrong(program, "--threads takes a number from 2 to 1024", value);
        options->threads = (int)number;
        return 0;
    case 'h':
        options->help = true;
        return 0;
    default:
        return wrong(program, "unknown option, or one without its value", NULL);
    }
}

static int parse_operation(const char *program, const char *name, bool peer, bench_options *options) {
    int count = peer ? BENCH_LIMITS : BENCH_LIMITS + 1;
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0) {
            options->operation = (enum bench_operation)i;
            return 0;
        }
    return wrong(program, "unknown operation", name);
}

int bench_parse(int argc, char **argv, bool peer, bench_options *options) {
    static const struct option all[] = {{"bytes", 1, 0, 'b'},   {"format", 1, 0, 'f'}, {"check", 0, 0, 'c'},
                                        {"repeats", 1, 0, 'r'}, {"help", 0, 0, 'h'},   {"level", 1, 0, 'l'},
                                        {"threads", 1, 0, 't'}, {0, 0, 0, 0}};
    static const struct option of_peer[] = {{"bytes", 1, 0, 'b'},   {"format", 1, 0, 'f'}, {"check", 0, 0, 'c'},
                                            {"repeats", 1, 0, 'r'}, {"help", 0, 0, 'h'},   {0, 0, 0, 0}};
    bool level = false;
    int letter;
    *options = (bench_options){0};
    while ((letter = getopt_long(argc, argv, "", peer ? of_peer : all, NULL)) != -1) {
        if (parse_option(argv[0], letter, optarg, options))
            return -1;
        level |= letter == 'l';
    }
    if (options->help)
        return 0;
    if (argc - optind != 1)
        return wrong(argv[0], "name one operation", NULL);
    if (parse_operation(argv[0], argv[optind], peer, options))
        return -1;
    if (options->operation == BENCH_LIMITS && (level || options->check))
        return wrong(argv[0], "limits has neither --level nor --check", NULL);
    if (options->operation != BENCH_LIMITS && options->threads)
        return wrong(argv[0], "--threads is for limits; elsewhere the launcher sets the threads", NULL);
    if (options->threads == 0)
        options->threads = 2;
    if (options->size_count == 0)
        options->size_count = bench_parse_sizes("8..4M", options->sizes);
    return 0;
}
