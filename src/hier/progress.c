// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/channels.h>
#include <hier/drive.h>
#include <hier/lending.h>
#include <hier/progress.h>
#include <time.h>

/* After so many looks without an event it sleeps. */
#define IDLE_LOOKS   100u
/* And for so long where nothing would wake it. */
#define PAUSE_NS     20000
/* Not for long while something is lent: what threads do that are in weft does not wake it. */
#define UNDER_WAY_MS 1

static void pause_a_while(void) {
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
}

static bool arm_all(hier_world *world, hier_bed *bed) {
    bool armed = hier_funnel_try(world);
    if (!armed)
        return false; /* who has it does the same as this thread */
    armed = hier_arm(&world->channel, bed);
    hier_funnel_leave(world);
    hier_channel *channel;
    for (int number = 0; armed && (channel = hier_channel_at(world, number)); number++) {
        hier_channel_enter(channel);
        armed = hier_arm(channel, bed);
        hier_channel_leave(channel);
    }
    return armed;
}

static bool look_at_network(hier_world *world) {
    bool moved = false;
    if (hier_funnel_try(world)) {
        moved = hier_progress(world);
        hier_funnel_leave(world);
    }
    for (int number = 0; hier_channel_at(world, number); number++)
        moved |= hier_look_at(hier_channel_at(world, number), NULL) > 0;
    return moved;
}

/* Sleeps until something comes, or is lent. `seen`: the lendings before the last look. */
static void rest(hier_world *world, uint32_t seen, bool under_way) {
    hier_bed bed;
    hier_bed_clear(&bed);
    if (under_way)
        bed.milliseconds = UNDER_WAY_MS;
    if (world->transport && !arm_all(world, &bed)) {
        hier_bed_leave(&bed);
        pause_a_while();
        return;
    }
    /* Sequentially consistent, as is hier_progress_wake: either who lends wakes, or the lending is seen. */
    atomic_store_explicit(&world->progress_sleeps, true, memory_order_seq_cst);
    if (!world->transport)
        core_word_sleep(&world->lendings, seen, bed.milliseconds * 1000000L);
    else if (atomic_load_explicit(&world->lendings, memory_order_seq_cst) == seen)
        hier_sleep(&bed);
    hier_bed_leave(&bed);
    atomic_store_explicit(&world->progress_sleeps, false, memory_order_relaxed);
}

/* One look; true when something happened. `seen`: the lendings before it. `idle`: it is time to sleep, until something does. */
static bool look(hier_world *world, uint32_t seen, bool idle) {
    bool under_way;
    bool moved = hier_lent_progress(world, &under_way) > 0;
    if (world->transport)
        moved |= look_at_network(world);
    if (idle && !moved)
        rest(world, seen, under_way);
    return moved;
}

static void rouse(hier_world *world) {
    if (world->transport)
        world->channel.transport->rouse(world->channel.transport);
    else
        core_word_wake(&world->lendings);
}

void hier_progress_wake(hier_world *world) {
    atomic_fetch_add_explicit(&world->lendings, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&world->progress_sleeps, memory_order_seq_cst))
        rouse(world);
}

static void *run(void *argument) {
    hier_world *world = argument;
    for (unsigned looks = 0;;) {
        /* Acquire: pairs with who lends, and with hier_progress_stop; who has seen its lending sees that it is over, else a sleep ends at once. */
        const uint32_t seen = atomic_load_explicit(&world->lendings, memory_order_acquire);
        if (atomic_load_explicit(&world->progress_over, memory_order_relaxed))
            return NULL;
        looks = look(world, seen, looks >= IDLE_LOOKS) ? 0 : looks + (looks < IDLE_LOOKS);
        if (looks)
            sched_yield(); /* a thread that computes needs the core more */
    }
}

int hier_progress_start(hier_world *world) {
    world->progresses = pthread_create(&world->progress_thread, NULL, run, world) == 0;
    world->process_comm->lends = world->progresses;
    return world->progresses ? WEFT_SUCCESS
                             : core_error(WEFT_ERR_NOMEM, "rank %d: the progress thread could not be started",
                                          world->process_comm->rank);
}

void hier_progress_stop(hier_world *world) {
    if (!world->progresses)
        return;
    atomic_store_explicit(&world->progress_over, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&world->lendings, 1, memory_order_seq_cst);
    rouse(world);
    pthread_join(world->progress_thread, NULL);
    world->progresses = false;
}
