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
    if (code)
        close_one(channel);
    else
        /* Release: pairs with hier_channel_at, for the progress thread. */
        atomic_store_explicit(&world->channels[number], channel, memory_order_release);
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

/* The addresses of all processes, `bytes` of each, into the directory. */
static int exchange_addresses(hier_world *world, int first, int end, const int64_t *bytes) {
    weft_comm *comm = world->process_comm;
    size_t processes = (size_t)comm->size, all = 0;
    size_t *counts = malloc(processes * sizeof(*counts));
    ptrdiff_t *displs = malloc(processes * sizeof(*displs));
    for (size_t process = 0; counts && displs && process < processes; process++) {
        counts[process] = (size_t)bytes[process];
        displs[process] = (ptrdiff_t)all;
        all += counts[process];
    }
    char *blobs = all ? malloc(all) : NULL;
    int code = WEFT_ERR_NOMEM;
    if (counts && displs && blobs) {
        inter_directory_pack(world->directory, comm->rank, first, end, blobs + displs[comm->rank]);
        code = weft_allgatherv(WEFT_IN_PLACE, 0, WEFT_BYTE, blobs, counts, displs, WEFT_BYTE, comm);
    } else {
        core_error(code, "rank %d: no memory for the addresses of %zu processes", comm->rank, processes);
    }
    for (int process = 0; !code && process < comm->size; process++)
        if (process != comm->rank)
            code = inter_directory_unpack(world->directory, process, blobs + displs[process], counts[process]);
    free(counts);
    free(displs);
    free(blobs);
    return code;
}

/* Every process says how many bytes of addresses it has, or which error. */
static int exchange_sizes(hier_world *world, int code, size_t own, int64_t *bytes, bool *any) {
    weft_comm *comm = world->process_comm;
    int64_t says = code ? code : (int64_t)own;
    int met = weft_allgather(&says, 1, WEFT_INT64_T, bytes, 1, WEFT_INT64_T, comm);
    *any = false;
    if (code || met)
        return code ? code : met;
    for (int process = 0; process < comm->size; process++) {
        if (bytes[process] < 0)
            return core_error((int)bytes[process], "rank %d: process %d could not open its channels", comm->rank,
                              process);
        *any |= bytes[process] > 0;
    }
    return WEFT_SUCCESS;
}

int hier_channels_open(hier_world *world, int threads) {
    if (world->config.thread_level != WEFT_THREAD_MULTIPLE || !world->transport)
        return WEFT_SUCCESS;
    int first = count_own(world), end = threads < INTER_CHANNELS ? threads : INTER_CHANNELS;
    bool any = false;
    int64_t *bytes = malloc((size_t)world->process_comm->size * sizeof(*bytes));
    if (!bytes)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for %d processes", world->process_comm->rank,
                          world->process_comm->size);
    int code = open_own(world, first, end);
    size_t own = code ? 0 : inter_directory_pack(world->directory, world->process_comm->rank, first, end, NULL);
    code = exchange_sizes(world, code, own, bytes, &any);
    if (!code && any)
        code = exchange_addresses(world, first, end, bytes);
    free(bytes);
    return code;
}

void hier_channels_let_in(hier_world *world, uint32_t context, intra_mailbox *mailboxes, int threads) {
    hier_funnel_enter(world);
    hier_channel_open(&world->channel, context, mailboxes, threads);
    hier_funnel_leave(world);
    hier_channel *channel;
    for (int number = 0; (channel = hier_channel_at(world, number)); number++) {
        hier_channel_enter(channel);
        hier_channel_open(channel, context, mailboxes, threads);
        hier_channel_leave(channel);
    }
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
