// SPDX-License-Identifier: BSD-3-Clause
/**
 * The job: starts server and ranks, waits, and ends everything when a rank fails, a signal comes or time runs out.
 *
 * The first reason to end the job decides its exit status and is the one that is told; what the ranks do after that
 * (most are killed) is a consequence.
 */
#include "weftrun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const double GRACE_S = 1.0;    /* between SIGTERM and SIGKILL, and for somebody to read what is left */
static const double GIVE_UP_S = 10;   /* between SIGKILL and leaving alone whom it does not end */
static const double SAME_S = 0.3;     /* so close together signals that end the job are one */
static const double STARTING_S = 0.5; /* between two looks at who is in weft_init */
static const double ABSENT_S = 1.0;   /* so long may a rank be in PMIx that another has ended without */

struct job {
    const weftrun_options *options;
    weftrun_processes processes;
    weftrun_binding binding;
    weftrun_output *output;
    core_collector *rollcall;
    int signals;
    int status;
    bool ending;
    bool hurried;                /* a signal or the time limit wants the end: readers have GRACE_S */
    double time_limit_s, kill_s; /* on now_s()'s clock; 0: none */
    double give_up_s;            /* after SIGKILL; 0: before */
    double impatient_s;          /* while it ends: from here on a signal does not wait for kill_s */
    double read_s;               /* when drain() gives up; 0: it has not begun, or there is no limit */
    int interruption;            /* the signal that wants drain() to end; 0: none does */
    int absent;                  /* a rank that has ended well without ever having been in PMIx; -1: none */
    double absent_s;             /* when others that wait for it have done so long enough; 0: nobody is seen to */
    bool starts;                 /* to look for ranks that are in weft_init for too long */
    double starting_s;           /* since when one is; 0: none is */
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Asks every rank to end. */
static void end(struct job *job, int status) {
    job->ending = true;
    job->status = status;
    job->kill_s = now_s() + GRACE_S;
    job->impatient_s = now_s() + SAME_S;
    weftrun_processes_signal(&job->processes, SIGTERM);
    weftrun_processes_signal(&job->processes, SIGCONT); /* a stopped process ends only when it goes on */
}

static void kill_now(struct job *job) {
    job->kill_s = 0;
    if (job->give_up_s <= 0)
        job->give_up_s = now_s() + GIVE_UP_S;
    weftrun_processes_signal(&job->processes, SIGKILL);
}

/* How a rank ended, from its wait status. Called for the one that counts. */
static void judge(struct job *job, int rank, int wait_status) {
    long pid = job->processes.pids[rank];
    if (WIFSIGNALED(wait_status)) {
        int signal = WTERMSIG(wait_status);
        weftrun_say("process %d (pid %ld) was killed by signal %d (%s)", rank, pid, signal, strsignal(signal));
        end(job, 128 + signal);
        return;
    }
    int status = weftrun_processes_tell_failure(&job->processes, job->options, &job->binding);
    if (status) {
        end(job, status);
    } else if (WEXITSTATUS(wait_status) != 0) {
        weftrun_say("process %d (pid %ld) exited with status %d", rank, pid, WEXITSTATUS(wait_status));
        end(job, WEXITSTATUS(wait_status));
    } else {
        weftrun_say(
            "process %d (pid %ld) exited with status 0 but without weft_finalize; the others could wait for it forever",
            rank, pid);
        end(job, WEFTRUN_EXIT_ERROR);
    }
}

static void look_at_abort(struct job *job) {
    int status;
    const char *message;
    int rank = weftrun_server_aborted(&status, &message);
    if (rank < 0 || job->ending)
        return;
    weftrun_say("process %d (pid %ld) called PMIx_Abort with status %d%s%s", rank, (long)job->processes.pids[rank],
                status, *message ? ": " : "", message);
    end(job, (status & 255) != 0 ? status & 255 : WEFTRUN_EXIT_ERROR);
}

/* Has it left the others with nothing to wait for? Who is through with weft may leave PMIx to its end, and that to nobody (_exit). */
static bool is_well(struct job *job, int rank, int wait_status) {
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        return false;
    enum weftrun_presence presence = weftrun_server_presence(rank);
    if (presence == WEFTRUN_UNKNOWN)
        job->absent = rank;
    return presence != WEFTRUN_CONNECTED || core_collector_through(job->rollcall, rank);
}

/*
 * Takes all that have ended. Several may have since the last look, and their order is not known: one that was killed by
 * a signal is then more likely the cause than one that exited.
 */
static void look_at_ended(struct job *job) {
    int failed = -1, failed_status = 0, status;
    for (int rank; (rank = weftrun_processes_reap(&job->processes, &status)) != -1;) {
        weftrun_rollcall_move(job->rollcall, &job->processes); /* its last words */
        if (rank < 0 || is_well(job, rank, status))
            continue;
        if (failed < 0 || (WIFSIGNALED(status) && !WIFSIGNALED(failed_status))) {
            failed = rank;
            failed_status = status;
        }
    }
    look_at_abort(job); /* before the exit that follows it */
    if (failed >= 0 && !job->ending)
        judge(job, failed, failed_status);
}

static bool runs(const struct job *job, int rank) {
    return !job->processes.ended[rank];
}

static bool is_before_init(const struct job *job, int rank) {
    return runs(job, rank) && weftrun_server_presence(rank) == WEFTRUN_UNKNOWN;
}

#define RANKS_BYTES 512

/* "0 (pid 17), 1 (pid 18)": the ranks of which it is so. */
static void list_ranks(const struct job *job, bool (*is_so)(const struct job *job, int rank), char text[RANKS_BYTES]) {
    size_t used = 0;
    text[0] = 0;
    for (int rank = 0; rank < job->processes.count && used < RANKS_BYTES - 48; rank++)
        if (is_so(job, rank))
            used += (size_t)snprintf(text + used, RANKS_BYTES - used, "%s%d (pid %ld)", used ? ", " : "", rank,
                                     (long)job->processes.pids[rank]);
    if (used >= RANKS_BYTES - 48)
        snprintf(text + used, RANKS_BYTES - used, ", …");
}

static bool is_in_init(const struct job *job, int rank) {
    return runs(job, rank) && weftrun_server_presence(rank) == WEFTRUN_CONNECTED &&
           !core_collector_knows(job->rollcall, rank);
}

static bool has_ended_before(const struct job *job, int rank) {
    return !runs(job, rank) && !core_collector_knows(job->rollcall, rank);
}

/*
 * Until a process has said hello, at the end of weft_init, it is in no roll-call. Who is in weft_init is seen by PMIx. `seconds`: for so long somebody has been in
 * it; 0: that is not known.
 */
static void tell_starting(const struct job *job, double seconds) {
    char lasted[64] = "", inside[RANKS_BYTES], before[RANKS_BYTES], ended[RANKS_BYTES];
    list_ranks(job, is_in_init, inside);
    list_ranks(job, is_before_init, before);
    list_ranks(job, has_ended_before, ended);
    if (seconds > 0)
        snprintf(lasted, sizeof(lasted), "a wait has lasted %.1f s: ", seconds);
    if (*inside)
        weftrun_say("%sin weft_init: process %s%s%s%s%s", lasted, inside, *before ? "; before it: process " : "",
                    before, *ended ? "; ended before the end of it: process " : "", ended);
}

/* Nobody but weftrun tells that a process is in weft_init for too long. Returns whether to look again. */
static bool look_for_starting(struct job *job, double now) {
    bool waits = false, all = true;
    for (int rank = 0; rank < job->processes.count; rank++) {
        all = all && (!runs(job, rank) || core_collector_knows(job->rollcall, rank));
        waits = waits || is_in_init(job, rank);
    }
    if (!waits) {
        job->starting_s = 0;
    } else if (job->starting_s <= 0) {
        job->starting_s = now;
    } else if (now - job->starting_s >= job->options->hang_timeout_s) {
        tell_starting(job, now - job->starting_s);
        return false;
    }
    return !all;
}

/* Those that the user may send, and the front's death. */
static bool is_to_end(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT ||
           signal == WEFTRUN_FRONT_DIED;
}

/* Who ends all of a session or a container sends one to the front, which hands it on, and one to the job: that is no second wish. */
static void end_by_signal(struct job *job, int signal) {
    job->hurried = true;
    if (job->ending) {
        if (now_s() >= job->impatient_s)
            kill_now(job);
        return;
    }
    if (signal == WEFTRUN_FRONT_DIED)
        weftrun_say("its first process was killed; the job ends");
    else
        weftrun_say("ended by signal %d (%s)", signal, strsignal(signal));
    end(job, 128 + signal);
}

static void look_at_signals(struct job *job) {
    struct signalfd_siginfo info;
    bool child = false;
    while (read(job->signals, &info, sizeof(info)) == sizeof(info)) {
        int signal = (int)info.ssi_signo;
        if (signal == SIGCHLD) {
            child = true;
        } else if (signal == SIGUSR1) {
            core_collector_ask(job->rollcall);
            tell_starting(job, 0);
        } else if (signal == SIGUSR2 || signal == SIGCONT) {
            weftrun_processes_signal(&job->processes, signal);
        } else if (signal == SIGTSTP) {
            weftrun_processes_signal(&job->processes, SIGSTOP);
        } else if (is_to_end(signal)) {
            end_by_signal(job, signal);
        }
    }
    if (child)
        look_at_ended(job);
}

static void time_out(struct job *job) {
    char ranks[RANKS_BYTES];
    list_ranks(job, runs, ranks);
    weftrun_say("time-out after %g s; %d of %d processes still ran: %s", job->options->timeout_s,
                job->processes.running, job->processes.count, ranks);
    job->hurried = true;
    end(job, WEFTRUN_EXIT_TIMEOUT);
}

/* A rank in PMIx waits in its first fence for all others, also for one that has ended. */
static void look_for_absent(struct job *job, double now) {
    int waiting = -1;
    for (int rank = 0; rank < job->processes.count; rank++)
        if (!job->processes.ended[rank] && weftrun_server_presence(rank) == WEFTRUN_CONNECTED)
            waiting = rank;
    if (waiting < 0) {
        job->absent_s = 0;
    } else if (job->absent_s <= 0) {
        job->absent_s = now + ABSENT_S;
    } else if (now >= job->absent_s) {
        weftrun_say("process %d (pid %ld) exited with status 0 and without weft_init, in which process %d (pid %ld) "
                    "waits for it",
                    job->absent, (long)job->processes.pids[job->absent], waiting, (long)job->processes.pids[waiting]);
        end(job, WEFTRUN_EXIT_ERROR);
    }
}

static double earlier(double one, double other) {
    return one <= 0 || (other > 0 && other < one) ? other : one;
}

/* How long poll may sleep until `when_s`, in ms; 0 stands for never. */
static int ms_until(double when_s) {
    double left_ms = (when_s - now_s()) * 1e3 + 1;
    return when_s <= 0 ? -1 : left_ms < 0 ? 0 : left_ms > 1e6 ? 1000000 : (int)left_ms;
}

/* Handles the limits that have passed and returns how long poll may sleep, in ms. */
static int look_at_clock(struct job *job) {
    double now = now_s();
    if (!job->ending && job->time_limit_s > 0 && now >= job->time_limit_s)
        time_out(job);
    if (!job->ending && job->absent >= 0)
        look_for_absent(job, now);
    if (job->kill_s > 0 && now >= job->kill_s)
        kill_now(job);
    if (!job->ending && job->starts)
        job->starts = look_for_starting(job, now);
    double next = job->ending        ? earlier(job->kill_s, job->give_up_s)
                  : job->absent >= 0 ? earlier(job->time_limit_s, now + ABSENT_S / 4)
                  : job->starts      ? earlier(job->time_limit_s, now + STARTING_S)
                                     : job->time_limit_s;
    return ms_until(next);
}

/* SIGKILL does not end processes of another user, nor those that hang in the kernel. */
static bool gives_up(const struct job *job) {
    char ranks[RANKS_BYTES];
    if (job->give_up_s <= 0 || now_s() < job->give_up_s)
        return false;
    list_ranks(job, runs, ranks);
    weftrun_say("%d of %d processes cannot be killed, and are left alone: %s", job->processes.running,
                job->processes.count, ranks);
    return true;
}

/* Until no rank runs that can be ended. fds: room for 3 + what the output needs. */
static void supervise(struct job *job, struct pollfd *fds) {
    while (job->processes.running > 0 && !gives_up(job)) {
        fds[0] = (struct pollfd){.fd = job->signals, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = job->ending ? -1 : weftrun_server_abort_fd(), .events = POLLIN};
        fds[2] = (struct pollfd){.fd = job->ending ? -1 : core_collector_fd(job->rollcall), .events = POLLIN};
        int wait_ms = look_at_clock(job); /* before it is asked what waits to be written: it may say something */
        size_t count = weftrun_output_poll(job->output, fds + 3);
        int answer_ms = job->ending ? -1 : core_collector_wait_ms(job->rollcall);
        int ready = poll(fds, 3 + count, wait_ms < 0 || (answer_ms >= 0 && answer_ms < wait_ms) ? answer_ms : wait_ms);
        if (!job->ending)
            weftrun_rollcall_move(job->rollcall, &job->processes);
        if (ready <= 0)
            continue;
        weftrun_output_move(job->output, fds + 3, count);
        if (fds[1].revents)
            look_at_abort(job);
        if (fds[0].revents)
            look_at_signals(job);
    }
}

/* Takes signals while only readers are waited for: these have GRACE_S from the first on, and from the next on no time. */
static void hurry(struct job *job) {
    struct signalfd_siginfo info;
    while (read(job->signals, &info, sizeof(info)) == sizeof(info)) {
        if (!is_to_end((int)info.ssi_signo))
            continue;
        const double now = now_s();
        if (!job->interruption) {
            job->interruption = (int)info.ssi_signo;
            job->impatient_s = now + SAME_S;
            job->read_s = earlier(job->read_s, now + GRACE_S);
        } else if (now >= job->impatient_s) {
            job->read_s = now;
        }
    }
}

/* Of a job that has ended well so far. */
static void tell_unread(struct job *job) {
    static const char what[] = "all processes have ended, but what they printed has not been read";
    if (job->status)
        return;
    if (job->interruption) {
        job->status = 128 + job->interruption;
        weftrun_say("ended by signal %d (%s); %s", job->interruption, strsignal(job->interruption), what);
    } else if (job->time_limit_s > 0 && now_s() >= job->time_limit_s) {
        job->status = WEFTRUN_EXIT_TIMEOUT;
        weftrun_say("time-out after %g s; %s", job->options->timeout_s, what);
    }
}

/*
 * Writes what the ranks printed before they ended, and what weftrun said, as long as nobody is in a hurry. All of it is there: a pipe that is empty has nothing
 * more to give, also when somebody still holds its other end. So only who reads weftrun's output is waited for.
 */
static void drain(struct job *job, struct pollfd *fds, bool orphans) {
    double grace_s = now_s() + GRACE_S;
    if (job->read_s <= 0) {
        job->read_s = job->hurried || orphans ? grace_s : job->time_limit_s;
        if (job->read_s > 0 && job->read_s < grace_s)
            job->read_s = grace_s; /* the limit has just passed: who reads gets everything all the same */
    }
    for (size_t count; (count = weftrun_output_poll(job->output, fds + 1)) > 0;) {
        bool waits = weftrun_output_waits(job->output);
        fds[0] = (struct pollfd){.fd = job->signals, .events = POLLIN};
        int ready = poll(fds, 1 + count, waits ? ms_until(job->read_s) : 0);
        if (ready > 0)
            weftrun_output_move(job->output, fds + 1, count);
        if (ready == 0 && !waits)
            return;
        if (ready > 0 && fds[0].revents)
            hurry(job);
        if (job->read_s > 0 && now_s() >= job->read_s) {
            tell_unread(job);
            return;
        }
    }
}

static bool start(struct job *job, const char *session, const sigset_t *inherited_mask) {
    const weftrun_options *options = job->options;
    if (!(job->output = weftrun_output_open(options->processes)) || !weftrun_observe_open(options, session) ||
        !weftrun_binding_make(&job->binding, options) ||
        !(job->rollcall = weftrun_rollcall_open(session, weftrun_server_namespace(), options->processes)) ||
        !weftrun_server_start(session, options->processes))
        return false;
    if (options->timeout_s > 0)
        job->time_limit_s = now_s() + options->timeout_s;
    weftrun_output *tagged = options->tag_output ? job->output : NULL;
    if (!weftrun_processes_start(&job->processes, options, &job->binding, tagged, inherited_mask))
        end(job, WEFTRUN_EXIT_ERROR); /* it said why; what was started ends in supervise() */
    else if (options->report_bindings)
        weftrun_binding_report(&job->binding, options, job->processes.pids);
    return true;
}

int weftrun_job(const weftrun_options *options, const char *session, int signals, const sigset_t *inherited_mask) {
    struct job job = {.options = options,
                      .signals = signals,
                      .processes.error_fd = -1,
                      .absent = -1,
                      .starts = options->hang_timeout_s > 0};
    time_t began = time(NULL);
    bool stopped = true;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct pollfd *fds = calloc((size_t)options->processes * 2 + 5, sizeof(*fds));
    if (!fds || !start(&job, session, inherited_mask)) {
        job.status = WEFTRUN_EXIT_ERROR;
    } else {
        supervise(&job, fds);
        drain(&job, fds, !weftrun_processes_end_orphans(job.processes.running == 0));
        if ((!weftrun_observe_report(options) || weftrun_output_failed(job.output)) && !job.status)
            job.status = WEFTRUN_EXIT_ERROR;
        weftrun_session_remove_shared_memory(job.processes.pids, job.processes.count, began);
        /* Where ranks were killed while they connected, libpmix 4.2 may lock itself up in there, or worse. */
        stopped = !job.ending && weftrun_server_stop();
    }
    if (fds && job.output)
        drain(&job, fds, false); /* what was said since */
    weftrun_session_remove(session);
    weftrun_output_close(job.output);
    core_collector_close(job.rollcall);
    weftrun_binding_free(&job.binding);
    weftrun_processes_free(&job.processes);
    free(fds);
    if (!stopped)
        _exit(job.status);
    return job.status;
}
