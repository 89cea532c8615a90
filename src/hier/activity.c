// SPDX-License-Identifier: BSD-3-Clause
#include <core/clock.h>
#include <hier/activity.h>
#include <hier/comm.h>
#include <hier/ledger.h>
#include <sched.h>
#include <string.h>

/* A thread that was put off its core while it wrote needs a time slice. */
#define READ_TRIES 1000

/* `own`: what its threads have in common. */
static int32_t number_of(uint32_t context, const void *own) {
    return context != HIER_NO_CONTEXT ? (int32_t)context : -1 - (int32_t)((uintptr_t)own / 64 % INT32_MAX);
}

int32_t hier_team_number(const weft_team *team) {
    return number_of(team->context, team);
}

int32_t hier_comm_number(const weft_comm *comm) {
    /* The handle's own context: its team may not have it yet, where another thread has built that. */
    return number_of(comm->context, comm->team ? (const void *)comm->team : comm);
}

hier_doing hier_doing_on(const weft_comm *comm, const char *call) {
    return (hier_doing){.call = call,
                        .bytes = CORE_NO_BYTES,
                        .comm = hier_comm_number(comm),
                        .identity = comm->ledger ? comm->ledger->generation : 0,
                        .rank = hier_rank_of(comm),
                        .ranks = comm->size,
                        .root = CORE_NO_NUMBER,
                        .peer = CORE_NO_NUMBER,
                        .tag = CORE_NO_NUMBER};
}

/* See hier_activity for the orders. */
static void write_words(hier_activity *activity, const hier_doing *doing) {
    uint64_t words[HIER_DOING_WORDS], turn = atomic_load_explicit(&activity->turn, memory_order_relaxed);
    memcpy(words, doing, sizeof(words));
    atomic_store_explicit(&activity->turn, turn + 1, memory_order_relaxed);
    for (int word = 0; word < HIER_DOING_WORDS; word++)
        atomic_store_explicit(&activity->words[word], words[word], memory_order_release);
    atomic_store_explicit(&activity->turn, turn + 2, memory_order_release);
}

static void read_words(const hier_activity *activity, hier_doing *doing) {
    uint64_t words[HIER_DOING_WORDS];
    for (int word = 0; word < HIER_DOING_WORDS; word++)
        words[word] = atomic_load_explicit(&activity->words[word], memory_order_acquire);
    memcpy(doing, words, sizeof(words));
}

void hier_activity_begin(hier_activity *activity, const hier_doing *doing) {
    hier_doing begun = *doing;
    if (!begun.since_ns)
        begun.since_ns = core_now_ns();
    write_words(activity, &begun);
}

void hier_activity_change(hier_activity *activity, const hier_doing *doing) {
    hier_doing before, changed = *doing;
    read_words(activity, &before);
    changed.since_ns = before.since_ns;
    if (memcmp(&before, &changed, sizeof(changed)) != 0)
        write_words(activity, &changed);
}

void hier_activity_end(hier_activity *activity) {
    write_words(activity, &(hier_doing){0});
}

bool hier_activity_read(const hier_activity *activity, hier_doing *doing, uint64_t *number) {
    for (int try = 0; try < READ_TRIES; try++) {
        uint64_t before = atomic_load_explicit(&activity->turn, memory_order_acquire);
        read_words(activity, doing);
        if (before % 2 == 0 && atomic_load_explicit(&activity->turn, memory_order_relaxed) == before) {
            *number = before / 2;
            return true;
        }
        sched_yield();
    }
    return false;
}
