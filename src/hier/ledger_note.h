// SPDX-License-Identifier: BSD-3-Clause
/**
 * What processes tell each other about their calls (ledger.h): an active message of the main channel whose header has
 * HIER_FLAG_CALLS and the context, with a note. ledger_settle.c judges, ledger_letters.c sends, keeps and asks.
 */
#ifndef HIER_LEDGER_NOTE_H
#define HIER_LEDGER_NOTE_H

#include <hier/ledger.h>

enum hier_note_kind {
    HIER_NOTE_QUESTION, /* the newest call, and those before it: are yours the same? */
    HIER_NOTE_OVER,     /* an answer: the first call is over here, and not known any more; the second is the last one */
    HIER_NOTE_DIFFERENT, /* verdicts: two calls that are one to different ranks … */
    HIER_NOTE_EARLIER,   /* … or are the same, but others before them were not … */
    HIER_NOTE_LEFT,      /* … or the second call is none: its rank has left … */
    HIER_NOTE_FAILED,    /* … or they are the same, but the second rank could not begin it … */
    HIER_NOTE_STOPPED,   /* … or both are one rank's, which began it, and could not carry it out … */
    HIER_NOTE_COUNT, /* … or they are the same, but the first rank has a block for the second of other bytes than that expects … */
    HIER_NOTE_BLOCK,   /* … or it has sent it: all go on to the end of that call, as with the next two … */
    HIER_NOTE_SHORTER, /* … or the process of the first has sent the second's fewer bytes than that expects … */
    HIER_NOTE_LONGER,  /* … or more */
    HIER_NOTE_DEAD,    /* of no communicator: a process is out of reach */
    HIER_NOTE_KINDS
};

/** A call, on the wire. */
typedef struct hier_told_call {
    uint64_t sequence, chain, signature, bytes;
    int32_t rank, root;
    uint32_t persistent, unused;
    char call[32], op[16], element[24]; /* empty: none */
} hier_told_call;

/** The most calls that a question shows. */
#define HIER_NOTE_CALLS 8

/** On the wire, with the first `count` calls. */
typedef struct hier_note {
    uint32_t generation, kind, count;
    int32_t dead; /* HIER_NOTE_DEAD: which process */
    hier_told_call calls[HIER_NOTE_CALLS];
} hier_note;

/** One that has come. */
typedef struct hier_heard {
    struct hier_heard *next;
    uint32_t context;
    int process;
    int64_t since_ms; /* HIER_NOTE_OVER: since when nothing has happened in the call; 0: not looked at yet */
    unsigned moves;
    hier_note note;
} hier_heard;

/** A communicator that was not made here (hier_ledger_abandon). */
typedef struct hier_abandoned {
    struct hier_abandoned *next;
    hier_left gone; /* without a context */
} hier_abandoned;

/** Is it about the blocks of a call that all have made, or will? */
static inline bool hier_is_of_blocks(const hier_note *verdict) {
    return verdict->kind == HIER_NOTE_BLOCK || verdict->kind == HIER_NOTE_SHORTER || verdict->kind == HIER_NOTE_LONGER;
}

/** Copies a call of this process. */
void hier_tell_call(const hier_entry *entry, hier_told_call *told);

/** The entry of a call; NULL when it is not made yet, or not known any more (*over). */
const hier_entry *hier_ledger_find(const hier_ledger *ledger, uint64_t sequence, bool persistent, bool *over);

/** The newest; without a call when there is none. */
const hier_entry *hier_ledger_last(const hier_ledger *ledger, bool persistent);

/** Nothing is left to do about a note; false: it is about a call that was not made here yet. May break a communicator. */
bool hier_ledger_settle(hier_world *world, hier_heard *heard);

/**
 * Breaks a communicator, with a verdict that came (`tell` false) or of this process, which tells all others; or one that is broken, but goes on
 * to the end of a call, at once.
 */
void hier_ledger_break(hier_world *world, hier_ledger *ledger, const hier_note *verdict, bool tell);

/** Sends a note to a process, or to all others, as far as there is memory. */
void hier_ledger_send(hier_world *world, int process, uint32_t context, const hier_note *note);
void hier_ledger_tell_all(hier_world *world, uint32_t context, const hier_note *note);

int64_t hier_ledger_now_ms(void);

/** Drops the questions about communicators that had this context before. */
void hier_ledger_drop_old(hier_world *world, const hier_ledger *now);

#endif
