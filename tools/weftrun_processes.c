// SPDX-License-Identifier: BSD-3-Clause
/**
 * The ranks as processes: fork and exec, reaping, signals, and the end of what they leave behind.
 *
 * Each rank leads a group of its own: a signal to it reaches its own children too. All groups are in the job's session, which has no
 * terminal: its signals reach only weftrun's front, and rank 0 may read it all the same.
 */
#include "weftrun.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ten milliseconds each: whom SIGKILL has not ended by then is another user's, or hangs in the kernel. */
enum { ORPHAN_ROUNDS = 1000, FEW_ROUNDS = 50, GENTLE_ROUNDS = 20 };

/* What the new process needs to know; all of it is made before the fork, because libpmix has threads that may hold
 * locks. */
struct start {
    char **program, **environment;
    const sigset_t *mask;
    const cpu_set_t *set; /* NULL: not bound */
    size_t set_bytes;
    int input, output, error; /* -1: inherited */
    int rank, error_fd;
    pid_t parent;
    struct rlimit files; /* as weftrun found it */
};

/* What the new process does before it is the program, and at last to become it. */
enum step { BINDS, TAKES_INPUT, TAKES_OUTPUT, LIMITS_FILES, SETS_MASK, RUNS };

/* What error_fd carries; so short that it comes in one piece. */
struct failure {
    enum step step;
    int rank, code;
};

/* Returns the step that failed, with errno. */
static enum step take(const struct start *start) {
    if (start->set && sched_setaffinity(0, start->set_bytes, start->set) != 0)
        return BINDS;
    if (start->input >= 0 && dup2(start->input, STDIN_FILENO) < 0)
        return TAKES_INPUT;
    if ((start->output >= 0 && dup2(start->output, STDOUT_FILENO) < 0) ||
        (start->error >= 0 && dup2(start->error, STDERR_FILENO) < 0))
        return TAKES_OUTPUT;
    if (setrlimit(RLIMIT_NOFILE, &start->files) != 0)
        return LIMITS_FILES;
    if (sigprocmask(SIG_SETMASK, start->mask, NULL) != 0)
        return SETS_MASK;
    execvpe(start->program[0], start->program, start->environment);
    return RUNS;
}

static _Noreturn void become(const struct start *start) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != start->parent)
        _exit(WEFTRUN_EXIT_ERROR); /* it died before the line above */
    setpgid(0, 0);
    struct failure failure = {.rank = start->rank, .step = take(start)};
    failure.code = errno;
    ssize_t written = write(start->error_fd, &failure, sizeof(failure));
    (void)written;
    _exit(WEFTRUN_EXIT_NOT_FOUND);
}

/* What weftrun has open besides what it has for each rank: libpmix's, its own, and what is open for a moment. */
enum { OWN_FILES = 32 };

/*
 * weftrun has two connections a rank, for PMIx and for roll-calls, and perhaps two pipes. The usual soft limit is low for the sake of programs with select(). With
 * too low a hard one ranks would wait in weft_init for an answer. False: said so.
 */
static bool raise_file_limit(struct rlimit *before, int processes, bool piped) {
    getrlimit(RLIMIT_NOFILE, before);
    struct rlimit raised = {before->rlim_max, before->rlim_max};
    setrlimit(RLIMIT_NOFILE, &raised);
    const rlim_t needed = (rlim_t)processes * (piped ? 4 : 2) + OWN_FILES;
    if (before->rlim_max >= needed) /* RLIM_INFINITY is the highest number */
        return true;
    weftrun_say("%d processes%s take %llu open files, and no more than %llu are allowed (ulimit -Hn)", processes,
                piped ? " and --tag-output" : "", (unsigned long long)needed, (unsigned long long)before->rlim_max);
    return false;
}

static bool start_rank(weftrun_processes *processes, int rank, struct start *start, weftrun_output *output) {
    start->output = output ? weftrun_output_pipe(output, rank, STDOUT_FILENO) : -1;
    start->error = output ? weftrun_output_pipe(output, rank, STDERR_FILENO) : -1;
    start->environment = weftrun_server_environment(rank);
    pid_t pid = -1;
    if (start->environment && (!output || (start->output >= 0 && start->error >= 0))) {
        pid = fork();
        if (pid == 0)
            become(start);
        if (pid < 0)
            weftrun_say("cannot start process %d: %s", rank, strerror(errno));
    }
    if (start->output >= 0)
        close(start->output);
    if (start->error >= 0)
        close(start->error);
    weftrun_server_free_environment(start->environment);
    if (pid < 0)
        return false;
    processes->pids[rank] = pid;
    processes->ended[rank] = false;
    processes->running++;
    return true;
}

bool weftrun_processes_start(weftrun_processes *processes, const weftrun_options *options,
                             const weftrun_binding *binding, weftrun_output *output, const sigset_t *inherited_mask) {
    int count = options->processes, error_pipe[2] = {-1, -1}, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *processes = (weftrun_processes){.count = count, .error_fd = -1};
    processes->pids = calloc((size_t)count, sizeof(*processes->pids));
    processes->ended = calloc((size_t)count, sizeof(*processes->ended));
    bool good = processes->pids && processes->ended && null >= 0 && pipe2(error_pipe, O_CLOEXEC | O_NONBLOCK) == 0;
    if (!good)
        weftrun_say("cannot start the processes: %s", strerror(errno));
    processes->error_fd = error_pipe[0];
    struct start start = {
        .program = options->program, .mask = inherited_mask, .error_fd = error_pipe[1], .parent = getpid()};
    good = good && raise_file_limit(&start.files, count, output);
    if (!good)
        processes->count = 0; /* none was started, and pids and ended may be missing */
    for (int rank = 0; good && rank < count; rank++) {
        processes->ended[rank] = true; /* until it was started */
        start.rank = rank;
        start.input = rank == 0 ? -1 : null;
        start.set = binding->bound ? binding->sets[rank] : NULL;
        start.set_bytes = binding->set_bytes;
        if (!start_rank(processes, rank, &start, output)) {
            processes->count = rank;
            good = false;
        }
    }
    if (error_pipe[1] >= 0)
        close(error_pipe[1]);
    if (null >= 0)
        close(null);
    return good;
}

int weftrun_processes_reap(weftrun_processes *processes, int *wait_status) {
    pid_t pid = waitpid(-1, wait_status, WNOHANG);
    if (pid <= 0)
        return -1;
    for (int rank = 0; rank < processes->count; rank++) {
        if (!processes->ended[rank] && processes->pids[rank] == pid) {
            processes->ended[rank] = true;
            processes->running--;
            return rank;
        }
    }
    return -2;
}

int weftrun_processes_tell_failure(const weftrun_processes *processes, const weftrun_options *options,
                                   const weftrun_binding *binding) {
    static const char *const steps[] = {[TAKES_INPUT] = "take its input",
                                        [TAKES_OUTPUT] = "take its output",
                                        [LIMITS_FILES] = "set its limit on open files",
                                        [SETS_MASK] = "set its signal mask"};
    struct failure failure;
    if (read(processes->error_fd, &failure, sizeof(failure)) != sizeof(failure))
        return 0;
    if (failure.step == RUNS) {
        weftrun_say("cannot run '%s': %s", options->program[0], strerror(failure.code));
        return failure.code == ENOENT ? WEFTRUN_EXIT_NOT_FOUND : WEFTRUN_EXIT_CANNOT_RUN;
    }
    if (failure.step == BINDS)
        weftrun_binding_refused(binding, failure.rank, failure.code);
    else
        weftrun_say("process %d cannot %s: %s", failure.rank, steps[failure.step], strerror(failure.code));
    return WEFTRUN_EXIT_ERROR;
}

void weftrun_processes_signal(const weftrun_processes *processes, int signal) {
    bool group = signal != SIGUSR2; /* the user's own is for the program, not for its helpers */
    for (int rank = 0; rank < processes->count; rank++) {
        if (processes->ended[rank])
            continue;
        /* It was not reaped, so the number is still its own; it may not have called setpgid yet. */
        if (!group || kill(-processes->pids[rank], signal) != 0)
            kill(processes->pids[rank], signal);
    }
}

/* The parent of a process of /proc, 0 if that cannot be told. */
static pid_t parent_of(const char *number) {
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", number);
    int fd = open(path, O_RDONLY | O_CLOEXEC), parent = 0;
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (length > 0) {
        text[length] = 0;
        const char *after_name = strrchr(text, ')'); /* the name may hold anything, also blanks and brackets */
        if (after_name)
            sscanf(after_name + 1, " %*c %d", &parent);
    }
    return parent;
}

static void signal_children(int signal) {
    DIR *directory = opendir("/proc");
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == getpid())
            kill((pid_t)atol(entry->d_name), signal); /* our child: the number cannot change hands before we reap it */
    closedir(directory);
}

bool weftrun_processes_end_orphans(bool all) {
    /* Descendants become our children when their parents end, because we are a subreaper: one generation a round. */
    for (int round = 0; round < (all ? ORPHAN_ROUNDS : FEW_ROUNDS); round++) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            continue;
        if (pid < 0)
            return true; /* no children left */
        if (round == 0 || round >= GENTLE_ROUNDS)
            signal_children(round == 0 ? SIGTERM : SIGKILL);
        usleep(10000);
    }
    if (all)
        weftrun_say("a process that one of the job left behind cannot be killed, and is left alone");
    return false;
}

void weftrun_processes_free(weftrun_processes *processes) {
    if (processes->error_fd >= 0)
        close(processes->error_fd);
    free(processes->pids);
    free(processes->ended);
}
