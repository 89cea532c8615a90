// SPDX-License-Identifier: BSD-3-Clause
#include <core/config.h>
#include <core/error.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/team.h>

#define PREFIX "WEFT_"

typedef struct choice {
    const char *word; /* NULL ends the list */
    int value;
} choice;

static const choice thread_levels[] = {{"funneled", WEFT_THREAD_FUNNELED},
                                       {"serialized", WEFT_THREAD_SERIALIZED},
                                       {"multiple", WEFT_THREAD_MULTIPLE},
                                       {0}};
static const choice wait_policies[] = {
    {"auto", WEFT_WAIT_AUTO}, {"spin", WEFT_WAIT_SPIN}, {"yield", WEFT_WAIT_YIELD}, {"block", WEFT_WAIT_BLOCK}, {0}};
static const choice bind_policies[] = {{"none", WEFT_BIND_NONE}, {"core", WEFT_BIND_CORE}, {0}};
static const choice bootstraps[] = {
    {"auto", CORE_BOOTSTRAP_AUTO}, {"pmix", CORE_BOOTSTRAP_PMIX}, {"single", CORE_BOOTSTRAP_SINGLE}, {0}};

static const choice progresses[] = {{"none", 0}, {"thread", 1}, {0}};
static const choice switches[] = {{"on", 1}, {"off", 0}, {0}};

#define FIELD(name)  offsetof(core_config, name)
#define OPTION(name) offsetof(weft_options, name)
#define NO_OPTION    SIZE_MAX

/* A row is of the kind that its members say: a word (choices), a text (text_bytes) or a number (the rest). */
typedef struct variable {
    const char *name;
    const char *fallback;  /* the default, written as in the environment */
    size_t field;          /* in core_config: an int or enum; for a text a char array */
    size_t option;         /* in weft_options: an enum or int (0: not set); for a text a pointer (NULL: not set) */
    const choice *choices; /* a word */
    size_t text_bytes;     /* a text: the size of its array */
    long long low, high;   /* a number; of a text low is 1 when it must not be empty */
    bool power_of_two;     /* a number */
    const char *meaning;
} variable;

static const variable variables[CORE_VARIABLES] = {
    [CORE_VARIABLE_THREAD_LEVEL] = {"WEFT_THREAD_LEVEL", "serialized", FIELD(thread_level), OPTION(thread_level),
                                    .choices = thread_levels, .meaning = "which threads may drive the network"},
    [CORE_VARIABLE_WAIT] = {"WEFT_WAIT", "auto", FIELD(wait_policy), OPTION(wait_policy), .choices = wait_policies,
                            .meaning = "how a thread waits for another"},
    [CORE_VARIABLE_BIND] = {"WEFT_BIND", "none", FIELD(bind), OPTION(bind), .choices = bind_policies,
                            .meaning = "what each thread of a team is bound to while it is in it"},
    [CORE_VARIABLE_THREADS] = {"WEFT_THREADS", "0", FIELD(threads), NO_OPTION, .low = 0, .high = WEFT_MAX_TEAM_THREADS,
                               .meaning = "threads of a team that names no number; 0: one a core"},
    [CORE_VARIABLE_SLOTS] = {"WEFT_SLOTS", "16", FIELD(slots), NO_OPTION, .low = 2, .high = 1024, .power_of_two = true,
                             .meaning = "operations that a team may have under way"},
    [CORE_VARIABLE_BOOTSTRAP] = {"WEFT_BOOTSTRAP", "auto", FIELD(bootstrap), NO_OPTION, .choices = bootstraps,
                                 .meaning = "how the processes find each other"},
    [CORE_VARIABLE_LINES] = {"WEFT_LINES", "on", FIELD(lines), NO_OPTION, .choices = switches,
                             .meaning = "shared memory between processes of a host, not UCX"},
    [CORE_VARIABLE_PROGRESS] = {"WEFT_PROGRESS", "none", FIELD(progress), NO_OPTION, .choices = progresses,
                                .meaning = "a thread of weft's own that drives the network"},
    [CORE_VARIABLE_EAGER_LIMIT] = {"WEFT_EAGER_LIMIT", "-1", FIELD(eager_limit), NO_OPTION, .low = -1, .high = 1 << 30,
                                   .meaning = "the longest message that is copied on its way, bytes; -1: as measured"},
    [CORE_VARIABLE_UNEXPECTED_LIMIT] = {"WEFT_UNEXPECTED_LIMIT", "16777216", FIELD(unexpected_limit), NO_OPTION,
                                        .low = 0, .high = INT_MAX,
                                        .meaning = "bytes of such messages that may wait for their receives"},
    [CORE_VARIABLE_HANG_TIMEOUT] = {"WEFT_HANG_TIMEOUT", "0", FIELD(hang_timeout), OPTION(hang_timeout), .low = 0,
                                    .high = 1000000, .meaning = "seconds after which a wait is reported; 0: never"},
    [CORE_VARIABLE_HANG_REPORT] = {"WEFT_HANG_REPORT", "weft-hang", FIELD(hang_report), OPTION(hang_report),
                                   .text_bytes = CORE_PATH_BYTES, .low = 1,
                                   .meaning = "file for it where weftrun is not there to print; .PROCESS is appended"},
    [CORE_VARIABLE_ALGORITHM] = {"WEFT_ALGORITHM", "", FIELD(algorithm), OPTION(algorithm),
                                 .text_bytes = CORE_ALGORITHM_BYTES,
                                 .meaning = "algorithms forced, as in allreduce=nbBDE/slices"},
    [CORE_VARIABLE_REPRODUCIBLE] = {"WEFT_REPRODUCIBLE", "0", FIELD(reproducible), OPTION(reproducible), .low = 0,
                                    .high = 1, .meaning = "1: floating-point sums have the same bits for any split"},
    [CORE_VARIABLE_COUNTERS] = {"WEFT_COUNTERS", "", FIELD(counters), NO_OPTION, .text_bytes = CORE_PATH_BYTES,
                                .meaning = "directory that each process writes its counters to, at the end"},
    [CORE_VARIABLE_TRACE] = {"WEFT_TRACE", "", FIELD(trace), NO_OPTION, .text_bytes = CORE_PATH_BYTES,
                             .meaning = "directory that each process writes a timeline to, at the end"},
};
_Static_assert(sizeof(weft_thread_level) == sizeof(int) && sizeof(weft_wait_policy) == sizeof(int) &&
                   sizeof(weft_bind_policy) == sizeof(int) && sizeof(enum core_bootstrap_choice) == sizeof(int),
               "words are stored as int");

static void describe_range(const variable *row, char *text, size_t bytes) {
    if (row->text_bytes) {
        snprintf(text, bytes, "text of %s%zu bytes", row->low ? "1 to " : "at most ", row->text_bytes - 1);
        return;
    }
    if (!row->choices) {
        snprintf(text, bytes, "%s%lld to %lld", row->power_of_two ? "power of two, " : "", row->low, row->high);
        return;
    }
    size_t length = 0;
    text[0] = 0;
    for (const choice *c = row->choices; c->word && length < bytes; c++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%s", c == row->choices ? "" : ", ", c->word);
}

static bool parse_number(const variable *row, const char *text, int *value) {
    /* strtoll would skip blanks and take a plus sign. */
    if (!((text[0] >= '0' && text[0] <= '9') || text[0] == '-'))
        return false;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || end == text || *end || number < row->low || number > row->high)
        return false;
    if (row->power_of_two && (number & (number - 1)) != 0)
        return false;
    *value = (int)number;
    return true;
}

/* Sets the row's field from its text form; false and nothing set when it is out of range. */
static bool set_from_text(const variable *row, const char *text, core_config *config) {
    void *field = (char *)config + row->field;
    int value = 0;
    if (row->text_bytes) {
        size_t length = strlen(text);
        if (length < (size_t)row->low || length >= row->text_bytes)
            return false;
        memcpy(field, text, length + 1);
        return true;
    }
    if (row->choices) {
        const choice *c = row->choices;
        while (c->word && strcmp(c->word, text) != 0)
            c++;
        if (!c->word)
            return false;
        value = c->value;
    } else if (!parse_number(row, text, &value)) {
        return false;
    }
    memcpy(field, &value, sizeof(value));
    return true;
}

static const char *word_of(const variable *row, int value) {
    for (const choice *c = row->choices; c->word; c++)
        if (c->value == value)
            return c->word;
    return NULL;
}

static int set_from_option(const variable *row, const weft_options *options, core_config *config,
                           enum core_origin *origin) {
    const char *at = (const char *)options + row->option;
    const char *text = NULL;
    char digits[16];
    int value = 0;
    if (row->text_bytes) {
        memcpy(&text, at, sizeof(text));
    } else {
        memcpy(&value, at, sizeof(value));
        snprintf(digits, sizeof(digits), "%d", value);
        text = row->choices ? word_of(row, value) : digits;
    }
    if (!value && (!text || text == digits))
        return WEFT_SUCCESS; /* not set */
    if (!text || !set_from_text(row, text, config)) {
        char range[128], given[32] = "a longer one";
        describe_range(row, range, sizeof(range));
        if (row->text_bytes && text && !*text)
            snprintf(given, sizeof(given), "empty");
        else if (!row->text_bytes)
            snprintf(given, sizeof(given), "%d", value);
        return core_error(WEFT_ERR_ARG, "weft_options: the field for %s is %s; expected %s%s", row->name, given,
                          row->choices ? "one of: " : "", range);
    }
    *origin = CORE_ORIGIN_OPTION;
    return WEFT_SUCCESS;
}

static int set_from_environment(const variable *row, core_config *config, enum core_origin *origin) {
    const char *text = getenv(row->name);
    if (!text)
        return WEFT_SUCCESS;
    if (!set_from_text(row, text, config)) {
        char range[128];
        describe_range(row, range, sizeof(range));
        return core_error(WEFT_ERR_CONFIG, "%s is \"%.100s\"; expected %s%s", row->name, text,
                          row->choices ? "one of: " : "", range);
    }
    *origin = CORE_ORIGIN_ENVIRONMENT;
    return WEFT_SUCCESS;
}

enum { NAME_BYTES = 64 }; /* longer names are no one's misspelling */

/* Levenshtein's distance. `b` is shorter than NAME_BYTES. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t row[NAME_BYTES];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b_length];
}

static int unknown_variable(const char *name, size_t length) {
    const char *closest = NULL;
    size_t least = SIZE_MAX;
    for (size_t v = 0; v < CORE_VARIABLES && length < NAME_BYTES; v++) {
        size_t d = distance(name, length, variables[v].name, strlen(variables[v].name));
        if (d < least) {
            least = d;
            closest = variables[v].name;
        }
    }
    int shown = length < NAME_BYTES ? (int)length : NAME_BYTES;
    if (!closest)
        return core_error(WEFT_ERR_CONFIG, "%.*s... is no variable of weft; weft-info --config lists them", shown,
                          name);
    return core_error(WEFT_ERR_CONFIG, "%.*s is no variable of weft; did you mean %s? weft-info --config lists them",
                      shown, name, closest);
}

static bool is_named(const char *expected, const char *name, size_t length) {
    return strlen(expected) == length && strncmp(expected, name, length) == 0;
}

/* Variables by which module systems and CMake say where weft is installed. */
static bool is_place(const char *name, size_t length) {
    static const char *const places[] = {"WEFT_ROOT", "WEFT_DIR", "WEFT_HOME", "WEFT_PREFIX"};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (is_named(places[i], name, length))
            return true;
    return false;
}

static int check_names(void) {
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0)
            continue;
        size_t length = strcspn(*entry, "=");
        size_t v = 0;
        while (v < CORE_VARIABLES && !is_named(variables[v].name, *entry, length))
            v++;
        if (v == CORE_VARIABLES && !is_place(*entry, length))
            return unknown_variable(*entry, length);
    }
    return WEFT_SUCCESS;
}

int core_config_load(core_config *config, const weft_options *options) {
    core_config loaded = {0};
    int code = check_names();
    for (size_t v = 0; v < CORE_VARIABLES && code == WEFT_SUCCESS; v++) {
        const variable *row = &variables[v];
        set_from_text(row, row->fallback, &loaded);
        if (options && row->option != NO_OPTION)
            code = set_from_option(row, options, &loaded, &loaded.origin[v]);
        if (code == WEFT_SUCCESS)
            code = set_from_environment(row, &loaded, &loaded.origin[v]);
    }
    if (code == WEFT_SUCCESS)
        *config = loaded;
    return code;
}

static int anchor(const char *name, char path[CORE_PATH_BYTES]) {
    char anchored[CORE_PATH_BYTES];
    if (!*path || *path == '/')
        return WEFT_SUCCESS;
    if (!getcwd(anchored, sizeof(anchored)))
        return core_error(WEFT_ERR_CONFIG, "%s is \"%.200s\", which is nowhere: %s", name, path, strerror(errno));
    size_t length = strlen(anchored), more = strlen(path);
    if (length + 1 + more >= sizeof(anchored))
        return core_error(WEFT_ERR_CONFIG, "%s is \"%.200s\": with the directory before it it has more than %d bytes",
                          name, path, CORE_PATH_BYTES - 1);
    anchored[length] = '/';
    memcpy(anchored + length + 1, path, more + 1);
    memcpy(path, anchored, sizeof(anchored));
    return WEFT_SUCCESS;
}

int core_config_anchor(core_config *config) {
    int code = anchor("WEFT_COUNTERS", config->counters);
    code = code ? code : anchor("WEFT_TRACE", config->trace);
    if (!code && config->hang_timeout) /* else there will be none, wherever this process may stand */
        code = anchor("WEFT_HANG_REPORT", config->hang_report);
    return code;
}

void core_config_print(FILE *file, const core_config *config) {
    static const char *const origins[] = {"default", "option", "environment"};
    static const char format[] = "%-21s %-12s %-12s %-32s %-11s %s\n";
    fprintf(file, format, "variable", "value", "origin", "range", "default", "meaning");
    for (size_t v = 0; v < CORE_VARIABLES; v++) {
        const variable *row = &variables[v];
        const void *field = (const char *)config + row->field;
        char range[128], number[32];
        const char *value = field;
        if (!row->text_bytes) {
            int raw;
            memcpy(&raw, field, sizeof(raw));
            snprintf(number, sizeof(number), "%d", raw);
            value = row->choices ? word_of(row, raw) : number;
        }
        describe_range(row, range, sizeof(range));
        fprintf(file, format, row->name, *value ? value : "-", origins[config->origin[v]], range,
                *row->fallback ? row->fallback : "-", row->meaning);
    }
}
