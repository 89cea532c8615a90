// SPDX-License-Identifier: BSD-3-Clause
#include <core/clock.h>
#include <core/error.h>
#include <core/file.h>
#include <errno.h>
#include <hier/collect.h>
#include <hier/comm.h>
#include <hier/watch.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* A time-out is noticed so late at most: an eighth of it, but no more than this. */
enum { LOOK_MS_MAX = 1000 };
/* What an address of the collector has to answer. */
enum { CONNECT_MS = 2000 };
/* In this time the collector asks who has told it something; it takes its own for what it has asked. */
#define PATIENCE_NS UINT64_C(3000000000)

typedef struct hier_watch {
    hier_world *world;
    pthread_t thread;
    core_rollcall_address collector; /* where to connect to, without weftrun */
    bool near;                       /* it is on this host */
    int socket;                      /* to the collector; -1: none */
    bool welcome;                    /* it has said so */
    int over;                        /* an event descriptor: the watcher is to end */
    int process;
    uint64_t told_ns;  /* when a time-out was last told; 0: never */
    uint64_t asked_ns; /* when the collector last asked */
    uint64_t vain_ns;  /* since when what was told is without an answer; 0: it is not */
    core_roll last;    /* what was last written to the file */
    core_packet packet;
} hier_watch;

/* The collector is gone or talks nonsense: on without it, and what it was told last is told anew. */
static void hang_up(hier_watch *watch) {
    close(watch->socket);
    watch->socket = -1;
    watch->welcome = false;
    watch->told_ns = watch->vain_ns = 0;
}

/* Sends the packet, whose head is filled in but for the number of rows. */
static void send_packet(hier_watch *watch, uint32_t rows) {
    size_t bytes = core_packet_bytes(rows);
    watch->packet.head.count = rows;
    if (watch->socket >= 0 && send(watch->socket, &watch->packet, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        hang_up(watch);
}

static void answer(hier_watch *watch, uint32_t question) {
    core_roll roll = {0};
    /* Without memory as far as it went. */
    (void)hier_roster_call(&watch->world->roster, watch->process, &roll);
    size_t sent = 0;
    uint32_t rows;
    do { /* the last packet is one that is not full */
        rows = roll.count - sent < CORE_PACKET_ROWS ? (uint32_t)(roll.count - sent) : CORE_PACKET_ROWS;
        watch->packet.head = core_packet_head_of(CORE_PACKET_ROWS_OF, question, watch->process);
        if (rows)
            memcpy(watch->packet.rows, roll.rows + sent, rows * sizeof(core_row));
        send_packet(watch, rows);
        sent += rows;
    } while (rows == CORE_PACKET_ROWS);
    core_roll_free(&roll);
}

/* What it sends comes in one piece, or shortly after. */
static void listen_to_collector(hier_watch *watch) {
    core_packet_head head;
    ssize_t bytes = recv(watch->socket, &head, sizeof(head), MSG_WAITALL);
    bool good = bytes == sizeof(head) && core_packet_valid(&head);
    if (good && head.kind == CORE_PACKET_WELCOME) {
        watch->welcome = true;
    } else if (good && head.kind == CORE_PACKET_ASK) {
        watch->asked_ns = core_now_ns();
        watch->vain_ns = 0;
        answer(watch, head.question);
    } else {
        hang_up(watch);
    }
}

/* It does not read, or sends a part: not for ever. */
static void say_hello(hier_watch *watch) {
    const struct timeval limit = {.tv_sec = 1};
    setsockopt(watch->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(watch->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    watch->packet.head = core_packet_head_of(CORE_PACKET_HELLO, 0, watch->process);
    memcpy(watch->packet.head.key, watch->collector.key, CORE_KEY_BYTES);
    send_packet(watch, 0);
}

/* The process's own report. */
static void write_report(hier_watch *watch, core_roll *roll, double longest_s) {
    FILE *file = hier_report_open(watch->world);
    if (!file)
        return;
    fprintf(file, "weft: a wait has lasted %.1f s; roll-call of process %d (pid %ld) of %d:\n", longest_s,
            watch->process, (long)getpid(), watch->world->process_comm->size);
    core_roll_sort(roll);
    core_roll_print(file, roll, watch->world->process_comm->size == 1);
    fclose(file);
}

/* The collector asks at once when it is told, or has just asked. Does it, or is it stopped, or its host gone? */
static void look_at_collector(hier_watch *watch) {
    if (watch->vain_ns && core_now_ns() - watch->vain_ns > PATIENCE_NS)
        hang_up(watch);
}

static void tell_collector(hier_watch *watch, int limit_s) {
    uint64_t now_ns = core_now_ns();
    watch->packet.head = core_packet_head_of(CORE_PACKET_HANG, (uint32_t)limit_s, watch->process);
    send_packet(watch, 0);
    if (watch->welcome && !watch->vain_ns && now_ns - watch->asked_ns > PATIENCE_NS)
        watch->vain_ns = now_ns;
}

/* Is a wait too long? It is told again while it lasts: whoever reports it knows what he has reported. */
static void look_at_waits(hier_watch *watch) {
    int limit_s = watch->world->config.hang_timeout;
    if (watch->told_ns && core_now_ns() - watch->told_ns < (uint64_t)limit_s * 1000000000u)
        return;
    core_roll roll = {0};
    if (hier_roster_call(&watch->world->roster, watch->process, &roll) && core_roll_longest(&roll) >= limit_s) {
        watch->told_ns = core_now_ns();
        if (watch->welcome) {
            tell_collector(watch, limit_s);
        } else if (core_roll_is_news(&watch->last, limit_s, &roll, limit_s)) {
            write_report(watch, &roll, core_roll_longest(&roll));
            core_roll_free(&watch->last);
            watch->last = roll;
            return;
        }
    }
    core_roll_free(&roll);
}

static void *run(void *argument) {
    hier_watch *watch = argument;
    int limit_s = watch->world->config.hang_timeout, look_ms = limit_s < 8 ? limit_s * 1000 / 8 : LOOK_MS_MAX;
    if (!limit_s)
        look_ms = -1;
    if (watch->socket < 0 && watch->collector.count) {
        watch->socket = core_rollcall_connect_far(&watch->collector, watch->near, CONNECT_MS, watch->over);
        if (watch->socket >= 0)
            say_hello(watch);
    }
    for (;;) {
        struct pollfd fds[2] = {{.fd = watch->over, .events = POLLIN}, {.fd = watch->socket, .events = POLLIN}};
        poll(fds, 2, look_ms);
        if (fds[0].revents)
            return NULL;
        if (fds[1].revents)
            listen_to_collector(watch);
        look_at_collector(watch);
        if (limit_s)
            look_at_waits(watch);
    }
}

/* The variable holds the job's PMIx namespace and the directory, so that a job within this one does not answer for it. */
const char *hier_watch_session(bool launched) {
    const char *session = getenv(CORE_ROLLCALL_VARIABLE), *job = getenv("PMIX_NAMESPACE");
    size_t length = job ? strlen(job) : 0;
    if (!launched || !session || !job || strncmp(session, job, length) != 0 || session[length] != ':')
        return NULL;
    return session + length + 1;
}

static void free_watch(hier_watch *watch) {
    if (watch->socket >= 0)
        close(watch->socket);
    if (watch->over >= 0)
        close(watch->over);
    core_roll_free(&watch->last);
    free(watch);
}

/* Where process 0 collects, if it does. */
static void find_collector(hier_watch *watch) {
    const hier_world *world = watch->world;
    hier_card card;
    if (!world->bootstrap)
        return;
    hier_funnel_enter(watch->world); /* a progress thread may look up something, too */
    int code = hier_world_card(world, 0, &card);
    hier_funnel_leave(watch->world);
    if (code)
        return;
    watch->collector = card.collector;
    watch->near = hier_world_host(world, 0) == hier_world_host(world, watch->process);
}

/* Reports go to files: can they be made? */
static int check_report(const core_config *config, int rank) {
    char name[HIER_REPORT_BYTES];
    hier_report_name(config, rank, name);
    if (core_file_is_writable(name))
        return WEFT_SUCCESS;
    return core_error(WEFT_ERR_CONFIG, "rank %d: WEFT_HANG_REPORT is \"%.200s\": no file can be made there: %s", rank,
                      config->hang_report, strerror(errno));
}

int hier_watch_check(const core_config *config, const char *session, int rank) {
    return config->hang_timeout && !session ? check_report(config, rank) : WEFT_SUCCESS;
}

int hier_watch_start(hier_world *world, const char *session) {
    int socket = session ? core_rollcall_connect(session) : -1;
    if (socket < 0 && !world->config.hang_timeout)
        return WEFT_SUCCESS;
    /* Nobody listens in the session. Without one it is checked already. */
    int code = socket < 0 && session ? check_report(&world->config, world->process_comm->rank) : WEFT_SUCCESS;
    if (code)
        return code;
    hier_watch *watch = calloc(1, sizeof(*watch));
    if (!watch) {
        if (socket >= 0)
            close(socket);
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for the watcher", world->process_comm->rank);
    }
    watch->world = world;
    watch->process = world->process_comm->rank;
    watch->socket = socket;
    watch->over = eventfd(0, EFD_CLOEXEC);
    world->roster.watched = true;
    find_collector(watch);
    hier_collect_start(world);
    if (socket >= 0)
        say_hello(watch);
    if (watch->over < 0 || !hier_thread_start(&watch->thread, run, watch)) {
        free_watch(watch);
        world->roster.watched = false;
        return core_error(WEFT_ERR_NOMEM, "rank %d: the watcher could not be started", world->process_comm->rank);
    }
    world->watch = watch;
    return WEFT_SUCCESS;
}

void hier_watch_stop(hier_world *world) {
    if (!world->watch)
        return;
    hier_watch *watch = world->watch;
    eventfd_write(watch->over, 1);
    pthread_join(watch->thread, NULL);
    if (watch->socket >= 0) {
        watch->packet.head = core_packet_head_of(CORE_PACKET_GOODBYE, 0, watch->process);
        send_packet(watch, 0);
    }
    free_watch(watch);
    world->watch = NULL;
}
