// SPDX-License-Identifier: BSD-3-Clause
/*
 * alltoallv, alltoallw: nb1FT/flags.
 *
 * As alltoall, with counts, and for alltoallw a type for each of them. Every thread shows its arrays of counts; the leader
 * adds up how much goes between each pair of nodes, and each thread finds its own places in the messages from the counts of
 * the threads before it:
 *
 *     message n → m:   [thread 0 of n: for thread 0 of m, for thread 1 of m, …] [thread 1 of n: …] …     packed
 *
 * In front of a message stand the lengths of these blocks, where there are several: who takes it apart does not rely on what he expects.
 *
 * The blocks of a thread go by its cell when they are short together (bundle.h), in place too. When those of all threads of the node
 * do, the messages are put together on the tray, by who drives, and come in there: nobody plans, or waits until others have read. Beside
 * its blocks, by rank, a bundle between nodes says how long are those that its thread expects.
 */
#include <core/error.h>
#include <hier/alltoallv.h>
#include <hier/brief.h>
#include <stdlib.h>
#include <string.h>

/* Bytes to and from each node, and where they lie in `outgoing` and `incoming`. The leader's, in its own memory; or each thread has one. */
typedef struct plan {
    size_t *send_bytes, *recv_bytes, *send_offsets, *recv_offsets; /* by node, with the lengths */
    char *outgoing, *incoming;
} plan;

/* With types displacements are in bytes. */
static inline core_data block_at(const void *buffer, size_t count, ptrdiff_t displ, const weft_datatype *type,
                                 const weft_datatype *const *types, size_t rank) {
    if (types)
        return (core_data){core_offset(buffer, displ), types[rank], count};
    return hier_elements_at(buffer, displ, type, count);
}

core_data hier_alltoallv_block(const intra_offer *offer, size_t rank) {
    return block_at(offer->send, offer->send_counts[rank], offer->send_displs[rank], offer->send_type,
                    offer->send_types, rank);
}

core_data hier_alltoallv_given(const hier_call *call, int thread, size_t rank) {
    const intra_offer *offer = intra_offer_of(&call->meeting, thread);
    if (!offer->bundled || thread == call->comm->thread)
        return hier_alltoallv_block(offer, rank);
    const hier_bundle *bundle = hier_bundle_of(call, thread);
    return hier_run(hier_bundle_at(bundle, rank), hier_bundle_bytes(bundle, rank));
}

/* What a thread of this node expects from a rank of another. */
static size_t received_from(const hier_call *call, int thread, size_t rank) {
    const intra_offer *offer = intra_offer_of(&call->meeting, thread);
    if (offer->bundled && thread != call->comm->thread)
        return hier_bundle_of(call, thread)->ends[(size_t)call->comm->size + rank];
    const weft_datatype *type = offer->recv_types ? offer->recv_types[rank] : offer->recv_type;
    return offer->recv_counts[rank] * type->size_bytes;
}

/* What a thread of this node sends to all ranks of another. */
static size_t sent_to_node(const hier_call *call, int thread, int node) {
    const hier_layout *layout = call->comm->layout;
    size_t bytes = 0;
    for (size_t rank = layout->offsets[node]; rank < layout->offsets[node + 1]; rank++)
        bytes += core_data_bytes(hier_alltoallv_given(call, thread, rank));
    return bytes;
}

/* The lengths in front of a message with something in it, between this node and another. */
static size_t head_bytes(const hier_call *call, int node) {
    size_t blocks = (size_t)hier_threads(call) * (size_t)hier_layout_threads(call->comm->layout, node);
    return blocks > 1 ? blocks * sizeof(size_t) : 0;
}

static void add_up(hier_call *call, const plan *to, size_t *outgoing_bytes, size_t *incoming_bytes) {
    const hier_layout *layout = call->comm->layout;
    *outgoing_bytes = *incoming_bytes = 0;
    for (int node = 0; node < layout->nodes; node++) {
        to->send_bytes[node] = to->recv_bytes[node] = 0;
        to->send_offsets[node] = *outgoing_bytes;
        to->recv_offsets[node] = *incoming_bytes;
        if (node == call->comm->node)
            continue;
        for (int thread = 0; thread < hier_threads(call); thread++) {
            to->send_bytes[node] += sent_to_node(call, thread, node);
            for (size_t rank = layout->offsets[node]; rank < layout->offsets[node + 1]; rank++)
                to->recv_bytes[node] += received_from(call, thread, rank);
        }
        to->send_bytes[node] += to->send_bytes[node] ? head_bytes(call, node) : 0;
        to->recv_bytes[node] += to->recv_bytes[node] ? head_bytes(call, node) : 0;
        *outgoing_bytes += to->send_bytes[node];
        *incoming_bytes += to->recv_bytes[node];
    }
}

/* The plan and its arrays, without memory for the messages; NULL without memory. */
static plan *begin_plan(hier_call *call, size_t *outgoing_bytes, size_t *incoming_bytes) {
    size_t nodes = (size_t)call->comm->layout->nodes;
    plan *made = hier_more_scratch(call, HIER_PLAN, sizeof(*made) + 4 * nodes * sizeof(size_t));
    if (!made)
        return NULL;
    made->send_bytes = (size_t *)(made + 1);
    made->recv_bytes = made->send_bytes + nodes;
    made->send_offsets = made->recv_bytes + nodes;
    made->recv_offsets = made->send_offsets + nodes;
    add_up(call, made, outgoing_bytes, incoming_bytes);
    return made;
}

/* The leader's; NULL without memory. */
static plan *make_plan(hier_call *call) {
    size_t outgoing_bytes, incoming_bytes;
    plan *made = begin_plan(call, &outgoing_bytes, &incoming_bytes);
    if (!made)
        return NULL;
    made->outgoing = hier_scratch(call, outgoing_bytes + incoming_bytes);
    made->incoming = made->outgoing + (made->outgoing ? outgoing_bytes : 0);
    return made->outgoing ? made : NULL;
}

/* The thread's own, of messages on the tray; NULL without memory. When all threads have bundled: then there is room for them. */
static plan *plan_on_tray(hier_call *call) {
    size_t outgoing_bytes, incoming_bytes;
    plan *made = begin_plan(call, &outgoing_bytes, &incoming_bytes);
    if (!made)
        return NULL;
    made->outgoing = intra_tray(&call->meeting);
    made->incoming = made->outgoing + outgoing_bytes;
    return made;
}

/* The leader's is shown on the tray, where nothing else is then: in its cell there may be a bundle. */
static plan **place_of_plan(const hier_call *call) {
    return (plan **)(void *)intra_tray(&call->meeting);
}

static const plan *plan_of(const hier_call *call) {
    return *place_of_plan(call);
}

static int start(hier_call *call, const plan *by) {
    inter_view view = {.collective = INTER_ALLTOALLV,
                       .element_bytes = 1,
                       .rank = call->comm->node,
                       .size = call->comm->layout->nodes,
                       .send_counts = by->send_bytes,
                       .recv_counts = by->recv_bytes,
                       .send_offsets = by->send_offsets,
                       .recv_offsets = by->recv_offsets};
    for (int node = 0; node < call->comm->layout->nodes; node++)
        if (by->send_bytes[node])
            hier_count_sent(call, node, by->send_bytes[node] - head_bytes(call, node));
    return hier_start_uncounted(call, &view, &(inter_binding){.send = by->outgoing, .recv = by->incoming});
}

/* A thread's part of the message to a node. Where the next begins. */
static char *pack_part(const hier_call *call, const plan *by, int node, int thread, char *place) {
    const hier_layout *layout = call->comm->layout;
    size_t there = (size_t)hier_layout_threads(layout, node), first = layout->offsets[node];
    char *lengths = by->outgoing + by->send_offsets[node];
    for (size_t i = 0; i < there; i++) {
        core_data block = hier_alltoallv_given(call, thread, first + i);
        size_t bytes = core_data_bytes(block);
        if (head_bytes(call, node))
            memcpy(hier_at(lengths, (size_t)thread * there + i, sizeof(bytes)), &bytes, sizeof(bytes));
        core_pack(place, block.buffer, block.type, block.count, 0, bytes);
        place += bytes;
    }
    return place;
}

/* Where the threads' parts of the message to a node begin. */
static char *parts_of(const hier_call *call, const plan *by, int node) {
    return by->outgoing + by->send_offsets[node] + head_bytes(call, node);
}

/* By who drives: puts the messages together, unless the threads have done so. */
static int start_either(hier_call *call) {
    if (hier_any_offers(call))
        return start(call, plan_of(call));
    const plan *by = plan_on_tray(call);
    if (!by)
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for a plan", hier_rank_of(call->comm),
                          call->arguments->call);
    for (int node = 0; node < call->comm->layout->nodes; node++) {
        char *place = parts_of(call, by, node);
        for (int thread = 0; thread < hier_threads(call) && by->send_bytes[node]; thread++)
            place = pack_part(call, by, node, thread, place);
    }
    return start(call, by);
}

core_data hier_alltoallv_place(const hier_call *call, size_t rank) {
    const hier_arguments *own = call->arguments;
    const intra_offer *mine = &call->meeting.mine;
    return block_at(own->recv, own->recv_counts[rank], own->recv_displs[rank], mine->recv_type, mine->recv_types, rank);
}

/* The ranks count differently: it is taken from the own block. */
static bool goes_backwards(const hier_call *call) {
    if (call->meeting.mine.bundled)
        return false;
    const core_data own = hier_alltoallv_place(call, (size_t)call->comm->rank);
    return hier_backwards(call, core_data_bytes(own) * (size_t)hier_threads(call));
}

/* Not all from the same one at once; the own last, since the others' are on their way meanwhile, unless it goes backwards. */
void hier_alltoallv_copy_local(hier_call *call) {
    const int threads = hier_threads(call), own = call->comm->thread;
    const size_t self = (size_t)call->comm->rank;
    const bool backwards = goes_backwards(call);
    for (int i = 0; i < threads; i++) {
        const int next = own + 1 + hier_turn(i, threads, backwards), thread = next < threads ? next : next - threads;
        size_t source = hier_first_rank(call) + (size_t)thread;
        core_data to = hier_alltoallv_place(call, source);
        if (thread != own && hier_has_bundled(call, thread)) {
            const hier_bundled block = {.bundle = hier_bundle_of(call, thread),
                                        .thread = thread,
                                        .index = self,
                                        .blocks = call->meeting.mine.bundled,
                                        .before = self - (self > source)};
            hier_bundle_take(call, block, to);
            continue;
        }
        core_data from = hier_alltoallv_block(intra_offer_of(&call->meeting, thread), self);
        if (hier_same_bytes(call, source, core_data_bytes(from), self, core_data_bytes(to)))
            hier_move_of(call, to, from, (intra_slice){0, core_data_bytes(to)}, core_data_bytes(to) * (size_t)threads);
    }
}

/* This thread's part of the message to a node. */
static void pack_message(const hier_call *call, int node) {
    const plan *by = plan_of(call);
    char *place = parts_of(call, by, node);
    for (int before = 0; before < call->comm->thread; before++)
        place += sent_to_node(call, before, node);
    (void)pack_part(call, by, node, call->comm->thread, place);
}

static void pack(hier_call *call) {
    for (int node = 0; node < call->comm->layout->nodes; node++)
        if (node != call->comm->node && plan_of(call)->send_bytes[node])
            pack_message(call, node);
}

void hier_alltoallv_unpack(hier_call *call, size_t source, const char *from, size_t bytes) {
    core_data block = hier_alltoallv_place(call, source);
    if (hier_same_bytes(call, source, bytes, (size_t)call->comm->rank, core_data_bytes(block)))
        hier_unpack(call, block, from, (intra_slice){0, bytes});
}

/* By the lengths in front of it, which are not trusted to add up to what has come. */
static void unpack_message(hier_call *call, const plan *by, int node) {
    const hier_layout *layout = call->comm->layout;
    size_t threads = (size_t)hier_threads(call), blocks = threads * (size_t)hier_layout_threads(layout, node);
    const char *message = by->incoming + by->recv_offsets[node];
    size_t head = head_bytes(call, node), at = head, left = by->recv_bytes[node] - head, bytes = left;
    for (size_t i = 0; i < blocks; i++, at += bytes, left -= bytes) {
        if (head)
            memcpy(&bytes, hier_at(message, i, sizeof(bytes)), sizeof(bytes));
        if (bytes > left)
            bytes = left; /* and so of another length than is expected, here or further on */
        if (i % threads == (size_t)call->comm->thread)
            hier_alltoallv_unpack(call, layout->offsets[node] + i / threads, message + at, bytes);
    }
}

static void unpack(hier_call *call, const plan *by) {
    for (int node = 0; node < call->comm->layout->nodes; node++)
        if (node != call->comm->node && by->recv_bytes[node])
            unpack_message(call, by, node);
}

/* The blocks of an offer, one behind the other. False: no memory. */
static bool copy_blocks(hier_call *call, intra_offer *offer) {
    const intra_offer from = *offer;
    size_t ranks = (size_t)call->comm->size, bytes = 0, next = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        bytes += core_data_bytes(hier_alltoallv_block(&from, rank));
    size_t *counts = hier_more_scratch(call, HIER_COPIES, 2 * ranks * sizeof(*counts) + bytes);
    if (!counts)
        return false;
    ptrdiff_t *displs = (ptrdiff_t *)(counts + ranks);
    char *copies = (char *)(displs + ranks);
    offer->send = copies;
    offer->send_counts = counts;
    offer->send_displs = displs;
    offer->send_type = WEFT_BYTE;
    offer->send_types = NULL;
    for (size_t rank = 0; rank < ranks; rank++) {
        core_data block = hier_alltoallv_block(&from, rank);
        counts[rank] = core_data_bytes(block);
        displs[rank] = (ptrdiff_t)next;
        core_pack(copies + next, block.buffer, block.type, block.count, 0, counts[rank]);
        next += counts[rank];
    }
    return true;
}

/* So many bytes go to other nodes, and come from there, at most, with the lengths in front of them. */
static bool tray_suffices(const hier_call *call) {
    size_t threads = (size_t)hier_threads(call), others = (size_t)call->comm->size - threads;
    return 2 * threads * (HIER_BUNDLE_BYTES_BETWEEN + others * sizeof(size_t)) <= call->meeting.team->tray_bytes;
}

/* How long those are that the thread expects from other nodes; false: they are too long. */
static bool bundle_expected(hier_call *call, uint16_t *expected) {
    size_t left = HIER_BUNDLE_BYTES_BETWEEN;
    for (size_t rank = 0; rank < (size_t)call->comm->size; rank++) {
        size_t bytes = hier_is_of_node(call, rank) ? 0 : received_from(call, call->comm->thread, rank);
        if (bytes > left)
            return false;
        expected[rank] = (uint16_t)bytes;
        left -= bytes;
    }
    return true;
}

bool hier_alltoallv_bundle(hier_call *call, const intra_offer *mine, size_t more) {
    const size_t ranks = (size_t)call->comm->size, self = (size_t)call->comm->rank;
    hier_bundling made = hier_bundle_begin(call, ranks + more);
    for (size_t rank = 0; rank < ranks; rank++)
        if (rank == self)
            hier_bundle_skip(&made, rank);
        else if (!hier_bundle_put(&made, rank, hier_alltoallv_block(mine, rank)))
            return false;
    return hier_bundle_end(call, &made);
}

/* Between nodes each says, behind its blocks, how long those are that it expects. */
static bool bundle(hier_call *call, const intra_offer *mine) {
    const size_t ranks = (size_t)call->comm->size;
    if (hier_single_node(call))
        return hier_alltoallv_bundle(call, mine, 0);
    return tray_suffices(call) && hier_alltoallv_bundle(call, mine, ranks) &&
           bundle_expected(call, hier_bundle_ends(call) + ranks);
}

/* Of both collectives; what a rank does not give stays unset, and is not read. */
intra_offer *hier_alltoallv_mine(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    const bool types = arguments->collective == INTER_ALLTOALLW, in_place = arguments->in_place;
    intra_offer *mine = &call->meeting.mine;
    mine->recv_counts = arguments->recv_counts;
    mine->recv_type = types ? WEFT_BYTE : arguments->recv_type;
    mine->recv_types = types ? arguments->recv_types : NULL;
    mine->send = in_place ? arguments->recv : arguments->send;
    mine->send_counts = in_place ? arguments->recv_counts : arguments->send_counts;
    mine->send_displs = in_place ? arguments->recv_displs : arguments->send_displs;
    mine->send_type = in_place ? mine->recv_type : types ? WEFT_BYTE : arguments->send_type;
    mine->send_types = in_place ? mine->recv_types : types ? arguments->send_types : NULL;
    return mine;
}

void hier_alltoallv_offer(hier_call *call, intra_offer *mine, bool copies) {
    mine->bundled = 0;
    if (copies && !copy_blocks(call, mine))
        mine->send_counts = NULL;
    call->meeting.own->payload.offer = *mine;
}

static void bundle_or_offer(hier_call *call) {
    intra_offer *mine = hier_alltoallv_mine(call);
    if (!bundle(call, mine))
        hier_alltoallv_offer(call, mine, call->arguments->in_place);
}

static void note_no_memory(hier_call *call) {
    if (!call->error)
        call->error =
            core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for the messages of a node or the blocks in place",
                       hier_rank_of(call->comm), call->arguments->call);
}

bool hier_alltoallv_has_memory(hier_call *call) {
    for (int thread = 0; thread < hier_threads(call); thread++) {
        const intra_offer *offer = intra_offer_of(&call->meeting, thread);
        if (!offer->bundled && !offer->send_counts)
            note_no_memory(call);
    }
    return !call->error;
}

static inline bool give(hier_call *call) {
    if (!hier_alltoallv_bundle(call, hier_alltoallv_mine(call), 0))
        return false;
    intra_post(&call->meeting, HIER_OFFERED);
    return true;
}

static inline bool take_bundles(hier_call *call) {
    if (hier_any_offers(call))
        return false;
    hier_alltoallv_copy_local(call);
    return true;
}

HIER_DEFINE_BRIEF(alltoallv, INTRA_TOGETHER, give, hier_brief_offered, take_bundles)

static bool on_one_node(hier_call *call) {
    HIER_RESUME(call);
    bundle_or_offer(call);
    intra_post(&call->meeting, HIER_OFFERED);
    HIER_ENTRANCE
    HIER_AWAIT(call, hier_await_sync(call, HIER_OFFERED));
    if (take_bundles(call) || !hier_alltoallv_has_memory(call))
        return true;
    hier_alltoallv_copy_local(call);
    HIER_SYNC(call, HIER_LEFT);
    HIER_OVER;
}

static bool between_nodes(hier_call *call) {
    HIER_RESUME(call);
    bundle_or_offer(call);
    hier_network(call, HIER_NEED_ALL, HIER_READY, start_either);
    HIER_SYNC(call, HIER_OFFERED);
    if (!hier_alltoallv_has_memory(call))
        return true;
    if (!hier_any_offers(call)) {
        intra_post(&call->meeting, HIER_READY);
        hier_alltoallv_copy_local(call);
        HIER_AWAIT(call, hier_await_network(call));
        const plan *by = plan_on_tray(call);
        if (by)
            unpack(call, by);
        else
            note_no_memory(call);
        return true;
    }
    if (call->comm->thread == 0) {
        *place_of_plan(call) = make_plan(call);
        intra_post(&call->meeting, HIER_PLANNED);
    }
    HIER_AWAIT(call, hier_await(call, 0, HIER_PLANNED));
    if (!plan_of(call)) {
        note_no_memory(call);
        return true;
    }
    pack(call);
    intra_post(&call->meeting, HIER_READY);
    hier_alltoallv_copy_local(call);
    HIER_AWAIT(call, hier_await_network(call));
    unpack(call, plan_of(call));
    HIER_SYNC(call, HIER_LEFT);
    HIER_OVER;
}

bool hier_thread_alltoallv(hier_call *call) {
    if (hier_single_node(call))
        return on_one_node(call);
    return hier_is_direct(call) ? hier_alltoallv_directly(call) : between_nodes(call);
}
