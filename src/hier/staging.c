// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <core/layout.h>
#include <hier/sides.h>
#include <hier/staging.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT ((ptrdiff_t) _Alignof(max_align_t))

/* Some of the blocks of a side. */
typedef struct range {
    size_t begin, end;
} range;

typedef struct side {
    size_t count;      /* blocks; 0: not staged */
    core_data *blocks; /* the user's, packed at `displs`; their types in use; NULL: there is nothing in it */
    char *memory;
    size_t room; /* bytes there */
    range packed, unpacked;
    inter_layout layout; /* how it lies, for a network that takes it so */
    /* What the call gets instead of the user's: */
    size_t *counts;
    ptrdiff_t *displs;
    const weft_datatype **types;
} side;

/* What a reduction takes elements for: those of a type of its own without holes, and an operation that knows better. */
typedef struct stand_in {
    weft_datatype type; /* first: the operation gets its address */
    weft_op op;
    const weft_datatype *user;
    weft_op_function *function;
    bool packed; /* else they are windows */
    /* Of packed ones: where two of them lie as the function takes them, for whoever combines next. */
    pthread_mutex_t *lock;
    void *left, *right;
} stand_in;

struct hier_staging {
    bool reduces;
    bool later;     /* the part between processes, made ready, says what it takes as it lies; the rest is packed then */
    bool delivered; /* what has come is in the user's buffer, which is his again, or what comes goes there */
    side send, recv;
    /* Of reductions: */
    stand_in stand_in;
    pthread_mutex_t lock; /* of what is in the next */
    char *laid_out;
    size_t result; /* elements to unpack; in place more are packed where blocks are scattered */
};

static bool is_strided(const hier_side *from) {
    for (size_t i = 0; i < from->blocks; i++) {
        if (!hier_side_block(from, i).type->contiguous)
            return true;
        if (!from->types)
            return false;
    }
    return false;
}

/*
 * Rooms that nobody uses. To take the memory of a long collective from the system again and give it back is a page fault for each of its
 * pages, which may cost three times what the collective does. Of the longest ones it matters less, and they are many bytes.
 */
enum { ROOMS = 32, LEAST_KEPT = 32 << 10, MOST_KEPT = 16 << 20, MOST_IN_ALL = 64 << 20 };
static intra_scratch spare[ROOMS];
static size_t spare_bytes; /* of all, under the lock */
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

/* The smallest that is large enough; nothing: none is. */
static intra_scratch find_spare(size_t bytes) {
    intra_scratch found = {0}, *best = NULL;
    pthread_mutex_lock(&spare_lock);
    for (intra_scratch *each = spare; each < spare + ROOMS; each++)
        if (each->bytes >= bytes && (!best || each->bytes < best->bytes))
            best = each;
    if (best) {
        found = *best;
        *best = (intra_scratch){0};
        spare_bytes -= found.bytes;
    }
    pthread_mutex_unlock(&spare_lock);
    return found;
}

/* In place of the smallest, or of none. Returns what is too much. */
static intra_scratch keep_spare(intra_scratch given) {
    intra_scratch *least = spare;
    pthread_mutex_lock(&spare_lock);
    for (intra_scratch *each = spare; each < spare + ROOMS; each++)
        least = each->bytes < least->bytes ? each : least;
    if (least->bytes < given.bytes && spare_bytes - least->bytes + given.bytes <= MOST_IN_ALL) {
        intra_scratch other = *least;
        spare_bytes += given.bytes - other.bytes;
        *least = given;
        given = other;
    }
    pthread_mutex_unlock(&spare_lock);
    return given;
}

static bool room_take(side *made, size_t bytes) {
    intra_scratch found = bytes >= LEAST_KEPT ? find_spare(bytes) : (intra_scratch){0};
    made->memory = found.memory ? found.memory : malloc(bytes ? bytes : 1);
    made->room = found.memory ? found.bytes : bytes;
    return made->memory;
}

static void room_give(const side *freed) {
    intra_scratch room = {.memory = freed->memory, .bytes = freed->room};
    if (room.memory && room.bytes >= LEAST_KEPT && room.bytes <= MOST_KEPT)
        room = keep_spare(room);
    free(room.memory);
}

void hier_staging_forget(void) {
    for (intra_scratch found = find_spare(1); found.memory; found = find_spare(1))
        free(found.memory);
}

static bool side_make(side *made, size_t blocks, size_t bytes) {
    size_t each = sizeof(*made->blocks) + sizeof(*made->counts) + sizeof(*made->displs) + sizeof(*made->types);
    made->blocks = calloc(blocks ? blocks : 1, each);
    made->count = blocks;
    if (!made->blocks || !room_take(made, bytes))
        return false;
    made->counts = (size_t *)(made->blocks + blocks);
    made->displs = (ptrdiff_t *)(made->counts + blocks);
    made->types = (const weft_datatype **)(made->displs + blocks);
    return true;
}

static void side_free(const side *freed) {
    for (size_t i = 0; freed->blocks && i < freed->count; i++)
        if (freed->blocks[i].type)
            core_datatype_release(freed->blocks[i].type);
    free(freed->blocks);
    room_give(freed);
}

static void set_block(core_data *made, core_data data) {
    core_datatype_retain(data.type);
    *made = data;
}

/* The checks have seen that the bytes of all blocks fit a size_t. */
static bool stage_side(side *made, const hier_side *from, size_t moved) {
    size_t bytes = 0;
    for (size_t i = 0; i < from->blocks; i++)
        bytes += core_data_bytes(hier_side_block(from, i));
    if (!side_make(made, from->blocks, bytes))
        return false;
    size_t at = 0;
    for (size_t i = 0; i < from->blocks; i++) {
        core_data data = hier_side_block(from, i);
        made->counts[i] = core_data_bytes(data);
        made->displs[i] = (ptrdiff_t)at;
        made->types[i] = WEFT_BYTE;
        if (made->counts[i]) /* else the displacement means nothing */
            set_block(&made->blocks[i], data);
        at += made->counts[i];
    }
    made->layout = (inter_layout){.blocks = made->blocks, .begins = made->displs, .count = made->count, .whole = moved};
    if (!from->counts && bytes)
        made->layout.all = (core_data){made->blocks->buffer, made->blocks->type, made->blocks->count * made->count};
    return true;
}

static void send_from(hier_arguments *a, const side *from) {
    a->send = from->memory;
    a->send_type = WEFT_BYTE;
    a->send_count = from->counts[0];
    a->send_counts = from->counts;
    a->send_displs = from->displs;
    a->send_types = from->types;
}

static void receive_into(hier_arguments *a, const side *into) {
    a->recv = into->memory;
    a->recv_type = WEFT_BYTE;
    a->recv_count = into->counts[0];
    a->recv_counts = into->counts;
    a->recv_displs = into->displs;
    a->recv_types = into->types;
}

static bool stage_movement(const weft_comm *comm, hier_arguments *a, hier_staging *made) {
    hier_side out = hier_side_sent(comm, a), in = hier_side_received(comm, a);
    size_t self = (size_t)comm->rank, moved = hier_bytes_moved(comm, a);
    if (is_strided(&out)) {
        if (!stage_side(&made->send, &out, moved))
            return false;
        made->send.packed = (range){0, out.blocks};
        send_from(a, &made->send);
        if (hier_scatters(a->collective) && a->in_place)
            a->recv = made->send.memory + made->send.displs[self];
    }
    if (!is_strided(&in))
        return true;
    if (!stage_side(&made->recv, &in, moved))
        return false;
    made->recv.unpacked = (range){0, in.blocks};
    receive_into(a, &made->recv);
    if (a->collective == INTER_BCAST && comm->rank == a->root) {
        made->recv.packed = made->recv.unpacked;
        made->recv.unpacked.end = 0;
    } else if (a->in_place && hier_gathers(a->collective)) {
        made->recv.packed = (range){self, self + 1};
        a->send = made->recv.memory + made->recv.displs[self];
    } else if (a->in_place) {
        made->recv.packed = made->recv.unpacked;
    }
    return true;
}

/* Do the data of an element reach beyond the extent from its beginning on, which is then no window for them? */
static bool overhangs(const weft_datatype *type) {
    ptrdiff_t begin = type->true_lower_bound;
    return begin < 0 || begin + type->true_extent > type->extent;
}

/* Addresses, which are others on every rank and as far apart as they please, need not be alike: such elements go packed. */
uint64_t hier_hash_of_elements(const weft_datatype *type) {
    const bool packed = overhangs(type);
    if (packed && core_datatype_has_addresses(type))
        return hier_chain(0, packed);
    const uint64_t lies = hier_chain(hier_chain(0, packed), (uint64_t)type->true_lower_bound);
    return hier_chain(hier_chain(lies, (uint64_t)type->true_extent), (uint64_t)type->extent);
}

/* The functions that stand in for the user's: `type` is a stand_in's. */
static void combine_windows(const void *in, void *inout, size_t count, const weft_datatype *type) {
    const stand_in *by = (const stand_in *)type;
    by->function(in, inout, count, by->user);
}

static void combine_packed(const void *in, void *inout, size_t count, const weft_datatype *type) {
    const stand_in *by = (const stand_in *)type;
    size_t bytes = type->size_bytes;
    pthread_mutex_lock(by->lock); /* the network's part may combine while this rank's thread does */
    for (size_t at = 0; at < count * bytes; at += bytes) {
        core_unpack(by->left, (const char *)in + at, by->user, 1, 0, bytes);
        core_unpack(by->right, (const char *)inout + at, by->user, 1, 0, bytes);
        by->function(by->left, by->right, 1, by->user);
        core_pack((char *)inout + at, by->right, by->user, 1, 0, bytes);
    }
    pthread_mutex_unlock(by->lock);
}

/*
 * Where the function finds elements that go packed. Their data are aligned as those of a user's buffer that is: so the element
 * itself begins at a multiple of ALIGNMENT, wherever that is.
 */
static bool lay_out_packed(hier_staging *staging) {
    stand_in *made = &staging->stand_in;
    ptrdiff_t begin = made->user->true_lower_bound, over = (begin % ALIGNMENT + ALIGNMENT) % ALIGNMENT;
    size_t room = (size_t)made->user->true_extent + (size_t)(over + ALIGNMENT - 1);
    room -= room % (size_t)ALIGNMENT;
    staging->laid_out = calloc(2, room);
    if (!staging->laid_out)
        return false;
    ptrdiff_t element = (ptrdiff_t)(0 - (size_t)(begin - over));
    pthread_mutex_init(&staging->lock, NULL);
    made->lock = &staging->lock;
    made->left = core_offset(staging->laid_out, element);
    made->right = core_offset(staging->laid_out + room, element);
    made->op.function = combine_packed;
    return true;
}

/* False: no memory. */
static bool set_stand_in(hier_staging *staging, const weft_datatype *user, const weft_op *op) {
    stand_in *made = &staging->stand_in;
    made->user = user;
    made->function = op->function;
    made->packed = user->size_bytes && overhangs(user);
    ptrdiff_t width = made->packed || !user->size_bytes ? (ptrdiff_t)user->size_bytes : user->extent;
    /* Of no kind that is counted: it lives as long as the staging. */
    made->type = (weft_datatype){.magic = CORE_DATATYPE_MAGIC,
                                 .kind = CORE_KIND_BYTE,
                                 .size_bytes = (size_t)width,
                                 .name = user->name,
                                 .extent = width,
                                 .true_extent = width,
                                 .contiguous = true,
                                 .committed = true};
    made->op = *op;
    if (op->kind != CORE_OP_USER)
        return true;
    made->op.function = combine_windows;
    return !made->packed || lay_out_packed(staging);
}

/* One block of so many elements of the stand-in's. */
static bool stage_elements(side *made, const stand_in *by, const void *user, size_t count) {
    size_t bytes;
    if (__builtin_mul_overflow(count, by->type.size_bytes, &bytes) || bytes > PTRDIFF_MAX || !side_make(made, 1, bytes))
        return false;
    if (!by->packed)
        memset(made->memory, 0, bytes); /* what lies in holes of windows goes round with the rest */
    set_block(&made->blocks[0], (core_data){core_offset(user, 0), by->user, count});
    made->displs[0] = 0;
    return true;
}

static bool stage_reduction(const weft_comm *comm, hier_arguments *a, hier_staging *made) {
    bool root = a->collective != INTER_REDUCE || comm->rank == a->root;
    bool in_place = root && a->send == a->recv;
    bool receives = root && !(a->collective == INTER_EXSCAN && comm->rank == 0);
    size_t all = a->recv_count, own = all;
    if (a->collective == INTER_REDUCE_SCATTER)
        own = a->recv_counts[comm->rank];
    else if (a->collective == INTER_REDUCE_SCATTER_BLOCK)
        all *= (size_t)comm->size;
    made->reduces = true;
    made->result = own;
    if (!set_stand_in(made, a->recv_type, a->op))
        return false;
    const stand_in *by = &made->stand_in;
    if (!in_place) {
        if (!stage_elements(&made->send, by, a->send, all))
            return false;
        made->send.packed.end = 1;
        a->send = made->send.memory;
    }
    if (receives || in_place) {
        if (!stage_elements(&made->recv, by, a->recv, in_place ? all : own))
            return false;
        made->recv.packed.end = in_place;
        made->recv.unpacked.end = receives;
        a->recv = made->recv.memory;
    } else {
        a->recv = NULL;
    }
    if (in_place)
        a->send = a->recv;
    a->bytes = all * by->type.size_bytes;
    a->recv_type = &by->type;
    a->op = &by->op;
    return true;
}

static bool may_go_as_it_lies(const weft_comm *comm, const side *of) {
    const inter_transport *transport = inter_engine_top(&comm->world->engine);
    const int next = hier_layout_process(comm->layout, hier_layout_node(comm->layout, (comm->rank + 1) % comm->size));
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < of->count; i++)
        shortest = of->counts[i] && of->counts[i] < shortest ? of->counts[i] : shortest;
    return shortest < SIZE_MAX && transport->carries_layouts && transport->carries_layouts(transport, next, shortest);
}

/*
 * Are the ranks of its collective processes, between which its shortest block may lie as it does? Mostly all messages are as long, and where
 * they are not, what is packed then is packed under the funnel.
 */
static bool may_lie(const weft_comm *comm, const hier_arguments *a, const hier_staging *made) {
    const bool ranks_are_processes = comm->team ? hier_thread_collective(comm, a) == hier_thread_alone : comm->size > 1;
    return ranks_are_processes && !comm->inner && !made->reduces && comm->world->transport &&
           (!made->send.count || may_go_as_it_lies(comm, &made->send)) &&
           (!made->recv.count || may_go_as_it_lies(comm, &made->recv));
}

int hier_stage(const weft_comm *comm, hier_arguments *a, bool blocking) {
    hier_staging *made = calloc(1, sizeof(*made));
    bool reduces = inter_is(a->collective, INTER_REDUCTIONS);
    a->staging = made;
    if (made && (reduces ? stage_reduction(comm, a, made) : stage_movement(comm, a, made))) {
        made->later = blocking && may_lie(comm, a, made);
        return WEFT_SUCCESS;
    }
    hier_staging_free(made);
    a->staging = NULL;
    return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory to pack what the types describe", comm->rank, a->call);
}

/* Between the user's buffer and the stand-in's elements. */
static void copy_elements(const stand_in *by, const core_data *user, char *ours, size_t count, bool in) {
    const weft_datatype *type = by->user;
    size_t bytes = count * type->size_bytes;
    if (!by->packed)
        core_copy(in ? ours : user->buffer, type, count, in ? user->buffer : ours, type, count, 0, bytes);
    else if (in)
        core_pack(ours, user->buffer, type, count, 0, bytes);
    else
        core_unpack(user->buffer, ours, type, count, 0, bytes);
}

static void pack_side(const hier_staging *staging, const side *from) {
    for (size_t i = from->packed.begin; i < from->packed.end; i++) {
        const core_data *b = &from->blocks[i];
        char *packed = from->memory + from->displs[i];
        if (staging->reduces)
            copy_elements(&staging->stand_in, b, packed, b->count, true);
        else if (b->type)
            core_pack(packed, b->buffer, b->type, b->count, 0, core_data_bytes(*b));
    }
}

void hier_staging_pack(hier_staging *staging) {
    staging->delivered = false;
    if (staging->later)
        return;
    pack_side(staging, &staging->send);
    pack_side(staging, &staging->recv);
}

/* What is in place is a block that others look for in the memory. */
static void pack_unless_it_lies(const hier_staging *staging, const side *from, bool lies) {
    if (!lies || from->packed.end - from->packed.begin < from->count)
        pack_side(staging, from);
}

void hier_staging_lay_out(hier_staging *staging, const inter_execution *execution, inter_binding *binding) {
    if (!staging->later)
        return;
    binding->layouts[INTER_SEND] = staging->send.count ? &staging->send.layout : NULL;
    binding->layouts[INTER_RECV] = staging->recv.count ? &staging->recv.layout : NULL;
    inter_execution_lay_out(execution, binding);
    pack_unless_it_lies(staging, &staging->send, binding->layouts[INTER_SEND]);
    pack_unless_it_lies(staging, &staging->recv, binding->layouts[INTER_RECV]);
    staging->delivered = binding->layouts[INTER_RECV];
}

void hier_staging_unpack(hier_staging *staging) {
    const side *to = &staging->recv;
    if (staging->delivered)
        return;
    staging->delivered = true;
    for (size_t i = to->unpacked.begin; i < to->unpacked.end; i++) {
        const core_data *b = &to->blocks[i];
        char *packed = to->memory + to->displs[i];
        if (staging->reduces)
            copy_elements(&staging->stand_in, b, packed, staging->result, false);
        else if (b->type)
            core_unpack_around(*b, packed, 0, core_data_bytes(*b), to->layout.whole);
    }
}

void hier_staging_free(hier_staging *staging) {
    if (!staging)
        return;
    side_free(&staging->send);
    side_free(&staging->recv);
    if (staging->laid_out)
        pthread_mutex_destroy(&staging->lock);
    free(staging->laid_out);
    free(staging);
}

int hier_thread_staged(weft_comm *comm, const hier_arguments *arguments, hier_runner *run) {
    hier_arguments staged = *arguments;
    int code = hier_stage(comm, &staged, true);
    if (!staged.staging)
        return code;
    hier_staging_pack(staged.staging);
    code = run(comm, &staged);
    if (!code)
        hier_staging_unpack(staged.staging);
    hier_staging_free(staged.staging);
    return code;
}
