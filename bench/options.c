// SPDX-License-Identifier: BSD-3-Clause
/* Sizes with suffixes and ranges, options, and which of them go together. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* One of two words. Returns whether it was one; *second: the second. */
static bool parse_word(const char *value, const char *first_word, const char *second_word, bool *second) {
    *second = strcmp(value, second_word) == 0;
    return *second || strcmp(value, first_word) == 0;
}

static int parse_number(const char *program, int letter, const char *value, bench_options *options) {
    long number;
    switch (letter) {
    case 'r':
        if (parse_count(value, 1000000, &number))
            return wrong(program, "--repeats takes a number from 1 to 1000000", value);
        options->repeats = (size_t)number;
        return 0;
    case 'e':
        if (parse_count(value, 1000000, &number))
            return wrong(program, "--tests takes a number from 1 to 1000000", value);
        options->tests = (int)number;
        return 0;
    default:
        if (parse_count(value, 1024, &number) || number < 2)
            return wrong(program, "--threads takes a number from 2 to 1024", value);
        options->threads = (int)number;
        return 0;
    }
}

static int parse_option(const char *program, int letter, const char *value, bench_options *options) {
    bool second;
    switch (letter) {
    case 'l':
        if (!parse_word(value, "thread", "process", &options->process_level))
            return wrong(program, "--level takes thread or process", value);
        return 0;
    case 'p':
        if (!parse_word(value, "same-node", "other-node", &second))
            return wrong(program, "--pair takes same-node or other-node", value);
        options->pairs = second ? BENCH_OTHER_NODE : BENCH_SAME_NODE;
        return 0;
    case 'b':
        options->size_count = bench_parse_sizes(value, options->sizes);
        return options->size_count > 0 ? 0 : wrong(program, "--bytes takes sizes as in 8, 64K or 8..4M", value);
    case 'f':
        if (!parse_word(value, "table", "json", &second))
            return wrong(program, "--format takes table or json", value);
        options->format = second ? BENCH_JSON : BENCH_TABLE;
        return 0;
    case 'c':
        options->check = true;
        return 0;
    case 'm' + BENCH_BLOCKING: /* m, n, o */
    case 'm' + BENCH_NONBLOCKING:
    case 'm' + BENCH_PERSISTENT:
        options->modes |= 1u << (letter - 'm');
        return 0;
    case 'w':
        options->touch = true;
        return 0;
    case 'v':
        options->overlap = true;
        return 0;
    case 'r':
    case 'e':
    case 't':
        return parse_number(program, letter, value, options);
    case 'h':
        options->help = true;
        return 0;
    default:
        return wrong(program, "unknown option, or one without its value", NULL);
    }
}

static const struct option long_options[] = {{"bytes", 1, 0, 'b'},
                                             {"format", 1, 0, 'f'},
                                             {"check", 0, 0, 'c'},
                                             {"touch", 0, 0, 'w'},
                                             {"repeats", 1, 0, 'r'},
                                             {"blocking", 0, 0, 'm' + BENCH_BLOCKING},
                                             {"nonblocking", 0, 0, 'm' + BENCH_NONBLOCKING},
                                             {"persistent", 0, 0, 'm' + BENCH_PERSISTENT},
                                             {"overlap", 0, 0, 'v'},
                                             {"tests", 1, 0, 'e'},
                                             {"help", 0, 0, 'h'},
                                             {0, 0, 0, 0}};

static const struct option long_options_of_weft[] = {{"level", 1, 0, 'l'}, {"pair", 1, 0, 'p'}, {"threads", 1, 0, 't'}};

/* What a peer has, and for weft-bench more; behind them the end. */
static void fill_long_options(bool peer, struct option *options) {
    const size_t more = peer ? 0 : sizeof long_options_of_weft / sizeof *long_options_of_weft;
    memcpy(options, long_options_of_weft, more * sizeof *options);
    memcpy(options + more, long_options, sizeof long_options);
}

static int check_messages(const char *program, const bench_options *options) {
    if (!bench_has(options->operation, BENCH_PAIRS))
        return options->pairs ? wrong(program, "--pair is for messages", NULL) : 0;
    if (options->modes || options->overlap || options->touch)
        return wrong(program, "--blocking, --nonblocking, --persistent, --overlap and --touch are for collectives",
                     NULL);
    if (options->process_level && options->pairs == BENCH_SAME_NODE)
        return wrong(program, "at process level a node has one rank: --pair same-node is for threads", NULL);
    return 0;
}

static int check_together(const char *program, bool level, const bench_options *options) {
    bool limits = options->operation == BENCH_LIMITS;
    if (limits && (level || options->pairs || options->check || options->modes || options->overlap))
        return wrong(program, "limits has only --threads, --bytes, --touch, --format and --repeats", NULL);
    if (!limits && options->threads)
        return wrong(program, "--threads is for limits; elsewhere the launcher sets the threads", NULL);
    if (options->overlap && options->modes & 1u << BENCH_BLOCKING)
        return wrong(program,
                     "--overlap compares with the blocking call by itself; it goes with --nonblocking and "
                     "--persistent",
                     NULL);
    if (options->overlap && options->touch)
        return wrong(program, "--touch does not go with --overlap", NULL);
    if (options->tests && !options->overlap && options->operation != BENCH_OVERLAP)
        return wrong(program, "--tests is for overlap and --overlap", NULL);
    return check_messages(program, options);
}

static int parse_operation(const char *program, const char *name, bool peer, bench_options *options) {
    int operation = bench_operation_of(name);
    if (operation < 0 || (peer && operation == BENCH_LIMITS))
        return wrong(program, "unknown operation", name);
    options->operation = (enum bench_operation)operation;
    return 0;
}

int bench_parse(int argc, char **argv, bool peer, bench_options *options) {
    struct option known[(sizeof long_options + sizeof long_options_of_weft) / sizeof *long_options];
    bool level = false;
    int letter;
    *options = (bench_options){.process_level = peer};
    fill_long_options(peer, known);
    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (parse_option(argv[0], letter, optarg, options))
            return -1;
        level |= letter == 'l';
    }
    if (options->help)
        return 0;
    if (argc - optind != 1)
        return wrong(argv[0], "name one operation", NULL);
    if (parse_operation(argv[0], argv[optind], peer, options) || check_together(argv[0], level, options))
        return -1;
    if (options->modes == 0)
        options->modes = 1u << (options->overlap ? BENCH_NONBLOCKING : BENCH_BLOCKING);
    if (options->threads == 0)
        options->threads = 2;
    if (options->size_count == 0)
        options->size_count =
            bench_parse_sizes(options->operation == BENCH_MESSAGE_RATE ? "8..1K" : "8..4M", options->sizes);
    return 0;
}
