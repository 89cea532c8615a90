// SPDX-License-Identifier: BSD-3-Clause
/**
 * The engine: runs schedules over a transport.
 *
 * An *execution* is a schedule with its buffers bound. Several may be under way on one engine; inter_engine_progress()
 * moves them all. Every call on an engine and its executions comes from one thread at a time (hier's funnel).
 */
#ifndef INTER_ENGINE_H
#define INTER_ENGINE_H

#include <core/op.h>
#include <inter/algorithm.h>
#include <inter/transport.h>

typedef struct inter_execution inter_execution;

typedef struct inter_engine {
    inter_transport *transport;
    inter_transport *lines;  /* for collectives of tiny messages (lines.h), or NULL; on top of `transport` */
    inter_execution *active; /* under way, in no order */
} inter_engine;

/* A tag: context, sequence (modulo), source: exact, no wildcards. No stage: the two ends of a message may be in stages of
 * different numbers. Messages of equal tag come in order, and between two ranks a schedule's sends and receives are in the
 * same order at both ends. */
#define INTER_CONTEXT_BITS  12
#define INTER_SEQUENCE_BITS 32
#define INTER_SOURCE_BITS   20
#define INTER_CONTEXTS      (1u << INTER_CONTEXT_BITS)
#define INTER_MAX_PROCESSES (1u << INTER_SOURCE_BITS)

/** Told that an execution is done, with its error or WEFT_SUCCESS. */
typedef void inter_finished(void *argument, int error);

struct inter_execution {
    inter_schedule schedule; /* built by inter_execution_prepare; its memory is reused, as is that below */
    unsigned char *buffers[INTER_BUFFERS];
    size_t element_bytes;
    const weft_datatype *type; /* of reductions, else NULL */
    const weft_op *op;
    inter_transport *transport; /* the engine's own or its lines */
    uint64_t tag;               /* context and sequence, in their places */
    size_t next;                /* the first step that is not issued */
    bool done;
    bool cancelled;              /* after an error what was under way has been taken back */
    inter_finished *finished;    /* called once when done, by whoever progresses the engine; may be NULL */
    void *argument;              /* handed to it */
    inter_completion completion; /* of the steps issued */
    inter_request *requests;     /* one a step */
    size_t requests_capacity, temp_capacity_bytes;
    inter_execution *next_active;
};

/** One collective among those under way: equal in all its processes, and no two under way at once are equal. */
typedef struct inter_id {
    uint32_t context;  /* < INTER_CONTEXTS: the communicator's */
    uint64_t sequence; /* of the collective on it */
} inter_id;

/** What a collective moves. Buffers that the rank does not have are NULL. `type` and `op` only for reductions. */
typedef struct inter_binding {
    const void *send;
    void *recv;
    size_t element_bytes;
    const weft_datatype *type;
    const weft_op *op;
    bool by_lines; /* no message has more than INTER_LINE_BYTES bytes: use the engine's lines, if it has any */
} inter_binding;

/**
 * Builds the schedule of `algorithm` for `view` and starts it; what `view` points to is not needed afterwards. A zeroed
 * execution is ready for it, and so is one that is done; `finished` and `argument` are the caller's to set before.
 * WEFT_ERR_NOMEM: nothing was sent, and `finished` is not called. Errors that come later are in completion.error.
 */
int inter_execution_start(inter_execution *execution, inter_engine *engine, inter_id id,
                          const inter_algorithm *algorithm, const inter_view *view, const inter_binding *binding);

/** Moves every execution on; true when something happened. Afterwards look at `done`, and at completion.error when it
 * is. */
bool inter_engine_progress(inter_engine *engine);

/** Frees its memory; it must be done or never started. */
void inter_execution_free(inter_execution *execution);

#endif
