// SPDX-License-Identifier: BSD-3-Clause
/**
 * Configuration: one table defines every WEFT_ variable (name, default, range, meaning); core_config holds the values
 * in force. Order of precedence: environment variable, field of weft_options, default.
 */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H

#include <stdio.h>
#include <weft/init.h>

enum core_bootstrap_choice { CORE_BOOTSTRAP_AUTO, CORE_BOOTSTRAP_PMIX, CORE_BOOTSTRAP_SINGLE };

/** The longest WEFT_ALGORITHM that is accepted, with its final 0. */
#define CORE_ALGORITHM_BYTES 1024
/** The longest path that is, likewise. */
#define CORE_PATH_BYTES      1024

/** The rows of the table. A new variable is a name here, a field below, and a row in config.c. */
enum core_variable {
    CORE_VARIABLE_THREAD_LEVEL,
    CORE_VARIABLE_WAIT,
    CORE_VARIABLE_BIND,
    CORE_VARIABLE_THREADS,
    CORE_VARIABLE_SLOTS,
    CORE_VARIABLE_BOOTSTRAP,
    CORE_VARIABLE_LINES,
    CORE_VARIABLE_PROGRESS,
    CORE_VARIABLE_EAGER_LIMIT,
    CORE_VARIABLE_UNEXPECTED_LIMIT,
    CORE_VARIABLE_HANG_TIMEOUT,
    CORE_VARIABLE_HANG_REPORT,
    CORE_VARIABLE_ALGORITHM,
    CORE_VARIABLE_REPRODUCIBLE,
    CORE_VARIABLE_COUNTERS,
    CORE_VARIABLE_TRACE,
    CORE_VARIABLES
};

enum core_origin { CORE_ORIGIN_DEFAULT, CORE_ORIGIN_OPTION, CORE_ORIGIN_ENVIRONMENT };

typedef struct core_config {
    weft_thread_level thread_level;       /* WEFT_THREAD_LEVEL: funneled, serialized, multiple */
    weft_wait_policy wait_policy;         /* WEFT_WAIT: auto, spin, yield, block */
    weft_bind_policy bind;                /* WEFT_BIND: none, core */
    int threads;                          /* WEFT_THREADS: default team size; 0: one a core */
    int slots;                            /* WEFT_SLOTS: operations a team may have under way */
    enum core_bootstrap_choice bootstrap; /* WEFT_BOOTSTRAP: auto, pmix, single */
    int lines;                            /* WEFT_LINES: shared memory between processes of a host; 0: UCX only */
    int progress;                         /* WEFT_PROGRESS: a thread of weft's own drives the network */
    int eager_limit;      /* WEFT_EAGER_LIMIT: the longest message that is copied on its way, bytes; -1: as measured */
    int unexpected_limit; /* WEFT_UNEXPECTED_LIMIT: bytes of copied messages that a rank may hold */
    int hang_timeout;     /* WEFT_HANG_TIMEOUT: a wait that lasts longer is reported, seconds; 0: none is */
    char hang_report
        [CORE_PATH_BYTES]; /* WEFT_HANG_REPORT: the file, without weftrun; "." and the process that writes follow */
    char algorithm[CORE_ALGORITHM_BYTES]; /* WEFT_ALGORITHM: "" or e.g. "allreduce=nbBDE/slices,bcast=MST/flags" */
    int reproducible; /* WEFT_REPRODUCIBLE: sums of floating-point numbers in a fixed bracketing over the ranks */
    char counters[CORE_PATH_BYTES];          /* WEFT_COUNTERS: the directory for this process's counters; "": none */
    char trace[CORE_PATH_BYTES];             /* WEFT_TRACE: the directory for its trace; "": none */
    enum core_origin origin[CORE_VARIABLES]; /* where each value came from */
} core_config;

/**
 * Fills *config from the environment and `options` (may be NULL). Errors: WEFT_ERR_CONFIG for an unknown WEFT_
 * variable, a malformed or out-of-range value (the sentence names the variable, the value and what was expected);
 * WEFT_ERR_ARG for an option out of range; *config is then as it was. Not while another thread changes the environment.
 * The syntax of WEFT_ALGORITHM is checked by hier, which knows the names.
 */
int core_config_load(core_config *config, const weft_options *options);

/**
 * Makes its paths absolute: they are those of the directory that the program is in now, wherever it goes. WEFT_ERR_CONFIG: one is too long then,
 * or that directory is gone.
 */
int core_config_anchor(core_config *config);

/** Prints the table: name, value in force, where it came from, range, default and meaning. */
void core_config_print(FILE *file, const core_config *config);

#endif
