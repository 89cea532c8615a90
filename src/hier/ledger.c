// SPDX-License-Identifier: BSD-3-Clause
/* Ledgers: opened and closed, tripped, broken. */
#include <core/error.h>
#include <hier/ledger_note.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hier_ledger *hier_ledger_make(uint32_t context, uint32_t generation, int rank, bool between, uint32_t slots) {
    /* One that begins late must find its place free: else it would be taken for one that is long over. */
    const uint32_t in_order = slots > HIER_LEDGER_ENTRIES ? slots : HIER_LEDGER_ENTRIES;
    const size_t entries = between ? (size_t)in_order + HIER_LEDGER_ENTRIES : 0;
    hier_ledger *ledger = calloc(1, sizeof(*ledger) + entries * sizeof(ledger->entries[0]));
    if (ledger) {
        ledger->remembers[false] = in_order;
        ledger->remembers[true] = HIER_LEDGER_ENTRIES;
        ledger->between = between;
        ledger->context = context;
        ledger->generation = generation;
        ledger->rank = rank;
        ledger->chains[0] = ledger->chains[1] = hier_ledger_chain(ledger);
    }
    return ledger;
}

uint32_t hier_ledger_generation(const weft_comm *parent, int color) {
    if (!parent->ledger) /* its process is alone in it: nobody else is to tell */
        return 0;
    uint64_t chain = parent->team ? parent->member->chain : parent->ledger->chains[0];
    chain = hier_chain(chain, parent->ledger->generation);
    return (uint32_t)(hier_chain(chain, (uint64_t)(uint32_t)color) >> 32);
}

const hier_entry *hier_ledger_last(const hier_ledger *ledger, bool persistent) {
    const hier_entry *entries = &ledger->entries[hier_ledger_place(ledger, 0, persistent)], *last = entries;
    for (uint32_t i = 1; i < ledger->remembers[persistent]; i++)
        if (entries[i].call && entries[i].sequence > last->sequence)
            last = &entries[i];
    return last;
}

void hier_ledger_open(hier_world *world, hier_ledger *ledger) {
    hier_ledgers *ledgers = world->ledgers;
    hier_ledger *before = ledgers->at[ledger->context];
    if (ledger->opened)
        return;
    if (before && (ledgers->open || ledgers->heard))
        hier_ledger_attend(world); /* those who ask about that one */
    /* It is closed. Who asks later is told that it was left, or that the call is over. */
    if (before)
        ledgers->left[ledgers->lefts++ % HIER_LEDGER_LEFT] =
            (hier_left){before->context,
                        before->generation,
                        before->rank,
                        {*hier_ledger_last(before, false), *hier_ledger_last(before, true)}};
    ledger->opened = true;
    ledgers->at[ledger->context] = ledger;
    hier_ledger_drop_old(world, ledger);
    free(before);
    ledgers->recheck = true;
    /* A thread was faster. Acquire: whoever trips it later is counted after this, and found here. */
    if (atomic_load_explicit(&ledger->tripped, memory_order_acquire) == HIER_TRIP_DONE)
        atomic_fetch_add_explicit(&ledgers->trips, 1, memory_order_relaxed);
}

bool hier_ledger_close(hier_world *world, hier_ledger *ledger) {
    /* Relaxed: hier_ledger_tell_trips acquires. */
    if (atomic_load_explicit(&world->ledgers->trips, memory_order_relaxed))
        hier_ledger_tell_trips(world);
    ledger->closed = true;
    ledger->returned = !hier_ledger_is_broken(ledger);
    world->ledgers->recheck = true;
    return ledger->returned;
}

void hier_ledger_abandon(hier_world *world, uint32_t generation, int rank) {
    hier_abandoned *made = malloc(sizeof(*made));
    if (!made)
        return;
    *made = (hier_abandoned){.gone = {.generation = generation, .rank = rank}};
    made->next = atomic_load_explicit(&world->ledgers->abandoned, memory_order_relaxed);
    /* Release: pairs with find_gone. */
    while (!atomic_compare_exchange_weak_explicit(&world->ledgers->abandoned, &made->next, made, memory_order_release,
                                                  memory_order_relaxed))
        continue;
}

void hier_ledger_fail(weft_comm *comm, inter_id id) {
    hier_entry *entry = &comm->ledger->entries[hier_ledger_place(comm->ledger, id.sequence, id.persistent)];
    entry->failed |= entry->sequence == id.sequence;
    comm->world->ledgers->recheck = true;
}

/* A rank of a process: its first one. */
static int rank_of_process(const hier_layout *layout, int process) {
    int node = 0;
    while (node + 1 < layout->nodes && hier_layout_process(layout, node) != process)
        node++;
    return hier_layout_rank(layout, (int)layout->offsets[node]);
}

void hier_ledger_stop(hier_world *world, const hier_layout *layout, const inter_execution *execution) {
    const inter_id id = execution->id;
    const inter_request *wrong = execution->wrong;
    hier_ledger *ledger =
        id.context < INTER_CONTEXTS ? world->ledgers->at[id.context] : NULL; /* of several processes */
    bool over;
    if (execution->error == WEFT_ERR_PROC_FAILED || !ledger || hier_ledger_is_broken(ledger))
        return;
    const hier_entry *entry = hier_ledger_find(ledger, id.sequence, id.persistent, &over);
    if (!entry || entry->chain != id.signature)
        return;
    hier_note verdict = {.generation = ledger->generation, .kind = HIER_NOTE_STOPPED, .count = 2};
    hier_tell_call(entry, &verdict.calls[0]);
    hier_tell_call(entry, &verdict.calls[1]);
    if (wrong) {
        verdict.kind = execution->error == WEFT_ERR_TRUNCATE ? HIER_NOTE_LONGER : HIER_NOTE_SHORTER;
        verdict.calls[0].rank = rank_of_process(layout, wrong->peer);
        verdict.calls[1].bytes = wrong->bytes;
    }
    hier_ledger_break(world, ledger, &verdict, true);
}

static void copy_text(char *to, size_t room, const char *from) {
    snprintf(to, room, "%s", from ? from : "");
}

void hier_tell_call(const hier_entry *entry, hier_told_call *told) {
    *told = (hier_told_call){.sequence = entry->sequence,
                             .chain = entry->chain,
                             .signature = entry->signature,
                             .bytes = entry->bytes,
                             .rank = entry->rank,
                             .root = entry->root,
                             .persistent = entry->persistent};
    copy_text(told->call, sizeof(told->call), entry->call);
    copy_text(told->op, sizeof(told->op), entry->op);
    copy_text(told->element, sizeof(told->element), entry->element);
}

const hier_entry *hier_ledger_find(const hier_ledger *ledger, uint64_t sequence, bool persistent, bool *over) {
    const hier_entry *entry = &ledger->entries[hier_ledger_place(ledger, sequence, persistent)];
    *over = entry->call && entry->sequence > sequence;
    return entry->call && entry->sequence == sequence ? entry : NULL;
}

/*
 * Breaking.
 */

/* "weft_reduce (root 0, 8 bytes, WEFT_SUM of WEFT_INT)", "weft_barrier": what the call has, as far as it is one thing for all ranks. */
static void describe(const hier_told_call *told, char *text, size_t room) {
    char root[24] = "", bytes[32] = "";
    const bool op = told->op[0], element = told->element[0], sized = told->bytes || element;
    if (told->root != HIER_NO_ROOT)
        snprintf(root, sizeof(root), "root %d%s", told->root, sized || op ? ", " : "");
    if (sized)
        snprintf(bytes, sizeof(bytes), "%llu bytes%s", (unsigned long long)told->bytes, op || element ? ", " : "");
    const bool any = root[0] || sized || op;
    snprintf(text, room, "%s%s%s%s%s%s%s%s", told->call, any ? " (" : "", root, bytes, told->op,
             op && element ? " of " : "", told->element, any ? ")" : "");
}

static void write_verdict(const hier_note *verdict, char *text) {
    const hier_told_call *one = &verdict->calls[0], *other = &verdict->calls[1];
    char first[128], second[128];
    describe(one, first, sizeof(first));
    describe(other, second, sizeof(second));
    switch ((enum hier_note_kind)verdict->kind) {
    case HIER_NOTE_COUNT:
    case HIER_NOTE_BLOCK:
        snprintf(text, HIER_VERDICT_BYTES,
                 "rank %d called %s and sends rank %d %llu bytes, but rank %d called %s and expects %llu", one->rank,
                 one->call, other->rank, (unsigned long long)one->bytes, other->rank, other->call,
                 (unsigned long long)other->bytes);
        return;
    case HIER_NOTE_SHORTER:
    case HIER_NOTE_LONGER:
        snprintf(text, HIER_VERDICT_BYTES,
                 "rank %d called %s and its process sends that of rank %d %s bytes, but rank %d called %s and its "
                 "process expects %llu",
                 one->rank, one->call, other->rank, verdict->kind == HIER_NOTE_LONGER ? "more" : "fewer", other->rank,
                 other->call, (unsigned long long)other->bytes);
        return;
    case HIER_NOTE_LEFT:
        snprintf(text, HIER_VERDICT_BYTES, "rank %d called %s, but rank %d has left the communicator without that call",
                 one->rank, first, other->rank);
        return;
    case HIER_NOTE_FAILED:
        snprintf(text, HIER_VERDICT_BYTES, "rank %d called %s, which rank %d could not begin", one->rank, first,
                 other->rank);
        return;
    case HIER_NOTE_STOPPED:
        snprintf(text, HIER_VERDICT_BYTES, "rank %d called %s, and its process could not carry it out", one->rank,
                 first);
        return;
    case HIER_NOTE_EARLIER:
        snprintf(text, HIER_VERDICT_BYTES,
                 "rank %d called %s, and rank %d called %s, after collectives that were not the same", one->rank, first,
                 other->rank, second);
        return;
    default: /* what is not in the descriptions */
        snprintf(text, HIER_VERDICT_BYTES, "rank %d called %s, but rank %d called %s%s", one->rank, first, other->rank,
                 second, strcmp(first, second) == 0 ? " with other counts, another operation, or another type" : "");
    }
}

void hier_ledger_tell_all(hier_world *world, uint32_t context, const hier_note *note) {
    for (int process = 0; process < world->transport->size; process++)
        if (process != world->transport->rank)
            hier_ledger_send(world, process, context, note);
}

/* Has this process still to do its part of the call? Of a persistent one only as long as it is under way: it may never be started again. */
static bool is_to_do(const hier_world *world, const hier_ledger *ledger, const hier_told_call *told) {
    const inter_id id = {.context = ledger->context, .sequence = told->sequence, .persistent = told->persistent};
    const inter_execution *execution = inter_engine_find(&world->engine, id);
    bool over;
    if (execution)
        return execution->id.signature == told->chain;
    return !told->persistent && !ledger->closed && !hier_ledger_find(ledger, told->sequence, false, &over) && !over;
}

static void go_on(hier_world *world, hier_ledger *ledger, bool goes_on) {
    world->ledgers->going_on += goes_on - ledger->goes_on;
    ledger->goes_on = goes_on;
}

void hier_ledger_break(hier_world *world, hier_ledger *ledger, const hier_note *verdict, bool tell) {
    const hier_told_call *told = &verdict->calls[0];
    const bool first = !hier_ledger_is_broken(ledger);
    if (first) {
        write_verdict(verdict, ledger->verdict);
        ledger->last = told->sequence;
        ledger->last_is_persistent = told->persistent;
        /* Release: pairs with hier_ledger_is_broken. */
        atomic_store_explicit(&ledger->broken, true, memory_order_release);
    }
    if (tell)
        hier_ledger_tell_all(world, ledger->context, verdict);
    go_on(world, ledger, first && hier_is_of_blocks(verdict) && is_to_do(world, ledger, told));
    /* One that this process has left may be about to get another communicator, which is whole. */
    if (!ledger->goes_on && (!ledger->returned || hier_contexts_take_back(&world->contexts, ledger->context)))
        inter_engine_break(&world->engine, ledger->context);
}

void hier_ledger_end(hier_world *world, inter_id id) {
    hier_ledger *ledger = id.context < INTER_CONTEXTS ? world->ledgers->at[id.context] : NULL;
    if (!ledger || !ledger->goes_on || ledger->last_is_persistent != id.persistent || ledger->last != id.sequence)
        return;
    go_on(world, ledger, false);
    inter_engine_break(&world->engine, ledger->context);
}

static hier_note verdict_of(const hier_clash *clash) {
    const hier_entry *own = &clash->calls[0], *other = &clash->calls[1];
    hier_note verdict = {.kind = HIER_NOTE_DIFFERENT, .count = 2};
    if (clash->kind != HIER_CALLS_DIFFER)
        verdict.kind = clash->kind == HIER_BLOCKS_DIFFER ? HIER_NOTE_BLOCK : HIER_NOTE_COUNT;
    else if (!other->call)
        verdict.kind = HIER_NOTE_LEFT;
    else if (own->signature == other->signature)
        verdict.kind = HIER_NOTE_EARLIER;
    hier_tell_call(own, &verdict.calls[0]);
    hier_tell_call(other, &verdict.calls[1]);
    return verdict;
}

static void describe_clash(const hier_clash *clash, char *text) {
    hier_note verdict = verdict_of(clash);
    write_verdict(&verdict, text);
}

int hier_ledger_error(const weft_comm *comm, const char *call) {
    const hier_ledger *ledger = comm->ledger;
    char tripped[HIER_VERDICT_BYTES] = "ranks called different collectives";
    while (!hier_ledger_is_broken(ledger) &&
           atomic_load_explicit(&ledger->tripped, memory_order_relaxed) == HIER_TRIP_WRITING)
        sched_yield(); /* another thread does so just now */
    const char *why = hier_ledger_is_broken(ledger) ? ledger->verdict : tripped;
    /* Acquire: pairs with hier_ledger_trip. */
    if (why == tripped && atomic_load_explicit(&ledger->tripped, memory_order_acquire) == HIER_TRIP_DONE)
        describe_clash(&ledger->trip, tripped);
    return core_error(WEFT_ERR_MISMATCH, "rank %d: %s: the communicator is broken: %s", hier_rank_of(comm), call, why);
}

int hier_ledger_failed(const weft_comm *comm, const char *call, int error) {
    const int rank = hier_rank_of(comm);
    const hier_ledger *ledger = comm->ledger;
    if ((error == WEFT_ERR_MISMATCH || error == WEFT_ERR_TRUNCATE) && ledger &&
        (hier_ledger_is_broken(ledger) || hier_ledger_is_tripped(ledger))) /* which a leader will tell */
        return hier_ledger_error(comm, call);
    return core_error(error, "rank %d: %s failed between the processes: %s", rank, call, weft_strerror(error));
}

void hier_ledger_trip(hier_world *world, hier_ledger *ledger, const hier_clash *clash) {
    int none = HIER_TRIP_NONE;
    /* Relaxed: only the winner writes, and the releases below publish it. */
    if (hier_ledger_is_broken(ledger) ||
        !atomic_compare_exchange_strong_explicit(&ledger->tripped, &none, HIER_TRIP_WRITING, memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    ledger->trip = *clash;
    if (!ledger->between) {
        describe_clash(clash, ledger->verdict);
        /* Release: pairs with hier_ledger_is_broken. */
        atomic_store_explicit(&ledger->broken, true, memory_order_release);
        return;
    }
    /* Release: pairs with hier_ledger_tell_trips, as does the next. */
    atomic_store_explicit(&ledger->tripped, HIER_TRIP_DONE, memory_order_release);
    atomic_fetch_add_explicit(&world->ledgers->trips, 1, memory_order_release);
}

static void break_on_trip(hier_world *world, hier_ledger *ledger) {
    hier_note verdict = verdict_of(&ledger->trip);
    verdict.generation = ledger->generation;
    hier_ledger_break(world, ledger, &verdict, true);
}

void hier_ledger_tell_trips(hier_world *world) {
    /* Acquire: pairs with hier_ledger_trip, as does the next. */
    if (!atomic_exchange_explicit(&world->ledgers->trips, 0, memory_order_acquire))
        return;
    for (uint32_t context = 0; context < INTER_CONTEXTS; context++) {
        hier_ledger *ledger = world->ledgers->at[context];
        if (ledger && !hier_ledger_is_broken(ledger) &&
            atomic_load_explicit(&ledger->tripped, memory_order_acquire) == HIER_TRIP_DONE)
            break_on_trip(world, ledger);
    }
}
