// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <core/layout.h>
#include <core/stream.h>
#include <hier/comm.h>
#include <hier/trace.h>
#include <stdlib.h>
#include <sys/mman.h>

/* So far ahead the places of events are fetched: of eight. */
#define AHEAD ((ptrdiff_t)(8 * sizeof(hier_event)))

/* All its pages at once: a page fault now and then would cost the operations more than the clock does. */
static hier_trace_chunk *add_chunk(hier_observer *observer) {
    void *memory =
        mmap(NULL, sizeof(hier_trace_chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    hier_trace_chunk *chunk = memory; /* zeroed */
    if (observer->last)
        observer->last->next = chunk;
    else
        observer->first = chunk;
    return observer->last = chunk;
}

void hier_trace_free(hier_observer *observer) {
    while (observer->first) {
        hier_trace_chunk *next = observer->first->next;
        munmap(observer->first, sizeof(*next));
        observer->first = next;
    }
}

hier_event *hier_trace_place(hier_observer *observer) {
    hier_trace_chunk *chunk = observer->last;
    bool room = observer->events < HIER_TRACE_MOST;
    if (room && (!chunk || chunk->count == HIER_TRACE_CHUNK))
        chunk = add_chunk(observer);
    if (!room || !chunk) {
        observer->dropped++;
        return NULL;
    }
    hier_event *place = &chunk->events[chunk->count++];
    /* What is stored next would wait, in order, for lines that are not there. */
    __builtin_prefetch(core_offset(place, AHEAD), 1); /* perhaps behind the chunk, where it does nothing */
    __builtin_prefetch(core_offset(place, AHEAD + (ptrdiff_t)CORE_LINE_BYTES), 1);
    observer->events++;
    return place;
}

/* The first exchange brings the processes close together; when each has left the second one it says in the third. */
int hier_trace_align(hier_world *world) {
    weft_comm *comm = world->process_comm;
    uint64_t *clocks = malloc((size_t)comm->size * sizeof(*clocks));
    if (!clocks)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for the clocks of %d processes", comm->rank, comm->size);
    int code = WEFT_SUCCESS, first = 0;
    for (unsigned step = 0; step < 3 && !code; step++) {
        const uint64_t now = core_now_ns();
        code = hier_exchange(comm, (hier_caller){"weft_init", NULL, step}, &now, sizeof(now), clocks);
    }
    /* The same for all processes of a host: they have one clock. */
    while (hier_world_host(world, first) != hier_world_host(world, comm->rank))
        first++;
    if (!code)
        world->observation.ahead_ns = (int64_t)(clocks[0] - clocks[first]);
    free(clocks);
    return code;
}
