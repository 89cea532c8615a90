// SPDX-License-Identifier: BSD-3-Clause
/**
 * weftrun: starts the processes of a job on this host, hosts their PMIx server, and ends them all when one fails.
 *
 * Two processes: the *front*, which the user sees, and the *job*, its child, which hosts the server and is the parent
 * of the ranks. Signals reach the job through the front. Each is a subreaper and cleans up what the other leaves when
 * it is killed: the job is told of the front's death (PR_SET_PDEATHSIG) and ends as after a SIGTERM; the front outlives
 * a job that was killed.
 *
 * One file a concern, from the top: weftrun.c (front), weftrun_job.c (supervision), weftrun_options.c, weftrun_server.c
 * (PMIx), weftrun_binding.c (hwloc), weftrun_processes.c (start and end), weftrun_output.c (stdout and stderr), weftrun_rollcall.c (what
 * the ranks wait in), weftrun_session.c (what lies in the file system), weftrun_observe.c (--counters, --trace).
 */
#ifndef WEFTRUN_H
#define WEFTRUN_H

#include <core/collector.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>
#include <weft/team.h>

enum weftrun_bind { WEFTRUN_BIND_AUTO, WEFTRUN_BIND_NONE, WEFTRUN_BIND_CORE, WEFTRUN_BIND_NUMA, WEFTRUN_BIND_PACKAGE };

enum {
    WEFTRUN_MAX_PROCESSES = 4096,
    WEFTRUN_MAX_THREADS = WEFT_MAX_TEAM_THREADS,
    WEFTRUN_EXIT_USAGE = 2,
    WEFTRUN_EXIT_ERROR = 1,     /* weftrun itself failed */
    WEFTRUN_EXIT_TIMEOUT = 124, /* these three as in timeout(1), env(1) and the shell */
    WEFTRUN_EXIT_CANNOT_RUN = 126,
    WEFTRUN_EXIT_NOT_FOUND = 127,
};

/* What the kernel sends the job when the front is killed: none of those that the user may have told weftrun to ignore. */
#define WEFTRUN_FRONT_DIED SIGRTMIN

typedef struct weftrun_options {
    int processes;
    int threads; /* 0: -t was not given */
    enum weftrun_bind bind;
    bool tag_output, report_bindings, counters;
    const char *trace;  /* --trace, within main's argv; NULL: none */
    double timeout_s;   /* 0: none */
    int hang_timeout_s; /* 0: none */
    char **program;     /* its argument vector, within main's argv */
} weftrun_options;

/* weftrun_options.c */

/**
 * Reads the command line. -x and -t take effect in weftrun's own environment, which the ranks inherit.
 * Returns -1 to go on, otherwise the status to exit with (after --help, --version, or a sentence on stderr).
 */
int weftrun_options_read(weftrun_options *options, int argc, char **argv);

/** "weftrun: " + the sentence + newline on stderr: weftrun_output_say(). */
void weftrun_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* weftrun_session.c: the session directory, weftrun-<uid>-<pid>, which libpmix fills */

/** Makes and locks it, after removing those of weftruns that are gone. Sets path (at least 256 bytes). False: said why.
 */
bool weftrun_session_open(char *path, size_t bytes);
/** A directory elsewhere, by its absolute name, that is removed when the session's is. One at most. False: errno says why. */
bool weftrun_session_extend(const char *path, const char *other);
/** Removes the directory and all in it. May be called twice. */
void weftrun_session_remove(const char *path);
/**
 * Removes shared memory that dead ranks left: SysV segments made by one of `pids`, and UCX's files in /dev/shm that
 * nobody has open. Only what this user made since `start`.
 */
void weftrun_session_remove_shared_memory(const pid_t *pids, int count, time_t start);

/* weftrun_server.c: the PMIx server. Its callbacks come on a thread of libpmix. */

/** The job's PMIx namespace. */
const char *weftrun_server_namespace(void);
/** Starts the server for ranks 0 … processes-1. False: said why. */
bool weftrun_server_start(const char *session, int processes);
/** The environment for a rank; freed with weftrun_server_free_environment(). NULL: said why. */
char **weftrun_server_environment(int rank);
void weftrun_server_free_environment(char **environment);
/** Readable when a rank has called PMIx_Abort. */
int weftrun_server_abort_fd(void);
/** The first PMIx_Abort: its rank, or -1. *message stays valid. */
int weftrun_server_aborted(int *status, const char **message);
/** Where a rank is: not yet in PMIx_Init, between that and PMIx_Finalize, or through. */
enum weftrun_presence { WEFTRUN_UNKNOWN, WEFTRUN_CONNECTED, WEFTRUN_FINALIZED };
enum weftrun_presence weftrun_server_presence(int rank);
/** False: it does not end. Then, and where it was not called, nothing of libpmix may be called any more, its handlers of exit() included. */
bool weftrun_server_stop(void);

/* weftrun_binding.c */

/** One cpu set a rank. */
typedef struct weftrun_binding {
    bool bound; /* false: the ranks inherit weftrun's set, and that is what `sets` hold */
    int count;
    size_t set_bytes;
    cpu_set_t **sets; /* by rank */
} weftrun_binding;

bool weftrun_binding_make(weftrun_binding *binding, const weftrun_options *options); /* false: said why */
/** Prints rank, process and cores on stderr, and a warning when threads share cores. */
void weftrun_binding_report(const weftrun_binding *binding, const weftrun_options *options, const pid_t *pids);
/** Says that the kernel did not let a rank be bound; `code`: an errno. */
void weftrun_binding_refused(const weftrun_binding *binding, int rank, int code);
void weftrun_binding_free(weftrun_binding *binding);

/* weftrun_output.c: what the job writes on stdout and stderr */

typedef struct weftrun_output weftrun_output;

/** There is one at most. NULL: said why. */
weftrun_output *weftrun_output_open(int processes);
/**
 * Writes whole lines of weftrun's own on stderr. While an output is open it does not block: lines wait in it, behind those of the ranks, when stderr does
 * not take them now. One thread uses it.
 */
void weftrun_output_say(const char *text, size_t bytes);
/** The write end of a rank's pipe; stream 1 or 2. The caller closes it after the fork. -1: said why. */
int weftrun_output_pipe(weftrun_output *output, int rank, int stream);
/** How many entries weftrun_output_poll fills at most. */
size_t weftrun_output_poll_max(const weftrun_output *output);
/** Fills `fds` with what is waited for, and returns how many; 0: every pipe has ended and all is written. */
size_t weftrun_output_poll(weftrun_output *output, struct pollfd *fds);
/** Do lines wait for somebody to read stdout or stderr? */
bool weftrun_output_waits(const weftrun_output *output);
/** Moves what poll said can be moved. Never blocks. What was said since weftrun_output_poll is left to the next time. */
void weftrun_output_move(weftrun_output *output, const struct pollfd *fds, size_t count);
/** Was something lost, as on a full disk? It has been said. */
bool weftrun_output_failed(const weftrun_output *output);
void weftrun_output_close(weftrun_output *output);

/* weftrun_observe.c: --counters and --trace */

/** Tells the ranks, by weftrun's own environment, where to leave their numbers. False: said why. */
bool weftrun_observe_open(const weftrun_options *options, const char *session);
/** Prints the table, writes the timeline: a whole one or none. All ranks have ended. False: said why. */
bool weftrun_observe_report(const weftrun_options *options);

/* weftrun_processes.c */

typedef struct weftrun_processes {
    int count, running;
    pid_t *pids;  /* by rank */
    bool *ended;  /* by rank: its end was seen by weftrun_processes_reap */
    int error_fd; /* a rank that cannot become its program writes here which step failed */
} weftrun_processes;

/** Starts all ranks. False: said why; those that were started are in *processes. */
bool weftrun_processes_start(weftrun_processes *processes, const weftrun_options *options,
                             const weftrun_binding *binding, weftrun_output *output, const sigset_t *inherited_mask);
/** Takes one ended child. Returns its rank, -1 when there is none now, -2 for a process that is no rank. */
int weftrun_processes_reap(weftrun_processes *processes, int *wait_status);
/** Says what the first rank that could not become its program could not do. Returns weftrun's exit status; 0: there is none. */
int weftrun_processes_tell_failure(const weftrun_processes *processes, const weftrun_options *options,
                                   const weftrun_binding *binding);
/** Sends a signal to every rank that runs: to its process group, but SIGUSR2 to the rank alone. */
void weftrun_processes_signal(const weftrun_processes *processes, int signal);
/**
 * Ends every descendant that is left when the ranks have ended: processes that they started and left behind. False: some cannot be ended; said so.
 * `all`: otherwise some are known not to end, and all that do not soon are left without a word.
 */
bool weftrun_processes_end_orphans(bool all);
void weftrun_processes_free(weftrun_processes *processes);

/* weftrun_rollcall.c */

/** Gets ready, and tells the ranks by a variable in weftrun's own environment. `job`: its PMIx namespace. NULL: said why. */
core_collector *weftrun_rollcall_open(const char *session, const char *job, int processes);
/** Takes what came, and prints a report when all have answered or had the time to. */
void weftrun_rollcall_move(core_collector *collector, const weftrun_processes *processes);

/* weftrun_job.c */

/** Runs the job to its end, with everything it made gone, and returns weftrun's exit status. `signals`: a signalfd. */
int weftrun_job(const weftrun_options *options, const char *session, int signals, const sigset_t *inherited_mask);

#endif
