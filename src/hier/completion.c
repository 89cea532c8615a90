// SPDX-License-Identifier: BSD-3-Clause
/* The calls that complete requests. */
#include <core/error.h>
#include <hier/check.h>
#include <hier/lending.h>
#include <hier/observe.h>
#include <hier/part.h>
#include <hier/request.h>
#include <hier/waits.h>
#include <hier/window.h>
#include <weft/message.h>

/* In a public call: which one, and where the program called it. */
#define CALL .call = __func__, .caller = __builtin_return_address(0)

/* What a call was given, and what it has found. */
typedef struct completing {
    const char *call;
    const void *caller;
    size_t count;
    weft_request **requests;
    weft_status *statuses; /* or NULL */
    size_t *indices;       /* of waitsome */
    size_t found;          /* how many are complete, or which one is */
    hier_wait wait;        /* for the active ones; without a world: there are none */
    uint64_t seen;         /* the completions when the list was last gone through */
    bool looked;
    int error;      /* the first one of the operations … */
    char *sentence; /* … and what it says, kept while others end with errors of their own; NULL: no memory */
} completing;

static bool is_active(const weft_request *request) {
    return request && request->active;
}

static const hier_operation *operation_of(const weft_request *request) {
    return (const hier_operation *)request;
}

/* Of an active one. */
static inline bool is_complete(weft_request *request) {
    if (request->kind == HIER_COLLECTIVE)
        return operation_of(request)->complete;
    if (request->kind == HIER_PART)
        return ((const hier_part *)request)->state == HIER_COMPLETE;
    if (request->kind == HIER_SENDRECV)
        return hier_sendrecv_settled(hier_message_of(request));
    return hier_message_settled(hier_message_of(request));
}

int hier_missing(const char *call, const char *what) {
    return core_error(WEFT_ERR_ARG, "%s: %s is NULL", call, what);
}

int hier_check_request(const weft_request *request, const char *call) {
    if (!hier_is_request(request))
        return core_error(WEFT_ERR_ARG, "%s: the request %s", call,
                          request ? "was completed or freed before, or is none" : "is WEFT_REQUEST_NULL");
    return hier_check_comm(request->comm, call);
}

static hier_doing describe(void *argument);

/*
 * How is waited for what comes in two ways? Where threads do not sleep nobody wakes who does, and where cores are short who only looks keeps
 * the others from theirs: then it looks, and gives its core away. What comes by the network wakes in any case.
 */
static const core_waiting *waiting_of_both(const hier_world *world, const core_waiting *one,
                                           const core_waiting *other) {
    if (one->may_sleep == other->may_sleep)
        return one;
    const core_waiting *sleeps = one->may_sleep ? one : other, *looks = one->may_sleep ? other : one;
    return looks == &world->waiting ? sleeps : &core_waiting_yields;
}

/* A wait for one more: with the funnel when one of them is of a process communicator. */
static void wait_for(hier_wait *wait, const weft_comm *comm) {
    hier_wait other = hier_wait_on(comm, NULL, describe, NULL);
    if (!wait->world) {
        *wait = other;
        return;
    }
    wait->agent = wait->agent ? wait->agent : other.agent;
    wait->network |= other.network;
    wait->own &= other.own;
    wait->beside |= other.beside;
    wait->funnel |= other.funnel;
    wait->waiting = waiting_of_both(wait->world, wait->waiting, other.waiting);
}

static weft_counted row_of(const weft_request *request) {
    if (request->kind == HIER_COLLECTIVE)
        return (weft_counted)operation_of(request)->plan.view.collective;
    return request->kind == HIER_PART ? (weft_counted)((const hier_part *)request)->arguments.row
                                      : WEFT_COUNTED_MESSAGES;
}

static int check_list(completing *list) {
    const weft_comm *checked = NULL, *waited = NULL; /* most lists are of one communicator … */
    const weft_request *last = NULL;                 /* … and sends that are done have one request */
    if (list->count && !list->requests)
        return core_error(WEFT_ERR_ARG, "%s: requests is NULL, expected %zu", list->call, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const weft_request *request = list->requests[i];
        if (!request || request == last)
            continue;
        last = request;
        if (!hier_is_request(request) || request->comm != checked) {
            int code = hier_check_request(request, list->call);
            if (code)
                return code;
            checked = request->comm;
        }
        if (request->active && request->comm != waited) {
            bool first = !list->wait.world;
            wait_for(&list->wait, request->comm);
            if (first)
                list->wait.row = row_of(request);
            waited = request->comm;
        }
    }
    return WEFT_SUCCESS;
}

static void set_status(weft_status *status, int error) {
    if (status)
        *status = (weft_status){.source = -1, .tag = -1, .error = error};
}

/* What became of a request that is complete. */
static int result_of(const weft_request *request, weft_status *status) {
    const hier_message *message = (const hier_message *)request;
    int error = WEFT_SUCCESS;
    switch (request->kind) {
    case HIER_SEND:
    case HIER_RECEIVE:
        return status || hier_message_error(message) ? hier_message_result(message, status) : WEFT_SUCCESS;
    case HIER_SENDRECV:
        return hier_sendrecv_result(message, status);
    case HIER_COLLECTIVE:
        error = hier_request_result(request);
        break;
    case HIER_PART:
        error = hier_part_result(request);
        break;
    case HIER_SENT:
        break;
    }
    set_status(status, error);
    return error;
}

void hier_give(weft_request *request) {
    switch (request->kind) {
    case HIER_SEND:
    case HIER_RECEIVE:
        hier_message_give(hier_message_of(request));
        break;
    case HIER_SENDRECV:
        hier_sendrecv_give(hier_message_of(request));
        break;
    case HIER_COLLECTIVE:
        hier_request_give(request);
        break;
    case HIER_PART:
        hier_part_give(request);
        break;
    case HIER_SENT: /* of all */
        break;
    }
}

/* Takes one that is complete: it is given back unless it is persistent. */
static int take_complete(weft_request *request, weft_status *status) {
    int error = result_of(request, status);
    if (request->kind == HIER_SEND || request->kind == HIER_RECEIVE)
        hier_message_observe_end(hier_message_of(request));
    request->active = false;
    if (!request->persistent)
        hier_give(request);
    return error;
}

/* Of an operation, as its sentence has just been written. */
static inline void note_error(completing *list, int error) {
    if (!error || list->error)
        return;
    list->error = error;
    list->sentence = core_error_keep();
}

/* Takes request i, which is complete or was not active, from its list; its status goes to place `at`. */
static inline void take(completing *list, size_t i, size_t at) {
    weft_request *request = list->requests[i];
    weft_status *status = list->statuses ? &list->statuses[at] : NULL;
    if (!is_active(request)) {
        set_status(status, WEFT_SUCCESS);
        return;
    }
    if (request->kind == HIER_SENT) {
        hier_take_sent(&list->requests[i]);
        set_status(status, WEFT_SUCCESS);
        return;
    }
    bool keeps = request->persistent;
    note_error(list, take_complete(request, status));
    if (!keeps)
        list->requests[i] = WEFT_REQUEST_NULL;
}

/* What was completed so far of all that the wait looks after, and what is broken. */
static uint64_t completions(const hier_wait *wait) {
    /* Acquire: pairs with fail in carrier.c. A failure ends receives without completing one. */
    uint64_t sum = atomic_load_explicit(&wait->world->carrier.failures, memory_order_acquire);
    sum += wait->funnel ? wait->world->completions : 0;
    for (const weft_comm *comm = wait->funnel ? wait->world->process_comm : NULL; comm; comm = comm->next_of_world)
        sum += comm->mailbox->completions;
    sum += wait->agent ? wait->agent->completions : 0;
    for (const weft_comm *comm = wait->agent ? wait->agent->comms : NULL; comm; comm = comm->next_of_agent)
        sum += comm->mailbox->completions;
    return sum;
}

/* Has anything been completed since the list was last gone through? Spares a long list most looks. */
static bool is_news(completing *list) {
    uint64_t now = completions(&list->wait);
    bool news = !list->looked || list->seen != now;
    list->looked = true;
    list->seen = now;
    return news;
}

/* As far as they are complete, in their order; true when all are. */
static bool take_in_order(void *argument) {
    completing *list = argument;
    size_t i = list->found, count = list->count;
    for (; i < count; i++) {
        if (!list->statuses && hier_take_plainly(&list->requests[i]))
            continue;
        weft_request *request = list->requests[i];
        if (is_active(request) && !is_complete(request))
            break;
        take(list, i, i);
    }
    list->found = i;
    return i == count;
}

static bool take_all_or_none(void *argument) {
    completing *list = argument;
    for (size_t i = 0; i < list->count; i++)
        if (is_active(list->requests[i]) && !is_complete(list->requests[i]))
            return false;
    return take_in_order(argument);
}

static bool take_any(void *argument) {
    completing *list = argument;
    if (!is_news(list))
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (is_active(list->requests[i]) && is_complete(list->requests[i])) {
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
        if (is_active(list->requests[i]) && is_complete(list->requests[i])) {
            take(list, i, list->found);
            list->indices[list->found++] = i;
        }
    return list->found > 0;
}

/* Tells of the only one, and leaves it. */
static bool tell(void *argument) {
    completing *list = argument;
    weft_request *request = list->requests[0];
    if (request->kind != HIER_SENT && !is_complete(request))
        return false;
    note_error(list, result_of(request, list->statuses));
    return true;
}

/* Of several, the first that is waited for. */
static hier_doing describe(void *argument) {
    const completing *list = argument;
    size_t i = list->wait.look == take_in_order ? list->found : 0;
    while (i < list->count && !is_active(list->requests[i]))
        i++;
    if (i == list->count) /* it has just been completed */
        return (hier_doing){.call = list->call};
    hier_doing doing = hier_doing_request(list->requests[i], list->call);
    if (doing.call == list->call)
        doing.caller = list->caller;
    return doing;
}

/* The end of a call that waited or tested: there may be more under way. Returns the error of what was completed. */
static int leave(completing *list) {
    if (list->error)
        core_error_again(list->error, list->sentence);
    return list->wait.world ? hier_leave(list->wait.world->process_comm, list->error) : hier_leave_all(list->error);
}

/* The part in common of those that need all: without an active one they are complete at once. */
static int complete_all(completing *list, int *done) {
    int code = check_list(list);
    if (code)
        return hier_leave_all(code);
    bool all = true;
    if (!list->wait.world) {
        (void)take_in_order(list);
    } else {
        list->wait.look = done ? take_all_or_none : take_in_order;
        list->wait.argument = list;
        all = hier_drive_until(&list->wait, done != NULL);
        hier_tested(&list->wait, all);
    }
    if (done)
        *done = all;
    return leave(list);
}

/* Those that need one: without an active one there is nothing to wait for. */
static bool complete_some(completing *list, hier_look *look, bool wait) {
    if (!list->wait.world)
        return false;
    list->wait.look = look;
    list->wait.argument = list;
    bool found = hier_drive_until(&list->wait, !wait);
    hier_tested(&list->wait, found);
    return found;
}

int weft_waitall(size_t count, weft_request *requests[], weft_status statuses[]) {
    size_t taken = statuses ? 0 : hier_take_window(count, requests);
    if (taken && taken == count)
        return WEFT_SUCCESS;
    completing list = {CALL, .count = count - taken, .requests = taken ? requests + taken : requests,
                       .statuses = statuses};
    return complete_all(&list, NULL);
}

int weft_testall(size_t count, weft_request *requests[], int *done, weft_status statuses[]) {
    completing list = {CALL, .count = count, .requests = requests, .statuses = statuses};
    return done ? complete_all(&list, done) : hier_missing(__func__, "done");
}

/* Is an active part of a thread, which all is in order with, alone under way? Then waiting for it needs no list. */
static bool is_lone_part(const weft_request *request) {
    const weft_comm *comm = request->comm;
    if (request->kind != HIER_PART || comm->owner != core_self())
        return false;
    if (comm->lends)
        hier_reclaim(comm->agent);
    return comm->agent->parts <= 1;
}

static int wait_for_part(weft_request **request, weft_status *status, const void *caller) {
    weft_request *waited = *request;
    const weft_comm *comm = waited->comm;
    hier_part_wait(waited, caller);
    if (comm->agent->tests)
        hier_tests_no_more(comm->agent);
    int error = hier_part_result(waited);
    set_status(status, error);
    waited->active = false;
    if (!waited->persistent) {
        hier_part_give(waited);
        *request = WEFT_REQUEST_NULL;
    }
    return hier_leave(comm, error);
}

/* An active collective of processes may be over before a list is worth its while. True: it is, and *code its error. */
static bool ends_soon(weft_request **request, weft_status *status, int *code) {
    weft_request *waited = *request;
    hier_world *world = waited->comm->world;
    if (waited->kind != HIER_COLLECTIVE)
        return false;
    if (waited->comm->lends)
        hier_reclaim_own(world);
    if (!hier_may_drive(world) || hier_has_more_to_do(world))
        return false;
    hier_funnel_enter(world);
    bool over = hier_request_ends_soon(waited), keeps = waited->persistent;
    if (over)
        *code = take_complete(waited, status);
    hier_funnel_leave(world);
    if (over && !keeps)
        *request = WEFT_REQUEST_NULL;
    return over;
}

int weft_wait(weft_request **request, weft_status *status) {
    int code;
    if (!request)
        return hier_missing(__func__, "request");
    if (hier_is_request(*request) && (*request)->active && hier_comm_valid((*request)->comm)) {
        if (is_lone_part(*request))
            return wait_for_part(request, status, __builtin_return_address(0));
        const weft_comm *comm = (*request)->comm;
        if (ends_soon(request, status, &code))
            return hier_leave(comm, code);
    }
    completing list = {CALL, .count = 1, .requests = request, .statuses = status};
    return complete_all(&list, NULL);
}

int weft_test(weft_request **request, int *done, weft_status *status) {
    completing list = {CALL, .count = 1, .requests = request, .statuses = status};
    return done ? complete_all(&list, done) : hier_missing(__func__, "done");
}

int weft_request_get_status(weft_request *request, int *done, weft_status *status) {
    completing list = {CALL, .count = 1, .requests = &request, .statuses = status};
    if (!done)
        return hier_missing(__func__, "done");
    int code = check_list(&list);
    if (code)
        return hier_leave_all(code);
    *done = !list.wait.world || complete_some(&list, tell, false);
    if (!list.wait.world)
        set_status(status, WEFT_SUCCESS);
    return leave(&list);
}

static int any(completing *list, size_t *index, int *done, weft_status *status) {
    int code = check_list(list);
    if (code)
        return hier_leave_all(code);
    bool found = complete_some(list, take_any, !done);
    if (!list->wait.world)
        set_status(status, WEFT_SUCCESS);
    *index = found ? list->found : WEFT_UNDEFINED;
    if (done)
        *done = found || !list->wait.world;
    return leave(list);
}

int weft_waitany(size_t count, weft_request *requests[], size_t *index, weft_status *status) {
    completing list = {CALL, .count = count, .requests = requests, .statuses = status};
    return index ? any(&list, index, NULL, status) : hier_missing(__func__, "index");
}

int weft_testany(size_t count, weft_request *requests[], size_t *index, int *done, weft_status *status) {
    completing list = {CALL, .count = count, .requests = requests, .statuses = status};
    return index && done ? any(&list, index, done, status) : hier_missing(__func__, index ? "done" : "index");
}

static int some(completing *list, bool wait, size_t *done_count) {
    if (!done_count || (list->count && !list->indices))
        return hier_missing(list->call, done_count ? "indices" : "done_count");
    int code = check_list(list);
    if (code)
        return hier_leave_all(code);
    (void)complete_some(list, take_some, wait);
    *done_count = list->wait.world ? list->found : WEFT_UNDEFINED;
    return leave(list);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): take_some() writes to the indices */
int weft_waitsome(size_t count, weft_request *requests[], size_t *done_count, size_t indices[],
                  weft_status statuses[]) {
    completing list = {CALL, .count = count, .requests = requests, .statuses = statuses, .indices = indices};
    return some(&list, true, done_count);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as above */
int weft_testsome(size_t count, weft_request *requests[], size_t *done_count, size_t indices[],
                  weft_status statuses[]) {
    completing list = {CALL, .count = count, .requests = requests, .statuses = statuses, .indices = indices};
    return some(&list, false, done_count);
}
