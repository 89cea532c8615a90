// SPDX-License-Identifier: BSD-3-Clause
/**
 * weft-info --steps and --draw: an algorithm's schedules as a table and as a picture.
 */
#ifndef TOOLS_SCHEDULE_SHOW_H
#define TOOLS_SCHEDULE_SHOW_H

#include <inter/algorithm.h>
#include <stdio.h>

#define SHOW_MOST_RANKS    4096
#define SHOW_MOST_MESSAGES 100000
#define SHOW_MOST_STEPS    1000000

/** What is shown: one collective by one algorithm; elements are bytes. */
typedef struct show_request {
    inter_algorithm algorithm;
    inter_view view; /* whose rank does not matter */
    int nodes;       /* rank r is on node r · nodes / size */
} show_request;

/** Is one of the options there that schedule_show() is for? */
bool schedule_show_asked(int argc, char **argv);

/** Does what the command line asks for. Returns the exit status: 2 for a wrong option. */
int schedule_show(int argc, char **argv);

/** The lines of these options in --help. */
void schedule_show_help(FILE *file);

/** Writes DOT. False when memory or the limit on messages did not suffice, after a message. */
bool schedule_draw(const show_request *request, FILE *file);

#endif
