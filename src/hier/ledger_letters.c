// SPDX-License-Identifier: BSD-3-Clause
/* Questions and verdicts between processes: asked when something takes long, sent, heard, kept until they can be answered. */
#include <core/error.h>
#include <hier/ledger_note.h>
#include <hier/wire.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What has not moved for so long is asked about. */
#define STILL_MS 10

/* A note on its way out. */
typedef struct hier_notice {
    struct hier_notice *next;
    inter_request request;
    inter_completion completion;
    hier_note note;
} hier_notice;

int hier_ledgers_create(hier_world *world) {
    world->ledgers = calloc(1, sizeof(*world->ledgers));
    if (!world->ledgers)
        return core_error(WEFT_ERR_NOMEM, "no memory for what is called on communicators");
    world->ledgers->heard_end = &world->ledgers->heard;
    return WEFT_SUCCESS;
}

static void free_heard(hier_heard *first) {
    for (hier_heard *item = first, *next; item; item = next) {
        next = item->next;
        free(item);
    }
}

void hier_ledgers_free(hier_world *world) {
    hier_ledgers *ledgers = world->ledgers;
    if (!ledgers)
        return;
    free_heard(ledgers->heard);
    free_heard(ledgers->open);
    free(ledgers->told_dead);
    for (hier_notice *item = ledgers->notices, *next; item; item = next) {
        next = item->next;
        free(item);
    }
    for (uint32_t context = 0; context < INTER_CONTEXTS; context++)
        free(ledgers->at[context]);
    for (hier_abandoned *item = atomic_load(&ledgers->abandoned), *next; item; item = next) {
        next = item->next;
        free(item);
    }
    free(ledgers);
}

/*
 * Out.
 */

static size_t bytes_of(uint32_t count) {
    return offsetof(hier_note, calls) + count * sizeof(hier_told_call);
}

/* A note is late rather than lost when the transport fails: the one who waits asks again once something has happened. */
void hier_ledger_send(hier_world *world, int process, uint32_t context, const hier_note *note) {
    inter_transport *transport = world->channel.transport;
    hier_notice *notice = malloc(sizeof(*notice));
    if (!notice)
        return;
    memcpy(&notice->note, note, bytes_of(note->count));
    notice->completion = (inter_completion){0};
    notice->request = (inter_request){.completion = &notice->completion};
    inter_am_header header = hier_wire_header(context, 0, 0, 0, 0);
    hier_wire_set(&header, HIER_FLAG_CALLS, 0);
    world->ledgers->sent_messages++;
    world->ledgers->sent_bytes += bytes_of(note->count);
    if (transport->am_send(transport, process, &header, &notice->note, bytes_of(note->count), false,
                           &notice->request) ||
        !notice->completion.pending) {
        free(notice);
        return;
    }
    notice->next = world->ledgers->notices;
    world->ledgers->notices = notice;
}

/*
 * To all that there is a connection to, who do the same. Whoever was connected to the dead one finds out by itself, and everybody is
 * connected to one that was, by way of others that live. (No new connections: UCX 1.13 does not bear them beside the end of others.)
 */
static void tell_death(hier_world *world, int dead) {
    const hier_note note = {.kind = HIER_NOTE_DEAD, .dead = dead};
    const inter_transport *transport = world->channel.transport;
    for (int to = 0; to < transport->size; to++)
        if (to != transport->rank && !hier_carrier_has_lost(&world->carrier, to) &&
            (!transport->connected || transport->connected(transport, to)))
            hier_ledger_send(world, to, 0, &note);
}

void hier_ledger_tell_deaths(hier_world *world) {
    hier_ledgers *ledgers = world->ledgers;
    if (!world->transport)
        return;
    const int size = world->transport->size;
    ledgers->failures =
        atomic_load_explicit(&world->carrier.failures, memory_order_acquire); /* pairs with fail in carrier.c */
    if (!ledgers->told_dead)
        ledgers->told_dead = calloc((size_t)size, sizeof(*ledgers->told_dead));
    for (int process = 0; ledgers->told_dead && process < size; process++)
        if (!ledgers->told_dead[process] && hier_carrier_has_lost(&world->carrier, process)) {
            ledgers->told_dead[process] = true;
            tell_death(world, process);
        }
}

static void end_notices(hier_ledgers *ledgers) {
    for (hier_notice **link = &ledgers->notices; *link;) {
        hier_notice *notice = *link;
        if (notice->completion.pending) {
            link = &notice->next;
            continue;
        }
        *link = notice->next;
        free(notice);
    }
}

/* inter_awaited: an execution has waited long for a process. */
static void ask(void *argument, const inter_execution *execution, int process) {
    hier_world *world = argument;
    inter_id id = execution->id;
    const hier_ledger *ledger = world->ledgers->at[id.context];
    hier_note question = {.kind = HIER_NOTE_QUESTION};
    bool over;
    if (!ledger || (hier_ledger_is_broken(ledger) && !ledger->goes_on))
        return;
    question.generation = ledger->generation;
    for (uint64_t back = 0; back < HIER_NOTE_CALLS && back <= id.sequence; back++) {
        const hier_entry *entry = hier_ledger_find(ledger, id.sequence - back, id.persistent, &over);
        if (entry)
            hier_tell_call(entry, &question.calls[question.count++]);
        else if (!back)
            return; /* many were started after it, and are asked about */
    }
    hier_ledger_send(world, process, id.context, &question);
}

int64_t hier_ledger_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void hier_ledger_watch(hier_world *world) {
    hier_ledgers *ledgers = world->ledgers;
    if (!world->transport)
        return;
    /* Relaxed: hier_ledger_tell_trips acquires. */
    if (atomic_load_explicit(&ledgers->trips, memory_order_relaxed))
        hier_ledger_tell_trips(world);
    int64_t now = hier_ledger_now_ms();
    if (now - ledgers->watched_ms < STILL_MS)
        return;
    ledgers->watched_ms = now;
    ledgers->recheck |= ledgers->open != NULL;
    inter_engine_sweep(&world->engine);
    end_notices(ledgers);
    bool still = inter_engine_survey(&world->engine, ask, world);
    hier_channel_overhear(&world->channel, still);
}

/*
 * In.
 */

/* What came is not trusted for a length, a place or the end of a text. */
static bool is_right(const hier_note *note, size_t bytes) {
    const uint32_t least = note->kind == HIER_NOTE_DEAD ? 0 : note->kind == HIER_NOTE_QUESTION ? 1 : 2;
    return note->kind < HIER_NOTE_KINDS && note->count <= HIER_NOTE_CALLS && bytes == bytes_of(note->count) &&
           note->count >= least;
}

static void clean(char *text, size_t room) {
    text[room - 1] = '\0';
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

void hier_ledger_hear(hier_world *world, const inter_arrival *arrival) {
    if (!arrival->data) {
        if (arrival->bytes)
            world->channel.transport->am_drop(world->channel.transport, arrival);
        return;
    }
    hier_heard *heard = arrival->bytes <= sizeof(hier_note) ? calloc(1, sizeof(*heard)) : NULL;
    if (!heard)
        return;
    memcpy(&heard->note, arrival->data, arrival->bytes);
    if (arrival->bytes < bytes_of(0) || !is_right(&heard->note, arrival->bytes)) {
        free(heard);
        return;
    }
    heard->process = arrival->peer;
    heard->context = (uint32_t)hier_wire_context(&arrival->header);
    for (uint32_t i = 0; i < heard->note.count; i++) {
        hier_told_call *told = &heard->note.calls[i];
        told->persistent = told->persistent != 0;
        clean(told->call, sizeof(told->call));
        clean(told->op, sizeof(told->op));
        clean(told->element, sizeof(told->element));
    }
    *world->ledgers->heard_end = heard;
    world->ledgers->heard_end = &heard->next;
}

void hier_ledger_attend(hier_world *world) {
    hier_ledgers *ledgers = world->ledgers;
    if (ledgers->heard) { /* to those that are open */
        *ledgers->heard_end = ledgers->open;
        ledgers->open = ledgers->heard;
        ledgers->heard = NULL;
        ledgers->heard_end = &ledgers->heard;
    }
    ledgers->recheck = false;
    for (hier_heard **link = &ledgers->open; *link;) {
        hier_heard *heard = *link;
        if (!hier_ledger_settle(world, heard)) {
            link = &heard->next;
            continue;
        }
        *link = heard->next;
        free(heard);
    }
}

void hier_ledger_drop_old(hier_world *world, const hier_ledger *now) {
    for (hier_heard **link = &world->ledgers->open; *link;) {
        hier_heard *heard = *link;
        if (heard->context != now->context || heard->note.generation == now->generation) {
            link = &heard->next;
            continue;
        }
        *link = heard->next;
        free(heard);
    }
}
