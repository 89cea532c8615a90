// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/channels.h>
#include <stdlib.h>
#include <string.h>

static int count_own(hier_world *world) {
    int count = 0;
    while (hier_channel_at(world, count))
        count++;
    return count;
}

static void close_one(hier_channel *channel) {
    if (channel->transport) {
        hier_channel_close(channel);
        channel->transport->close(channel->transport);
    }
    free(channel->peers);
    free(channel);
}

static int open_one(hier_world *world, int number) {
    hier_channel *channel = calloc(1, sizeof(*channel));
    if (!channel)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for a channel", world->process_comm->rank);
    hier_channel_init(channel, world, INTER_CHANNELS, true);
    int code = world->transport->open_channel(world->transport, number, world->directory, &channel->transport);
    if (!code)
        code = hier_channel_listen(channel);
    if (code) {
        inter_directory_forget(world->directory, world->process_comm->rank * INTER_CHANNELS + number);
        close_one(channel);
    } else {
        /* Release: pairs with hier_channel_at, for the progress thread. */
        atomic_store_explicit(&world->channels[number], channel, memory_order_release);
    }
    return code;
}

static int open_own(hier_world *world, int first, int end) {
    int code = WEFT_SUCCESS;
    if (!world->directory)
        world->directory = inter_directory_create(world->process_comm->size);
    if (!world->directory)
        return WEFT_ERR_NOMEM;
    for (int number = first; number < end && !code; number++)
        code = open_one(world, number);
    return code;
}

/* What a process says: how many channels it has, or which error; and how many bytes their addresses take. */
typedef struct said {
    int64_t channels, bytes;
} said;

/* What all have said, and what is made of it: by process of the parent. */
typedef struct exchange {
    weft_comm *parent;
    hier_caller by;
    said *says;
    size_t *counts;
    ptrdiff_t *displs;
    char *blobs; /* the addresses, one process's after the other's */
} exchange;

size_t hier_channels_room(const weft_comm *parent) {
    return (size_t)parent->size * (sizeof(said) + sizeof(size_t) + sizeof(ptrdiff_t));
}

static exchange exchange_in(void *room, weft_comm *parent, hier_caller by) {
    said *says = room;
    size_t *counts = (size_t *)(says + parent->size);
    return (exchange){parent, by, says, counts, (ptrdiff_t *)(counts + parent->size), NULL};
}

/* Does this process lack the address of a channel that another one has? */
static bool lacks_any(const exchange *of) {
    const weft_comm *parent = of->parent;
    hier_world *world = parent->world;
    bool lacks = false;
    pthread_mutex_lock(&world->channels_lock);
    for (int node = 0; node < parent->size; node++)
        lacks |= inter_directory_count(world->directory, hier_layout_process(parent->layout, node)) <
                 (int)of->says[node].channels;
    pthread_mutex_unlock(&world->channels_lock);
    return lacks;
}

/* All that the addresses need memory for. */
static int make_blobs(exchange *of) {
    weft_comm *parent = of->parent;
    size_t all = 0;
    for (int node = 0; node < parent->size; node++) {
        of->counts[node] = (size_t)of->says[node].bytes;
        of->displs[node] = (ptrdiff_t)all;
        all += of->counts[node];
    }
    of->blobs = all ? malloc(all) : NULL; /* every process has channels */
    return of->blobs ? hier_exchange_blocks_reserve(parent, of->by, of->blobs, of->counts, of->displs)
                     : core_error(WEFT_ERR_NOMEM, "rank %d: no memory for the addresses of %d processes", parent->rank,
                                  parent->size);
}

/* All say whether they go on, since the others would wait for who does not. `code`: this process's error; with `*any`, of any. */
static int agree(const exchange *of, int code, bool *any) {
    enum { FAILS = 1, ANY = 2 };
    uint64_t word = (code ? FAILS : 0) | (*any ? ANY : 0);
    int met = hier_agree(of->parent, of->by, &word, 1, WEFT_BOR);
    if (code || met)
        return code ? code : met;
    *any = word & ANY;
    return word & FAILS ? core_error(WEFT_ERR_NOMEM, "rank %d: %s: another process has no memory for it",
                                     of->parent->rank, of->by.call)
                        : WEFT_SUCCESS;
}

/* Every process says what it has; *any: the addresses must go round, and all have room for them. */
static int exchange_sizes(exchange *of, int code, const said *own, bool *any) {
    const weft_comm *parent = of->parent;
    int met = hier_exchange(of->parent, of->by, own, sizeof(*own), of->says);
    if (code || met)
        return code ? code : met;
    for (int node = 0; node < parent->size; node++)
        if (of->says[node].channels < 0)
            return core_error((int)of->says[node].channels, "rank %d: process %d could not open its channels",
                              parent->rank, node);
    *any = lacks_any(of);
    return agree(of, make_blobs(of), any);
}

/* The addresses of all processes of the parent into the directory. */
static int exchange_addresses(const exchange *of, int count) {
    weft_comm *parent = of->parent;
    hier_world *world = parent->world;
    bool any = false;
    inter_directory_pack(world->directory, world->process_comm->rank, 0, count, of->blobs + of->displs[parent->rank]);
    int code = hier_exchange_blocks(parent, of->by, of->blobs, of->counts, of->displs);
    if (code)
        return code;
    pthread_mutex_lock(&world->channels_lock);
    for (int node = 0; !code && node < parent->size; node++)
        if (node != parent->rank)
            code = inter_directory_unpack(world->directory, hier_layout_process(parent->layout, node),
                                          of->blobs + of->displs[node], of->counts[node]);
    pthread_mutex_unlock(&world->channels_lock);
    return agree(of, code, &any);
}

int hier_channels_open(weft_comm *parent, hier_caller by, int threads, void *room) {
    hier_world *world = parent->world;
    if (world->config.thread_level != WEFT_THREAD_MULTIPLE || !world->transport)
        return WEFT_SUCCESS;
    exchange of = exchange_in(room, parent, by);
    bool any = false;
    /* Others may be opening channels for a team of other processes. */
    pthread_mutex_lock(&world->channels_lock);
    int code = open_own(world, count_own(world), threads < INTER_CHANNELS ? threads : INTER_CHANNELS);
    int count = count_own(world);
    said own = {code ? code : count, 0};
    if (!code)
        own.bytes = (int64_t)inter_directory_pack(world->directory, world->process_comm->rank, 0, count, NULL);
    pthread_mutex_unlock(&world->channels_lock);
    code = exchange_sizes(&of, code, &own, &any);
    if (!code && any)
        code = exchange_addresses(&of, count);
    free(of.blobs);
    return code;
}

/* Has something done with each channel, under its lock. */
typedef void each_channel(hier_channel *channel, uint32_t context, hier_boxes boxes);

static void for_each(hier_world *world, each_channel *act, uint32_t context, hier_boxes boxes) {
    hier_funnel_enter(world);
    act(&world->channel, context, boxes);
    hier_funnel_leave(world);
    hier_channel *channel;
    for (int number = 0; (channel = hier_channel_at(world, number)); number++) {
        hier_channel_enter(channel);
        act(channel, context, boxes);
        hier_channel_leave(channel);
    }
}

void hier_channels_let_in(hier_world *world, uint32_t context, hier_boxes boxes) {
    for_each(world, hier_channel_open, context, boxes);
}

static void settle(hier_channel *channel, uint32_t context, hier_boxes boxes) {
    (void)boxes;
    hier_channel_settle(channel, context);
}

void hier_context_left(hier_world *world, uint32_t context, bool whole) {
    if (context == HIER_NO_CONTEXT)
        return;
    if (whole)
        hier_contexts_return(&world->contexts, context);
    else /* messages of collectives may still come for it */
        hier_contexts_lose(&world->contexts, context);
    for_each(world, settle, context, (hier_boxes){0});
}

void hier_channels_close(hier_world *world) {
    hier_channel *channel;
    for (int number = 0; (channel = hier_channel_at(world, number)); number++) {
        close_one(channel);
        atomic_store_explicit(&world->channels[number], NULL, memory_order_relaxed);
    }
    inter_directory_free(world->directory);
    world->directory = NULL;
}
