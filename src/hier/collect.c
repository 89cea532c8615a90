// SPDX-License-Identifier: BSD-3-Clause
#include <core/collector.h>
#include <hier/collect.h>
#include <hier/comm.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct hier_collect {
    const hier_world *world;
    core_collector *collector;
    bool runs;        /* there is a thread … */
    pthread_t thread; /* … this one */
    int over;         /* an event descriptor: the thread is to end */
};

void hier_report_name(const core_config *config, int rank, char name[HIER_REPORT_BYTES]) {
    snprintf(name, HIER_REPORT_BYTES, "%s.%d", config->hang_report, rank);
}

FILE *hier_report_open(const hier_world *world) {
    char name[HIER_REPORT_BYTES], when[64] = "";
    hier_report_name(&world->config, world->process_comm->rank, name);
    FILE *file = fopen(name, "ae");
    struct tm broken_down;
    time_t now = time(NULL);
    if (file && localtime_r(&now, &broken_down) && strftime(when, sizeof(when), "%F %T ", &broken_down))
        fputs(when, file);
    return file;
}

bool hier_thread_start(pthread_t *thread, void *(*run)(void *), void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void *run(void *argument) {
    hier_collect *collect = argument;
    for (;;) {
        struct pollfd fds[2] = {{.fd = collect->over, .events = POLLIN},
                                {.fd = core_collector_fd(collect->collector), .events = POLLIN}};
        poll(fds, 2, core_collector_wait_ms(collect->collector));
        if (fds[0].revents)
            return NULL;
        core_report report = core_collector_move(collect->collector, NULL);
        FILE *file = report.roll ? hier_report_open(collect->world) : NULL;
        if (!file)
            continue;
        core_roll_print_job(file, "weft", collect->world->process_comm->size, report.roll, report.by_user);
        fclose(file);
    }
}

/* Half of the descriptors are the program's. */
static int most_descriptors(void) {
    struct rlimit limit;
    bool bounded = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT_MAX;
    return bounded ? (int)limit.rlim_cur / 2 : INT_MAX;
}

hier_collect *hier_collect_open(int processes, hier_card *card) {
    int listener = core_rollcall_listen_far(&card->collector);
    hier_collect *made = listener < 0 ? NULL : calloc(1, sizeof(*made));
    if (made) {
        made->over = eventfd(0, EFD_CLOEXEC);
        made->collector = core_collector_open(processes, listener, card->collector.key, most_descriptors());
        if (made->over >= 0 && made->collector)
            return made;
        hier_collect_close(made);
    } else if (listener >= 0) {
        close(listener);
    }
    card->collector = (core_rollcall_address){0};
    return NULL;
}

void hier_collect_start(hier_world *world) {
    if (!world->collect)
        return;
    world->collect->world = world;
    world->collect->runs = hier_thread_start(&world->collect->thread, run, world->collect);
}

void hier_collect_close(hier_collect *collect) {
    if (!collect)
        return;
    if (collect->runs) {
        eventfd_write(collect->over, 1);
        pthread_join(collect->thread, NULL);
    }
    core_collector_close(collect->collector);
    if (collect->over >= 0)
        close(collect->over);
    free(collect);
}
