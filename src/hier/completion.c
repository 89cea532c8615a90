// SPDX-License-Identifier: BSD-3-Clause
/* The calls that start, complete and free requests. */
#include <core/error.h>
#include <hier/drive.h>
#include <hier/request.h>

/* What a call was given, and what it has found. */
typedef struct completing {
    const char *call;
    size_t count;
    weft_request **requests;
    weft_status *statuses; /* or NULL */
    size_t *indices;       /* of waitsome */
    size_t found;          /* how many are complete, or which one is */
    hier_world *world;     /* of an active request; NULL: there is none */
    uint64_t seen;         /* its completions when the list was last gone through */
    bool looked;
    int error; /* the first one of the operations */
} completing;

static bool is_active(const weft_request *request) {
    return request && request->active;
}

static int check_request(const weft_request *request, const char *call) {
    if (!core_pooled_valid(request, HIER_REQUEST_MAGIC) || !request->owned)
        return core_error(WEFT_ERR_ARG, "%s: the request was completed or freed before, or is none", call);
    return hier_check_comm(request->comm, call);
}

static int check_list(completing *list) {
    if (list->count && !list->requests)
        return core_error(WEFT_ERR_ARG, "%s: requests is NULL, expected %zu", list->call, list->count);
    for (size_t i = 0; i < list->count; i++) {
        int code = list->requests[i] ? check_request(list->requests[i], list->call) : WEFT_SUCCESS;
        if (code)
            return code;
        if (is_active(list->requests[i]))
            list->world = list->requests[i]->comm->world;
    }
    return WEFT_SUCCESS;
}

static int missing(const char *call, const char *what) {
    return core_error(WEFT_ERR_ARG, "%s: %s is NULL", call, what);
}

static void set_status(weft_status *status, int error) {
    if (status)
        *status = (weft_status){.source = -1, .tag = -1, .error = error};
}

/* Takes request i, which is complete or was not active, from its list; its status goes to place `at`. Under the funnel. */
static void take(completing *list, size_t i, size_t at) {
    weft_request *request = list->requests[i];
    int error = WEFT_SUCCESS;
    if (is_active(request)) {
        error = request->error;
        if (error && !list->error)
            list->error = core_error(error, "rank %d: %s failed between the processes: %s", request->comm->rank,
                                     request->call, weft_strerror(error));
        request->active = false;
        if (!request->persistent) {
            hier_request_give(request);
            list->requests[i] = WEFT_REQUEST_NULL;
        }
    }
    set_status(list->statuses ? &list->statuses[at] : NULL, error);
}

/* Has anything been completed since the list was last gone through? Spares a long list most looks. */
static bool is_news(completing *list) {
    bool news = !list->looked || list->seen != list->world->completions;
    list->looked = true;
    list->seen = list->world->completions;
    return news;
}

/* As far as they are complete, in their order; true when all are. */
static bool take_in_order(void *argument) {
    completing *list = argument;
    for (; list->found < list->count; list->found++) {
        const weft_request *request = list->requests[list->found];
        if (is_active(request) && !request->complete)
            return false;
        take(list, list->found, list->found);
    }
    return true;
}

static bool take_all_or_none(void *argument) {
    completing *list = argument;
    for (size_t i = 0; i < list->count; i++)
        if (is_active(list->requests[i]) && !list->requests[i]->complete)
            return false;
    return take_in_order(argument);
}

static bool take_any(void *argument) {
    completing *list = argument;
    if (!is_news(list))
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (is_active(list->requests[i]) && list->requests[i]->complete) {
            take(list, i, 0);
            list->found = i;
            return true;
        }
    return false;
}

static bool take_some(void *argument) {
    completing *list = argument;
    if (!is_news(list))
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (is_active(list->requests[i]) && list->requests[i]->complete) {
            take(list, i, list->found);
            list->indices[list->found++] = i;
        }
    return list->found > 0;
}

/* The part in common of those that need all: without an active one they are complete at once. */
static int complete_all(completing *list, int *done) {
    int code = check_list(list);
    if (code)
        return code;
    bool all = true;
    if (!list->world)
        (void)take_in_order(list);
    else
        all = hier_drive_until(list->world, done ? take_all_or_none : take_in_order, list, done != NULL);
    if (done)
        *done = all;
    return list->error;
}

/* Those that need one: without an active one there is nothing to wait for. */
static bool complete_some(completing *list, hier_look *look, bool wait) {
    return list->world && hier_drive_until(list->world, look, list, !wait);
}

int weft_waitall(size_t count, weft_request *requests[], weft_status statuses[]) {
    completing list = {.call = __func__, .count = count, .requests = requests, .statuses = statuses};
    return complete_all(&list, NULL);
}

int weft_testall(size_t count, weft_request *requests[], int *done, weft_status statuses[]) {
    completing list = {.call = __func__, .count = count, .requests = requests, .statuses = statuses};
    return done ? complete_all(&list, done) : missing(__func__, "done");
}

int weft_wait(weft_request **request, weft_status *status) {
    completing list = {.call = __func__, .count = 1, .requests = request, .statuses = status};
    return complete_all(&list, NULL);
}

int weft_test(weft_request **request, int *done, weft_status *status) {
    completing list = {.call = __func__, .count = 1, .requests = request, .statuses = status};
    return done ? complete_all(&list, done) : missing(__func__, "done");
}

static int any(completing *list, size_t *index, int *done, weft_status *status) {
    int code = check_list(list);
    if (code)
        return code;
    bool found = complete_some(list, take_any, !done);
    if (!list->world)
        set_status(status, WEFT_SUCCESS);
    if (found || !list->world)
        *index = found ? list->found : WEFT_UNDEFINED;
    if (done)
        *done = found || !list->world;
    return list->error;
}

int weft_waitany(size_t count, weft_request *requests[], size_t *index, weft_status *status) {
    completing list = {.call = __func__, .count = count, .requests = requests, .statuses = status};
    return index ? any(&list, index, NULL, status) : missing(__func__, "index");
}

int weft_testany(size_t count, weft_request *requests[], size_t *index, int *done, weft_status *status) {
    completing list = {.call = __func__, .count = count, .requests = requests, .statuses = status};
    return index && done ? any(&list, index, done, status) : missing(__func__, index ? "done" : "index");
}

static int some(completing *list, bool wait, size_t *done_count) {
    if (!done_count || (list->count && !list->indices))
        return missing(list->call, done_count ? "indices" : "done_count");
    int code = check_list(list);
    if (code)
        return code;
    (void)complete_some(list, take_some, wait);
    *done_count = list->world ? list->found : WEFT_UNDEFINED;
    return list->error;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): take_some() writes to the indices */
int weft_waitsome(size_t count, weft_request *requests[], size_t *done_count, size_t indices[],
                  weft_status statuses[]) {
    completing list = {
        .call = __func__, .count = count, .requests = requests, .statuses = statuses, .indices = indices};
    return some(&list, true, done_count);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as above */
int weft_testsome(size_t count, weft_request *requests[], size_t *done_count, size_t indices[],
                  weft_status statuses[]) {
    completing list = {
        .call = __func__, .count = count, .requests = requests, .statuses = statuses, .indices = indices};
    return some(&list, false, done_count);
}

int weft_start(weft_request **request) {
    if (!request)
        return missing(__func__, "request");
    weft_request *started = *request;
    int code = check_request(started, __func__);
    if (code || !started)
        return code;
    if (!started->persistent)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: the request of %s is not persistent", started->comm->rank,
                          __func__, started->call);
    if (started->active)
        return core_error(WEFT_ERR_BUSY, "rank %d: %s: the request of %s is under way", started->comm->rank, __func__,
                          started->call);
    hier_funnel_enter(started->comm->world);
    code = hier_request_restart(started);
    hier_funnel_leave(started->comm->world);
    return code;
}

int weft_startall(size_t count, weft_request *requests[]) {
    if (count && !requests)
        return missing(__func__, "requests");
    for (size_t i = 0; i < count; i++) {
        int code = weft_start(&requests[i]);
        if (code)
            return code;
    }
    return WEFT_SUCCESS;
}

int weft_request_free(weft_request **request) {
    if (!request)
        return missing(__func__, "request");
    weft_request *freed = *request;
    int code = check_request(freed, __func__);
    if (code || !freed)
        return code;
    if (freed->active)
        return core_error(WEFT_ERR_BUSY, "rank %d: %s: the request of %s is under way: complete it first",
                          freed->comm->rank, __func__, freed->call);
    hier_world *world = freed->comm->world;
    hier_funnel_enter(world);
    hier_request_give(freed);
    hier_funnel_leave(world);
    *request = WEFT_REQUEST_NULL;
    return WEFT_SUCCESS;
}
