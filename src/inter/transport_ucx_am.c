// SPDX-License-Identifier: BSD-3-Clause
/*
 * Active messages of the UCX transport: one id of UCX's own.
 *
 * UCX's header carries the listener's words, who sent them, and a short payload too, because UCX stores a header alone at
 * once, but a header with a payload in several steps. A rendezvous leaves a descriptor, which is fetched or dropped.
 *
 * Data that do not lie in one run, or for which the buffer has too little room, are of a datatype to UCX, which then asks for them (or
 * hands them out) piece by piece: so nobody packs a whole message beforehand.
 */
#include <core/error.h>
#include <inter/transport_ucx_private.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define AM_ID        0
/* What is left, beside the words, of UCX's shortest messages through shared memory. */
#define INLINE_BYTES 56

/* On the wire. */
typedef struct wire_header {
    inter_am_header header;
    uint64_t source;
    unsigned char payload[INLINE_BYTES];
} wire_header;

#define WIRE_BYTES offsetof(wire_header, payload)

/* A message to send: UCX before 1.14 reads the header when it sends, not when it is told to. */
typedef struct inter_ucx_notice {
    struct inter_ucx_notice *next, *next_spare;
    inter_ucx *transport;
    inter_request *request;
    wire_header wire;
} notice;

typedef struct inter_ucx_early {
    struct inter_ucx_early *next;
    inter_arrival arrival; /* its data, if it has any, is `payload` */
    unsigned char payload[];
} early;

/* A fetch into less room keeps the message's bytes here, where a tagged message has its tag; `bytes` is the room. */
static void set_layout(inter_request *request, void *buffer, size_t room, size_t message_bytes) {
    request->buffer = buffer;
    request->bytes = room;
    request->tag = message_bytes;
}

/* UCX's state of packing or unpacking is the request. */
static void *start_pack(void *context, const void *request, size_t count) {
    (void)context;
    (void)count;
    return (void *)(uintptr_t)request;
}

static void *start_unpack(void *context, void *request, size_t count) {
    (void)context;
    (void)count;
    return request;
}

static size_t packed_size(void *state) {
    return ((const inter_request *)state)->tag;
}

static size_t pack(void *state, size_t offset, void *to, size_t most) {
    const inter_request *request = state;
    const core_data *data = request->data;
    size_t end = request->bytes - offset < most ? request->bytes : offset + most;
    core_pack(to, data->buffer, data->type, data->count, offset, end);
    return end - offset;
}

/* What there is no room for is lost. */
static ucs_status_t unpack(void *state, size_t offset, const void *from, size_t bytes) {
    const inter_request *request = state;
    const core_data run = {request->buffer, WEFT_BYTE, request->bytes}, *data = request->data ? request->data : &run;
    size_t end = offset + bytes < request->bytes ? offset + bytes : request->bytes;
    core_unpack(data->buffer, from, data->type, data->count, offset, end);
    return UCS_OK;
}

static void finish(void *state) {
    (void)state;
}

/* Between hosts UCX is two to three times as fast with one run. */
static bool ucx_takes_layouts(const inter_transport *base, int peer, size_t bytes) {
    (void)base;
    (void)peer;
    return bytes > INTER_PACKED_BYTES;
}

static notice *take_notice(inter_ucx *self) {
    notice *taken = self->am.spare;
    if (taken) {
        self->am.spare = taken->next_spare;
        return taken;
    }
    taken = malloc(sizeof(*taken));
    if (!taken)
        return NULL;
    taken->transport = self;
    taken->wire.source = (uint64_t)self->base.rank;
    taken->next = self->am.notices;
    self->am.notices = taken;
    return taken;
}

static void give_notice(notice *given) {
    given->next_spare = given->transport->am.spare;
    given->transport->am.spare = given;
}

static void am_sent(void *native, ucs_status_t status, void *argument) {
    notice *of = argument;
    give_notice(of);
    inter_ucx_finish(native, of->request, inter_ucx_code(status));
}

static int ucx_am_send(inter_transport *base, int peer, const inter_am_header *header, const void *buffer, size_t bytes,
                       bool rendezvous, inter_request *request) {
    inter_ucx *self = inter_ucx_of(base);
    int code = self->endpoints[peer] ? WEFT_SUCCESS : inter_ucx_connect(self, peer);
    if (code)
        return code;
    notice *of = take_notice(self);
    if (!of)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a message to rank %d", base->rank, peer);
    request->peer = peer;
    set_layout(request, NULL, bytes, bytes);
    of->request = request;
    of->wire.header = *header;
    size_t wire_bytes = WIRE_BYTES;
    if (bytes && bytes <= INLINE_BYTES && !rendezvous) {
        memcpy(of->wire.payload, buffer, bytes);
        wire_bytes += bytes;
        bytes = 0;
    }
    ucp_request_param_t params; /* what the mask does not name is not read */
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
    params.cb.send = am_sent;
    params.user_data = of;
    if (request->data) {
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        params.datatype = self->am.layout;
        buffer = request;
        bytes = 1;
    }
    ucs_status_ptr_t result =
        ucp_am_send_nbx(self->endpoints[peer], AM_ID, &of->wire, wire_bytes, buffer, bytes, &params);
    if (!UCS_PTR_IS_PTR(result))
        give_notice(of);
    return inter_ucx_started(self, result, request, "send");
}

/* Nobody listens; false without memory. */
static bool keep(inter_ucx *self, const inter_arrival *arrival) {
    size_t payload = arrival->data ? arrival->bytes : 0;
    early *item = malloc(sizeof(*item) + payload);
    if (!item)
        return false;
    *item = (early){.arrival = *arrival};
    if (payload) {
        memcpy(item->payload, arrival->data, payload);
        item->arrival.data = item->payload;
    }
    *self->am.early_end = item;
    self->am.early_end = &item->next;
    self->base.unheard_bytes += sizeof(*item) + payload;
    return true;
}

/* UCX's callback. The descriptor of a rendezvous stays, unless the listener drops it at once: then UCX is told so here. */
static ucs_status_t arrived(void *argument, const void *header, size_t header_bytes, void *data, size_t bytes,
                            const ucp_am_recv_param_t *params) {
    inter_ucx *self = argument;
    wire_header wire;
    bool fetched = params->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV;
    if (header_bytes < WIRE_BYTES || header_bytes > sizeof(wire))
        return UCS_OK; /* none of weft's */
    memcpy(&wire, header, WIRE_BYTES);
    if (wire.source >= (uint64_t)self->base.size)
        return UCS_OK;
    inter_arrival arrival = {.peer = (int)wire.source, .header = wire.header, .bytes = bytes};
    if (fetched) {
        arrival.native = data;
    } else if (header_bytes > WIRE_BYTES) {
        arrival.data = (const unsigned char *)header + WIRE_BYTES;
        arrival.bytes = header_bytes - WIRE_BYTES;
    } else if (bytes) {
        arrival.data = data;
    }
    if (!self->am.listener) {
        if (!keep(self, &arrival)) {
            self->base.failed_peer = arrival.peer; /* a message of it is lost */
            self->base.failed[arrival.peer] = true;
            return UCS_OK;
        }
        return fetched ? UCS_INPROGRESS : UCS_OK;
    }
    self->am.arriving = arrival.native;
    self->am.dropped = false;
    self->am.listener(self->am.argument, &arrival);
    self->am.arriving = NULL;
    return fetched && !self->am.dropped ? UCS_INPROGRESS : UCS_OK;
}

static int fetched_code(const inter_request *request, ucs_status_t status) {
    return status == UCS_OK && request->tag > request->bytes ? WEFT_ERR_TRUNCATE : inter_ucx_code(status);
}

static void fetched(void *native, ucs_status_t status, size_t bytes, void *argument) {
    (void)bytes; /* known before */
    inter_ucx_finish(native, argument, fetched_code(argument, status));
}

static void ucx_am_drop(inter_transport *base, const inter_arrival *arrival) {
    inter_ucx *self = inter_ucx_of(base);
    if (arrival->native == self->am.arriving)
        self->am.dropped = true; /* UCX still has it in hand */
    else
        ucp_am_data_release(self->worker, arrival->native);
}

static int ucx_am_fetch(inter_transport *base, const inter_arrival *arrival, void *buffer, size_t bytes,
                        inter_request *request) {
    inter_ucx *self = inter_ucx_of(base);
    request->peer = arrival->peer;
    if (self->base.failed[arrival->peer]) { /* UCX 1.13 would complete it, and return it all the same */
        ucx_am_drop(base, arrival);
        return core_error(WEFT_ERR_PROC_FAILED,
                          "rank %d: the message of rank %d was not fetched before it was out of reach", base->rank,
                          arrival->peer);
    }
    ucp_request_param_t params;
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.recv_am = fetched;
    params.user_data = request;
    set_layout(request, buffer, bytes, arrival->bytes);
    size_t count = arrival->bytes;
    if (request->data || bytes < arrival->bytes) {
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        params.datatype = self->am.layout;
        buffer = request;
        count = 1;
    }
    ucs_status_ptr_t result = ucp_am_recv_data_nbx(self->worker, arrival->native, buffer, count, &params);
    if (!result)
        inter_note_error(request, fetched_code(request, UCS_OK));
    return inter_ucx_started(self, result, request, "fetch a message");
}

static early *take_early(inter_ucx *self) {
    early *item = self->am.early;
    if (!item)
        return NULL;
    self->am.early = item->next;
    if (!item->next)
        self->am.early_end = &self->am.early;
    return item;
}

static void ucx_listen(inter_transport *base, inter_listener *listener, void *argument) {
    inter_ucx *self = inter_ucx_of(base);
    self->am.listener = listener;
    self->am.argument = argument;
    for (early *item; self->am.listener && (item = take_early(self));) {
        self->am.listener(self->am.argument, &item->arrival);
        free(item);
    }
    if (listener)
        base->unheard_bytes = 0;
}

static void ucx_rouse(inter_transport *base) {
    ucp_worker_signal(inter_ucx_of(base)->worker);
}

int inter_ucx_am_open(inter_ucx *self) {
    ucp_am_handler_param_t params = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = AM_ID,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = arrived,
        .arg = self,
    };
    self->am.early_end = &self->am.early;
    self->base.am_send = ucx_am_send;
    self->base.takes_layouts = ucx_takes_layouts;
    self->base.am_fetch = ucx_am_fetch;
    self->base.am_drop = ucx_am_drop;
    self->base.listen = ucx_listen;
    self->base.rouse = ucx_rouse;
    const ucp_generic_dt_ops_t layout = {start_pack, start_unpack, packed_size, pack, unpack, finish};
    ucs_status_t status = ucp_dt_create_generic(&layout, NULL, &self->am.layout);
    self->am.has_layout = status == UCS_OK;
    if (status == UCS_OK)
        status = ucp_worker_set_am_recv_handler(self->worker, &params);
    return status == UCS_OK ? WEFT_SUCCESS : inter_ucx_error(status, "receive active messages", self);
}

void inter_ucx_am_forget(inter_ucx *self) {
    for (early *item; (item = take_early(self)); free(item))
        if (item->arrival.native)
            ucp_am_data_release(self->worker, item->arrival.native);
}

void inter_ucx_am_free(inter_ucx *self) {
    for (notice *item = self->am.notices, *next; item; item = next) {
        next = item->next;
        free(item);
    }
    if (self->am.has_layout)
        ucp_dt_destroy(self->am.layout);
}
