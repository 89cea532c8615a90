// SPDX-License-Identifier: BSD-3-Clause
/* Messages: checked, started to a thread of the process or to another process, and known to be over. */
#include <core/error.h>
#include <hier/check.h>
#include <hier/observe.h>
#include <hier/waits.h>
#include <hier/wire.h>
#include <stdio.h>
#include <stdlib.h>

#define EAGER_BYTES_BETWEEN_PROCESSES INTER_EAGER_BYTES
/* Of a blocking receive, before others have the funnel and all else has its turn. */
#define LOOKS_FOR_A_MESSAGE           64

static core_pool messages = CORE_POOL_INITIALIZER;

static int check_numbers(const hier_envelope *envelope, bool receives, const char *tag_name) {
    const weft_comm *comm = envelope->comm;
    int peer = envelope->peer, tag = envelope->tag;
    if ((peer < 0 || peer >= comm->size) && peer != WEFT_PROC_NULL && !(receives && peer == WEFT_ANY_SOURCE))
        return core_error(WEFT_ERR_RANK, "rank %d: %s: %s is %d, expected 0 … %d%s or WEFT_PROC_NULL", comm->rank,
                          envelope->call, receives ? "source" : "dest", peer, comm->size - 1,
                          receives ? ", WEFT_ANY_SOURCE" : "");
    if (tag < 0 && !(receives && tag == WEFT_ANY_TAG))
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s is %d, expected 0 … %d%s", comm->rank, envelope->call,
                          tag_name, tag, WEFT_TAG_UB, receives ? " or WEFT_ANY_TAG" : "");
    return WEFT_SUCCESS;
}

static int check_data(hier_envelope *envelope, const hier_argument_names *names) {
    const weft_comm *comm = envelope->comm;
    const weft_datatype *type = envelope->type;
    int code = hier_check_type(comm, envelope->call, type, names->type);
    if (!code)
        code = hier_check_bytes(comm, envelope->call, envelope->count, type, 1, &envelope->bytes);
    if (!code)
        code = hier_check_buffer(comm, envelope->call, envelope->buffer, envelope->bytes,
                                 core_datatype_has_addresses(type), names->buffer);
    return code;
}

/* The thread's waits look after messages, whichever handle it waits with. */
static void begin_looking(weft_comm *comm) {
    hier_world *world = comm->world;
    comm->talks = true;
    comm->plain = !comm->traces && !comm->lends;
    if (!comm->team && comm->origin) {
        comm->next_of_world = world->process_comm->next_of_world;
        world->process_comm->next_of_world = comm;
    }
    if (!comm->agent)
        return;
    comm->agent->talks = true;
    for (weft_comm *other = comm->agent->comms; other; other = other->next_of_agent) {
        other->talks = other->minds = true;
        other->plain = !other->traces && !other->lends;
    }
}

/* The first message of a thread, or of a process communicator. */
static int begin_talking(weft_comm *comm) {
    hier_world *world = comm->world;
    bool own = comm->channel != &world->channel; /* it listens from the beginning */
    bool network = world->transport && !own && hier_may_drive(world);
    int code = WEFT_SUCCESS;
    if (network || !comm->team)
        hier_funnel_enter(world);
    if (network)
        code = hier_channel_listen(comm->channel);
    else if (world->transport && !own)
        atomic_store_explicit(&world->carrier.wanted, true, memory_order_relaxed);
    if (!code && !comm->talks) /* under MULTIPLE several may come here at once */
        begin_looking(comm);
    if (network || !comm->team)
        hier_funnel_leave(world);
    return code;
}

int hier_message_check_named(hier_envelope *envelope, bool receives, const hier_argument_names *names) {
    int code = check_numbers(envelope, receives, names->tag);
    if (!code)
        code = check_data(envelope, names);
    if (!code && !envelope->comm->talks)
        code = begin_talking(envelope->comm);
    return code;
}

int hier_message_check(hier_envelope *envelope, bool receives) {
    return hier_message_check_named(envelope, receives, &(hier_argument_names){"buffer", "type", "tag"});
}

/* Of data that do not lie in one run: where they lie, if the transport packs them, else they packed. False without memory. */
static bool enclose(hier_letter *letter, const hier_envelope *envelope) {
    if (letter->rendezvous && hier_channel_takes_layouts(envelope->comm->channel, letter->peer, envelope->bytes)) {
        letter->data = (core_data){envelope->buffer, envelope->type, envelope->count};
        letter->buffer = NULL;
        return true;
    }
    letter->buffer = letter->packed = malloc(envelope->bytes);
    if (letter->packed)
        core_pack(letter->packed, envelope->buffer, envelope->type, envelope->count, 0, envelope->bytes);
    return letter->packed;
}

/* Who only starts sends hears now and then, too, when he is to stop (flow.c). By what has the mailbox. */
static bool is_to_listen(weft_comm *comm, size_t bytes) {
    comm->unheard += bytes;
    if (comm->unheard <= (size_t)comm->world->config.unexpected_limit / 4)
        return false;
    comm->unheard = 0;
    return true;
}

static void listen_to_others(weft_comm *comm) {
    if (comm->channel == &comm->world->channel)
        hier_look_beside(comm->world);
    else
        hier_look_at(comm->channel, &comm->agent->bell);
}

/* Where a message to a thread of another node goes, and with which header. */
static int peer_of(const weft_comm *comm, int node, int thread) {
    return hier_channel_peer(comm->channel, hier_layout_process(comm->layout, node), thread);
}

static inter_am_header header_of(const weft_comm *comm, int thread, int tag) {
    return hier_wire_header(comm->context, comm->epoch, thread, comm->rank, tag);
}

static bool may_be_copied(const weft_comm *comm, size_t bytes) {
    return bytes <= hier_eager_limit(comm->world, EAGER_BYTES_BETWEEN_PROCESSES);
}

bool hier_message_send_away(weft_comm *comm, const void *buffer, size_t bytes, int dest, int tag,
                            weft_request **request) {
    hier_channel *channel = comm->channel;
    const hier_layout *layout = comm->layout;
    const int place = hier_layout_place(layout, dest), node = hier_layout_node(layout, place);
    if (node == comm->node || !may_be_copied(comm, bytes) || !hier_may_drive(comm->world))
        return false;
    const int thread = place - (int)layout->offsets[node];
    bool listens = false;
    hier_channel_enter(channel);
    bool sent = (!request || hier_message_sent(comm)) &&
                hier_carry_at_once(channel, peer_of(comm, node, thread), header_of(comm, thread, tag), buffer, bytes);
    if (sent) {
        hier_observe_send(comm, node, bytes);
        listens = is_to_listen(comm, bytes);
        if (request)
            hier_message_hand_out_sent(comm, request);
    }
    hier_channel_leave(channel);
    if (listens)
        listen_to_others(comm);
    return sent;
}

/* To a rank of another process. */
static int send_away(hier_message *message, int node, int thread) {
    const hier_envelope *envelope = &message->envelope;
    weft_comm *comm = envelope->comm;
    hier_letter *letter = &message->letter;
    letter->kind = HIER_LETTER_SEND;
    letter->peer = peer_of(comm, node, thread);
    letter->mailbox = comm->mailbox;
    letter->header = header_of(comm, thread, envelope->tag);
    letter->buffer = envelope->buffer;
    letter->bytes = envelope->bytes;
    letter->rendezvous = envelope->mode == HIER_SYNCHRONOUS || !may_be_copied(comm, envelope->bytes);
    letter->send = &message->send;
    letter->packed = NULL;
    letter->data.type = NULL;
    intra_send_begin(&message->send);
    if (envelope->bytes && !envelope->type->contiguous && !enclose(letter, envelope))
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory to pack %zu bytes", comm->rank, envelope->call,
                          envelope->bytes);
    message->base.over = hier_carry(comm->channel, letter, !comm->team);
    return WEFT_SUCCESS;
}

int hier_message_send(hier_message *message) {
    const hier_envelope *envelope = &message->envelope;
    weft_comm *comm = envelope->comm;
    message->base.kind = HIER_SEND;
    message->base.comm = comm;
    message->base.call = envelope->call;
    message->send.error = WEFT_SUCCESS;
    message->base.over = true;
    if (envelope->peer == WEFT_PROC_NULL)
        return WEFT_SUCCESS;
    int place = hier_layout_place(comm->layout, envelope->peer), code = WEFT_SUCCESS;
    int node = hier_layout_node(comm->layout, place), thread = place - (int)comm->layout->offsets[node];
    bool listens = false;
    hier_mailbox_enter(comm);
    if (node == comm->node) {
        intra_mailbox *to = comm->team ? &comm->team->mailboxes[thread] : comm->mailbox;
        message->base.over =
            intra_mail_send(comm->mailbox, to, thread, envelope->tag, envelope->buffer, envelope->type, envelope->count,
                            envelope->bytes, envelope->mode == HIER_SYNCHRONOUS, &message->send);
    } else {
        code = send_away(message, node, thread);
        listens = is_to_listen(comm, envelope->bytes);
    }
    if (!code)
        hier_observe_send(comm, node, envelope->bytes);
    hier_mailbox_leave(comm);
    if (listens)
        listen_to_others(comm);
    return code;
}

void hier_message_receive_nothing(hier_message *message) {
    intra_receive *receive = &message->receive;
    message->base.over = true;
    receive->source = WEFT_PROC_NULL;
    receive->tag = WEFT_ANY_TAG;
    receive->got_bytes = 0;
    receive->error = WEFT_SUCCESS;
    receive->cancelled = false;
    receive->posted = false;
}

/* What comes soon is waited for in one hold of the funnel, by looks at what brings it alone, and at all else when something has come. */
static void look_soon(const weft_comm *comm, const intra_receive *receive) {
    hier_world *world = comm->world;
    if (!world->waiting.hot || !world->engine.listens || !hier_may_drive(world) || hier_agent_of_caller(world))
        return;
    for (int looks = LOOKS_FOR_A_MESSAGE; looks > 0 && !receive->done; looks--)
        if (inter_engine_progress(&world->engine) && !receive->done) /* an offer, or a part of a long one */
            hier_progress(world);
    hier_looked_soon(world, receive->error);
}

void hier_message_receive(hier_message *message, const hier_envelope *envelope, bool waits) {
    weft_comm *comm = envelope->comm;
    message->base.comm = comm;
    hier_message_fill(message, envelope->call, envelope->buffer, envelope->count, envelope->bytes, envelope->type,
                      envelope->peer, envelope->tag);
    if (envelope->peer == WEFT_PROC_NULL) {
        hier_message_receive_nothing(message);
        return;
    }
    hier_mailbox_enter(comm);
    intra_mail_receive(comm->mailbox, &message->receive);
    if (waits && !message->receive.done && !comm->team)
        look_soon(comm, &message->receive);
    message->base.over = message->receive.done;
    hier_mailbox_leave(comm);
}

static int send_result(const hier_message *message, weft_status *status) {
    const hier_envelope *envelope = &message->envelope;
    int error = message->send.error;
    if (status)
        *status = (weft_status){.source = -1, .tag = -1, .error = error};
    return error ? core_error(error, "rank %d: %s to rank %d failed: %s", envelope->comm->rank, envelope->call,
                              envelope->peer, weft_strerror(error))
                 : WEFT_SUCCESS;
}

int hier_message_failed(const weft_comm *comm, const char *call, const char *how, int source, int error) {
    char name[32] = "any rank";
    if (source != WEFT_ANY_SOURCE)
        snprintf(name, sizeof(name), "rank %d", source);
    return core_error(error, "rank %d: %s %s %s failed: %s", comm->rank, call, how, name, weft_strerror(error));
}

int hier_message_result(const hier_message *message, weft_status *status) {
    if (message->base.kind == HIER_SEND)
        return send_result(message, status);
    const intra_receive *receive = &message->receive;
    if (status)
        *status = (weft_status){.source = receive->source,
                                .tag = receive->tag,
                                .error = receive->error,
                                .cancelled = receive->cancelled,
                                .bytes = receive->got_bytes};
    if (!receive->error)
        return WEFT_SUCCESS;
    if (receive->error == WEFT_ERR_TRUNCATE)
        return core_error(WEFT_ERR_TRUNCATE,
                          "rank %d: %s: the message of rank %d with tag %d is longer than the %zu bytes expected",
                          message->base.comm->rank, message->base.call, receive->source, receive->tag, receive->bytes);
    int source = receive->source == WEFT_ANY_SOURCE ? receive->match.source : receive->source; /* none: none has come */
    return hier_message_failed(message->base.comm, message->base.call, "from", source, receive->error);
}

void hier_message_trace(const hier_message *message) {
    bool sends = message->base.kind == HIER_SEND;
    hier_observe_finish(message->base.comm,
                        &(hier_event){.call = message->base.call,
                                      .began_ticks = message->began_ticks,
                                      .bytes = sends ? message->envelope.bytes : message->receive.got_bytes,
                                      .root = -1,
                                      .peer = sends ? message->envelope.peer : message->receive.source,
                                      .tag = sends ? message->envelope.tag : message->receive.tag,
                                      .thread = -1,
                                      .failed = hier_message_error(message) != 0,
                                      .message = true});
}

int hier_message_vain(const weft_comm *comm, int source) {
    const hier_carrier *carrier = &comm->world->carrier;
    /* Acquire: pairs with fail() in carrier.c. */
    int broken = atomic_load_explicit(&carrier->broken, memory_order_acquire);
    if (!broken)
        return WEFT_SUCCESS;
    const hier_layout *layout = comm->layout;
    bool any = source == WEFT_ANY_SOURCE;
    int first = any ? 0 : hier_layout_node(layout, hier_layout_place(layout, source));
    int end = any ? layout->nodes : first + 1;
    for (int node = first; node < end; node++) {
        if (node == comm->node)
            continue;
        if (hier_carrier_has_lost(carrier, hier_layout_process(layout, node)))
            return WEFT_ERR_PROC_FAILED;
        if (broken != WEFT_ERR_PROC_FAILED)
            return broken;
    }
    return WEFT_SUCCESS;
}

bool hier_message_given_up(hier_message *message) {
    intra_receive *receive = &message->receive;
    if (message->base.kind != HIER_RECEIVE || !receive->posted)
        return false;
    const weft_comm *comm = message->base.comm;
    int broken = hier_message_vain(comm, receive->match.source);
    if (!broken)
        return false;
    intra_mail_progress(comm->mailbox); /* what came before */
    if (!receive->posted)
        return receive->done;
    intra_mail_cancel(comm->mailbox, receive);
    receive->cancelled = false;
    receive->error = broken;
    return true;
}

/* A blocking call's wait. */
typedef struct waiting {
    hier_message *message;
    const void *caller;
} waiting;

static bool is_settled(void *argument) {
    return hier_message_settled(((const waiting *)argument)->message);
}

static hier_doing describe(void *argument) {
    const waiting *waits = argument;
    const weft_request *request = &waits->message->base;
    hier_doing doing = hier_doing_request(request, request->call);
    doing.caller = waits->caller;
    return doing;
}

void hier_message_wait(hier_message *message, const void *caller) {
    waiting waits = {message, caller};
    hier_wait wait = hier_wait_on(message->base.comm, is_settled, describe, &waits);
    hier_drive_until(&wait, false);
}

hier_message *hier_message_make(weft_comm *comm) {
    hier_message *message = core_pool_take(&messages, sizeof(*message), HIER_REQUEST_MAGIC);
    if (message)
        message->base.comm = comm;
    else
        core_error(WEFT_ERR_NOMEM, "rank %d: no memory for the request of a message", comm->rank);
    return message;
}

weft_request *hier_message_sent(weft_comm *comm) {
    if (comm->sent)
        return comm->sent;
    hier_message *message = hier_message_make(comm);
    if (!message)
        return NULL;
    message->base.kind = HIER_SENT;
    message->base.owned = message->base.active = message->base.over = true;
    message->base.call = "a send";
    return comm->sent = &message->base;
}

void hier_messages_free(weft_comm *comm) {
    weft_request *message;
    while ((message = hier_request_kept(&comm->free_messages)))
        core_pool_give(&messages, message, HIER_REQUEST_MAGIC);
    if (comm->sent)
        core_pool_give(&messages, comm->sent, HIER_REQUEST_MAGIC);
    comm->sent = NULL;
}
