// SPDX-License-Identifier: BSD-3-Clause
/* The segments of lines: made, published, mapped, freed. */
#include <core/error.h>
#include <fcntl.h>
#include <inter/lines_private.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beyond the limit the process would not get an error, but a signal. */
static bool may_make_file(size_t bytes) {
    struct rlimit limit;
    return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur >= bytes; /* no limit is the largest number */
}

static bool make_segment(inter_lines *lines) {
    if (!may_make_file(lines->segment_bytes))
        return false;
    lines->descriptor = memfd_create("weft", MFD_CLOEXEC);
    if (lines->descriptor < 0 || ftruncate(lines->descriptor, (off_t)lines->segment_bytes))
        return false;
    void *memory = mmap(NULL, lines->segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lines->descriptor, 0);
    if (memory == MAP_FAILED)
        return false;
    lines->own = memory;
    void *window = (char *)memory + lines->segment_bytes - INTER_WINDOW_BYTES;
    inter_window_open(&lines->window, window);
    lines->own->head.window = (uintptr_t)window;
    return getrandom(&lines->own->head.cookie, sizeof(uint64_t), 0) == (ssize_t)sizeof(uint64_t);
}

inter_lines *inter_lines_create(int rank, int size, inter_lines_card *card) {
    card->descriptor = -1;
    inter_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return NULL;
    lines->descriptor = -1;
    lines->base.rank = rank;
    lines->base.size = size;
    lines->segment_bytes = sizeof(inter_segment) + (size_t)size * sizeof(inter_lane) + INTER_WINDOW_BYTES;
    lines->neighbours = calloc((size_t)size, sizeof(*lines->neighbours));
    lines->scratch = malloc(INTER_PART_BYTES);
    if (!lines->neighbours || !lines->scratch || !make_segment(lines)) {
        inter_lines_free(lines);
        return NULL;
    }
    lines->cookie = lines->own->head.cookie;
    lines->can_pull = true;
    *card = (inter_lines_card){
        .pid = getpid(), .descriptor = lines->descriptor, .cookie = lines->cookie, .probe = (uintptr_t)&lines->cookie};
    return lines;
}

static void *map_part(int descriptor, size_t offset, size_t bytes, int access) {
    void *memory = mmap(NULL, bytes, access, MAP_SHARED, descriptor, (off_t)offset);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The head of another process's segment, this process's lane in it, and the window; without that it is read as all else. */
static bool map_lane(const inter_lines *lines, int descriptor, uint64_t cookie, inter_neighbour *neighbour) {
    struct stat status;
    uint64_t found;
    if (fstat(descriptor, &status) || (size_t)status.st_size != lines->segment_bytes ||
        pread(descriptor, &found, sizeof(found), 0) != (ssize_t)sizeof(found) || found != cookie)
        return false;
    size_t offset = sizeof(inter_segment) + (size_t)lines->base.rank * sizeof(inter_lane);
    neighbour->head = map_part(descriptor, 0, sizeof(inter_head), PROT_READ | PROT_WRITE);
    if (!neighbour->head)
        return false;
    neighbour->to = map_part(descriptor, offset, sizeof(inter_lane), PROT_READ | PROT_WRITE);
    neighbour->window = map_part(descriptor, lines->segment_bytes - INTER_WINDOW_BYTES, INTER_WINDOW_BYTES, PROT_READ);
    neighbour->window_at = neighbour->head->window;
    return neighbour->to;
}

int inter_lines_map(inter_lines *lines, int peer, const inter_lines_card *card) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", card->pid, card->descriptor);
    int descriptor = card->descriptor < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return core_error(WEFT_ERR_TRANSPORT, "rank %d: cannot open the lines of rank %d (process %d)",
                          lines->base.rank, peer, card->pid);
    inter_neighbour *neighbour = &lines->neighbours[peer];
    bool mapped = map_lane(lines, descriptor, card->cookie, neighbour);
    close(descriptor);
    if (!mapped)
        return core_error(WEFT_ERR_TRANSPORT, "rank %d: what process %d shows is not the lines of rank %d",
                          lines->base.rank, card->pid, peer);
    uint64_t found = 0;
    if (inter_pull_read(card->pid, card->probe, &found, sizeof(found)) || found != card->cookie)
        lines->can_pull = false;
    neighbour->from = &lines->own->lanes[peer];
    neighbour->process = card->pid;
    neighbour->rank = peer;
    neighbour->local = lines->locals;
    lines->locals = neighbour;
    return WEFT_SUCCESS;
}

bool inter_lines_can_pull(const inter_lines *lines) {
    return lines->can_pull;
}

static void free_store(inter_store *store) {
    while (store->first)
        free(inter_store_take(store, NULL));
}

void inter_lines_free(inter_lines *lines) {
    if (!lines)
        return;
    for (int peer = 0; lines->neighbours && peer < lines->base.size; peer++) {
        inter_neighbour *neighbour = &lines->neighbours[peer];
        free_store(&neighbour->waiting);
        free_store(&neighbour->early);
        free_store(&neighbour->matched);
        free_store(&neighbour->unheard);
        free(neighbour->offers.places);
        if (neighbour->to)
            munmap(neighbour->to, sizeof(*neighbour->to));
        if (neighbour->head)
            munmap(neighbour->head, sizeof(*neighbour->head));
        if (neighbour->window)
            munmap((void *)(uintptr_t)neighbour->window, INTER_WINDOW_BYTES);
    }
    if (lines->own) {
        inter_window_close(&lines->window);
        munmap(lines->own, lines->segment_bytes);
    }
    if (lines->descriptor >= 0)
        close(lines->descriptor);
    free(lines->neighbours);
    free(lines->scratch);
    free(lines);
}
