// SPDX-License-Identifier: BSD-3-Clause
/*
 * The UCX transport: tag matching with exact tags, endpoints made on first use.
 *
 * Endpoints to processes of the same host have no error handling mode, because UCX's shared-memory transports refuse
 * one and UCX would fall back to TCP; endpoints to other hosts use UCP_ERR_HANDLING_MODE_PEER.
 */
#include <core/clock.h>
#include <core/error.h>
#include <inter/card.h>
#include <inter/transport_ucx_private.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define LOST_NS    UINT64_C(1000000000)
#define PARTING_NS UINT64_C(1000000000)

int inter_ucx_code(ucs_status_t status) {
    switch (status) {
    case UCS_OK:
        return WEFT_SUCCESS;
    case UCS_ERR_MESSAGE_TRUNCATED:
        return WEFT_ERR_TRUNCATE;
    case UCS_ERR_NO_MEMORY:
        return WEFT_ERR_NOMEM;
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_NOT_CONNECTED: /* of what was on its way when the other end closed */
    case UCS_ERR_IO_ERROR:
    case UCS_ERR_CANCELED:
        return WEFT_ERR_PROC_FAILED;
    default:
        return WEFT_ERR_TRANSPORT;
    }
}

/* Whose rank it is: a channel's are of channels. */
static int process_of(const inter_ucx *self, int rank) {
    return self->directory ? rank / INTER_CHANNELS : rank;
}

int inter_ucx_error(ucs_status_t status, const char *what, const inter_ucx *self) {
    return core_error(inter_ucx_code(status), "rank %d: UCX could not %s: %s", process_of(self, self->base.rank), what,
                      ucs_status_string(status));
}

static int received_code(const inter_request *request, ucs_status_t status, size_t length) {
    if (status == UCS_OK && length < request->bytes)
        return WEFT_ERR_MISMATCH;
    return inter_ucx_code(status);
}

void inter_ucx_finish(void *native, inter_request *request, int code) {
    request->native = NULL;
    ucp_request_free(native);
    inter_completed(request, code);
}

static void sent(void *native, ucs_status_t status, void *argument) {
    inter_ucx_finish(native, argument, inter_ucx_code(status));
}

static void received(void *native, ucs_status_t status, const ucp_tag_recv_info_t *info, void *argument) {
    inter_ucx_finish(native, argument, received_code(argument, status, info->length));
}

static void endpoint_failed(void *argument, ucp_ep_h endpoint, ucs_status_t status) {
    inter_ucx *self = argument;
    (void)status;
    for (int peer = 0; peer < self->base.size; peer++)
        if (self->endpoints[peer] == endpoint) {
            self->base.failed_peer = peer;
            self->base.failed[peer] = true;
        }
}

static int look_up(inter_ucx *self, int peer, const void **address) {
    size_t bytes;
    const void *card;
    if (self->directory)
        return inter_directory_find(self->directory, peer, address, &bytes);
    int code = inter_card_find(self->bootstrap, peer, self->card_bytes, &card);
    if (!code)
        *address = (const char *)card + self->card_bytes;
    return code;
}

static bool is_here(const inter_ucx *self, int peer) {
    return self->bootstrap->host(self->bootstrap, process_of(self, peer)) ==
           self->bootstrap->host(self->bootstrap, process_of(self, self->base.rank));
}

int inter_ucx_connect(inter_ucx *self, int peer) {
    const void *address;
    const int rank = process_of(self, self->base.rank), process = process_of(self, peer);
    if (self->base.failed[peer])
        return core_error(WEFT_ERR_PROC_FAILED, "rank %d: rank %d died or is out of reach", rank, process);
    int code = look_up(self, peer, &address);
    if (code)
        return code;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
        .address = address,
        .err_mode = UCP_ERR_HANDLING_MODE_NONE,
    };
    if (!is_here(self, peer)) {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler = (ucp_err_handler_t){.cb = endpoint_failed, .arg = self};
    }
    ucs_status_t status = ucp_ep_create(self->worker, &params, &self->endpoints[peer]);
    if (status != UCS_OK) {
        self->endpoints[peer] = NULL;
        return core_error(inter_ucx_code(status), "rank %d: UCX could not connect to rank %d: %s", rank, process,
                          ucs_status_string(status));
    }
    return WEFT_SUCCESS;
}

int inter_ucx_started(inter_ucx *self, ucs_status_ptr_t result, inter_request *request, const char *what) {
    if (UCS_PTR_IS_ERR(result))
        return inter_ucx_error(UCS_PTR_STATUS(result), what, self);
    request->native = result;
    if (result)
        request->completion->pending++;
    return WEFT_SUCCESS;
}

static int ucx_send(inter_transport *base, int peer, uint64_t tag, const void *buffer, size_t bytes,
                    inter_request *request) {
    inter_ucx *self = inter_ucx_of(base);
    if (!self->endpoints[peer]) {
        int code = inter_ucx_connect(self, peer);
        if (code)
            return code;
    }
    request->peer = peer;
    request->bytes = bytes;
    ucp_request_param_t params; /* what the mask does not name is not read */
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.send = sent;
    params.user_data = request;
    return inter_ucx_started(self, ucp_tag_send_nbx(self->endpoints[peer], buffer, bytes, tag, &params), request,
                             "send");
}

/* Always with a callback, which may come before the call is over: only that has the length of a message that was here already (before
 * UCX 1.16). */
static int ucx_recv(inter_transport *base, int peer, uint64_t tag, void *buffer, size_t bytes, inter_request *request) {
    inter_ucx *self = inter_ucx_of(base);
    request->peer = peer;
    request->bytes = bytes;
    ucp_request_param_t params; /* what the mask does not name is not read */
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    params.cb.recv = received;
    params.user_data = request;
    request->native = request; /* until UCX has its own, or the callback came */
    request->completion->pending++;
    ucs_status_ptr_t result = ucp_tag_recv_nbx(self->worker, buffer, bytes, tag, UINT64_MAX, &params);
    if (UCS_PTR_IS_ERR(result)) {
        request->native = NULL;
        request->completion->pending--;
        if (UCS_PTR_STATUS(result) == UCS_ERR_MESSAGE_TRUNCATED) { /* it has come */
            inter_note_error(request, WEFT_ERR_TRUNCATE);
            return WEFT_SUCCESS;
        }
        return inter_ucx_error(UCS_PTR_STATUS(result), "receive", self);
    }
    if (request->native)
        request->native = result;
    return WEFT_SUCCESS;
}

/* Several threads may sleep on the worker. Who takes what has come takes what would have woken the others, too, for whom it may be. */
static void wake_others(const inter_ucx *self) {
    if (atomic_load_explicit(&self->sleepers, memory_order_relaxed))
        ucp_worker_signal(self->worker);
}

static unsigned ucx_progress(inter_transport *base) {
    inter_ucx *self = inter_ucx_of(base);
    unsigned events = ucp_worker_progress(self->worker);
    if (events && !self->told) {
        self->told = true;
        wake_others(self);
    }
    return events;
}

/* Nothing comes from the peer any more. What others say may be before the last of what it has sent has come. */
static bool is_silent(const inter_ucx *self, int peer) {
    return self->base.failed[peer] && (!self->lost_ns[peer] || core_now_ns() - self->lost_ns[peer] > LOST_NS);
}

/* UCX takes back nothing but receives that nothing has come for. What has to do with a peer out of reach may stay for ever: its
 * memory is left to UCX, which uses the buffer no longer, and the request is over. */
static void ucx_cancel(inter_transport *base, inter_request *request) {
    inter_ucx *self = inter_ucx_of(base);
    if (request->native)
        ucp_request_cancel(self->worker, request->native);
    if (request->native && is_silent(self, request->peer))
        inter_ucx_finish(request->native, request, WEFT_ERR_PROC_FAILED); /* there will be no callback */
}

static void discarded(void *native, ucs_status_t status, const ucp_tag_recv_info_t *info, void *argument) {
    (void)status, (void)info, (void)argument;
    ucp_request_free(native);
}

/* Received into nothing: the sender of a long message is told that it was taken. */
static void ucx_discard(inter_transport *base, uint64_t tag, uint64_t mask) {
    inter_ucx *self = inter_ucx_of(base);
    ucp_tag_recv_info_t info;
    ucp_tag_message_h message;
    ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.recv = discarded};
    while ((message = ucp_tag_probe_nb(self->worker, tag, mask, 1, &info)))
        ucp_tag_msg_recv_nbx(self->worker, NULL, 0, message, &params);
}

static bool ucx_connected(const inter_transport *base, int peer) {
    return ((const inter_ucx *)base)->endpoints[peer];
}

static bool ucx_arm(inter_transport *base, inter_bed *bed) {
    inter_ucx *self = inter_ucx_of(base);
    if (ucp_worker_arm(self->worker) != UCS_OK) {
        wake_others(self);
        return false;
    }
    *bed = (inter_bed){.descriptor = self->event_fd, .sleepers = &self->sleepers};
    atomic_fetch_add_explicit(&self->sleepers, 1, memory_order_relaxed);
    self->told = false;
    return true;
}

/* Forced: what is under way ends, and nothing more goes out. What is returned is waited for, or freed. */
static ucs_status_ptr_t close_endpoint(inter_ucx *self, int peer, bool forced) {
    ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                  .flags = forced ? UCP_EP_CLOSE_FLAG_FORCE : 0};
    ucp_ep_h endpoint = self->endpoints[peer];
    self->endpoints[peer] = NULL;
    return ucp_ep_close_nbx(endpoint, &params);
}

/* UCX would find out by itself, but when nothing answers at the other end not for minutes. */
static void ucx_lose(inter_transport *base, int peer) {
    inter_ucx *self = inter_ucx_of(base);
    if (base->failed[peer] || is_here(self, peer))
        return;
    base->failed_peer = peer;
    base->failed[peer] = true;
    self->lost_ns[peer] = core_now_ns();
    ucs_status_ptr_t request = self->endpoints[peer] ? close_endpoint(self, peer, true) : NULL;
    if (UCS_PTR_IS_PTR(request))
        ucp_request_free(request);
}

/* Until UCX is through with it, or the moment has come: was it? */
static bool wait_until(inter_ucx *self, ucs_status_ptr_t request, uint64_t end_ns) {
    if (!UCS_PTR_IS_PTR(request))
        return true;
    bool over;
    while (!(over = ucp_request_check_status(request) != UCS_INPROGRESS) && core_now_ns() < end_ns)
        if (!ucp_worker_progress(self->worker))
            sched_yield(); /* the other end may need this core */
    ucp_request_free(request);
    return over;
}

/*
 * UCX makes a connection to another host by messages to and fro, and aborts (1.13, with assertions) who closes it, or finds it closed,
 * while an answer of its own waits to go out. So who does not part in agreement with the others has his connections complete before he
 * closes them; but not for ever: a peer that is not in weft just now does not answer.
 */
static void complete_connections(inter_ucx *self) {
    ucp_request_param_t params = {.op_attr_mask = 0};
    uint64_t end_ns = core_now_ns() + PARTING_NS;
    for (int peer = 0; self->endpoints && peer < self->base.size; peer++)
        if (self->endpoints[peer] && !self->base.failed[peer] && !is_here(self, peer))
            wait_until(self, ucp_ep_flush_nbx(self->endpoints[peer], &params), end_ns);
}

/* What a peer that answers to nothing any more keeps open goes on being closed as long as somebody makes progress. */
static void ucx_disconnect(inter_transport *base, bool forced) {
    inter_ucx *self = inter_ucx_of(base);
    inter_ucx_am_forget(self);
    forced |= base->failed_peer >= 0;
    if (forced)
        complete_connections(self);
    uint64_t end_ns = core_now_ns() + PARTING_NS;
    for (int peer = 0; self->endpoints && peer < base->size; peer++)
        if (self->endpoints[peer])
            wait_until(self, close_endpoint(self, peer, forced), end_ns);
}

/* Has UCX said all that it has to, by the connections that others have made, too? Within the same time. */
static bool is_at_rest(inter_ucx *self) {
    ucp_request_param_t params = {.op_attr_mask = 0};
    return wait_until(self, ucp_worker_flush_nbx(self->worker, &params), core_now_ns() + PARTING_NS);
}

static void free_self(inter_ucx *self) {
    free(self->endpoints);
    free(self->base.failed);
    free(self->lost_ns);
    free(self);
}

static void ucx_close(inter_transport *base) {
    inter_ucx *self = inter_ucx_of(base);
    ucx_disconnect(base, false);
    inter_ucx *whole = self->whole ? self->whole : self;
    if (self->worker && is_at_rest(self))
        ucp_worker_destroy(self->worker);
    else if (self->worker)
        whole->left = true; /* to UCX, which does nothing by itself: the kernel closes what it has open */
    if (self->context && self == whole && !self->left)
        ucp_cleanup(self->context);
    inter_ucx_am_free(self);
    free_self(self);
}

static bool is_tcp(const char *transport) {
    return strcmp(transport, "tcp") == 0;
}

static bool is_interface(const char *device) {
    return if_nametoindex(device) > 0;
}

/* Does UCX take one of these, by a variable that lists names, or all but those behind a ^? */
static bool takes(const char *variable, bool (*is_one)(const char *)) {
    const char *list = getenv(variable);
    if (!list || strcmp(list, "all") == 0)
        return true;
    bool others = *list == '^';
    char *names = strdup(list + others), *rest = NULL;
    bool found = false;
    for (char *name = names ? strtok_r(names, ",", &rest) : NULL; name; name = strtok_r(NULL, ",", &rest))
        found |= is_one(name);
    free(names);
    return found != others;
}

/* Who connects to a host that is gone would stand in connect() for minutes, deaf to those who could tell it. UCX complains about
 * settings of transports that it does not use. */
static ucs_status_t connect_in_background(ucp_config_t *config) {
    if (getenv("UCX_TCP_CONN_NB") || !takes("UCX_TLS", is_tcp) || !takes("UCX_NET_DEVICES", is_interface))
        return UCS_OK;
    unsigned major, minor, release;
    ucp_get_version(&major, &minor, &release);
    bool prefixed = major > 1 || minor > 13;
    return ucp_config_modify(config, prefixed ? "TCP_CONN_NB" : "CONN_NB", "y");
}

static int open_context(inter_ucx *self, bool channels) {
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME |
                      UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .estimated_num_eps = (size_t)self->base.size,
        .mt_workers_shared = channels,
        .name = "weft",
    };
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status == UCS_OK) {
        status = connect_in_background(config);
        if (status == UCS_OK)
            status = ucp_init(&params, config, &self->context);
        ucp_config_release(config);
    }
    return status == UCS_OK ? WEFT_SUCCESS : inter_ucx_error(status, "start", self);
}

static int open_worker(inter_ucx *self) {
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucs_status_t status = ucp_worker_create(self->context, &params, &self->worker);
    if (status != UCS_OK)
        return inter_ucx_error(status, "make a worker", self);
    status = ucp_worker_get_efd(self->worker, &self->event_fd);
    if (status != UCS_OK)
        return inter_ucx_error(status, "give an event descriptor", self);
    return inter_ucx_am_open(self);
}

static int ucx_publish(inter_transport *base, const void *card, size_t card_bytes) {
    inter_ucx *self = inter_ucx_of(base);
    self->card_bytes = card_bytes;
    ucp_address_t *address;
    size_t bytes;
    ucs_status_t status = ucp_worker_get_address(self->worker, &address, &bytes);
    if (status != UCS_OK)
        return inter_ucx_error(status, "give its address", self);
    int code = inter_card_publish(self->bootstrap, card, card_bytes, address, bytes);
    ucp_worker_release_address(self->worker, address);
    return code;
}

static int ucx_open_channel(inter_transport *base, int number, inter_directory *directory, inter_transport **channel);

/* As far as a transport and a channel are alike; NULL and the sentence without memory. */
static inter_ucx *make(inter_bootstrap *bootstrap, int rank, int size) {
    inter_ucx *self = calloc(1, sizeof(*self));
    if (self) {
        self->bootstrap = bootstrap;
        self->endpoints = calloc((size_t)size, sizeof(ucp_ep_h));
        self->base.failed = calloc((size_t)size, sizeof(bool));
        self->lost_ns = calloc((size_t)size, sizeof(*self->lost_ns));
    }
    if (!self || !self->endpoints || !self->base.failed || !self->lost_ns) {
        core_error(WEFT_ERR_NOMEM, "rank %d: no memory for connections to %d peers", rank, size);
        if (self)
            free_self(self);
        return NULL;
    }
    self->base = (inter_transport){.name = "ucx",
                                   .rank = rank,
                                   .size = size,
                                   .failed_peer = -1,
                                   .failed = self->base.failed,
                                   .send = ucx_send,
                                   .recv = ucx_recv,
                                   .progress = ucx_progress,
                                   .cancel = ucx_cancel,
                                   .discard = ucx_discard,
                                   .arm = ucx_arm,
                                   .lose = ucx_lose,
                                   .connected = ucx_connected,
                                   .disconnect = ucx_disconnect,
                                   .publish = ucx_publish,
                                   .open_channel = ucx_open_channel,
                                   .close = ucx_close};
    return self;
}

static int note_address(inter_ucx *self) {
    ucp_address_t *address;
    size_t bytes;
    ucs_status_t status = ucp_worker_get_address(self->worker, &address, &bytes);
    if (status != UCS_OK)
        return inter_ucx_error(status, "give a channel's address", self);
    int code = inter_directory_put(self->directory, self->base.rank, address, bytes);
    ucp_worker_release_address(self->worker, address);
    return code;
}

static int ucx_open_channel(inter_transport *base, int number, inter_directory *directory, inter_transport **channel) {
    inter_ucx *whole = inter_ucx_of(base);
    inter_ucx *self = make(whole->bootstrap, base->rank * INTER_CHANNELS + number, base->size * INTER_CHANNELS);
    if (!self)
        return WEFT_ERR_NOMEM;
    self->directory = directory;
    self->whole = whole;
    self->context = whole->context;
    int code = open_worker(self);
    if (!code)
        code = note_address(self);
    if (code) {
        ucx_close(&self->base);
        return code;
    }
    *channel = &self->base;
    return WEFT_SUCCESS;
}

int inter_transport_ucx(inter_bootstrap *bootstrap, bool channels, inter_transport **transport) {
    inter_ucx *self = make(bootstrap, bootstrap->rank, bootstrap->size);
    if (!self)
        return WEFT_ERR_NOMEM;
    int code = open_context(self, channels);
    if (!code)
        code = open_worker(self);
    /* What later stands for another process's end is something else here, say that no descriptor was left. */
    if (code == WEFT_ERR_PROC_FAILED)
        code = WEFT_ERR_TRANSPORT;
    if (code) {
        ucx_close(&self->base);
        return code;
    }
    *transport = &self->base;
    return WEFT_SUCCESS;
}
