// SPDX-License-Identifier: BSD-3-Clause
/**
 * The roll-call: on SIGUSR1, or when a process says that one of its waits is too long, all processes are asked what their threads do,
 * and one report goes to stderr (core/rollcall.h).
 *
 * The processes connect in weft_init to a socket in the session directory, which only this user can reach. What they send is checked
 * all the same: who sends nonsense is cut off, and counts as one that does not answer.
 */
#include "weftrun.h"

#include <core/rollcall.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_LOOKS = 256 };
static const double ANSWER_S = 2; /* who has not answered by then is not waited for */

struct weftrun_rollcall {
    int processes, listener, events; /* events: an epoll of the listener and all connections */
    int *connections;                /* by process; -1: not in weft */
    bool *through;                   /* by process: was in weft, and has said goodbye */
    bool *awaited;                   /* by process: has not answered all of the present question */
    bool asking, asked_by_user;
    uint32_t question;
    double limit_s;   /* when asking ends, on the monotonic clock */
    double hang_s;    /* what a process calls too long */
    core_roll answer; /* so far */
    core_roll last;   /* the last report of waits that were too long … */
    double last_s;    /* … for which this was too long */
    core_packet packet;
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool watch(weftrun_rollcall *rollcall, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(rollcall->events, EPOLL_CTL_ADD, fd, &event) == 0;
}

weftrun_rollcall *weftrun_rollcall_open(const char *session, const char *job, int processes) {
    weftrun_rollcall *made = calloc(1, sizeof(*made));
    char value[512];
    snprintf(value, sizeof(value), "%s:%s", job, session);
    if (made) {
        made->processes = processes;
        made->connections = malloc((size_t)processes * sizeof(*made->connections));
        made->awaited = calloc((size_t)processes, sizeof(*made->awaited));
        made->through = calloc((size_t)processes, sizeof(*made->through));
        made->events = epoll_create1(EPOLL_CLOEXEC);
        made->listener = core_rollcall_listen(session);
        if (made->connections && made->awaited && made->through && made->events >= 0 && made->listener >= 0 &&
            watch(made, made->listener) && setenv(CORE_ROLLCALL_VARIABLE, value, 1) == 0) {
            for (int process = 0; process < processes; process++)
                made->connections[process] = -1;
            return made;
        }
    }
    weftrun_say("cannot get ready for roll-calls: %s", strerror(errno));
    if (made)
        made->processes = 0; /* connections may not be filled in */
    weftrun_rollcall_close(made);
    return NULL;
}

void weftrun_rollcall_close(weftrun_rollcall *rollcall) {
    if (!rollcall)
        return;
    for (int process = 0; process < rollcall->processes; process++)
        if (rollcall->connections[process] >= 0)
            close(rollcall->connections[process]);
    if (rollcall->listener >= 0)
        close(rollcall->listener);
    if (rollcall->events >= 0)
        close(rollcall->events);
    core_roll_free(&rollcall->answer);
    core_roll_free(&rollcall->last);
    free(rollcall->connections);
    free(rollcall->awaited);
    free(rollcall->through);
    free(rollcall);
}

int weftrun_rollcall_fd(const weftrun_rollcall *rollcall) {
    return rollcall->events;
}

static void write_all(const char *text, size_t bytes) {
    for (ssize_t written; bytes > 0 && (written = write(STDERR_FILENO, text, bytes)) > 0;
         text += written, bytes -= (size_t)written)
        continue;
}

static void print(const weftrun_rollcall *rollcall) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        return;
    if (rollcall->asked_by_user)
        fprintf(file, "weftrun: roll-call of %d process%s:\n", rollcall->processes,
                rollcall->processes > 1 ? "es" : "");
    else
        fprintf(file, "weftrun: a wait has lasted %.1f s; roll-call of %d process%s:\n",
                core_roll_longest(&rollcall->answer), rollcall->processes, rollcall->processes > 1 ? "es" : "");
    core_roll_print(file, &rollcall->answer, true);
    if (fclose(file) == 0)
        write_all(text, bytes);
    free(text);
}

/* Of those that did not answer. */
static void add_absent(weftrun_rollcall *rollcall, const weftrun_processes *processes) {
    for (int process = 0; process < rollcall->processes; process++) {
        if (rollcall->connections[process] >= 0 && !rollcall->awaited[process])
            continue;
        core_row *row = core_roll_add(&rollcall->answer);
        if (!row)
            return;
        row->process = process;
        row->presence = processes->ended[process]            ? CORE_ENDED
                        : rollcall->connections[process] < 0 ? CORE_NOT_IN_WEFT
                                                             : CORE_NO_ANSWER;
    }
}

static bool is_complete(const weftrun_rollcall *rollcall) {
    for (int process = 0; process < rollcall->processes; process++)
        if (rollcall->connections[process] >= 0 && rollcall->awaited[process])
            return false;
    return true;
}

static void finish(weftrun_rollcall *rollcall, const weftrun_processes *processes) {
    rollcall->asking = false;
    /* What was told of is over meanwhile. */
    if (!rollcall->asked_by_user && is_complete(rollcall) && core_roll_longest(&rollcall->answer) < rollcall->hang_s)
        return;
    /* One report of a hang: not again while the waits that were too long then still stand. */
    if (!rollcall->asked_by_user && core_roll_stands(&rollcall->last, rollcall->last_s, &rollcall->answer))
        return;
    add_absent(rollcall, processes);
    core_roll_sort(&rollcall->answer);
    print(rollcall);
    if (rollcall->asked_by_user)
        return;
    core_roll_free(&rollcall->last);
    rollcall->last = rollcall->answer;
    rollcall->last_s = rollcall->hang_s;
    rollcall->answer = (core_roll){0};
}

static void ask(weftrun_rollcall *rollcall, bool by_user) {
    rollcall->asked_by_user = by_user;
    rollcall->asking = true;
    rollcall->limit_s = now_s() + ANSWER_S;
    rollcall->question++;
    rollcall->answer.count = 0;
    core_packet_head head = core_packet_head_of(CORE_PACKET_ASK, rollcall->question, 0);
    for (int process = 0; process < rollcall->processes; process++) {
        /* One whose socket is full does not read: it does not answer either. */
        rollcall->awaited[process] = rollcall->connections[process] >= 0;
        if (rollcall->awaited[process])
            (void)send(rollcall->connections[process], &head, sizeof(head), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

static int process_of(const weftrun_rollcall *rollcall, int fd) {
    for (int process = 0; process < rollcall->processes; process++)
        if (rollcall->connections[process] == fd)
            return process;
    return -1;
}

static void cut_off(weftrun_rollcall *rollcall, int fd) {
    int process = process_of(rollcall, fd);
    if (process >= 0)
        rollcall->connections[process] = -1;
    close(fd);
}

/* False: it makes no sense. */
static bool take_rows(weftrun_rollcall *rollcall, int process) {
    const core_packet *packet = &rollcall->packet;
    uint32_t count = packet->head.count;
    if (!core_roll_check(rollcall->packet.rows, count, process))
        return false;
    if (!rollcall->asking || packet->head.question != rollcall->question || !rollcall->awaited[process])
        return true; /* too late */
    for (uint32_t i = 0; i < count; i++) {
        core_row *row = core_roll_add(&rollcall->answer);
        if (row)
            *row = packet->rows[i];
    }
    rollcall->awaited[process] = count == CORE_PACKET_ROWS;
    return true;
}

static bool take_packet(weftrun_rollcall *rollcall, int fd, size_t bytes) {
    const core_packet_head *head = &rollcall->packet.head;
    int process = process_of(rollcall, fd);
    if (!core_packet_valid(&rollcall->packet, bytes) || (process >= 0 && head->process != process))
        return false;
    if (head->kind == CORE_PACKET_HELLO) {
        if (process >= 0 || head->process < 0 || head->process >= rollcall->processes)
            return false;
        if (rollcall->connections[head->process] >= 0) /* it has started weft again */
            cut_off(rollcall, rollcall->connections[head->process]);
        rollcall->connections[head->process] = fd;
        rollcall->awaited[head->process] = rollcall->through[head->process] = false;
        return true;
    }
    if (process < 0)
        return false;
    if (head->kind == CORE_PACKET_GOODBYE)
        return rollcall->through[process] = true;
    if (head->kind == CORE_PACKET_ROWS_OF)
        return take_rows(rollcall, process);
    if (head->kind != CORE_PACKET_HANG)
        return false;
    if (!rollcall->asking) {
        rollcall->hang_s = head->question;
        ask(rollcall, false);
    }
    return true;
}

static void look_at(weftrun_rollcall *rollcall, int fd) {
    if (fd == rollcall->listener) {
        int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection >= 0 && !watch(rollcall, connection))
            close(connection);
        return;
    }
    /* MSG_TRUNC: the length that a longer packet has, which is refused. */
    ssize_t bytes = recv(fd, &rollcall->packet, sizeof(rollcall->packet), MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0 || !take_packet(rollcall, fd, (size_t)bytes))
        cut_off(rollcall, fd);
}

void weftrun_rollcall_move(weftrun_rollcall *rollcall, const weftrun_processes *processes) {
    /* One by one: to look at one may close another, whose number the next connection gets. Signals come in between. */
    struct epoll_event event;
    for (int looks = 0; looks < MAX_LOOKS + 4 * rollcall->processes && epoll_wait(rollcall->events, &event, 1, 0) == 1;
         looks++)
        look_at(rollcall, event.data.fd);
    if (rollcall->asking && (is_complete(rollcall) || now_s() >= rollcall->limit_s))
        finish(rollcall, processes);
}

bool weftrun_rollcall_through(const weftrun_rollcall *rollcall, int process) {
    return rollcall->through[process];
}

void weftrun_rollcall_ask(weftrun_rollcall *rollcall) {
    if (rollcall->asking)
        rollcall->asked_by_user = true; /* the answers are on their way */
    else
        ask(rollcall, true);
}

int weftrun_rollcall_wait_ms(const weftrun_rollcall *rollcall) {
    double left_ms = (rollcall->limit_s - now_s()) * 1e3 + 1;
    return !rollcall->asking ? -1 : left_ms < 0 ? 0 : (int)left_ms;
}
