// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <inter/directory.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    void *address; /* NULL: there is no such channel */
    size_t bytes;
} entry;

struct inter_directory {
    int processes;
    entry *entries; /* memory that is never touched for processes that are never heard of */
};

/* Before each address where it is packed. */
typedef struct label {
    uint32_t number, bytes;
} label;

inter_directory *inter_directory_create(int processes) {
    inter_directory *made = malloc(sizeof(*made));
    entry *entries = calloc((size_t)processes * INTER_CHANNELS, sizeof(*entries));
    if (made && entries) {
        *made = (inter_directory){processes, entries};
        return made;
    }
    free(made);
    free(entries);
    core_error(WEFT_ERR_NOMEM, "no memory for the channels of %d processes", processes);
    return NULL;
}

void inter_directory_free(inter_directory *directory) {
    if (!directory)
        return;
    for (size_t i = 0; i < (size_t)directory->processes * INTER_CHANNELS; i++)
        free(directory->entries[i].address);
    free(directory->entries);
    free(directory);
}

int inter_directory_put(inter_directory *directory, int channel, const void *address, size_t bytes) {
    entry *at = &directory->entries[channel];
    if (at->address)
        return WEFT_SUCCESS; /* others may be reading it */
    void *copy = malloc(bytes);
    if (!copy)
        return core_error(WEFT_ERR_NOMEM, "no memory for the address of channel %d of process %d, %zu bytes",
                          channel % INTER_CHANNELS, channel / INTER_CHANNELS, bytes);
    memcpy(copy, address, bytes);
    *at = (entry){copy, bytes};
    return WEFT_SUCCESS;
}

void inter_directory_forget(inter_directory *directory, int channel) {
    entry *at = &directory->entries[channel];
    free(at->address);
    *at = (entry){0};
}

int inter_directory_find(const inter_directory *directory, int channel, const void **address, size_t *bytes) {
    const entry *at = &directory->entries[channel];
    if (!at->address)
        return core_error(WEFT_ERR_RANK, "process %d has no channel %d", channel / INTER_CHANNELS,
                          channel % INTER_CHANNELS);
    *address = at->address;
    *bytes = at->bytes;
    return WEFT_SUCCESS;
}

int inter_directory_count(const inter_directory *directory, int process) {
    int count = 0;
    while (count < INTER_CHANNELS && directory->entries[process * INTER_CHANNELS + count].address)
        count++;
    return count;
}

size_t inter_directory_pack(const inter_directory *directory, int process, int first, int end, void *to) {
    size_t written = 0;
    for (int number = first; number < end; number++) {
        const entry *at = &directory->entries[process * INTER_CHANNELS + number];
        const label before = {(uint32_t)number, (uint32_t)at->bytes};
        if (to) {
            memcpy((char *)to + written, &before, sizeof(before));
            memcpy((char *)to + written + sizeof(before), at->address, at->bytes);
        }
        written += sizeof(before) + at->bytes;
    }
    return written;
}

int inter_directory_unpack(inter_directory *directory, int process, const void *from, size_t bytes) {
    const char *next = from, *end = next + bytes;
    int code = WEFT_SUCCESS;
    while (next < end && !code) {
        label before = {0};
        if ((size_t)(end - next) >= sizeof(before))
            memcpy(&before, next, sizeof(before));
        if (!before.bytes || before.number >= INTER_CHANNELS || before.bytes > (size_t)(end - next) - sizeof(before))
            return core_error(WEFT_ERR_BOOTSTRAP, "the addresses that process %d says it has are malformed", process);
        next += sizeof(before);
        code = inter_directory_put(directory, process * INTER_CHANNELS + (int)before.number, next, before.bytes);
        next += before.bytes;
    }
    return code;
}
