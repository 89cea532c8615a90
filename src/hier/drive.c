// SPDX-License-Identifier: BSD-3-Clause
#include <hier/drive.h>
#include <poll.h>
#include <sched.h>

#define SLEEP_MS 10

bool hier_arm(hier_world *world, inter_bed *bed) {
    inter_transport *transport = world->engine.lines ? world->engine.lines : world->transport;
    return transport->arm(transport, bed);
}

void hier_sleep(const inter_bed *bed) {
    struct pollfd wait = {.fd = bed->descriptor, .events = POLLIN};
    if (bed->word)
        core_word_sleep(bed->word, 1, SLEEP_MS * 1000000L);
    else
        poll(&wait, 1, SLEEP_MS);
}

/* Some looks at the network, by who holds the funnel, and leaves it. True when look() says so. */
static bool drive(hier_world *world, hier_look *look, void *argument, bool tired, bool *moved) {
    inter_bed bed;
    bool sleeps = false, done = look(argument);
    /* Where cores are short, who is waited for needs this one. */
    int rounds = world->waiting.may_sleep ? 1 : HIER_LOOKS_IN_FUNNEL;
    for (int round = 0; round < rounds && !done; round++)
        if (inter_engine_progress(&world->engine)) {
            *moved = true;
            done = look(argument);
        }
    if (tired && !done && !*moved)
        sleeps = hier_arm(world, &bed);
    hier_funnel_leave(world);
    if (sleeps)
        hier_sleep(&bed);
    return done;
}

static bool try_once(hier_world *world, hier_look *look, void *argument) {
    if (!hier_funnel_try(world))
        return false; /* who holds it moves things on */
    bool done = look(argument);
    for (int round = 0; round < HIER_LOOKS_IN_FUNNEL && !done && inter_engine_progress(&world->engine); round++)
        done = look(argument);
    hier_funnel_leave(world);
    return done;
}

bool hier_drive_until(hier_world *world, hier_look *look, void *argument, bool once) {
    unsigned looks = 0;
    bool tired = false, moved = false, done = false;
    if (once)
        return try_once(world, look, argument);
    while (!done) {
        moved = false;
        if (hier_funnel_try(world))
            done = drive(world, look, argument, tired, &moved);
        else if (tired)
            sched_yield(); /* who holds the funnel may be without a core */
        if (moved)
            looks = 0;
        if (!done)
            tired = core_backoff(&world->waiting, &looks);
    }
    return true;
}
