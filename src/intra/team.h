// SPDX-License-Identifier: BSD-3-Clause
/**
 * The threads of one process that act together, and the memory in which they meet.
 *
 * Every collective of a team takes the next sequence number, and a slot of a ring: sequence modulo ring size. In a slot
 * each thread has a cell with a flag and room for a small payload or for the addresses of its buffers:
 *
 *     slot s:   [release] [cell of thread 0] [cell of thread 1] …      each a multiple of 128 bytes (adjacent-line
 * prefetch)
 *     cell:     | flag (value, sleepers): 16 bytes | payload: up to INTRA_ROOM bytes, or an offer |
 * The payload's first 48 bytes share the flag's cache line.
 *
 * A flag holds sequence × INTRA_PHASES + phase and only grows, so nothing is ever reset. A thread writes its own cells
 * only, but for claims (intra_claims), which others may make before it has come; the release cell is written by whoever finishes the
 * collective's part between processes. A slot is used again
 * when every thread has completed the collective that used it before, and all before that: `completed` tells (see
 * intra_is_free in meeting.h). So a thread may be in as many collectives at once as there are slots.
 *
 * Beside its cells a slot has a tray, for what is more than a cell holds: whoever brings a node's blocks together, or takes them
 * from the network, puts them there, and nobody has to wait until others have copied them.
 */
#ifndef INTRA_TEAM_H
#define INTRA_TEAM_H

#include <core/wait.h>
#include <stdalign.h>
#include <stddef.h>

/** The most bytes that travel inside a cell. */
#define INTRA_INLINE_BYTES 1024
/** What a cell has room for: as many in blocks, and where each of some ends. */
#define INTRA_ROOM         1072
/** So many of them share the flag's cache line. */
#define INTRA_FLAG_ROOM    48
/** The least room on a tray, and for each thread: what it sends to others, and gets from them, as much as its cell holds. */
#define INTRA_TRAY_BYTES   4096
#define INTRA_TRAY_SHARE   (2ul * INTRA_INLINE_BYTES)
/** How many steps of one collective a flag can tell apart; phase 0 is unused. */
#define INTRA_PHASES       8
#define INTRA_LINE         128

/**
 * What a thread shows the others: addresses in its own or the user's memory. Fields mean what the collective says; in a cell the first six share
 * the flag's line, so those that the collectives with counts need lie there too, for others that they do not need.
 */
typedef struct intra_offer {
    size_t bundled; /* not 0: it is none, see hier/bundle.h; unset where nothing is ever bundled */
    const void *send;
    union {
        void *recv;
        const size_t *send_counts;
    };
    union {
        void *shared; /* memory of this thread's that all of the node work in */
        const ptrdiff_t *send_displs;
    };
    union {
        const void *
            laid_out; /* says how `send` and `recv` lie, where they are not one run: hier's (hier/sides.h); else NULL */
        const struct weft_datatype *send_type; /* of the counts' elements, all of them … */
    };
    union {
        size_t send_size;                              /* bytes of a block */
        const struct weft_datatype *const *send_types; /* … or one each, else NULL */
    };
    const size_t *recv_counts;
    const struct weft_datatype *recv_type, *const *recv_types;
    const void *blocks; /* how the blocks of all ranks lie: hier's (hier/blocks.h) */
} intra_offer;

/** What a thread takes a meeting for, in full: of use when another takes it for something else. What it points to are constants. */
typedef struct intra_calling {
    const char *call, *op, *element; /* names; the last two NULL: it has none, or one without a name */
    size_t bytes;
    uint64_t signature;
    int collective, root;
} intra_calling;

typedef struct intra_cell {
    alignas(INTRA_LINE) core_flag flag;
    union {
        alignas(16) unsigned char bytes[INTRA_ROOM];
        intra_offer offer;
    } payload;
    _Atomic uint64_t step; /* on a line of its own: how far its thread is (intra_step), or a claim (intra_claims) */
    intra_calling calling; /* whose flag's note differs from the own: read by whoever awaited that */
} intra_cell;

_Static_assert(offsetof(intra_offer, recv_counts) == INTRA_FLAG_ROOM, "what is looked at first shares the flag's line");
_Static_assert(sizeof(core_flag) == 16, "the payload begins right behind the flag");
_Static_assert(offsetof(intra_cell, payload) + INTRA_FLAG_ROOM == 64, "so long a payload shares the flag's line");
_Static_assert(sizeof(intra_cell) == 9ul * INTRA_LINE, "the step and the call are in what would be padding");
_Static_assert(sizeof(intra_cell) % INTRA_LINE == 0, "cells do not share lines");

/**
 * Of a slot: two of the `counter` algorithms, to which all write; what thread 0 tells a large team when all have met; and that a thread
 * could not do what others have from it.
 */
enum { INTRA_COUNTERS = 4, INTRA_MET = 2, INTRA_UNDONE = 3 };

/** A flag on lines of its own. */
typedef struct intra_line {
    alignas(INTRA_LINE) core_flag flag;
    uint64_t last; /* where the thread has retired: the last collective that it took */
} intra_line;

/** Where a scratch's memory is taken from, as long as there is some, before malloc is asked. */
typedef struct intra_source {
    void *(*take)(void *owner, size_t bytes);              /* on the boundary of a page, or NULL */
    bool (*give)(void *owner, void *memory, size_t bytes); /* false: it is not from there */
    void *owner;
} intra_source;

/** Memory for one collective after the other, grown on demand: pieces of it that one may need beside each other. */
#define INTRA_SCRATCHES 5

typedef struct intra_scratch {
    void *memory;
    size_t bytes;
    const intra_source *source; /* or NULL */
} intra_scratch;

/**
 * Whom a thread is patient with: those that post when it does, and those that alone post; behind each the same where cells are filled beyond
 * a line.
 */
enum { INTRA_TOGETHER, INTRA_ALONE = 2, INTRA_FILLED = 1, INTRA_PATIENCES = 4 };

/** What a thread knows; written and read by that thread only. Kept by the team so that a thread may leave and come
 * back. */
typedef struct intra_member {
    alignas(INTRA_LINE) struct intra_team *team;
    int thread;
    _Atomic uint64_t sequence; /* of the last collective taken: others read it, relaxed, to tell the user */
    bool retired;              /* it takes no collective any more, but may have some under way: hier's (hier_retire) */
    bool came_through;         /* the last one did, though the communicator is broken since: hier's (collectives.c) */
    uint64_t chain;            /* a hash of all taken so far, hier's (hier/ledger.h) */
    uint64_t calls;            /* that were unlike those before, hier's (hier/checked.h) */
    intra_cell *slot;          /* of the next one */
    core_patience patience[INTRA_PATIENCES];
    size_t fills;           /* so many bytes of a cell's payload, in this round of the slots or the last … */
    size_t filled;          /* … and in this one */
    uint64_t known;         /* every thread has completed the collectives up to this one */
    uint64_t waited_ticks;  /* in the slow part of waits; whoever counts it sets it to 0 */
    uint64_t completed;     /* this one has completed all up to this one … */
    uint64_t ahead;         /* … and so many of those after it … */
    _Atomic uint64_t rings; /* how many collectives have got rings of their own: as the sequence */
    unsigned steps;         /* of agreements on contexts, hier's (contexts.c) */
    bool *over;             /* … these, by slot */
    intra_scratch scratch[INTRA_SCRATCHES]; /* of blocking collectives */
} intra_member;

typedef struct intra_team {
    alignas(INTRA_LINE) int threads; /* on lines of its own: hardly ever written, all read it in each collective */
    uint64_t slots;                  /* a power of two */
    core_waiting waiting;
    intra_cell *cells;     /* slots × (1 + threads): the release cell first */
    intra_cell **order;    /* the slots, by sequence: in no order that a processor guesses */
    char *trays;           /* by slot, each of … */
    size_t tray_bytes;     /* … so many */
    intra_line *completed; /* by thread: the last collective that it completed; it writes, all read */
    intra_member *members; /* by thread */
    intra_line *counters;  /* by slot: INTRA_COUNTERS each */
    bool repeats;          /* one collective again and again, of a handle: others come in between, on other teams */
    _Atomic bool overlaps; /* some thread has begun a collective before it had completed the one before */
} intra_team;

/** The slot of a collective. */
static inline intra_cell *intra_slot_of(const intra_team *team, uint64_t sequence) {
    return team->order[sequence & (team->slots - 1)];
}

/** Slots: a power of two. Errors: WEFT_ERR_NOMEM. The caller frees with intra_team_free(). */
int intra_team_create(int threads, int slots, core_waiting waiting, intra_team **team);
void intra_team_free(intra_team *team);

/** At least `bytes` bytes that are the caller's until the next call; 64-byte aligned. NULL: none to be had. */
void *intra_scratch_take(intra_scratch *scratch, size_t bytes);
/** Frees so many, which may be taken again. */
void intra_scratch_free(intra_scratch *scratches, int count);

#endif
