// SPDX-License-Identifier: BSD-3-Clause
/* The command line of --steps and --draw, the table of steps, and how a picture becomes a file. */
#include "schedule_show.h"

#include <errno.h>
#include <getopt.h>
#include <inter/predict_plan.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { DRAW = 1, STEPS, RANKS, NODES, ROOT, COUNT_OF, OUTPUT };
static const struct option options[] = {
    {"draw", 1, 0, DRAW}, {"steps", 1, 0, STEPS},    {"ranks", 1, 0, RANKS},   {"nodes", 1, 0, NODES},
    {"root", 1, 0, ROOT}, {"count", 1, 0, COUNT_OF}, {"output", 1, 0, OUTPUT}, {0, 0, 0, 0}};

typedef struct command_line {
    const char *what; /* "bcast:MST" */
    bool draw;
    long ranks, nodes, root, count; /* −1: not given */
    const char *output;
} command_line;

__attribute__((format(printf, 1, 2))) static int wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("weft-info: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs(" (--help shows the usage)\n", stderr);
    va_end(arguments);
    return 2;
}

bool schedule_show_asked(int argc, char **argv) {
    for (int a = 1; a < argc; a++)
        for (const struct option *option = options; option->name; option++)
            if (strncmp(argv[a], "--", 2) == 0 && strncmp(argv[a] + 2, option->name, strlen(option->name)) == 0)
                return true;
    return false;
}

void schedule_show_help(FILE *file) {
    fprintf(
        file,
        "\nOr shows an algorithm, COLLECTIVE:ALGORITHM as in bcast:MST or reduce:CHAIN:64K:\n\n"
        "  --steps WHAT       the schedule of every rank as a table; * marks steps that those after them do not\n"
        "                     wait for\n"
        "  --draw WHAT        who sends to whom, as DOT for Graphviz\n"
        "    --ranks P          of so many ranks; default 8\n"
        "    --nodes K          placed in blocks on so many nodes: edges between nodes stand out; default 1\n"
        "    --root R           default 0\n"
        "    --count N          elements (of one byte) of the vector or of each block; default: of a vector P, of a\n"
        "                       block 1\n"
        "    --output FILE.svg  the picture itself; needs Graphviz's dot\n");
}

static int parse_number(const char *name, const char *text, long least, long most, long *number) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
        return wrong("--%s is \"%s\"; expected a number from %ld to %ld", name, text, least, most);
    *number = value;
    return 0;
}

static int parse_option(int letter, const char *value, command_line *line) {
    switch (letter) {
    case DRAW:
    case STEPS:
        if (line->what)
            return wrong("one --draw or --steps at a time");
        line->what = value;
        line->draw = letter == DRAW;
        return 0;
    case RANKS:
        return parse_number("ranks", value, 1, SHOW_MOST_RANKS, &line->ranks);
    case NODES:
        return parse_number("nodes", value, 1, SHOW_MOST_RANKS, &line->nodes);
    case ROOT:
        return parse_number("root", value, 0, SHOW_MOST_RANKS - 1, &line->root);
    case COUNT_OF:
        return parse_number("count", value, 0, INT_MAX, &line->count);
    case OUTPUT:
        line->output = value;
        return 0;
    default:
        return wrong("wrong option, or one without its value");
    }
}

static int parse(int argc, char **argv, command_line *line) {
    int letter, code = 0;
    opterr = 0;
    while (!code && (letter = getopt_long(argc, argv, "", options, NULL)) != -1)
        code = parse_option(letter, optarg, line);
    if (code)
        return code;
    if (optind < argc)
        return wrong("unexpected argument '%s'", argv[optind]);
    if (line->nodes > line->ranks)
        return wrong("--nodes %ld are more than the %ld ranks", line->nodes, line->ranks);
    if (line->root >= line->ranks)
        return wrong("--root %ld is none of the %ld ranks", line->root, line->ranks);
    size_t letters = line->output ? strlen(line->output) : 0;
    if (line->output && !line->draw)
        return wrong("--output goes with --draw");
    if (line->output && (letters < 5 || strcmp(line->output + letters - 4, ".svg") != 0))
        return wrong("--output is \"%s\"; expected a name that ends with .svg", line->output);
    return 0;
}

/* Reads "bcast:MST"; without an algorithm it is the first one. */
static int find_algorithm(const char *what, show_request *request) {
    size_t letters = strcspn(what, ":");
    int c = 0;
    while (c < INTER_COLLECTIVES && (strncmp(inter_collective_name((enum inter_collective)c), what, letters) != 0 ||
                                     strlen(inter_collective_name((enum inter_collective)c)) != letters))
        c++;
    if (c == INTER_COLLECTIVES)
        return wrong("there is no collective \"%.*s\"; weft-info --algorithms lists them", (int)letters, what);
    enum inter_collective collective = (enum inter_collective)c;
    request->view.collective = collective;
    if (!what[letters])
        inter_algorithm_at(collective, 0, &request->algorithm);
    else if (!inter_algorithm_find(collective, what + letters + 1, &request->algorithm))
        return wrong("%s has no algorithm \"%s\"; weft-info --algorithms lists them", inter_collective_name(collective),
                     what + letters + 1);
    return 0;
}

static int fill(const command_line *line, show_request *request) {
    inter_view *view = &request->view;
    if (!line->what)
        return wrong("this option needs --draw or --steps");
    int code = find_algorithm(line->what, request);
    if (code)
        return code;
    if (line->root > 0 && !inter_is(view->collective, INTER_ROOTED))
        return wrong("%s has no root", inter_collective_name(view->collective));
    view->size = (int)line->ranks;
    view->root = line->root < 0 ? 0 : (int)line->root;
    view->element_bytes = 1;
    bool vector = inter_is(view->collective, INTER_VECTORS);
    view->count = line->count >= 0 ? (size_t)line->count : vector ? (size_t)view->size : 1;
    if (view->collective == INTER_BARRIER)
        view->count = 0;
    request->nodes = (int)line->nodes;
    return 0;
}

/* "recv[0..3]" into `text`, which is returned. */
static const char *place(char text[64], inter_place where, size_t count) {
    static const char *const buffers[INTER_BUFFERS] = {"send", "recv", "temp"};
    size_t first = where.offset;
    if (count)
        snprintf(text, 64, "%s[%zu..%zu]", buffers[where.buffer], first, first + count - 1);
    else
        snprintf(text, 64, "nothing");
    return text;
}

static void print_step(int rank, const inter_step *step) {
    char left[64], right[64], out[64];
    static const char *const kinds[] = {"send", "recv", "reduce", "copy"};
    bool message = step->kind == INTER_STEP_SEND || step->kind == INTER_STEP_RECV;
    printf("%4d %6u %5u%c %-6s ", rank, step->strand, step->stage, step->independent ? '*' : ' ', kinds[step->kind]);
    if (message)
        printf("%4d", step->peer);
    else
        printf("%4s", "");
    printf(" %6zu  %s", step->count, place(out, step->out, step->count));
    if (!message)
        printf(" = %s", place(left, step->left, step->count));
    if (step->kind == INTER_STEP_REDUCE)
        printf(" op %s", place(right, step->right, step->count));
    printf("\n");
}

/* Can the steps of all ranks be shown? Known before the first is printed. */
static enum inter_predicted look_at_steps(const show_request *request, inter_schedule *schedule) {
    inter_view view = request->view;
    size_t steps = 0;
    for (view.rank = 0; view.rank < view.size && steps <= SHOW_MOST_STEPS; view.rank++) {
        inter_build(schedule, &request->algorithm, &view);
        if (schedule->out_of_memory)
            return schedule->count >= SHOW_MOST_STEPS ? INTER_PREDICT_TOO_LARGE : INTER_PREDICT_NO_MEMORY;
        steps += schedule->count;
    }
    return steps > SHOW_MOST_STEPS ? INTER_PREDICT_TOO_LARGE : INTER_PREDICTED;
}

static enum inter_predicted print_steps(const show_request *request, inter_schedule *schedule) {
    inter_view view = request->view;
    printf("%s %s, %d ranks", inter_collective_name(view.collective), request->algorithm.name, view.size);
    if (inter_is(view.collective, INTER_ROOTED))
        printf(", root %d", view.root);
    printf("\nrank strand stage  step   peer  count  where\n");
    for (view.rank = 0; view.rank < view.size; view.rank++) {
        inter_build(schedule, &request->algorithm, &view);
        if (schedule->out_of_memory)
            return INTER_PREDICT_NO_MEMORY;
        for (size_t i = 0; i < schedule->count; i++)
            print_step(view.rank, &schedule->steps[i]);
    }
    return INTER_PREDICTED;
}

static int show_steps(const show_request *request) {
    inter_schedule schedule = {.most_steps = SHOW_MOST_STEPS};
    enum inter_predicted code = look_at_steps(request, &schedule);
    if (code == INTER_PREDICTED)
        code = print_steps(request, &schedule);
    if (code == INTER_PREDICT_TOO_LARGE)
        fprintf(stderr, "weft-info: more than %d steps are no table; take fewer ranks or elements\n", SHOW_MOST_STEPS);
    else if (code != INTER_PREDICTED)
        fprintf(stderr, "weft-info: no memory\n");
    inter_schedule_free(&schedule);
    return code == INTER_PREDICTED ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Starts dot, which writes `file`; what is written to the stream returned is its input. NULL when it is not there. */
static FILE *start_dot(const char *file, pid_t *pid) {
    int ends[2];
    posix_spawn_file_actions_t actions;
    char *words[] = {"dot", "-Tsvg", "-o", (char *)(uintptr_t)file, NULL}; /* only read */
    if (pipe(ends))
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    int code = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    FILE *input = code ? NULL : fdopen(ends[1], "w");
    if (!input)
        close(ends[1]);
    return input;
}

static int draw_svg(const show_request *request, const char *file) {
    pid_t pid;
    int status = 0;
    signal(SIGPIPE, SIG_IGN); /* dot may end early; its status says so */
    FILE *input = start_dot(file, &pid);
    if (!input) {
        fprintf(stderr,
                "weft-info: --output needs Graphviz's dot, which could not be started; without --output the DOT "
                "text is printed\n");
        return EXIT_FAILURE;
    }
    bool drawn = schedule_draw(request, input);
    fclose(input);
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status)) {
        fprintf(stderr, "weft-info: dot could not make %s\n", file);
        return EXIT_FAILURE;
    }
    return drawn ? EXIT_SUCCESS : EXIT_FAILURE;
}

int schedule_show(int argc, char **argv) {
    command_line line = {.ranks = 8, .nodes = 1, .root = -1, .count = -1};
    show_request request = {.nodes = 1};
    int code = parse(argc, argv, &line);
    if (!code)
        code = fill(&line, &request);
    if (code)
        return code;
    if (!line.draw)
        return show_steps(&request);
    if (line.output)
        return draw_svg(&request, line.output);
    return schedule_draw(&request, stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
