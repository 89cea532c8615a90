// SPDX-License-Identifier: BSD-3-Clause
#include <hier/errand.h>
#include <hier/world.h>

void hier_send_errand(hier_world *world, hier_errand *errand) {
    core_inbox_put(&world->errands, &errand->link);
    /* Threads of a split may sleep though those of the process communicator do not. It is rare: no look who does. */
    if (world->transport)
        hier_wake_leader(world);
}

void hier_wake_leader(hier_world *world) {
    world->channel.transport->rouse(world->channel.transport);
    /* Pairs with hier_leader_naps: either the leader sees what was left, or is seen to nap. */
    atomic_thread_fence(memory_order_seq_cst);
    core_flag_wake_napping(&world->napping, CORE_ANY_MARK);
}

/* From somewhat more than a message takes, longer and longer; and when nothing has happened for so many, as long as others. */
#define NAP_NS 50000L
enum { DOUBLED = 5, SHORT_NAPS = 250 };

void hier_leader_naps(hier_world *world, core_flag *flag, uint64_t target) {
    const long nap = world->naps < SHORT_NAPS ? NAP_NS << (world->naps < DOUBLED ? world->naps : DOUBLED) : core_nap(0);
    atomic_store_explicit(&world->napping, flag, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* pairs with hier_wake_leader */
    if (core_inbox_is_empty(&world->errands) && core_inbox_is_empty(&world->carrier.outbox))
        core_flag_sleep(flag, target, nap);
    atomic_store_explicit(&world->napping, NULL, memory_order_relaxed);
    world->naps += world->naps < SHORT_NAPS;
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
