// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <core/wait.h>
#include <fcntl.h>
#include <inter/lines.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES_A_LANE     8 /* messages that may be on their way from one process to another */
/* While lines are waited for, the inner transport is looked after once in so many looks. */
#define LOOKS_A_PROGRESS 16

typedef struct line {
    alignas(64) _Atomic uint64_t
        stamp; /* the number of the message, from 1; written last by the sender, read by the owner */
    uint64_t tag;
    uint32_t bytes;
    unsigned char payload[INTER_LINE_BYTES];
} line;
_Static_assert(sizeof(line) == 64, "a message is one cache line");

/* In the segment of the receiver, one for each sender. */
typedef struct lane {
    line lines[LINES_A_LANE];
    alignas(64) _Atomic uint64_t taken; /* messages that the owner has taken; it writes, the sender reads */
} lane;

typedef struct segment {
    alignas(64) uint64_t cookie;
    alignas(64) lane lanes[];
} segment;

/* A message that came before its receive, or one that waits for room in its lane. */
typedef struct stored {
    struct stored *next;
    inter_request *request; /* of one that waits */
    uint64_t tag;
    uint32_t bytes;
    unsigned char payload[INTER_LINE_BYTES];
} stored;

/* What this process has to do with another one of its host. */
typedef struct neighbour {
    segment *theirs;             /* NULL: not of this host, or this process itself */
    uint64_t sent, known_taken;  /* to it */
    stored *waiting;             /* messages to it without room, oldest first */
    uint64_t taken;              /* from it */
    stored *early;               /* messages from it without a receive, oldest first */
    inter_request *posted;       /* receives from it, oldest first */
    struct neighbour *next_busy; /* list of those with `posted` or `waiting` */
    bool busy;
} neighbour;

struct inter_lines {
    inter_transport base;
    inter_transport *inner;
    segment *own;
    size_t segment_bytes;
    int descriptor;
    neighbour *neighbours; /* by rank */
    neighbour *busy;
    unsigned looks;
};

static int no_memory(int rank) {
    return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for the lines between the processes of a host", rank);
}

static bool make_segment(inter_lines *lines) {
    lines->descriptor = memfd_create("weft", MFD_CLOEXEC);
    if (lines->descriptor < 0 || ftruncate(lines->descriptor, (off_t)lines->segment_bytes))
        return false;
    void *memory = mmap(NULL, lines->segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lines->descriptor, 0);
    if (memory == MAP_FAILED)
        return false;
    lines->own = memory;
    return getrandom(&lines->own->cookie, sizeof(lines->own->cookie), 0) == (ssize_t)sizeof(lines->own->cookie);
}

inter_lines *inter_lines_create(int rank, int size, inter_lines_card *card) {
    card->descriptor = -1;
    inter_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return NULL;
    lines->base.rank = rank;
    lines->base.size = size;
    lines->segment_bytes = sizeof(segment) + (size_t)size * sizeof(lane);
    lines->neighbours = calloc((size_t)size, sizeof(*lines->neighbours));
    if (!lines->neighbours || !make_segment(lines)) {
        inter_lines_free(lines);
        return NULL;
    }
    *card = (inter_lines_card){.pid = getpid(), .descriptor = lines->descriptor, .cookie = lines->own->cookie};
    return lines;
}

int inter_lines_map(inter_lines *lines, int peer, const inter_lines_card *card) {
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", card->pid, card->descriptor);
    int descriptor = card->descriptor < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return core_error(WEFT_ERR_TRANSPORT, "rank %d: cannot open the lines of rank %d (process %d)",
                          lines->base.rank, peer, card->pid);
    void *memory = MAP_FAILED;
    if (!fstat(descriptor, &status) && (size_t)status.st_size == lines->segment_bytes)
        memory = mmap(NULL, lines->segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED)
        return core_error(WEFT_ERR_TRANSPORT, "rank %d: cannot map the lines of rank %d (process %d)", lines->base.rank,
                          peer, card->pid);
    lines->neighbours[peer].theirs = memory;
    if (lines->neighbours[peer].theirs->cookie != card->cookie)
        return core_error(WEFT_ERR_TRANSPORT, "rank %d: what process %d shows is not the lines of rank %d",
                          lines->base.rank, card->pid, peer);
    return WEFT_SUCCESS;
}

static void make_busy(inter_lines *lines, neighbour *of) {
    if (of->busy)
        return;
    of->busy = true;
    of->next_busy = lines->busy;
    lines->busy = of;
}

/* Writes the next line to a neighbour; false when its lane is full. */
static bool write_line(inter_lines *lines, neighbour *to, uint64_t tag, const void *buffer, uint32_t bytes) {
    lane *into = &to->theirs->lanes[lines->base.rank];
    if (to->sent - to->known_taken == LINES_A_LANE) {
        /* Acquire: pairs with the release in take(); the line has been read. */
        to->known_taken = atomic_load_explicit(&into->taken, memory_order_acquire);
        if (to->sent - to->known_taken == LINES_A_LANE)
            return false;
    }
    line *at = &into->lines[to->sent % LINES_A_LANE];
    at->tag = tag;
    at->bytes = bytes;
    if (bytes)
        memcpy(at->payload, buffer, bytes);
    /* Release: pairs with arrived(), publishes the rest of the line. */
    atomic_store_explicit(&at->stamp, ++to->sent, memory_order_release);
    return true;
}

static stored *store(stored **list, uint64_t tag, const void *buffer, uint32_t bytes) {
    stored *item = malloc(sizeof(*item));
    if (!item)
        return NULL;
    *item = (stored){.tag = tag, .bytes = bytes};
    if (bytes)
        memcpy(item->payload, buffer, bytes);
    while (*list)
        list = &(*list)->next;
    *list = item;
    return item;
}

static int lines_send(inter_transport *base, int peer, uint64_t tag, const void *buffer, size_t bytes,
                      inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    neighbour *to = &lines->neighbours[peer];
    if (!to->theirs)
        return lines->inner->send(lines->inner, peer, tag, buffer, bytes, request);
    request->peer = peer;
    request->bytes = bytes;
    request->native = NULL;
    if (!to->waiting && write_line(lines, to, tag, buffer, (uint32_t)bytes))
        return WEFT_SUCCESS;
    stored *item = store(&to->waiting, tag, buffer, (uint32_t)bytes);
    if (!item)
        return no_memory(base->rank);
    item->request = request;
    request->native = item;
    request->completion->pending++;
    make_busy(lines, to);
    return WEFT_SUCCESS;
}

static int deliver(const inter_request *request, const void *payload, uint32_t bytes) {
    size_t copied = bytes < request->bytes ? bytes : request->bytes;
    if (copied)
        memcpy(request->buffer, payload, copied);
    return bytes > request->bytes ? WEFT_ERR_TRUNCATE : bytes < request->bytes ? WEFT_ERR_MISMATCH : WEFT_SUCCESS;
}

static bool arrived(const line *at, uint64_t number) {
    /* Acquire: pairs with write_line. */
    return atomic_load_explicit(&at->stamp, memory_order_acquire) == number;
}

static int lines_recv(inter_transport *base, int peer, uint64_t tag, void *buffer, size_t bytes,
                      inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    neighbour *from = &lines->neighbours[peer];
    if (!from->theirs)
        return lines->inner->recv(lines->inner, peer, tag, buffer, bytes, request);
    request->peer = peer;
    request->bytes = bytes;
    request->buffer = buffer;
    request->tag = tag;
    request->next = NULL;
    for (stored **link = &from->early; *link; link = &(*link)->next) {
        stored *item = *link;
        if (item->tag != tag)
            continue;
        int code = deliver(request, item->payload, item->bytes);
        *link = item->next;
        free(item);
        request->native = NULL;
        if (code && !request->completion->error)
            request->completion->error = code;
        return WEFT_SUCCESS;
    }
    inter_request **end = &from->posted;
    while (*end)
        end = &(*end)->next;
    *end = request;
    request->native = request;
    request->completion->pending++;
    make_busy(lines, from);
    return WEFT_SUCCESS;
}

/* Takes what has arrived from a neighbour: to its receive, or aside. */
static unsigned take(inter_lines *lines, neighbour *from) {
    lane *out_of = &lines->own->lanes[from - lines->neighbours];
    unsigned events = 0;
    for (;;) {
        const line *at = &out_of->lines[from->taken % LINES_A_LANE];
        if (!arrived(at, from->taken + 1))
            return events;
        inter_request **link = &from->posted;
        while (*link && (*link)->tag != at->tag)
            link = &(*link)->next;
        inter_request *request = *link;
        if (request) {
            *link = request->next;
            request->native = NULL;
            inter_completed(request->completion, deliver(request, at->payload, at->bytes));
        } else if (!store(&from->early, at->tag, at->payload, at->bytes)) {
            return events; /* it stays in its line until there is memory */
        }
        /* Release: pairs with write_line, the line may be written again. */
        atomic_store_explicit(&out_of->taken, ++from->taken, memory_order_release);
        events++;
    }
}

static unsigned send_waiting(inter_lines *lines, neighbour *to) {
    unsigned events = 0;
    while (to->waiting && write_line(lines, to, to->waiting->tag, to->waiting->payload, to->waiting->bytes)) {
        stored *item = to->waiting;
        to->waiting = item->next;
        item->request->native = NULL;
        inter_completed(item->request->completion, WEFT_SUCCESS);
        free(item);
        events++;
    }
    return events;
}

static unsigned lines_progress(inter_transport *base) {
    inter_lines *lines = (inter_lines *)base;
    unsigned events = 0;
    for (neighbour **link = &lines->busy; *link;) {
        neighbour *of = *link;
        if (of->posted)
            events += take(lines, of);
        if (of->waiting)
            events += send_waiting(lines, of);
        if (of->posted || of->waiting) {
            link = &of->next_busy;
        } else {
            of->busy = false;
            *link = of->next_busy;
        }
    }
    if (!events && (!lines->busy || ++lines->looks % LOOKS_A_PROGRESS == 0))
        events = lines->inner->progress(lines->inner);
    base->failed_peer = lines->inner->failed_peer;
    return events;
}

static void cancel_send(neighbour *to, const inter_request *request) {
    for (stored **link = &to->waiting; *link; link = &(*link)->next)
        if ((*link)->request == request) {
            stored *item = *link;
            *link = item->next;
            free(item);
            return;
        }
}

static void lines_cancel(inter_transport *base, inter_request *request) {
    inter_lines *lines = (inter_lines *)base;
    neighbour *of = &lines->neighbours[request->peer];
    if (!of->theirs) {
        lines->inner->cancel(lines->inner, request);
        return;
    }
    inter_request **link = &of->posted;
    while (*link && *link != request)
        link = &(*link)->next;
    if (*link)
        *link = request->next;
    else
        cancel_send(of, request);
    request->native = NULL;
    inter_completed(request->completion, WEFT_ERR_PROC_FAILED);
}

/* A line wakes nobody up, so with one awaited there is no sleeping. */
static int lines_arm(inter_transport *base) {
    inter_lines *lines = (inter_lines *)base;
    return lines->busy ? -1 : lines->inner->arm(lines->inner);
}

static void leave_alone(inter_transport *base) {
    (void)base;
}

inter_transport *inter_lines_transport(inter_lines *lines, inter_transport *inner) {
    close(lines->descriptor); /* everybody has it mapped */
    lines->descriptor = -1;
    lines->inner = inner;
    lines->base.name = "lines";
    lines->base.failed_peer = -1;
    lines->base.send = lines_send;
    lines->base.recv = lines_recv;
    lines->base.progress = lines_progress;
    lines->base.cancel = lines_cancel;
    lines->base.arm = lines_arm;
    lines->base.disconnect = leave_alone;
    lines->base.close = leave_alone;
    return &lines->base;
}

static void free_list(stored *item) {
    while (item) {
        stored *next = item->next;
        free(item);
        item = next;
    }
}

void inter_lines_free(inter_lines *lines) {
    if (!lines)
        return;
    for (int peer = 0; lines->neighbours && peer < lines->base.size; peer++) {
        free_list(lines->neighbours[peer].waiting);
        free_list(lines->neighbours[peer].early);
        if (lines->neighbours[peer].theirs)
            munmap(lines->neighbours[peer].theirs, lines->segment_bytes);
    }
    if (lines->own)
        munmap(lines->own, lines->segment_bytes);
    if (lines->descriptor >= 0)
        close(lines->descriptor);
    free(lines->neighbours);
    free(lines);
}
