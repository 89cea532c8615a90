// SPDX-License-Identifier: BSD-3-Clause
/*
 * weft-bench's ping-pong, stream and message rate over bare UCX: two processes that this program forks, each on a core of
 * its own. A limit for weft's messages between processes; run without a launcher.
 */
#include "../pin.h"
#include "../sweep.h"
#include "ucx_messages.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int measure(int number, ucx_shared *shared, const bench_options *options) {
    static ucx_rank self;
    const bench_rank rank = {&ucx_library, &self, number, UCX_RANKS};
    char version[32];
    const bench_setting setting = {.library = "ucx",
                                   .version = version,
                                   .level = "process",
                                   .processes = UCX_RANKS,
                                   .threads = 1,
                                   .format = options->format,
                                   .checked = options->check};
    cpu_set_t allowed;
    unsigned major, minor, release;
    int status;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        CPU_ZERO(&allowed);
    bench_pin(&allowed, number, UCX_RANKS);
    ucp_get_version(&major, &minor, &release);
    snprintf(version, sizeof version, "%u.%u.%u", major, minor, release);
    ucx_open(&self, number, shared);
    status = bench_sweep(&rank, options, &setting);
    ucx_close(&self);
    return status;
}

/* A rank ends with its parent, as the parent ends both when one has failed: none is left waiting for the other. */
static pid_t start(int number, ucx_shared *shared, const bench_options *options) {
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        bench_fail("process %d could not be started", number);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? measure(number, shared, options) : 1);
    }
    return child;
}

static int run_both(ucx_shared *shared, const bench_options *options) {
    pid_t ranks[UCX_RANKS];
    int worst = 0;
    for (int i = 0; i < UCX_RANKS; i++)
        ranks[i] = start(i, shared, options);
    for (int ended = 0; ended < UCX_RANKS; ended++) {
        int status;
        pid_t child = wait(&status);
        if (child < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
            continue;
        worst = 1;
        if (ended == 0)
            kill(ranks[child == ranks[0]], SIGKILL);
    }
    return worst;
}

int main(int argc, char **argv) {
    bench_options options;
    ucx_shared *shared;
    if (bench_parse(argc, argv, true, &options))
        return 2;
    if (options.help) {
        bench_print_help("peer-ucx", true);
        return 0;
    }
    if (!bench_has(options.operation, BENCH_PAIRS) || options.operation == BENCH_OVERLAP ||
        options.operation == BENCH_DATATYPES) {
        fprintf(stderr, "%s: bare UCX has pingpong, stream, message-rate and multi-pair\n", argv[0]);
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED)
        bench_fail("no memory to share");
    return run_both(shared, &options);
}
