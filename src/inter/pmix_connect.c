// SPDX-License-Identifier: BSD-3-Clause
/**
 * Reaching the PMIx launcher.
 *
 * With variables left over from a launcher that is gone, PMIx_Init fails at once when nobody listens at its address, but
 * waits for ever when another program does by now. So it runs in a thread of its own that is given up after a while.
 */
#include <core/error.h>
#include <errno.h>
#include <inter/bootstrap.h>
#include <inter/pmix_client.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/** A launcher's server answers within milliseconds; on a crowded host a large job may take seconds. */
enum { LIMIT_S = 20 };

extern char **environ;

static const char server_prefix[] = "PMIX_SERVER_URI";

/* Shared with the thread; whoever is the last to look at it frees it. */
struct attempt {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool done, given_up;
    pmix_status_t status;
    pmix_proc_t self;
};

static bool have_server_variable(void) {
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, server_prefix, strlen(server_prefix)) == 0)
            return true;
    return false;
}

bool inter_bootstrap_pmix_present(void) {
    return getenv("PMIX_NAMESPACE") || getenv("PMIX_RANK") || have_server_variable();
}

static int check_variables(void) {
    const char *missing = !getenv("PMIX_NAMESPACE") ? "PMIX_NAMESPACE"
                          : !getenv("PMIX_RANK")    ? "PMIX_RANK"
                          : !have_server_variable() ? "PMIX_SERVER_URI"
                                                    : NULL;
    if (!missing)
        return WEFT_SUCCESS;
    return core_error(WEFT_ERR_BOOTSTRAP,
                      "the variable %s of a PMIx launcher is not set%s: start the program with weftrun, mpirun or "
                      "srun --mpi=pmix, or alone without any PMIX_ variable",
                      missing, inter_bootstrap_pmix_present() ? " though others are" : "");
}

static void destroy(struct attempt *attempt) {
    pthread_cond_destroy(&attempt->changed);
    pthread_mutex_destroy(&attempt->mutex);
    free(attempt);
}

static void *run(void *argument) {
    struct attempt *attempt = argument;
    pmix_proc_t self;
    pmix_status_t status = PMIx_Init(&self, NULL, 0);
    pthread_mutex_lock(&attempt->mutex);
    attempt->status = status;
    attempt->self = self;
    attempt->done = true;
    bool given_up = attempt->given_up;
    pthread_cond_signal(&attempt->changed);
    pthread_mutex_unlock(&attempt->mutex);
    if (given_up) {
        if (status == PMIX_SUCCESS)
            PMIx_Finalize(NULL, 0);
        destroy(attempt);
    }
    return NULL;
}

static struct attempt *begin(pthread_t *thread) {
    struct attempt *attempt = calloc(1, sizeof(*attempt));
    if (!attempt)
        return NULL;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&attempt->mutex, NULL);
    pthread_cond_init(&attempt->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(thread, NULL, run, attempt) == 0)
        return attempt;
    destroy(attempt);
    return NULL;
}

/* Waits until the thread is done or the time is over; true: done. */
static bool await(struct attempt *attempt) {
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += LIMIT_S;
    pthread_mutex_lock(&attempt->mutex);
    while (!attempt->done && pthread_cond_timedwait(&attempt->changed, &attempt->mutex, &limit) != ETIMEDOUT)
        continue;
    bool done = attempt->done;
    attempt->given_up = !done;
    pthread_mutex_unlock(&attempt->mutex);
    return done;
}

/* The one connection of the process. */
static struct {
    pid_t pid; /* of the process that connected; 0: none has */
    bool in_use, exiting;
    pmix_proc_t self;
} connection;

static void say_goodbye(void) {
    /* A child that was forked must not speak for its parent. */
    if (connection.pid == getpid() && !connection.in_use)
        PMIx_Finalize(NULL, 0);
}

static void on_exit_of_process(void) {
    connection.exiting = true;
    say_goodbye();
}

static int connect_first(void) {
    int code = check_variables();
    if (code != WEFT_SUCCESS)
        return code;
    pthread_t thread;
    struct attempt *attempt = begin(&thread);
    if (!attempt)
        return core_error(WEFT_ERR_NOMEM, "no memory to reach the launcher");
    if (!await(attempt)) {
        pthread_detach(thread);
        return core_error(WEFT_ERR_BOOTSTRAP,
                          "there are PMIX_ variables of a launcher, but it did not answer within %d s. Is it gone, and "
                          "are they left over in this shell?",
                          LIMIT_S);
    }
    pthread_join(thread, NULL);
    pmix_status_t status = attempt->status;
    connection.self = attempt->self;
    destroy(attempt);
    if (status != PMIX_SUCCESS)
        return core_error(WEFT_ERR_BOOTSTRAP,
                          "there are PMIX_ variables of a launcher, but it cannot be reached: %s (%d). Is it gone, and "
                          "are they left over in this shell?",
                          PMIx_Error_string(status), status);
    connection.pid = getpid();
    atexit(on_exit_of_process); /* registered after libpmix's own, so it runs before them */
    return WEFT_SUCCESS;
}

int inter_pmix_connect(pmix_proc_t *self) {
    if (connection.pid != 0 && connection.pid != getpid())
        return core_error(WEFT_ERR_BOOTSTRAP,
                          "this process was forked from process %ld, which is the one that the PMIx "
                          "launcher knows",
                          (long)connection.pid);
    int code = connection.pid != 0 ? WEFT_SUCCESS : connect_first();
    if (code != WEFT_SUCCESS)
        return code;
    connection.in_use = true;
    *self = connection.self;
    return WEFT_SUCCESS;
}

void inter_pmix_release(void) {
    connection.in_use = false;
    if (connection.exiting) /* weft_finalize is called by an exit handler that runs after ours */
        say_goodbye();
}
