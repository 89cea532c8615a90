// SPDX-License-Identifier: BSD-3-Clause
/**
 * The command line of weftrun.
 */
#include "weftrun.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/version.h>

static const char help[] =
    "Usage: weftrun [options] [--] program [arguments]\n"
    "Starts a program as several processes on this host, as one weft job.\n"
    "\n"
    "  -n, --processes N      how many processes (1)\n"
    "  -t, --threads T        threads a process, at most 4096: sets OMP_NUM_THREADS and WEFT_THREADS\n"
    "  -x VAR[=VALUE]         sets a variable for the processes; without a value the variable must be set.\n"
    "                         May be repeated; of -t and -x the later wins\n"
    "      --bind WHERE       none     the processes may use every core that weftrun may use\n"
    "                         core     one core a thread (-t; else one), in turn\n"
    "                         numa     a NUMA domain, neighbouring processes together\n"
    "                         package  a package, neighbouring processes together\n"
    "                         auto     an equal share of the cores when there is one a thread, else none (default)\n"
    "      --report-bindings  prints process, its pid and cores; warns when threads share cores\n"
    "      --tag-output       begins each line of output with [process]\n"
    "      --hang-timeout S   reports what every thread waits in when a wait has lasted S whole seconds, and again "
    "when\n"
    "                         one of those is over and another one lasts as long; the job goes on\n"
    "      --timeout SECONDS  ends the job after this time, with status 124\n"
    "      --counters         prints at the end what the job's operations have moved: messages and bytes inside the "
    "nodes,\n"
    "                         between nodes of the host, between hosts, and the seconds that ranks have waited\n"
    "      --trace FILE       writes a timeline of all ranks for Chrome (chrome://tracing) or Perfetto "
    "(ui.perfetto.dev)\n"
    "      --help, --version\n"
    "\n"
    "The input of weftrun goes to process 0, unless it is a terminal in whose background weftrun is started.\n"
    "When a process fails (it is killed, exits with a status other than 0, or exits without weft_finalize),\n"
    "weftrun says which, ends the others and exits with the status of the first to fail: its exit status, 128 +\n"
    "signal, or 1. 2: wrong usage; 126, 127: the program cannot be run. SIGINT, SIGTERM, SIGHUP and SIGQUIT end\n"
    "the job, with 128 + signal (SIGINT ends weftrun itself, too, which is the same to a shell); the processes\n"
    "have a second to end, unless there is another signal.\n"
    "A process runs one program that uses weft, not several in a row.\n"
    "On SIGUSR1 weftrun prints what every thread waits in, and the job goes on. SIGUSR2 goes to the processes.\n";

enum {
    OPTION_BIND = 256,
    OPTION_REPORT,
    OPTION_TAG,
    OPTION_TIMEOUT,
    OPTION_HANG,
    OPTION_COUNTERS,
    OPTION_TRACE,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"processes", required_argument, NULL, 'n'},          {"threads", required_argument, NULL, 't'},
    {"bind", required_argument, NULL, OPTION_BIND},       {"report-bindings", no_argument, NULL, OPTION_REPORT},
    {"tag-output", no_argument, NULL, OPTION_TAG},        {"hang-timeout", required_argument, NULL, OPTION_HANG},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT}, {"counters", no_argument, NULL, OPTION_COUNTERS},
    {"trace", required_argument, NULL, OPTION_TRACE},     {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},       {NULL, 0, NULL, 0},
};

void weftrun_say(const char *format, ...) {
    char line[2048] = "weftrun: ";
    size_t used = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + used, sizeof(line) - used - 1, format, arguments);
    va_end(arguments);
    used += length < 0 ? 0 : (size_t)length;
    if (used > sizeof(line) - 2)
        used = sizeof(line) - 2;
    line[used++] = '\n';
    weftrun_output_say(line, used);
}

static bool read_number(const char *what, const char *text, int max, int *number) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > max) {
        weftrun_say("%s must be a number from 1 to %d, not '%s'", what, max, text);
        return false;
    }
    *number = (int)value;
    return true;
}

static bool read_seconds(const char *text, double *seconds) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0) || value > 1e9) {
        weftrun_say("--timeout must be a time in seconds above 0, not '%s'", text);
        return false;
    }
    *seconds = value;
    return true;
}

static bool read_bind(const char *text, enum weftrun_bind *bind) {
    static const char *const names[] = {[WEFTRUN_BIND_AUTO] = "auto",
                                        [WEFTRUN_BIND_NONE] = "none",
                                        [WEFTRUN_BIND_CORE] = "core",
                                        [WEFTRUN_BIND_NUMA] = "numa",
                                        [WEFTRUN_BIND_PACKAGE] = "package"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *bind = (enum weftrun_bind)i;
            return true;
        }
    }
    weftrun_say("--bind must be auto, none, core, numa or package, not '%s'", text);
    return false;
}

static bool set_threads(const char *text, int *threads) {
    if (!read_number("-t", text, WEFTRUN_MAX_THREADS, threads))
        return false;
    char digits[16];
    snprintf(digits, sizeof(digits), "%d", *threads);
    return setenv("OMP_NUM_THREADS", digits, 1) == 0 && setenv("WEFT_THREADS", digits, 1) == 0;
}

static bool set_hang_timeout(const char *text) {
    char number[16];
    int seconds;
    if (!read_number("--hang-timeout", text, 1000000, &seconds))
        return false;
    snprintf(number, sizeof(number), "%d", seconds);
    return setenv("WEFT_HANG_TIMEOUT", number, 1) == 0;
}

/* As the processes will find it, by whatever option or none. What is no number they refuse. */
static int hang_timeout(void) {
    const char *text = getenv("WEFT_HANG_TIMEOUT");
    long seconds = text ? strtol(text, NULL, 10) : 0;
    return seconds > 0 && seconds <= INT_MAX ? (int)seconds : 0;
}

/* What stands there is replaced when the job has ended: a file, or what a link leads to. */
static bool set_trace(const char *path, weftrun_options *options) {
    static char resolved[PATH_MAX];
    struct stat there;
    options->trace = path;
    if (!*path) {
        weftrun_say("--trace needs the name of a file");
        return false;
    }
    if (stat(path, &there))
        return true; /* not yet there */
    if (!S_ISREG(there.st_mode)) {
        weftrun_say("--trace: '%s' is there, and no regular file", path);
        return false;
    }
    if (realpath(path, resolved))
        options->trace = resolved;
    return true;
}

static bool set_variable(char *text) {
    char *value = strchr(text, '=');
    if (value == text || !*text) {
        weftrun_say("-x needs the name of a variable, not '%s'", text);
        return false;
    }
    if (!value) {
        if (getenv(text))
            return true; /* the processes inherit it */
        weftrun_say("-x %s: the variable is not set; give a value with -x %s=VALUE", text, text);
        return false;
    }
    *value = 0;
    bool set = setenv(text, value + 1, 1) == 0;
    *value = '=';
    return set;
}

/* Takes one option; false: it is wrong, and that was said. */
static bool take(weftrun_options *options, int option, char **argv) {
    switch (option) {
    case 'n':
        return read_number("-n", optarg, WEFTRUN_MAX_PROCESSES, &options->processes);
    case 't':
        return set_threads(optarg, &options->threads);
    case 'x':
        return set_variable(optarg);
    case OPTION_BIND:
        return read_bind(optarg, &options->bind);
    case OPTION_HANG:
        return set_hang_timeout(optarg);
    case OPTION_TIMEOUT:
        return read_seconds(optarg, &options->timeout_s);
    case OPTION_REPORT:
        return options->report_bindings = true;
    case OPTION_TAG:
        return options->tag_output = true;
    case OPTION_COUNTERS:
        return options->counters = true;
    case OPTION_TRACE:
        return set_trace(optarg, options);
    case ':':
        weftrun_say("the option '%s' needs a value", argv[optind - 1]);
        return false;
    default:
        if (optopt && optopt < OPTION_BIND)
            weftrun_say("there is no option '-%c'; see weftrun --help", optopt);
        else if (optopt)
            weftrun_say("the option '%s' takes no value", argv[optind - 1]);
        else
            weftrun_say("there is no option '%s', or it is ambiguous; see weftrun --help", argv[optind - 1]);
        return false;
    }
}

int weftrun_options_read(weftrun_options *options, int argc, char **argv) {
    *options = (weftrun_options){.processes = 1};
    opterr = 0;
    /* '+': the first word that is no option is the program, and what follows is the program's. ':': tell a missing
     * value. */
    for (int option; (option = getopt_long(argc, argv, "+:n:t:x:", long_options, NULL)) != -1;) {
        if (option == OPTION_HELP || option == OPTION_VERSION) {
            if (option == OPTION_HELP)
                fputs(help, stdout);
            else
                printf("weftrun %d.%d.%d\n", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
            return fflush(stdout) == 0 ? 0 : WEFTRUN_EXIT_ERROR;
        }
        if (!take(options, option, argv))
            return WEFTRUN_EXIT_USAGE;
    }
    if (optind == argc) {
        weftrun_say("which program? Usage: weftrun [options] [--] program [arguments]; see weftrun --help");
        return WEFTRUN_EXIT_USAGE;
    }
    options->hang_timeout_s = hang_timeout();
    options->program = argv + optind;
    return -1;
}
