// SPDX-License-Identifier: BSD-3-Clause
/* The activities and the teams of a process, and the rows made from them. */
#include <core/clock.h>
#include <dlfcn.h>
#include <hier/activity.h>
#include <hier/comm.h>
#include <hier/ledger.h>
#include <hier/request.h>
#include <string.h>

/* Waits are numbered a thread; these bits tell the threads apart. */
#define THREAD_SHIFT 40

/* Who has not tested for so long does something else, in seconds. */
#define TESTS_S 0.5

void hier_roster_init(hier_roster *roster) {
    pthread_mutex_init(&roster->lock, NULL);
    pthread_mutex_init(&roster->testers.lock, NULL);
}

void hier_roster_destroy(hier_roster *roster) {
    pthread_mutex_destroy(&roster->testers.lock);
    pthread_mutex_destroy(&roster->lock);
}

static void name(hier_activity *activity, const weft_comm *comm) {
    activity->thread = comm ? comm->thread : CORE_NO_NUMBER;
    activity->home = comm ? hier_comm_number(comm) : CORE_NO_NUMBER;
    activity->home_rank = comm ? comm->rank : CORE_NO_NUMBER;
}

void hier_roster_rename(hier_roster *roster, hier_activity *activity, const weft_comm *left, const weft_comm *other) {
    pthread_mutex_lock(&roster->lock);
    if (activity->home == hier_comm_number(left))
        name(activity, other);
    pthread_mutex_unlock(&roster->lock);
}

void hier_roster_add(hier_roster *roster, hier_activity *activity, const weft_comm *comm) {
    pthread_mutex_lock(&roster->lock);
    activity->id = ++roster->ids;
    name(activity, comm);
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

void hier_roster_list(hier_roster *roster, hier_listed *listed) {
    pthread_mutex_lock(&roster->lock);
    listed->next = roster->listed;
    roster->listed = listed;
    pthread_mutex_unlock(&roster->lock);
}

void hier_roster_unlist(hier_roster *roster, hier_listed *listed) {
    pthread_mutex_lock(&roster->lock);
    hier_listed **link = &roster->listed;
    while (*link != listed)
        link = &(*link)->next;
    *link = listed->next;
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
    row->identity = doing->identity;
    row->sequence = doing->sequence;
    row->round = doing->round;
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
        if (seconds_since(doing.tested_ns) > TESTS_S) {
            roll->count -= activity->home == CORE_NO_NUMBER; /* of no thread */
            return true;
        }
        number = doing.since_ns; /* however often it has tested */
    }
    row->number = activity->id << THREAD_SHIFT | (number & (((uint64_t)1 << THREAD_SHIFT) - 1));
    fill_wait(row, &doing);
    return true;
}

/* The numbers of a team that nobody has; one that was split has them from the beginning. */
static bool call_numbers(const weft_team *team, int process, core_roll *roll) {
    if (!team || atomic_load_explicit(&team->handles, memory_order_relaxed))
        return true;
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
        row->home = hier_team_number(team);
        row->home_rank = (int32_t)team->layout.offsets[team->node] + thread;
    }
    return true;
}

/* A row of what a rank has begun on a communicator; NULL without memory. */
static core_row *add_begun(core_roll *roll, int process, int32_t comm, const hier_ledger *ledger, int rank) {
    core_row *row = core_roll_add(roll);
    if (!row)
        return NULL;
    row->presence = CORE_BEGUN;
    row->process = process;
    row->comm = comm;
    row->identity = ledger ? ledger->generation : 0;
    row->rank = rank;
    row->collective = CORE_COLLECTIVE;
    return row;
}

/* Of the threads of a team, in a `ring` of it or (NULL) beside them. Relaxed: nothing is read of what is begun, prepared or over. */
static bool call_members(const weft_team *team, const hier_ring *ring, int process, core_roll *roll) {
    const intra_team *intra = ring ? ring->intra : team->intra;
    for (int thread = 0; thread < intra->threads; thread++) {
        const intra_member *member = &intra->members[thread];
        int place = (int)team->layout.offsets[team->node] + thread;
        core_row *row =
            add_begun(roll, process, hier_team_number(team), team->ledger, hier_layout_rank(&team->layout, place));
        if (!row)
            return false;
        row->thread = thread;
        /* The last value: the thread has retired, when all that it took are. */
        row->over = atomic_load_explicit(&intra->completed[thread].flag.value, memory_order_relaxed);
        row->sequence = ring ? ring->number + 1 : intra_taken(member);
        row->round = ring ? intra_taken(member) : atomic_load_explicit(&member->rings, memory_order_relaxed);
        if (ring)
            row->collective = CORE_PERSISTENT;
    }
    return true;
}

static bool call_team(weft_team *team, int process, core_roll *roll) {
    bool good = call_members(team, NULL, process, roll);
    pthread_mutex_lock(&team->rings_lock);
    for (const hier_ring *ring = team->rings; good && ring; ring = ring->next)
        good = call_members(team, ring, process, roll);
    pthread_mutex_unlock(&team->rings_lock);
    return good;
}

/* As in request.c. */
static bool call_comm(const weft_comm *comm, int process, core_roll *roll) {
    core_row *row = add_begun(roll, process, hier_comm_number(comm), comm->ledger, comm->rank);
    if (!row)
        return false;
    row->sequence = atomic_load_explicit(&comm->sequence, memory_order_relaxed);
    row->round = atomic_load_explicit(&comm->persistent_sequence, memory_order_relaxed);
    row->over = atomic_load_explicit(&comm->over, memory_order_relaxed);
    for (const hier_operation *of = comm->prepared; of; of = of->next_prepared) {
        row = add_begun(roll, process, hier_comm_number(comm), comm->ledger, comm->rank);
        if (!row)
            return false;
        row->collective = CORE_PERSISTENT;
        row->sequence = of->id.sequence + 1;
        row->round = atomic_load_explicit(&of->starts, memory_order_relaxed);
        row->over = atomic_load_explicit(&of->ends, memory_order_relaxed);
    }
    return true;
}

void hier_roster_prepare(hier_roster *roster, hier_operation *operation) {
    weft_comm *comm = operation->base.comm;
    atomic_store_explicit(&operation->starts, 0, memory_order_relaxed);
    atomic_store_explicit(&operation->ends, 0, memory_order_relaxed);
    pthread_mutex_lock(&roster->lock);
    operation->next_prepared = comm->prepared;
    comm->prepared = operation;
    pthread_mutex_unlock(&roster->lock);
}

void hier_roster_forget(hier_roster *roster, hier_operation *operation) {
    pthread_mutex_lock(&roster->lock);
    hier_operation **link = &operation->base.comm->prepared;
    while (*link && *link != operation)
        link = &(*link)->next_prepared;
    if (*link)
        *link = operation->next_prepared;
    pthread_mutex_unlock(&roster->lock);
}

/* Under FUNNELED: who calls weft_init is thread 0 of each team, and drives the network for all when it is in weft. */
static void note_standstill(core_row *rows, size_t count) {
    bool drives = false;
    for (size_t i = 0; i < count; i++)
        drives |= rows[i].presence == CORE_WAITING && (rows[i].thread == 0 || rows[i].thread == CORE_NO_NUMBER);
    for (size_t i = 0; i < count && !drives; i++)
        rows[i].stops = rows[i].thread == 0;
}

bool hier_roster_call(hier_roster *roster, int process, core_roll *roll) {
    const size_t before = roll->count;
    bool good = true;
    pthread_mutex_lock(&roster->lock);
    for (const hier_activity *activity = roster->first; good && activity; activity = activity->next)
        good = call_activity(activity, process, roll);
    for (const hier_listed *listed = roster->listed; good && listed; listed = listed->next)
        good = call_numbers(listed->team, process, roll);
    const size_t threads = roll->count;
    for (const hier_listed *listed = roster->listed; good && listed; listed = listed->next)
        good = listed->team ? call_team(listed->team, process, roll) : call_comm(listed->comm, process, roll);
    pthread_mutex_unlock(&roster->lock);
    if (roster->funneled)
        note_standstill(&roll->rows[before], threads - before);
    for (size_t i = before; i < threads; i++)
        describe_place(take_caller(&roll->rows[i]), roll->rows[i].place, CORE_PLACE_BYTES);
    if (!good || threads > before)
        return good;
    core_row *row = core_roll_add(roll);
    if (!row)
        return false;
    row->presence = CORE_OUTSIDE;
    row->process = process;
    return true;
}
