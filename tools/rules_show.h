// SPDX-License-Identifier: BSD-3-Clause
/**
 * weft-info --rules and --why: the selector's table, and how it comes to a choice.
 */
#ifndef TOOLS_RULES_SHOW_H
#define TOOLS_RULES_SHOW_H

#include "simulate.h"
#include <hier/select.h>
#include <stdio.h>

/** Prints the whole table. Returns a weft error code. */
int rules_show(void);

/** The line above rules, and a rule with a note behind it, which may be "". */
void rules_print_head(void);
void rules_print_rule(const hier_selector *selector, const hier_rule *rule, const char *note);

/** What --why is asked. */
typedef struct rules_question {
    hier_key key;
    size_t bytes; /* of one rank, also where the key must not know them */
    bench_machine machine;
    const char *machine_text; /* NULL: not given */
} rules_question;

/** Prints what the candidates would take on the machine of the question. Returns the exit status. */
int rules_predict(const rules_question *asked, const hier_selector *selector, const inter_algorithm *chosen);

/** Is --why on the command line? */
bool rules_why_asked(int argc, char **argv);

/** Does what the command line asks for. Returns the exit status: 2 for a wrong option. */
int rules_why(int argc, char **argv);

/** The lines of these options in --help. */
void rules_why_help(FILE *file);

#endif
