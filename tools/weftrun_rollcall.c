// SPDX-License-Identifier: BSD-3-Clause
/**
 * The roll-call: on SIGUSR1, or when a process says that one of its waits is too long, all processes are asked what their threads do,
 * and one report goes to stderr (core/collector.h). The processes connect in weft_init to a socket in the session directory, which only
 * this user can reach.
 */
#include "weftrun.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

core_collector *weftrun_rollcall_open(const char *session, const char *job, int processes) {
    char value[512];
    snprintf(value, sizeof(value), "%s:%s", job, session);
    int listener = core_rollcall_listen(session);
    core_collector *made = listener < 0 ? NULL : core_collector_open(processes, listener, NULL, INT_MAX);
    if (made && setenv(CORE_ROLLCALL_VARIABLE, value, 1) == 0)
        return made;
    weftrun_say("cannot get ready for roll-calls: %s", strerror(errno));
    core_collector_close(made);
    return NULL;
}

void weftrun_rollcall_move(core_collector *collector, const weftrun_processes *processes) {
    core_report report = core_collector_move(collector, processes->ended);
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = report.roll ? open_memstream(&text, &bytes) : NULL;
    if (!file)
        return;
    core_roll_print_job(file, "weftrun", processes->count, report.roll, report.by_user);
    if (fclose(file) == 0)
        weftrun_output_say(text, bytes);
    free(text);
}
