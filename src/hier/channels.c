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

/* The addresses of all processes of the parent, `bytes` of each, into the directory. */
static int exchange_addresses(weft_comm *parent, hier_caller by, int count, const int64_t *bytes) {
    hier_world *world = parent->world;
    size_t processes = (size_t)parent->size, all = 0;
    size_t *counts = malloc(processes * sizeof(*counts));
    ptrdiff_t *displs = malloc(processes * sizeof(*displs));
    for (size_t node = 0; counts && displs && node < processes; node++) {
        counts[node] = (size_t)bytes[node];
        displs[node] = (ptrdiff_t)all;
        all += counts[node];
    }
    char *blobs = all ? malloc(all) : NULL;
    int code = WEFT_ERR_NOMEM;
    if (counts && displs && blobs) {
        inter_directory_pack(world->directory, world->process_comm->rank, 0, count, blobs + displs[parent->rank]);
        code = hier_exchange_blocks(parent, by, blobs, counts, displs);
    } else {
        core_error(code, "rank %d: no memory for the addresses of %zu processes", parent->rank, processes);
    }
    pthread_mutex_lock(&world->channels_lock);
    for (int node = 0; !code && node < parent->size; node++)
        if (node != parent->rank)
            code = inter_directory_unpack(world->directory, hier_layout_process(parent->layout, node),
                                          blobs + displs[node], counts[node]);
    pthread_mutex_unlock(&world->channels_lock);
    free(counts);
    free(displs);
    free(blobs);
    return code;
}

/* What a process says: how many channels it has, or which error; and how many bytes their addresses take. */
typedef struct said {
    int64_t channels, bytes;
} said;

/* Does this process lack the address of a channel that another one has? */
static bool lacks_any(const weft_comm *parent, const said *says) {
    hier_world *world = parent->world;
    bool lacks = false;
    pthread_mutex_lock(&world->channels_lock);
    for (int node = 0; node < parent->size; node++)
        lacks |= inter_directory_count(world->directory, hier_layout_process(parent->layout, node)) <
                 (int)says[node].channels;
    pthread_mutex_unlock(&world->channels_lock);
    return lacks;
}

/* Every process says what it has; *any: the addresses must go round. `bytes` of each process's are set. */
static int exchange_sizes(weft_comm *parent, hier_caller by, int code, const said *own, said *says, int64_t *bytes,
                          uint64_t *any) {
    int met = hier_exchange(parent, by, own, sizeof(*own), says);
    if (code || met)
        return code ? code : met;
    for (int node = 0; node < parent->size; node++) {
        if (says[node].channels < 0)
            return core_error((int)says[node].channels, "rank %d: process %d could not open its channels", parent->rank,
                              node);
        bytes[node] = says[node].bytes;
    }
    *any = lacks_any(parent, says);
    return hier_agree(parent, by, any, 1, WEFT_BOR);
}

int hier_channels_open(weft_comm *parent, hier_caller by, int threads) {
    hier_world *world = parent->world;
    if (world->config.thread_level != WEFT_THREAD_MULTIPLE || !world->transport)
        return WEFT_SUCCESS;
    said *says = calloc((size_t)parent->size, sizeof(*says) + sizeof(int64_t));
    if (!says)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for %d processes", parent->rank, parent->size);
    int64_t *bytes = (int64_t *)(says + parent->size);
    uint64_t any = 0;
    /* Others may be opening channels for a team of other processes. */
    pthread_mutex_lock(&world->channels_lock);
    int code = open_own(world, count_own(world), threads < INTER_CHANNELS ? threads : INTER_CHANNELS);
    int count = count_own(world);
    said own = {code ? code : count, 0};
    if (!code)
        own.bytes = (int64_t)inter_directory_pack(world->directory, world->process_comm->rank, 0, count, NULL);
    pthread_mutex_unlock(&world->channels_lock);
    code = exchange_sizes(parent, by, code, &own, says, bytes, &any);
    if (!code && any)
        code = exchange_addresses(parent, by, count, bytes);
    free(says);
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
