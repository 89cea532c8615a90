// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/channels.h>
#include <hier/drive.h>
#include <hier/progress.h>
#include <time.h>

/* After so many looks without an event it sleeps. */
#define IDLE_LOOKS 100u
/* And for so long where nothing would wake it. */
#define PAUSE_NS   20000

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

/* One look; true when something happened. `idle`: it is time to sleep, until something does. */
static bool look(hier_world *world, bool idle) {
    bool moved = false;
    if (hier_funnel_try(world)) {
        moved = hier_progress(world);
        hier_funnel_leave(world);
    }
    for (int number = 0; hier_channel_at(world, number); number++)
        moved |= hier_look_at(hier_channel_at(world, number), NULL) > 0;
    if (!idle || moved)
        return moved;
    hier_bed bed;
    hier_bed_clear(&bed);
    if (arm_all(world, &bed))
        hier_sleep(&bed);
    else
        pause_a_while();
    return false;
}

static void *run(void *argument) {
    hier_world *world = argument;
    unsigned looks = 0;
    /* Relaxed: pthread_join is what orders the end. */
    while (!atomic_load_explicit(&world->progress_over, memory_order_relaxed)) {
        looks = look(world, looks >= IDLE_LOOKS) ? 0 : looks + (looks < IDLE_LOOKS);
        if (looks)
            sched_yield(); /* a thread that computes needs the core more */
    }
    return NULL;
}

int hier_progress_start(hier_world *world) {
    world->progresses = pthread_create(&world->progress_thread, NULL, run, world) == 0;
    return world->progresses ? WEFT_SUCCESS
                             : core_error(WEFT_ERR_NOMEM, "rank %d: the progress thread could not be started",
                                          world->process_comm->rank);
}

void hier_progress_stop(hier_world *world) {
    if (!world->progresses)
        return;
    atomic_store_explicit(&world->progress_over, true, memory_order_relaxed);
    world->channel.transport->rouse(world->channel.transport); /* it may sleep on lines */
    pthread_join(world->progress_thread, NULL);
    world->progresses = false;
}
