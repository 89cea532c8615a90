// SPDX-License-Identifier: BSD-3-Clause
/**
 * The PMIx server of a job whose ranks are all children of this process. libpmix does the work: it keeps the ranks'
 * data and completes their fences, because every participant is local; here it is told who the ranks are.
 */
#include "weftrun.h"

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static struct {
    pmix_nspace_t nspace;
    int processes;
    _Atomic unsigned char *presence; /* by rank, of enum weftrun_presence; written by libpmix's thread */
    int abort_fd;
    /* Written once by libpmix's thread; the release of abort_rank publishes the other two to weftrun_server_aborted().
     */
    _Atomic int abort_rank;
    int abort_status;
    char abort_message[256];
} server = {.abort_fd = -1, .abort_rank = -1};

/* A rank that calls one of these waits in it until we return, so its state is known before it can exit. */
static void set_presence(const pmix_proc_t *proc, enum weftrun_presence value) {
    if (proc->rank < (pmix_rank_t)server.processes)
        atomic_store_explicit(&server.presence[proc->rank], (unsigned char)value, memory_order_relaxed);
}

static pmix_status_t client_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[], size_t count,
                                      pmix_op_cbfunc_t done, void *data) {
    (void)object, (void)info, (void)count, (void)done, (void)data;
    set_presence(proc, WEFTRUN_CONNECTED);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t client_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done, void *data) {
    (void)object, (void)done, (void)data;
    set_presence(proc, WEFTRUN_FINALIZED);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t client_abort(const pmix_proc_t *proc, void *object, int status, const char message[],
                                  pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t done, void *data) {
    (void)object, (void)procs, (void)count, (void)done, (void)data;
    if (atomic_load_explicit(&server.abort_rank, memory_order_relaxed) < 0) {
        server.abort_status = status;
        snprintf(server.abort_message, sizeof(server.abort_message), "%s", message ? message : "");
        /* Release: publishes status and message; pairs with the acquire in weftrun_server_aborted. */
        atomic_store_explicit(&server.abort_rank, (int)proc->rank, memory_order_release);
        eventfd_write(server.abort_fd, 1);
    }
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_server_module_t callbacks = {
    .client_connected2 = client_connected, .client_finalized = client_finalized, .abort = client_abort};

/* Some calls are asynchronous: this makes them wait. */
struct completion {
    atomic_int status; /* PMIX_ERR_NOT_AVAILABLE until libpmix's thread stores the result */
};

static void complete(pmix_status_t status, void *data) {
    struct completion *completion = data;
    atomic_store_explicit(&completion->status, status, memory_order_release);
}

/* What an asynchronous call returned, or, when that says that it goes on, what it ends with. */
static pmix_status_t finish(pmix_status_t started, struct completion *completion) {
    if (started == PMIX_OPERATION_SUCCEEDED)
        return PMIX_SUCCESS;
    if (started != PMIX_SUCCESS)
        return started;
    pmix_status_t status;
    while ((status = atomic_load_explicit(&completion->status, memory_order_acquire)) == PMIX_ERR_NOT_AVAILABLE)
        usleep(50);
    return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
}

static bool check(pmix_status_t status, const char *what) {
    if (status == PMIX_SUCCESS)
        return true;
    weftrun_say("the PMIx server cannot %s: %s", what, PMIx_Error_string(status));
    return false;
}

/* One host with all ranks. Without the two maps libpmix 4.2 refuses its clients and locks itself up at the end. */
static bool register_job(void) {
    char host[256] = "localhost";
    gethostname(host, sizeof(host) - 1);
    char *node_map = NULL, *process_map = NULL, *ranks = malloc((size_t)server.processes * 12);
    if (!ranks)
        return check(PMIX_ERR_NOMEM, "describe the job");
    for (int rank = 0, length = 0; rank < server.processes; rank++)
        length += sprintf(ranks + length, rank ? ",%d" : "%d", rank);
    pmix_status_t status = PMIx_generate_regex(host, &node_map);
    if (status == PMIX_SUCCESS)
        status = PMIx_generate_ppn(ranks, &process_map);
    free(ranks);
    uint32_t size = (uint32_t)server.processes;
    pmix_info_t info[4];
    if (status == PMIX_SUCCESS) {
        PMIX_INFO_LOAD(&info[0], PMIX_JOB_SIZE, &size, PMIX_UINT32);
        PMIX_INFO_LOAD(&info[1], PMIX_UNIV_SIZE, &size, PMIX_UINT32);
        PMIX_INFO_LOAD(&info[2], PMIX_NODE_MAP, node_map, PMIX_REGEX);
        PMIX_INFO_LOAD(&info[3], PMIX_PROC_MAP, process_map, PMIX_REGEX);
        struct completion completion = {PMIX_ERR_NOT_AVAILABLE};
        status = finish(PMIx_server_register_nspace(server.nspace, server.processes, info, 4, complete, &completion),
                        &completion);
        for (int i = 0; i < 4; i++)
            PMIX_INFO_DESTRUCT(&info[i]);
    }
    free(node_map);
    free(process_map);
    return check(status, "register the job");
}

static bool register_rank(int rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, server.nspace, (pmix_rank_t)rank);
    struct completion completion = {PMIX_ERR_NOT_AVAILABLE};
    return check(
        finish(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, complete, &completion), &completion),
        "register a process");
}

/* weftrun may itself be a rank of another launcher; its job is not. What users set for libpmix (PMIX_MCA_…) stays. */
static void forget_other_launchers(void) {
    for (char **entry = environ; *entry;) {
        const char *end = strchr(*entry, '=');
        char name[128];
        if (end && end - *entry < (long)sizeof(name) && strncmp(*entry, "PMIX_", 5) == 0 &&
            strncmp(*entry, "PMIX_MCA_", 9) != 0) {
            snprintf(name, sizeof(name), "%.*s", (int)(end - *entry), *entry);
            unsetenv(name);
            entry = environ; /* unsetenv moved the rest */
        } else {
            entry++;
        }
    }
}

const char *weftrun_server_namespace(void) {
    /* libpmix copies the whole array: a shorter string would be read beyond its end. */
    snprintf(server.nspace, sizeof(server.nspace), "weftrun-%ld", (long)getpid());
    return server.nspace;
}

bool weftrun_server_start(const char *session, int processes) {
    forget_other_launchers();
    server.processes = processes;
    server.presence = calloc((size_t)processes, sizeof(*server.presence));
    server.abort_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!server.presence || server.abort_fd < 0)
        return check(PMIX_ERR_NOMEM, "start");
    (void)weftrun_server_namespace();
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, session, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, session, PMIX_STRING);
    pmix_status_t status = PMIx_server_init(&callbacks, info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    if (!check(status, "start") || !register_job())
        return false;
    for (int rank = 0; rank < processes; rank++)
        if (!register_rank(rank))
            return false;
    return true;
}

char **weftrun_server_environment(int rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, server.nspace, (pmix_rank_t)rank);
    size_t count = 0;
    while (environ[count])
        count++;
    char **environment = calloc(count + 1, sizeof(*environment));
    pmix_status_t status = environment ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
    for (size_t i = 0; status == PMIX_SUCCESS && i < count; i++)
        if (!(environment[i] = strdup(environ[i])))
            status = PMIX_ERR_NOMEM;
    if (status == PMIX_SUCCESS)
        status = PMIx_server_setup_fork(&proc, &environment); /* may grow the array */
    if (check(status, "make a process's environment"))
        return environment;
    weftrun_server_free_environment(environment);
    return NULL;
}

void weftrun_server_free_environment(char **environment) {
    for (char **entry = environment; entry && *entry; entry++)
        free(*entry);
    free(environment);
}

int weftrun_server_abort_fd(void) {
    return server.abort_fd;
}

int weftrun_server_aborted(int *status, const char **message) {
    /* Acquire: pairs with the release in client_abort. */
    int rank = atomic_load_explicit(&server.abort_rank, memory_order_acquire);
    if (rank >= 0) {
        *status = server.abort_status;
        *message = server.abort_message;
    }
    return rank;
}

enum weftrun_presence weftrun_server_presence(int rank) {
    return atomic_load_explicit(&server.presence[rank], memory_order_relaxed);
}

static void *stop(void *unused) {
    struct completion completion = {PMIX_ERR_NOT_AVAILABLE};
    PMIx_server_deregister_nspace(server.nspace, complete, &completion);
    finish(PMIX_SUCCESS, &completion);
    PMIx_server_finalize();
    return unused;
}

/* What a server with nothing left to do may take to end. */
enum { STOP_S = 2 };

bool weftrun_server_stop(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, stop, NULL) != 0)
        return false;
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += STOP_S;
    return pthread_timedjoin_np(thread, NULL, &limit) == 0;
}
