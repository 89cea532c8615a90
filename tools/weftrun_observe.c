// SPDX-License-Identifier: BSD-3-Clause
/**
 * --counters and --trace: the ranks write what they counted into the session directory (WEFT_COUNTERS), and what they traced into one beside FILE
 * (WEFT_TRACE); when they have ended it is added up, and joined. What ranks that were killed did not write is not there.
 */
#include "weftrun.h"

#include <core/config.h>
#include <core/file.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line of counters.RANK (src/hier/observer.c): name, operations, messages and bytes three times, nanoseconds. */
enum { VALUES = 8, MAX_ROWS = 64, NAME_BYTES = 32 };

struct row {
    char name[NAME_BYTES];
    uint64_t values[VALUES];
};

struct table {
    int processes, count;
    struct row rows[MAX_ROWS];
};

/* The directories that the ranks write to. */
static char counters[CORE_PATH_BYTES], traces[CORE_PATH_BYTES];

/* Where the timeline grows until it is whole. False: said why. */
static bool name_unfinished(const char *trace, char path[PATH_MAX]) {
    if (snprintf(path, PATH_MAX, "%s.part", trace) < PATH_MAX)
        return true;
    weftrun_say("--trace: '%s.part' cannot be written: %s", trace, strerror(ENAMETOOLONG));
    return false;
}

static bool can_trace(const char *trace) {
    char path[PATH_MAX];
    if (!name_unfinished(trace, path))
        return false;
    if (core_file_is_writable(path))
        return true;
    weftrun_say("--trace: '%s' cannot be written: %s", path, strerror(errno));
    return false;
}

/*
 * A long job's timelines take gigabytes, for which there is room where the user wants the whole one, rather than in the session directory, which is often in
 * memory. Where no directory can be made there, or its name is too long for WEFT_TRACE, they go to the session's all the same.
 */
static bool place_traces(const char *trace, const char *session) {
    char path[PATH_MAX], absolute[PATH_MAX];
    snprintf(traces, sizeof(traces), "%s", counters);
    if (snprintf(path, sizeof(path), "%s.parts-XXXXXX", trace) < PATH_MAX && mkdtemp(path)) {
        if (realpath(path, absolute) && strlen(absolute) < sizeof(traces) && weftrun_session_extend(session, absolute))
            memcpy(traces, absolute, strlen(absolute) + 1);
        else
            rmdir(path);
    }
    return setenv("WEFT_TRACE", traces, 1) == 0;
}

/* What the user has set for the processes themselves they would not find. */
static bool is_unset(const char *option, const char *variable) {
    const char *value = getenv(variable);
    if (!value || !*value)
        return true;
    weftrun_say("%s is \"%s\", and %s sets it too: give one of them", variable, value, option);
    return false;
}

bool weftrun_observe_open(const weftrun_options *options, const char *session) {
    if (!options->counters && !options->trace)
        return true;
    if ((options->counters && !is_unset("--counters", "WEFT_COUNTERS")) ||
        (options->trace && !is_unset("--trace", "WEFT_TRACE")))
        return false;
    if (options->trace && !can_trace(options->trace))
        return false;
    snprintf(counters, sizeof(counters), "%s/observed", session);
    bool good = mkdir(counters, 0700) == 0;
    good = good && (!options->counters || setenv("WEFT_COUNTERS", counters, 1) == 0);
    good = good && (!options->trace || place_traces(options->trace, session));
    if (!good)
        weftrun_say("cannot make %s: %s", counters, strerror(errno));
    return good;
}

/* Of the `start`th time that the rank started weft (src/hier/observer.h); NULL: it did not. */
static FILE *open_part(const char *directory, const char *kind, int rank, int start, const char *ending) {
    char path[CORE_PATH_BYTES + 64], later[16] = "";
    if (start > 1)
        snprintf(later, sizeof(later), ".%d", start);
    snprintf(path, sizeof(path), "%s/%s.%d%s%s", directory, kind, rank, later, ending);
    return fopen(path, "re");
}

static void add_line(struct table *table, const char *line) {
    struct row read = {0};
    uint64_t *v = read.values;
    if (sscanf(line,
               "%31s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               read.name, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 1 + VALUES)
        return;
    int i = 0;
    while (i < table->count && strcmp(table->rows[i].name, read.name) != 0)
        i++;
    if (i == MAX_ROWS)
        return;
    if (i == table->count) {
        table->count++;
        memcpy(table->rows[i].name, read.name, sizeof(read.name));
    }
    for (int value = 0; value < VALUES; value++)
        table->rows[i].values[value] += v[value];
}

static void add_file(struct table *table, FILE *file) {
    char line[512];
    while (fgets(line, sizeof(line), file))
        add_line(table, line);
    fclose(file);
}

static void print_row(FILE *out, const struct row *row) {
    fprintf(out, "%-21s %10" PRIu64, row->name, row->values[0]);
    for (int pair = 1; pair < VALUES - 1; pair += 2)
        fprintf(out, " %10" PRIu64 " %13" PRIu64, row->values[pair], row->values[pair + 1]);
    fprintf(out, " %10.3f\n", (double)row->values[VALUES - 1] * 1e-9);
}

/* In one piece, like all that weftrun says. Rows of which nothing happened are left out. */
static void print_table(const struct table *table, int processes) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    fprintf(out, "weftrun: counters, the sums of %d of %d processes\n", table->processes, processes);
    fprintf(out, "%-21s %10s %24s %24s %24s %10s\n", "", "", "inside the node", "between nodes of a host",
            "between hosts", "waited");
    fprintf(out, "%-21s %10s", "", "operations");
    for (int pair = 0; pair < 3; pair++)
        fprintf(out, " %10s %13s", "messages", "bytes");
    fprintf(out, " %10s\n", "seconds");
    for (int i = 0; i < table->count; i++)
        for (int value = 0; value < VALUES; value++)
            if (table->rows[i].values[value]) {
                print_row(out, &table->rows[i]);
                break;
            }
    if (fclose(out) == 0)
        weftrun_output_say(text, bytes);
    free(text);
}

static void report_counters(const weftrun_options *options) {
    struct table table = {0};
    for (int rank = 0; rank < options->processes; rank++) {
        int start = 0;
        for (FILE *file; (file = open_part(counters, "counters", rank, start + 1, "")); start++)
            add_file(&table, file);
        table.processes += start > 0;
    }
    if (table.processes)
        print_table(&table, options->processes);
    else
        weftrun_say("--counters: no process wrote any, in weft_finalize, so there are none");
}

/* The events of a part, a line each, between its first line and its last (src/hier/trace_file.c). */
static void join(FILE *to, FILE *part, bool *any) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, part);
    while (length > 0 && (length = getline(&line, &room, part)) > 0 && line[0] == '{') {
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == ','))
            line[--length] = 0;
        fprintf(to, "%s%s", *any ? ",\n" : "", line);
        *any = true;
    }
    free(line);
    fclose(part);
}

/* All parts, one after the other. How many processes have any. */
static int join_parts(FILE *to, const weftrun_options *options) {
    int parts = 0;
    bool any = false;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", to);
    for (int rank = 0; rank < options->processes; rank++) {
        int start = 0;
        for (FILE *part; (part = open_part(traces, "trace", rank, start + 1, ".json")); start++)
            join(to, part, &any);
        parts += start > 0;
    }
    fputs("\n]}\n", to);
    return parts;
}

/* False: said why. */
static bool join_traces(const weftrun_options *options) {
    char path[PATH_MAX];
    if (!name_unfinished(options->trace, path))
        return false;
    FILE *to = fopen(path, "we");
    if (!to) {
        weftrun_say("--trace: '%s' cannot be written: %s", path, strerror(errno));
        return false;
    }
    int parts = join_parts(to, options);
    bool good = !ferror(to);
    good = fclose(to) == 0 && good;
    if (good && parts)
        good = rename(path, options->trace) == 0;
    if (!good)
        weftrun_say("--trace: '%s' cannot be written: %s", options->trace, strerror(errno));
    if (!good || !parts)
        unlink(path);
    if (good && parts < options->processes)
        weftrun_say("--trace: %d of %d processes wrote their part, in weft_finalize%s", parts, options->processes,
                    parts ? "; the others are not in it" : ", so there is none");
    return good;
}

bool weftrun_observe_report(const weftrun_options *options) {
    if (options->counters)
        report_counters(options);
    return !options->trace || join_traces(options);
}
