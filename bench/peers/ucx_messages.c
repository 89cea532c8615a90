// SPDX-License-Identifier: BSD-3-Clause
/* The calls of the message loops as active messages, and a barrier in shared memory. */
#include "ucx_messages.h"
#include "../report.h"

#include <sched.h>
#include <string.h>

enum { DATA, ANSWER }; /* ids of active messages */

#define LOOKS_BEFORE_YIELD 20000 /* far longer than any wait between processes that both have a core */

typedef ucx_rank message_state;
typedef void *message_request;

static void require(ucs_status_t status, const char *call) {
    if (__builtin_expect(status != UCS_OK, 0))
        bench_fail("%s: %s", call, ucs_status_string(status));
}

static void move_on(ucx_rank *self, unsigned *looks) {
    if (ucp_worker_progress(self->worker) == 0 && ++*looks == LOOKS_BEFORE_YIELD) {
        *looks = 0;
        sched_yield();
    }
}

static void await(ucx_rank *self, const uint64_t *count, uint64_t expected) {
    unsigned looks = 0;
    while (*count < expected)
        move_on(self, &looks);
}

static void complete(ucx_rank *self, void *request) {
    unsigned looks = 0;
    if (request == NULL)
        return;
    if (UCS_PTR_IS_ERR(request))
        bench_fail("ucp_am_send_nbx: %s", ucs_status_string(UCS_PTR_STATUS(request)));
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        move_on(self, &looks);
    require(ucp_request_check_status(request), "a send");
    ucp_request_free(request);
}

static void fetched(void *request, ucs_status_t status, size_t bytes, void *argument) {
    (void)bytes;
    require(status, "a rendezvous");
    ((ucx_rank *)argument)->arrived++;
    ucp_request_free(request);
}

/* A rendezvous: the data is fetched straight into the buffer. */
static ucs_status_t fetch(ucx_rank *self, void *descriptor, size_t bytes) {
    const ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                        .cb.recv_am = fetched,
                                        .user_data = self};
    void *request = ucp_am_recv_data_nbx(self->worker, descriptor, self->into, bytes, &params);
    if (UCS_PTR_IS_ERR(request))
        bench_fail("ucp_am_recv_data_nbx: %s", ucs_status_string(UCS_PTR_STATUS(request)));
    if (request == NULL)
        self->arrived++;
    return request == NULL ? UCS_OK : UCS_INPROGRESS;
}

static ucs_status_t data_came(void *argument, const void *header, size_t header_bytes, void *data, size_t bytes,
                              const ucp_am_recv_param_t *param) {
    ucx_rank *self = argument;
    (void)header, (void)header_bytes;
    if (bytes > self->room)
        bench_fail("a message of %zu bytes came where %zu fit", bytes, self->room);
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
        return fetch(self, data, bytes);
    memcpy(self->into, data, bytes);
    self->arrived++;
    return UCS_OK;
}

static ucs_status_t answer_came(void *argument, const void *header, size_t header_bytes, void *data, size_t bytes,
                                const ucp_am_recv_param_t *param) {
    (void)header, (void)header_bytes, (void)data, (void)bytes, (void)param;
    ((ucx_rank *)argument)->answers++;
    return UCS_OK;
}

static inline void *begin_send(ucx_rank *self, unsigned id, const void *buffer, size_t bytes) {
    const ucp_request_param_t params = {.op_attr_mask = 0};
    return ucp_am_send_nbx(self->endpoint, id, NULL, 0, buffer, bytes, &params);
}

static inline void message_isend(ucx_rank *self, const bench_call *call, void **request) {
    *request = begin_send(self, DATA, call->send, call->block);
}

static inline void message_irecv(ucx_rank *self, const bench_call *call, void **request) {
    (void)call;
    self->expected++;
    *request = NULL;
}

static inline void message_send(ucx_rank *self, const bench_call *call) {
    complete(self, begin_send(self, DATA, call->send, call->block));
}

static inline void message_recv(ucx_rank *self, const bench_call *call) {
    (void)call;
    await(self, &self->arrived, ++self->expected);
}

static inline void message_answer(ucx_rank *self, const bench_call *call) {
    const char answer[BENCH_ANSWER_BYTES] = {0};
    (void)call;
    complete(self, begin_send(self, ANSWER, answer, sizeof answer));
}

static inline void message_await_answer(ucx_rank *self, const bench_call *call) {
    (void)call;
    await(self, &self->answers, ++self->expected_answers);
}

static inline void message_wait_window(ucx_rank *self, void *requests[]) {
    for (int i = 0; i < BENCH_WINDOW; i++)
        complete(self, requests[i]);
    await(self, &self->arrived, self->expected);
}

static inline void message_sendrecv(ucx_rank *self, const bench_call *call) {
    void *request;
    message_isend(self, call, &request);
    message_recv(self, call);
    complete(self, request);
}

/* UCX packs nothing by itself: main() refuses datatypes. */
static inline void message_pack(ucx_rank *self, const bench_call *call) {
    (void)self, (void)call;
}

static inline void message_unpack(ucx_rank *self, const bench_call *call) {
    (void)self, (void)call;
}

#include "../message_loops.h"

static void run(void *rank, const void *call, size_t calls) {
    message_run(rank, call, calls);
}

/* Each writes its own round, which publishes what it wrote before, and waits for the other's. */
static void barrier(void *rank) {
    ucx_rank *self = rank;
    uint64_t round = ++self->round;
    unsigned looks = 0;
    atomic_store_explicit(&self->shared->rounds[self->rank], round,
                          memory_order_release); /* pairs with the load below */
    while (atomic_load_explicit(&self->shared->rounds[1 - self->rank], memory_order_acquire) < round)
        move_on(self, &looks);
}

static void maximum(void *rank, double *values, size_t count) {
    ucx_rank *self = rank;
    const double *others = self->shared->values[1 - self->rank];
    if (count > UCX_MOST_VALUES)
        bench_fail("%zu samples are too many", count);
    memcpy(self->shared->values[self->rank], values, count * sizeof *values);
    barrier(self);
    for (size_t i = 0; i < count; i++)
        values[i] = others[i] > values[i] ? others[i] : values[i];
    barrier(self); /* both have read */
}

/* Before the first message of a size, of both: the buffer of a sweep is the same for all. */
static void prepare(void *rank, const bench_call *call) {
    ucx_rank *self = rank;
    barrier(self);
    self->into = call->recv;
    self->room = call->block;
    barrier(self);
}

static void release(void *rank, const bench_call *call) {
    (void)call;
    barrier(rank);
}

/* Of overlap, which main() refuses. */
static void no_overlap(void *rank, const bench_call *call) {
    (void)rank, (void)call;
}

const bench_library ucx_library = {.driver = {run, barrier, maximum},
                                   .prepare = prepare,
                                   .release = release,
                                   .start = no_overlap,
                                   .test = no_overlap,
                                   .wait = no_overlap};

static void set_handler(ucx_rank *self, unsigned id, ucp_am_recv_callback_t handler) {
    const ucp_am_handler_param_t params = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                         UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                           .id = id,
                                           .cb = handler,
                                           .arg = self};
    require(ucp_worker_set_am_recv_handler(self->worker, &params), "ucp_worker_set_am_recv_handler");
}

static void exchange_addresses(ucx_rank *self) {
    ucp_address_t *address;
    size_t bytes;
    require(ucp_worker_get_address(self->worker, &address, &bytes), "ucp_worker_get_address");
    if (bytes > UCX_ADDRESS_BYTES)
        bench_fail("the address of a worker has %zu bytes, more than %d", bytes, UCX_ADDRESS_BYTES);
    memcpy(self->shared->address[self->rank], address, bytes);
    self->shared->address_bytes[self->rank] = bytes;
    ucp_worker_release_address(self->worker, address);
    barrier(self);
}

void ucx_open(ucx_rank *self, int rank, ucx_shared *shared) {
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_AM};
    const ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                               .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_ep_params_t ep_params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    *self = (ucx_rank){.rank = rank, .shared = shared};
    require(ucp_init(&params, NULL, &self->context), "ucp_init");
    require(ucp_worker_create(self->context, &worker_params, &self->worker), "ucp_worker_create");
    set_handler(self, DATA, data_came);
    set_handler(self, ANSWER, answer_came);
    exchange_addresses(self);
    ep_params.address = (const ucp_address_t *)shared->address[1 - rank];
    require(ucp_ep_create(self->worker, &ep_params, &self->endpoint), "ucp_ep_create");
    barrier(self);
}

void ucx_close(ucx_rank *self) {
    const ucp_request_param_t params = {.op_attr_mask = 0};
    barrier(self);
    complete(self, ucp_ep_close_nbx(self->endpoint, &params));
    barrier(self);
    ucp_worker_destroy(self->worker);
    ucp_cleanup(self->context);
}
