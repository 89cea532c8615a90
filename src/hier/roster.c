// SPDX-License-Identifier: BSD-3-Clause
/* The activities and the teams of a process, and the rows made from them. */
#include <core/clock.h>
#include <dlfcn.h>
#include <hier/activity.h>
#include <hier/comm.h>
#include <string.h>

/* Waits are numbered a thread; these bits tell the threads apart. */
#define THREAD_SHIFT 40

/* Who has not tested for so long does something else, in seconds. */
#define TESTS_S 0.5

void hier_roster_init(hier_roster *roster) {
    pthread_mutex_init(&roster->lock, NULL);
}

void hier_roster_destroy(hier_roster *roster) {
    pthread_mutex_destroy(&roster->lock);
}

void hier_roster_add(hier_roster *roster, hier_activity *activity, const weft_comm *comm) {
    pthread_mutex_lock(&roster->lock);
    activity->id = ++roster->ids;
    activity->thread = comm ? comm->thread : CORE_NO_NUMBER;
    activity->home = comm ? hier_comm_number(comm) : CORE_NO_NUMBER;
    activity->home_rank = comm ? comm->rank : CORE_NO_NUMBER;
    activity->next = roster->first;
    roster->first = activity;
    pthread_mutex_unlock(&roster->lock);
}

void hier_roster_remove(hier_roster *roster, hier_activity *activity) {
    pthread_mutex_lock(&roster->lock);
    hier_activity **link = &roster->first;
    while (*link != activity)
        link = &(*link)->next;
    *link = activity->next;
    pthread_mutex_unlock(&roster->lock);
}

void hier_roster_add_team(hier_roster *roster, weft_team *team) {
    pthread_mutex_lock(&roster->lock);
    team->next_in_roster = roster->teams;
    roster->teams = team;
    pthread_mutex_unlock(&roster->lock);
}

void hier_roster_remove_team(hier_roster *roster, weft_team *team) {
    pthread_mutex_lock(&roster->lock);
    weft_team **link = &roster->teams;
    while (*link != team)
        link = &(*link)->next_in_roster;
    *link = team->next_in_roster;
    pthread_mutex_unlock(&roster->lock);
}

static double seconds_since(uint64_t since_ns) {
    uint64_t now_ns = core_now_ns();
    return now_ns > since_ns ? (double)(now_ns - since_ns) * 1e-9 : 0;
}

/* Rows hold the caller's address until the roster is unlocked: to look it up takes the dynamic linker's lock, under which a library
 * that is being loaded may enter a team. */
static void keep_caller(core_row *row, const void *caller) {
    memcpy(row->place, &caller, sizeof(caller));
}

static const void *take_caller(core_row *row) {
    const void *caller;
    memcpy(&caller, row->place, sizeof(caller));
    memset(row->place, 0, sizeof(caller));
    return caller;
}

/* "main+0x1c (program+0x11d4)": the second is for addr2line. One before the return address: that of the call. */
static void describe_place(const void *caller, char *text, size_t bytes) {
    Dl_info info;
    if (!caller)
        return;
    const char *address = (const char *)caller - 1;
    if (!dladdr(address, &info) || !info.dli_fname)
        return;
    const char *slash = strrchr(info.dli_fname, '/'), *file = slash ? slash + 1 : info.dli_fname;
    size_t offset = (size_t)(address - (const char *)info.dli_fbase);
    if (info.dli_sname)
        snprintf(text, bytes, "%.40s+%#zx (%.24s+%#zx)", info.dli_sname,
                 (size_t)(address - (const char *)info.dli_saddr), file, offset);
    else
        snprintf(text, bytes, "%.60s+%#zx", file, offset);
}

static void fill_wait(core_row *row, const hier_doing *doing) {
    row->presence = CORE_WAITING;
    row->comm = (int32_t)doing->comm;
    row->rank = (int32_t)doing->rank;
    row->ranks = (int32_t)doing->ranks;
    row->root = (int32_t)doing->root;
    row->peer = (int32_t)doing->peer;
    row->tag = (int32_t)doing->tag;
    row->collective = (int32_t)doing->collective;
    row->sequence = doing->sequence;
    row->bytes = doing->bytes;
    row->waited_s = seconds_since(doing->since_ns);
    snprintf(row->call, sizeof(row->call), "%s", doing->call);
    snprintf(row->of, sizeof(row->of), "%s", doing->of ? doing->of : "");
    keep_caller(row, doing->caller);
}

static bool call_activity(const hier_activity *activity, int process, core_roll *roll) {
    core_row *row = core_roll_add(roll);
    if (!row)
        return false;
    row->presence = CORE_OUTSIDE;
    row->process = process;
    row->thread = activity->thread;
    row->home = activity->home;
    row->home_rank = activity->home_rank;
    hier_doing doing;
    uint64_t number;
    if (!hier_activity_read(activity, &doing, &number) || !doing.call)
        return true; /* who writes all the time waits for nothing */
    if (doing.tested_ns) {
        if (seconds_since(doing.tested_ns) > TESTS_S)
            return true;
        number = doing.since_ns; /* however often it has tested */
    }
    row->number = activity->id << THREAD_SHIFT | (number & (((uint64_t)1 << THREAD_SHIFT) - 1));
    fill_wait(row, &doing);
    return true;
}

/* The numbers of a team that nobody has. */
static bool call_team(const weft_team *team, int process, core_roll *roll) {
    for (int thread = 0; thread < hier_layout_threads(&team->layout, team->node); thread++) {
        /* Relaxed: nothing is read of who has it. */
        if (atomic_load_explicit(&team->taken[thread], memory_order_relaxed))
            continue;
        core_row *row = core_roll_add(roll);
        if (!row)
            return false;
        row->presence = CORE_NOT_ENTERED;
        row->process = process;
        row->thread = thread;
        row->home = (int32_t)team->context;
        row->home_rank = (int32_t)team->layout.offsets[team->node] + thread;
    }
    return true;
}

bool hier_roster_call(hier_roster *roster, int process, core_roll *roll) {
    size_t before = roll->count;
    bool good = true;
    pthread_mutex_lock(&roster->lock);
    for (const hier_activity *activity = roster->first; good && activity; activity = activity->next)
        good = call_activity(activity, process, roll);
    for (const weft_team *team = roster->teams; good && team; team = team->next_in_roster)
        good = call_team(team, process, roll);
    pthread_mutex_unlock(&roster->lock);
    for (size_t i = before; i < roll->count; i++)
        describe_place(take_caller(&roll->rows[i]), roll->rows[i].place, CORE_PLACE_BYTES);
    if (!good || roll->count > before)
        return good;
    core_row *row = core_roll_add(roll);
    if (!row)
        return false;
    row->presence = CORE_OUTSIDE;
    row->process = process;
    return true;
}
