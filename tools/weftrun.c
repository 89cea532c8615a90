// SPDX-License-Identifier: BSD-3-Clause
/**
 * The front: reads the command line, starts the job as its child, hands signals on and returns the job's status.
 * It stays out of the job's way so that somebody is left to clean up when the job itself is killed.
 */
#include "weftrun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* As nohup, and a shell that starts a job beside it, have it. A signal that is blocked would come all the same. */
static bool is_ignored(int number) {
    struct sigaction how;
    return sigaction(number, NULL, &how) == 0 && how.sa_handler == SIG_IGN;
}

/* What the job learns of: see weftrun_job.c. SIGPIPE and SIGTTOU are blocked only, so that writing fails instead. */
static void fill_signals(sigset_t *handled, sigset_t *blocked) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    signal(SIGCHLD, SIG_DFL); /* ignored, it would not come when a process ends */
    sigemptyset(handled);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (!is_ignored(numbers[i]))
            sigaddset(handled, numbers[i]);
    *blocked = *handled;
    sigaddset(blocked, SIGPIPE);
    sigaddset(blocked, SIGIO); /* another weftrun opens what this one has a lease on (weftrun_session.c) */
    sigaddset(blocked, SIGTTOU);
}

static _Noreturn void be_job(const weftrun_options *options, const char *session, pid_t front, const sigset_t *handled,
                             const sigset_t *inherited_mask) {
    /* The terminal's signals come through the front, once. One session for all ranks: Linux shares the cores out between sessions
     * (autogroups), and a rank alone in its own could not yield to another one. */
    setsid();
    sigset_t awaited = *handled;
    sigaddset(&awaited, WEFTRUN_FRONT_DIED);
    sigprocmask(SIG_BLOCK, &awaited, NULL); /* blocked, it comes though it was ignored */
    prctl(PR_SET_PDEATHSIG, WEFTRUN_FRONT_DIED);
    int signals = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        weftrun_say("cannot wait for signals: %s", strerror(errno));
    if (signals < 0 || getppid() != front) {
        weftrun_session_remove(session);
        exit(WEFTRUN_EXIT_ERROR);
    }
    exit(weftrun_job(options, session, signals, inherited_mask));
}

/* Lets a signal that is blocked do to the front what it does by default. */
static void suffer(int number) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

/* Waits for the job and hands on what comes meanwhile. Returns the job's wait status. */
static int attend(pid_t job, const sigset_t *handled, bool *interrupted) {
    for (int status;;) {
        int signal = sigwaitinfo(handled, NULL);
        if (signal == SIGCHLD) {
            for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
                if (pid == job)
                    return status;
        } else if (signal > 0) {
            kill(job, signal);
            *interrupted |= signal == SIGINT;
            if (signal == SIGTSTP) {
                /* The shell's job control acts on the front. Where there is none the kernel does not stop it: in a process group that
                 * nobody would continue (ssh -t HOST weftrun), and as a container's first process. */
                suffer(SIGTSTP);
                kill(job, SIGCONT);
            }
        }
    }
}

/* What is opened later must not become somebody's standard stream when weftrun was started without one. */
static void fill_standard_streams(void) {
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO)
        continue;
    if (fd > STDERR_FILENO)
        close(fd);
}

/* In the background of a shell (weftrun … &) nobody may read the terminal. Rank 0, which is in a session without one, would not be stopped but take what is typed for
 * the shell. */
static void leave_terminal(void) {
    pid_t foreground = isatty(STDIN_FILENO) ? tcgetpgrp(STDIN_FILENO) : -1;
    if (foreground == -1 || foreground == getpgrp())
        return;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    close(null);
}

int main(int argc, char **argv) {
    fill_standard_streams();
    weftrun_options options;
    int status = weftrun_options_read(&options, argc, argv);
    if (status >= 0)
        return status;
    /* Before libpmix starts its threads, which inherit the mask. */
    sigset_t handled, blocked, inherited_mask;
    fill_signals(&handled, &blocked);
    sigprocmask(SIG_BLOCK, &blocked, &inherited_mask);
    char session[256];
    time_t began = time(NULL);
    if (!weftrun_session_open(session, sizeof(session)))
        return WEFTRUN_EXIT_ERROR;
    leave_terminal();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t front = getpid(), job = fork();
    if (job == 0)
        be_job(&options, session, front, &handled, &inherited_mask);
    if (job < 0) {
        weftrun_say("cannot start: %s", strerror(errno));
        weftrun_session_remove(session);
        return WEFTRUN_EXIT_ERROR;
    }
    bool interrupted = false;
    status = attend(job, &handled, &interrupted);
    if (interrupted && WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT)
        suffer(SIGINT); /* so that a shell's loop ends, too; where that cannot be its status tells the same */
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    weftrun_processes_end_orphans(true);
    weftrun_session_remove_shared_memory(NULL, 0, began);
    weftrun_session_remove(session);
    /* Last: here it may block, when stderr takes nothing. */
    weftrun_say("its own process (pid %ld) was killed by signal %d (%s); the job ends", (long)job, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    return 128 + WTERMSIG(status);
}
