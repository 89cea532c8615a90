// SPDX-License-Identifier: BSD-3-Clause
/**
 * The engine: runs schedules over a transport.
 *
 * An *execution* is a schedule with its buffers bound. Any number may be under way on one engine;
 * inter_engine_progress() moves those on whose messages came, and costs nothing for the others. Every call on an engine
 * and its executions comes from one thread at a time (hier's funnel).
 *
 * Blocking, nonblocking and persistent collectives are the same execution: run to its end at once, run while its owner
 * does something else, or prepared once and run again and again.
 */
#ifndef INTER_ENGINE_H
#define INTER_ENGINE_H

#include <assert.h> /* static_assert, for C++ too */
#include <core/op.h>
#include <inter/algorithm.h>
#include <inter/layouts.h>
#include <inter/transport.h>

typedef struct inter_execution inter_execution;

struct core_counters;

/* A tag: context, whether it is a persistent collective's, sequence (modulo), strand (modulo), signature, source: exact, no
 * wildcards. The signature has what the source of a job of this size leaves it. A process that is in another call than this one, or
 * was in one before, has another signature, and its messages are matched with nothing (hier/ledger.h finds out).
 * No stage: the two ends of a message may be in stages of different numbers. Messages of equal tag come in order, and
 * between two ranks a strand's sends and receives are in the same order at both ends. */
#define INTER_CONTEXT_BITS  12
#define INTER_SEQUENCE_BITS 24
#define INTER_STRAND_BITS   3
#define INTER_REST_BITS     24 /* of signature and source */
#define INTER_CONTEXTS      (1u << INTER_CONTEXT_BITS)
#define INTER_MAX_PROCESSES (1u << 20) /* the signature keeps four bits */
static_assert(INTER_CONTEXT_BITS + 1 + INTER_SEQUENCE_BITS + INTER_STRAND_BITS + INTER_REST_BITS == 64, "a tag");
static_assert(INTER_MAX_PROCESSES < 1u << INTER_REST_BITS, "every source has a number");
/* A rank begins strand s + INTER_STRANDS when its strand s is done, so messages of equal tag are in the order of strands. */
static_assert(INTER_STRANDS <= 1 << INTER_STRAND_BITS, "strands under way at once have tags of their own");

/** Temporary memory that executions lend each other; the first of its lines says so. */
typedef struct inter_spare {
    struct inter_spare *next;
    size_t bytes; /* behind that line */
} inter_spare;

typedef struct inter_engine {
    inter_transport *transport;
    inter_transport *lines;  /* for those who do not sleep (lines.h), or NULL; on top of `transport` */
    bool lines_pull;         /* else long messages pass them by */
    inter_execution *active; /* under way, in no order */
    inter_completion *ready; /* stages and strands whose messages are complete */
    unsigned gated;          /* of those under way: whose strands wait for others */
    bool listens;       /* messages other than those of executions come in: there is always something to progress */
    inter_spare *spare; /* that none uses, the one that was used last first */
    size_t allocations; /* how often an execution needed memory */
    struct core_counters *counters;       /* of what it sends, or NULL … */
    const bool *on_host;                  /* … with the processes of this host, by rank; NULL: none */
    bool breaks;                          /* a context is broken … */
    uint32_t swept;                       /* … and this one was looked after last, or is the next */
    uint64_t broken[INTER_CONTEXTS / 64]; /* a bit each */
} inter_engine;

/** The transport that brings all: where there are lines, they stand on top and move both on. */
static inline inter_transport *inter_engine_top(const inter_engine *engine) {
    return engine->lines ? engine->lines : engine->transport;
}

/** One collective among those under way: equal in all its processes, and no two under way at once are equal. */
typedef struct inter_id {
    uint32_t context;  /* < INTER_CONTEXTS: the communicator's; one that sends nothing may have any */
    uint64_t sequence; /* of the collective on it, persistent ones counted apart */
    bool persistent;
    uint64_t signature; /* of this call and all before it on the communicator; its upper bits are compared */
} inter_id;

/** Told that an execution is done, with its error or WEFT_SUCCESS. */
typedef void inter_finished(void *argument, int error);

/** How many strands, from the first one on, may begin. Asked by whoever progresses the engine, until all may. */
typedef size_t inter_gate(void *argument);

/** Told, by whoever progresses the engine, when more of the first strands have run to their end here, without an error. */
typedef void inter_arrived(void *argument, size_t strands);

/** Where a strand is run. */
typedef struct inter_lane {
    inter_execution *execution;
    unsigned bit;                  /* in busy_lanes */
    size_t begin, next, end;       /* the strand's first step, the first one that is not issued, and behind its last */
    inter_completion stage, whole; /* of the last stage issued; of the independent steps */
} inter_lane;

struct inter_execution {
    /* What the schedule is of; collective INTER_COLLECTIVES: of nothing that could be used again. */
    inter_view view;
    inter_algorithm algorithm;
    /* One allocation holds the steps, the requests behind them (one a step), and the temporary buffer, unless that is lent; it is kept. */
    inter_schedule schedule;
    inter_request *requests;
    size_t laid_out_capacity, memory_bytes; /* the steps that there was room for when it was laid out; its size */
    bool lends; /* set by the caller, before it is prepared: it has a temporary buffer only until it is done … */
    inter_spare *temp; /* … this */
    unsigned char *buffers[INTER_BUFFERS];
    size_t element_bytes;
    const inter_layout *layouts[INTER_BUFFERS]; /* the binding's */
    const weft_datatype *type;                  /* of reductions, else NULL */
    const weft_op *op;
    inter_engine *engine;
    inter_transport *transport; /* the engine's own or its lines */
    const int *processes;       /* the binding's */
    unsigned counted_as;        /* the binding's */
    inter_id id;
    uint64_t tag;        /* all of it but strand and source */
    size_t next;         /* the first step of the strands that have not begun */
    unsigned busy_lanes; /* a bit each */
    bool done;
    bool at_most;               /* the binding's */
    bool forgoes;               /* some of its sends … */
    bool forgoes_all;           /* … all that follow */
    bool cancelled;             /* after an error what was under way has been taken back */
    bool told;                  /* inter_engine_survey() has told of it … */
    unsigned moves, surveyed;   /* … how often it moved on; at the last survey */
    int error;                  /* the first one … */
    const inter_request *wrong; /* … of a message that had another length than these `bytes`; else NULL */
    inter_finished
        *finished;    /* called once when done, by whoever progresses the engine; may be NULL, as the next two */
    inter_gate *gate; /* NULL: all strands may begin */
    inter_arrived *arrived;
    void *argument;        /* handed to them */
    size_t admitted, here; /* what `gate` said last, and `arrived` was told */
    inter_execution *previous_active, *next_active;
    inter_lane lanes[INTER_STRANDS];
};

/** What a collective moves. Buffers that the rank does not have are NULL. `type` and `op` only for reductions. */
typedef struct inter_binding {
    const void *send;
    void *recv;
    const inter_layout *layouts[INTER_BUFFERS]; /* not NULL: the buffer's data lie so; see inter_execution_lay_out() */
    const weft_datatype *type;
    const weft_op *op;
    const int *
        processes; /* by rank of the view: its rank in the transport, or NULL where they are the same; stays until it is done */
    unsigned counted_as; /* the row of the counters: the user's collective (weft_counted); INTER_COLLECTIVES: in none */
    bool uneven;         /* a sender and its receiver may have been told different lengths */
    bool at_most;        /* a message may be shorter than its receiver has room for */
    bool by_lines;       /* in every process: nobody sleeps while it waits; use the engine's lines, if it has any */
} inter_binding;

/**
 * What carries an execution so bound. Two sides that expect different lengths miss each other where long messages go another way than
 * short ones.
 */
static inline inter_transport *inter_engine_carrier(const inter_engine *engine, const inter_binding *binding) {
    bool safe = engine->lines_pull || !binding->uneven;
    return engine->lines && binding->by_lines && safe ? engine->lines : engine->transport;
}

/**
 * Builds the schedule of `algorithm` for `view` and takes the memory that it needs, or keeps those of the last time when they
 * are the same; what both point to is not needed afterwards. A zeroed execution may be prepared, and one that is done. Local. WEFT_ERR_NOMEM: it is not prepared.
 */
int inter_execution_prepare(inter_execution *execution, inter_engine *engine, const inter_algorithm *algorithm,
                            const inter_view *view);

/** The same for one that is done and was prepared for that last, without looking. False: no memory, it is to be prepared. */
bool inter_execution_again(inter_execution *execution);

/**
 * Of a prepared execution, before it is run: takes out of the binding those layouts that it cannot go by, since a message is too short, or of
 * several blocks, or goes another way. Those buffers have to have the data in one run. The others stay where they are until it is done.
 */
void inter_execution_lay_out(const inter_execution *execution, inter_binding *binding);

/** As inter_execution_run(), of an execution whose `id` is set. */
void inter_execution_launch(inter_execution *execution, const inter_binding *binding);

/**
 * Starts a prepared execution that is not under way; what `binding` points to (not the buffers) is not needed afterwards.
 * `finished`, `gate`, `arrived` and `argument` are the caller's to set before. Takes no memory. Errors are in `error` when it is done.
 */
static inline void inter_execution_run(inter_execution *execution, inter_id id, const inter_binding *binding) {
    /* Field by field, as inter_clear() of a completion. */
    execution->id.context = id.context;
    execution->id.sequence = id.sequence;
    execution->id.persistent = id.persistent;
    execution->id.signature = id.signature;
    inter_execution_launch(execution, binding);
}

/** Prepares and runs. */
int inter_execution_start(inter_execution *execution, inter_engine *engine, inter_id id,
                          const inter_algorithm *algorithm, const inter_view *view, const inter_binding *binding);

/** Of the strands that have not begun: nothing is sent to that rank of the view. For a gate. */
void inter_execution_forgo(inter_execution *execution, int peer);

/** The same of all ranks. */
static inline void inter_execution_forgo_all(inter_execution *execution) {
    execution->forgoes_all = true;
}

/** Do strands of one that is not done wait for its gate? */
static inline bool inter_execution_is_gated(const inter_execution *execution) {
    return execution->gate && execution->next < execution->schedule.count &&
           execution->schedule.steps[execution->next].strand >= execution->admitted;
}

/** Moves every execution on; true when something happened. Afterwards look at `done`, and at `error` when it is. */
bool inter_engine_progress(inter_engine *engine);

/**
 * Ends every execution of a context with WEFT_ERR_MISMATCH, and those that are started from now on at once: processes have been found
 * in different calls. What comes for the context is thrown away, so that whoever sent it is done. It is not used for another
 * communicator.
 */
void inter_engine_break(inter_engine *engine, uint32_t context);

/** Throws away what has come for broken contexts, at once: each look of inter_engine_progress() does so for one, and who sleeps looks seldom. */
void inter_engine_sweep(inter_engine *engine);

static inline bool inter_engine_is_broken(const inter_engine *engine, uint32_t context) {
    return context < INTER_CONTEXTS && engine->broken[context / 64] >> context % 64 & 1;
}

/** Told that an execution waits for a message from or to a process. */
typedef void inter_awaited(void *argument, const inter_execution *execution, int peer);

/**
 * Finds the executions on which nothing has happened since the last survey, and tells, once, whom each waits for, the oldest one first. True
 * when there is one. Must not start or end any.
 */
bool inter_engine_survey(inter_engine *engine, inter_awaited *tell, void *argument);

/** Does an execution under way wait for a message from or to a process now? */
bool inter_execution_awaits(const inter_execution *execution, int peer);

/** The execution under way of that context, sequence and kind; or NULL. */
const inter_execution *inter_engine_find(const inter_engine *engine, inter_id id);

/** Frees its memory; it must be done or never started. */
void inter_execution_free(inter_execution *execution);

/** Frees what executions that are done have lent; no other is used any more. */
void inter_engine_close(inter_engine *engine);

#endif
