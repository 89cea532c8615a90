// SPDX-License-Identifier: BSD-3-Clause
/* What other processes say of their calls, compared with what the ledgers know. */
#include <hier/ledger_note.h>

/* What has not come so long after its sender was through will not come. */
#define LOST_MS 1000

typedef enum answer { SAME, DIFFERENT, LATER, OVER } answer;

/* Two calls of one number whose chains differ. The first ones that do so, and are not alike, are what went wrong. */
static void find_first(const hier_ledger *ledger, const hier_note *question, hier_note *verdict) {
    for (uint32_t i = question->count; i-- > 0;) {
        bool over;
        const hier_told_call *theirs = &question->calls[i];
        const hier_entry *own = hier_ledger_find(ledger, theirs->sequence, theirs->persistent, &over);
        if (!own || own->chain == theirs->chain)
            continue;
        verdict->kind = own->signature == theirs->signature ? HIER_NOTE_EARLIER : HIER_NOTE_DIFFERENT;
        verdict->calls[0] = *theirs;
        hier_tell_call(own, &verdict->calls[1]);
        if (verdict->kind == HIER_NOTE_DIFFERENT)
            return;
    }
}

/* A call that is not known here any more. It may still be under way, or prepared. */
static answer compare_old(const hier_world *world, const hier_ledger *ledger, const hier_told_call *theirs,
                          hier_note *verdict) {
    inter_id id = {.context = ledger->context, .sequence = theirs->sequence, .persistent = theirs->persistent};
    const inter_execution *execution = inter_engine_find(&world->engine, id);
    if (execution ? execution->id.signature == theirs->chain : theirs->persistent)
        return SAME;
    verdict->kind = execution ? HIER_NOTE_EARLIER : HIER_NOTE_OVER;
    verdict->calls[0] = *theirs;
    hier_tell_call(hier_ledger_last(ledger, theirs->persistent), &verdict->calls[1]);
    return execution ? DIFFERENT : OVER;
}

static answer compare(const hier_world *world, const hier_ledger *ledger, const hier_note *question,
                      hier_note *verdict) {
    const hier_told_call *theirs = &question->calls[0];
    bool over;
    const hier_entry *own = hier_ledger_find(ledger, theirs->sequence, theirs->persistent, &over);
    *verdict = (hier_note){.generation = ledger->generation, .count = 2};
    if (own && own->chain == theirs->chain) {
        verdict->kind = HIER_NOTE_FAILED;
        verdict->calls[0] = *theirs;
        hier_tell_call(own, &verdict->calls[1]);
        return own->failed ? DIFFERENT : SAME;
    }
    if (own) {
        find_first(ledger, question, verdict);
        return DIFFERENT;
    }
    if (over)
        return compare_old(world, ledger, theirs, verdict);
    if (!ledger->closed)
        return LATER;
    verdict->kind = HIER_NOTE_LEFT;
    verdict->calls[0] = *theirs;
    verdict->calls[1].rank = ledger->rank;
    return DIFFERENT;
}

/*
 * This process waits for a message in a call that is over in the other: it has sent all that it ever will, and before it said so. So
 * what has not come a good while later is not on its way: the other one was in another call, and does not know which any more.
 */
static bool settle_over(hier_world *world, hier_ledger *ledger, hier_heard *heard) {
    const hier_told_call *own = &heard->note.calls[0];
    inter_id id = {.context = ledger->context, .sequence = own->sequence, .persistent = own->persistent};
    const inter_execution *execution = inter_engine_find(&world->engine, id);
    int64_t now = hier_ledger_now_ms();
    if (!execution || !inter_execution_awaits(execution, heard->process) ||
        (heard->since_ms && execution->moves != heard->moves))
        return true; /* it has come */
    if (!heard->since_ms) {
        heard->since_ms = now;
        heard->moves = execution->moves;
    }
    if (now - heard->since_ms < LOST_MS)
        return false;
    heard->note.kind = HIER_NOTE_EARLIER;
    hier_ledger_break(world, ledger, &heard->note, true);
    return true;
}

static bool settle_question(hier_world *world, hier_ledger *ledger, const hier_heard *heard) {
    hier_note verdict;
    answer found = compare(world, ledger, &heard->note, &verdict);
    if (found == DIFFERENT)
        hier_ledger_break(world, ledger, &verdict, true);
    else if (found == OVER)
        hier_ledger_send(world, heard->process, ledger->context, &verdict);
    return found != LATER;
}

/* A communicator that was left here, or never made; NULL: nothing is known of it. */
static const hier_left *find_gone(const hier_ledgers *ledgers, const hier_heard *heard) {
    const uint32_t generation = heard->note.generation;
    /* Acquire: pairs with hier_ledger_abandon. */
    for (const hier_abandoned *item = atomic_load_explicit(&ledgers->abandoned, memory_order_acquire); item;
         item = item->next)
        if (item->gone.generation == generation)
            return &item->gone;
    for (unsigned i = 0; i < HIER_LEDGER_LEFT && i < ledgers->lefts; i++)
        if (ledgers->left[i].generation == generation && ledgers->left[i].context == heard->context)
            return &ledgers->left[i];
    return NULL;
}

/*
 * A question may lie unread until its call is over here and the communicator left. Whether it was the same call nobody knows any more,
 * but what has not come for it will not. True: it was not made, and the communicator is broken.
 */
static bool answer_gone(hier_world *world, const hier_heard *heard, const hier_left *gone) {
    const hier_told_call *theirs = &heard->note.calls[0];
    const hier_entry *last = &gone->last[theirs->persistent];
    const bool made = last->call && last->sequence >= theirs->sequence;
    hier_note reply = {
        .generation = heard->note.generation, .kind = made ? HIER_NOTE_OVER : HIER_NOTE_LEFT, .count = 2};
    reply.calls[0] = *theirs;
    if (made) {
        hier_tell_call(last, &reply.calls[1]);
        hier_ledger_send(world, heard->process, heard->context, &reply);
    } else {
        reply.calls[1].rank = gone->rank;
        hier_ledger_tell_all(world, heard->context, &reply);
    }
    return !made;
}

/* About a communicator that is not here: is it known that it never will be? */
static bool settle_gone(hier_world *world, const hier_heard *heard) {
    const hier_left *gone = find_gone(world->ledgers, heard);
    if (!gone)
        return false;
    const bool broken =
        heard->note.kind == HIER_NOTE_QUESTION ? answer_gone(world, heard, gone) : heard->note.kind != HIER_NOTE_OVER;
    /* What others send on it is received into nothing: a long message's sender waits for that. */
    if (broken && hier_contexts_take_back(&world->contexts, heard->context))
        inter_engine_break(&world->engine, heard->context);
    return true;
}

bool hier_ledger_settle(hier_world *world, hier_heard *heard) {
    hier_ledger *ledger = world->ledgers->at[heard->context];
    if (heard->note.kind == HIER_NOTE_DEAD) {
        hier_carrier_lose(world, heard->note.dead);
        return true;
    }
    if (!ledger || ledger->generation != heard->note.generation)
        return settle_gone(world, heard);
    if (hier_ledger_is_broken(ledger) && (!ledger->goes_on || hier_is_of_blocks(&heard->note)))
        return true;
    switch ((enum hier_note_kind)heard->note.kind) {
    case HIER_NOTE_QUESTION:
        return settle_question(world, ledger, heard);
    case HIER_NOTE_OVER:
        return settle_over(world, ledger, heard);
    default:
        hier_ledger_break(world, ledger, &heard->note, false);
        return true;
    }
}
