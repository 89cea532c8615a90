// SPDX-License-Identifier: BSD-3-Clause
/**
 * The command line of weft-bench and of the peers' programs.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "report.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_MOST_SIZES 256

typedef struct bench_options {
    enum bench_operation operation;
    unsigned modes; /* 1 << mode of each that is measured, at least one; their samples take turns */
    bool overlap;   /* of the modes that are not blocking */
    int tests;      /* of overlap; 0: by the time */
    bool process_level;
    enum bench_pairs pairs; /* of messages */
    bool check;
    bool touch; /* each rank writes what it gives before each call, and reads what it got after it */
    bool help;
    enum bench_format format;
    size_t repeats; /* samples a row; 0: as many as fit */
    int threads;    /* of limits */
    size_t sizes[BENCH_MOST_SIZES];
    int size_count;
} bench_options;

/**
 * Reads "8", "64K", "8..4M" (doubling from the first to the last) or a list of these with commas. Returns how many
 * sizes there are, or -1 when the text is no such thing, a size is 0, or there are more than BENCH_MOST_SIZES.
 */
int bench_parse_sizes(const char *text, size_t *sizes);

/**
 * Reads the command line. `peer`: the program measures an MPI, and has neither limits nor levels: process_level is set.
 * Returns 0, or -1 after a message on stderr. With --help, `help` is set and the rest may be missing.
 */
int bench_parse(int argc, char **argv, bool peer, bench_options *options);

/** Prints what --help prints (help.c). */
void bench_print_help(const char *program, bool peer);

#ifdef __cplusplus
}
#endif
#endif
