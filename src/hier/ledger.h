// SPDX-License-Identifier: BSD-3-Clause
/**
 * The ledger of a communicator: what this process has called on it, so that processes in different calls find out.
 *
 * Every call has a *signature*, a hash of all that its ranks must agree on, and the *chain* is a hash of the signatures of all calls
 * up to it. The chain's upper bits are in the tags of its messages (inter/engine.h), so from the first difference on no message of one
 * process is matched by another. That costs nothing, and what is left is somebody who waits, now or in the next collective in which
 * anybody needs another. A wait that takes long asks those it waits for:
 *
 *     A waits, 10 ms ──▶ question: my call, its chain, those before ──▶ B compares with its ledger, now or when it comes there
 *     B: they differ ──▶ verdict: two ranks and their calls ──▶ all processes: every operation on the communicator ends
 *
 * A process listens to that while something of its own takes long, which it does when it is in such a call. A communicator with
 * a verdict is broken for good, and its context is not used for another.
 *
 * Every communicator of several processes has one. Groups without a process in common may have one context, and a context is used
 * again: so all that is said names the *generation*, a hash of how the communicator came to be, and is meant for its members alone.
 *
 * A communicator of one process has a ledger too, without any calls: its threads compare notes in their meetings, and the first two
 * that differ break it for all.
 *
 * Under the funnel, all but hier_ledger_is_broken, hier_ledger_error and hier_ledger_trip.
 */
#ifndef HIER_LEDGER_H
#define HIER_LEDGER_H

#include <hier/check.h>

/** Calls of each kind that a process remembers, at least. A power of two. */
#define HIER_LEDGER_ENTRIES 64u

enum { HIER_NO_ROOT = -1 };

/** A call. What it points to are constants. */
typedef struct hier_entry {
    uint64_t sequence, chain, signature;
    size_t bytes;
    const char *call, *op, *element; /* call NULL: none; the others NULL: it has none, or one without a name */
    int rank, root;
    bool persistent;
    bool failed; /* this process could not begin it */
} hier_entry;

/** What is the matter with two calls that should be one (or the second was not made). */
enum hier_clashing {
    HIER_CALLS_DIFFER,
    HIER_COUNTS_DIFFER, /* of a block from the first rank to the second, whose bytes the calls have; none has been sent … */
    HIER_BLOCKS_DIFFER /* … or all have, or are about to: the call goes on to its end */
};

typedef struct hier_clash {
    hier_entry calls[2];
    enum hier_clashing kind;
} hier_clash;

/** Room for "rank 0 called …, but rank 1 called …". */
#define HIER_VERDICT_BYTES 360

/** How a thread tells whoever holds the funnel that it is in another call than a thread of its process. */
enum { HIER_TRIP_NONE, HIER_TRIP_WRITING, HIER_TRIP_DONE };

typedef struct hier_ledger {
    uint32_t context;
    uint32_t generation; /* tells communicators of one context apart; equal in all processes */
    int rank;            /* one of this process */
    bool between;        /* processes; else threads of one, and it is never opened */
    bool opened;
    uint64_t chains[2];    /* of a process communicator: up to the last call, up to the last persistent one */
    uint32_t remembers[2]; /* so many calls in order, and so many persistent ones; powers of two */
    bool closed;           /* this process makes no more calls on it … */
    bool returned;         /* … and its context may be used for another */
    _Atomic bool
        broken;   /* set once, between processes under the funnel, when `verdict` is there; looked at by anybody */
    bool goes_on; /* with this call, since others may need its messages; then the context is broken, too … */
    bool last_is_persistent;
    uint64_t last;                    /* … of this number */
    char verdict[HIER_VERDICT_BYTES]; /* "rank 0 called …, but rank 1 called …" */
    _Atomic int tripped;              /* HIER_TRIP_…; by the first thread that does, which also writes the next */
    hier_clash trip;
    hier_entry entries[]; /* the last calls in order, by sequence, and behind them the last persistent ones */
} hier_ledger;

/** A communicator that this process has left, and whose context it has used again, or that was never made here. */
typedef struct hier_left {
    uint32_t context, generation;
    int rank;
    hier_entry last[2]; /* the last call in order that it made there, and the last persistent one */
} hier_left;

/** So many of them are remembered. */
#define HIER_LEDGER_LEFT 1024u

/** What is on its way, and what waits for an answer. */
typedef struct hier_ledgers {
    hier_ledger *at[INTER_CONTEXTS];  /* closed ones too, until the context is used again; NULL: none yet */
    hier_left left[HIER_LEDGER_LEFT]; /* the last ones */
    unsigned lefts;
    struct hier_heard *heard, **heard_end;    /* came just now, oldest first */
    struct hier_heard *open;                  /* about calls that were not made here yet */
    struct hier_notice *notices;              /* on their way out */
    struct hier_abandoned *_Atomic abandoned; /* communicators that were not made here; anybody adds */
    bool recheck;                             /* one of `open` may have its answer */
    _Atomic int trips;                        /* ledgers that were tripped, and not told of */
    uint64_t sent_messages, sent_bytes;       /* notes, which are no part of what a collective sends */
    int going_on;                             /* ledgers of broken communicators on which a call goes on */
    unsigned looks;                           /* of whoever drives */
    unsigned failures;                        /* the carrier's when it was looked at last */
    bool *told_dead;                          /* by process: the others were told; NULL: none yet */
    int64_t watched_ms;                       /* when what takes long was last seen to */
} hier_ledgers;

static inline uint64_t hier_chain(uint64_t before, uint64_t signature) {
    uint64_t chain = (before ^ signature) * 0x9e3779b97f4a7c15u;
    return chain ^ chain >> 29;
}

/** A text's letters, one after the other. */
static inline uint64_t hier_chain_text(uint64_t before, const char *text) {
    while (*text)
        before = hier_chain(before, (uint64_t)*text++);
    return before;
}

/**
 * Between processes, or (false) of one process's threads. `slots`: so many calls may be under way that do not begin in their
 * order; a power of two, or 0: all do. NULL without memory. The caller's, with free(), until it is opened.
 */
hier_ledger *hier_ledger_make(uint32_t context, uint32_t generation, int rank, bool between, uint32_t slots);

/** Where the chain of its calls begins: communicators that have one context after each other do not take each other's messages for theirs. */
static inline uint64_t hier_ledger_chain(const hier_ledger *ledger) {
    return hier_chain(0, ledger->generation);
}

/** The generation of what all ranks of `parent` make of it next, at this point of their calls; `color` tells its groups apart. */
uint32_t hier_ledger_generation(const weft_comm *parent, int color);

/**
 * Makes it that of its context, until the world's end or another one has that. What was asked before is answered. Once, before or
 * with the first call on it.
 */
void hier_ledger_open(hier_world *world, hier_ledger *ledger);

/**
 * This process makes no more calls on it: whoever waits for one waits in vain. True: the caller gives the context back; false when
 * it is broken.
 */
bool hier_ledger_close(hier_world *world, hier_ledger *ledger);

/**
 * Other processes may have made a communicator of that generation, but this one, with that rank, has not: whoever waits for it is told
 * so. By any thread.
 */
void hier_ledger_abandon(hier_world *world, uint32_t generation, int rank);

/** The rank of a place of a communicator (layout.h), which is what sentences name. */
static inline int hier_rank_at(const weft_comm *comm, int place) {
    return hier_layout_rank(comm->layout, place);
}

/** The rank that the user knows of a handle, or of the one that it is the `inner` handle of. */
static inline int hier_rank_of(const weft_comm *comm) {
    return hier_rank_at(comm, (int)comm->layout->offsets[comm->node] + comm->thread);
}

static inline intra_calling hier_calling_of(const hier_arguments *arguments) {
    intra_calling calling;
    calling.call = arguments->call;
    calling.op = arguments->op ? arguments->op->name : NULL;
    calling.element = arguments->element;
    calling.bytes = arguments->bytes;
    calling.signature = arguments->signature;
    calling.collective = (int)arguments->collective;
    calling.root = arguments->root;
    return calling;
}

/** An entry of a rank's call, without its number and chain. */
static inline hier_entry hier_entry_of(const weft_comm *comm, int rank, const intra_calling *calling) {
    const bool rooted = inter_is((enum inter_collective)calling->collective, INTER_ROOTED);
    hier_entry entry;
    entry.sequence = entry.chain = 0;
    entry.signature = calling->signature;
    entry.bytes = calling->bytes;
    entry.call = calling->call;
    entry.op = calling->op;
    entry.element = calling->element;
    entry.rank = rank;
    entry.root = !rooted ? HIER_NO_ROOT : comm->inner ? calling->root : hier_rank_at(comm, calling->root);
    entry.persistent = false;
    entry.failed = false;
    return entry;
}

/** Which of the entries is a call's. */
static inline uint64_t hier_ledger_place(const hier_ledger *ledger, uint64_t sequence, bool persistent) {
    return (persistent ? ledger->remembers[false] : 0) + (sequence & (ledger->remembers[persistent] - 1));
}

/** Notes a call, before anything else is moved on; its chain is the id's signature. The ledger is opened. */
static inline void hier_ledger_note(weft_comm *comm, const hier_arguments *arguments, inter_id id) {
    hier_ledger *ledger = comm->ledger;
    hier_entry *entry = &ledger->entries[hier_ledger_place(ledger, id.sequence, id.persistent)];
    comm->world->ledgers->recheck |= comm->world->ledgers->open != NULL;
    if (entry->call && entry->sequence > id.sequence)
        return; /* a persistent one, started again: newer ones are remembered */
    intra_calling calling = hier_calling_of(arguments);
    *entry = hier_entry_of(comm, hier_rank_of(comm), &calling);
    entry->sequence = id.sequence;
    entry->chain = id.signature;
    entry->persistent = id.persistent;
}

/** This process could not begin the call that was noted last for an id, and sends nothing: who waits for that is told so. */
void hier_ledger_fail(weft_comm *comm, inter_id id) __attribute__((cold));

/**
 * The network part of a call, which is noted, is over, with an error: what this process had yet to send is not sent, or what came was of another
 * length. Unless the others know of that, as of a process out of reach, they are told, and the communicator is broken.
 */
void hier_ledger_stop(hier_world *world, const hier_layout *layout, const inter_execution *execution)
    __attribute__((cold));

/** If this was the call with which a broken communicator went on, its context is broken now. */
void hier_ledger_end(hier_world *world, inter_id id) __attribute__((cold));

/** The network part of a call is over here, with that error or WEFT_SUCCESS. */
static inline void hier_ledger_over(hier_world *world, const hier_layout *layout, const inter_execution *execution,
                                    int error) {
    if (__builtin_expect(error, WEFT_SUCCESS))
        hier_ledger_stop(world, layout, execution);
    if (__builtin_expect(world->ledgers->going_on, 0))
        hier_ledger_end(world, execution->id);
}

/** Before anything is sent for a call. */
static inline void hier_ledger_need(weft_comm *comm) {
    if (!comm->ledger->opened) /* the thread that made it is still about to */
        hier_ledger_open(comm->world, comm->ledger);
}

static inline bool hier_ledger_is_broken(const hier_ledger *ledger) {
    /* Acquire: pairs with the release in hier_ledger_break; the verdict is there. */
    return atomic_load_explicit(&ledger->broken, memory_order_acquire);
}

/** Has a thread tripped it? Then it is broken, or will be when whoever drives looks. */
static inline bool hier_ledger_is_tripped(const hier_ledger *ledger) {
    /* Relaxed: nothing is read because of it. */
    return atomic_load_explicit(&ledger->tripped, memory_order_relaxed) != HIER_TRIP_NONE;
}

/** Writes the sentence of a broken communicator, or of one that is tripped: WEFT_ERR_MISMATCH. */
int hier_ledger_error(const weft_comm *comm, const char *call) __attribute__((cold));

/** The same of a call that ended with that error, which it returns, between processes. */
int hier_ledger_failed(const weft_comm *comm, const char *call, int error) __attribute__((cold));

/**
 * A thread has found a clash. That breaks the communicator; one of several processes when whoever drives next tells them.
 */
void hier_ledger_trip(hier_world *world, hier_ledger *ledger, const hier_clash *clash) __attribute__((cold));

/*
 * For whoever drives.
 */

/** The look of a waiting thread at what others say; then, now and then, hier_ledger_watch. */
static inline void hier_ledger_look(hier_world *world);

/** Breaks the communicators that threads have tripped. */
void hier_ledger_tell_trips(hier_world *world);

/** Sees to what takes long, if it is time. */
void hier_ledger_watch(hier_world *world);

/** Tells other processes of those that are out of reach, when the carrier has new failures. */
void hier_ledger_tell_deaths(hier_world *world);

/** Reads what was heard. */
void hier_ledger_attend(hier_world *world);

/** A message about calls has come: it is kept for hier_ledger_attend(). */
void hier_ledger_hear(hier_world *world, const inter_arrival *arrival);

/** What is on its way; WEFT_ERR_NOMEM. Freed when the transport is closed. */
int hier_ledgers_create(hier_world *world);
void hier_ledgers_free(hier_world *world);

/** So often is the clock looked at. */
#define HIER_LEDGER_LOOKS 64

static inline void hier_ledger_look(hier_world *world) {
    hier_ledgers *ledgers = world->ledgers;
    if (ledgers->heard || ledgers->recheck)
        hier_ledger_attend(world);
    if (++ledgers->looks % HIER_LEDGER_LOOKS == 0)
        hier_ledger_watch(world);
}

#endif
