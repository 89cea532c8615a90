// SPDX-License-Identifier: BSD-3-Clause
#include <hier/errand.h>
#include <hier/world.h>

void hier_send_errand(hier_world *world, hier_errand *errand) {
    core_inbox_put(&world->errands, &errand->link);
    /* Threads of a split may sleep though those of the process communicator do not. It is rare: no look who does. */
    if (world->transport)
        world->channel.transport->rouse(world->channel.transport);
}

bool hier_run_errands(hier_world *world) {
    core_link *next = core_inbox_take(&world->errands);
    bool some = next;
    while (next) {
        hier_errand *errand = (hier_errand *)(void *)next;
        next = next->next; /* one that was run may be gone */
        errand->run(errand);
    }
    return some;
}
