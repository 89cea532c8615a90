// SPDX-License-Identifier: BSD-3-Clause
#include <hier/drive.h>
#include <hier/lending.h>
#include <hier/progress.h>

enum { KEPT, LENT, BORROWED };

void hier_lending_join(hier_world *world, hier_agent *agent) {
    atomic_store_explicit(&agent->lent, KEPT, memory_order_relaxed);
    pthread_mutex_lock(&world->agents_lock);
    agent->next_of_world = world->agents;
    world->agents = agent;
    pthread_mutex_unlock(&world->agents_lock);
}

void hier_lending_part(hier_world *world, hier_agent *agent) {
    pthread_mutex_lock(&world->agents_lock);
    hier_agent **link = &world->agents;
    while (*link && *link != agent)
        link = &(*link)->next_of_world;
    if (*link)
        *link = agent->next_of_world;
    pthread_mutex_unlock(&world->agents_lock);
}

/* Requests are counted until their user has completed them: so there may be nothing left to do. */
static bool has_under_way(const hier_agent *agent) {
    if (agent->parts)
        return true;
    for (const weft_comm *comm = agent->comms; comm; comm = comm->next_of_agent)
        if (comm->requests)
            return true;
    return false;
}

void hier_lend(hier_agent *agent) {
    if (atomic_load_explicit(&agent->lent, memory_order_relaxed) != KEPT || !has_under_way(agent))
        return;
    atomic_store_explicit(&agent->lent, LENT, memory_order_release);
    hier_progress_wake(agent->comms->world);
}

void hier_reclaim(hier_agent *agent) {
    if (atomic_load_explicit(&agent->lent, memory_order_relaxed) == KEPT)
        return;
    int lent = LENT;
    while (
        !atomic_compare_exchange_weak_explicit(&agent->lent, &lent, KEPT, memory_order_acquire, memory_order_relaxed)) {
        if (lent == BORROWED)
            sched_yield(); /* a look at what it would have to do itself now */
        lent = LENT;
    }
}

unsigned hier_lent_progress(hier_world *world, bool *under_way) {
    unsigned events = 0;
    *under_way = false;
    pthread_mutex_lock(&world->agents_lock);
    for (hier_agent *agent = world->agents; agent; agent = agent->next_of_world) {
        int lent = LENT;
        if (!atomic_compare_exchange_strong_explicit(&agent->lent, &lent, BORROWED, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        events += hier_agent_progress(agent);
        *under_way |= has_under_way(agent);
        atomic_store_explicit(&agent->lent, LENT, memory_order_release);
    }
    pthread_mutex_unlock(&world->agents_lock);
    return events;
}
