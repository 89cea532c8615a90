// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
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

/* One look; true when something happened. `idle`: it is time to sleep, until something does. */
static bool look(hier_world *world, bool idle) {
    inter_bed bed;
    if (!hier_funnel_try(world))
        return false; /* who has it does the same */
    bool moved = hier_progress(world);
    bool armed = idle && !moved && hier_arm(world, &bed);
    hier_funnel_leave(world);
    if (armed)
        hier_sleep(&bed);
    else if (idle && !moved)
        pause_a_while();
    return moved;
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
    world->transport->rouse(world->transport);
    pthread_join(world->progress_thread, NULL);
    world->progresses = false;
}
