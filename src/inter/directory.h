// SPDX-License-Identifier: BSD-3-Clause
/**
 * Directory: the addresses of *channels*.
 *
 * A channel is a transport of its own that a process opens beside its main one, for active messages alone, so that a thread can drive
 * it while other threads drive theirs. Channels are made when they are needed, and their addresses exchanged through the main
 * transport: what a process has put down here is packed, carried to the others, and unpacked there.
 *
 * Entries are written once, and what is told again is left as it is. An entry is written before, and read after, whatever told the reader of the channel; so different threads
 * may read while others are added.
 */
#ifndef INTER_DIRECTORY_H
#define INTER_DIRECTORY_H

#include <stddef.h>

/** Channels that a process has at most; more threads share them. */
#define INTER_CHANNELS 64

typedef struct inter_directory inter_directory;

/** Of `processes` processes; NULL and the sentence without memory. */
inter_directory *inter_directory_create(int processes);
void inter_directory_free(inter_directory *directory);

/** Notes a channel's address. `channel` is process × INTER_CHANNELS + its number there. Errors: WEFT_ERR_NOMEM. */
int inter_directory_put(inter_directory *directory, int channel, const void *address, size_t bytes);

/** Takes the address of an own channel out that could not be used, and of which nobody was told. */
void inter_directory_forget(inter_directory *directory, int channel);

/** *address belongs to the directory. Errors: WEFT_ERR_RANK, there is no such channel. */
int inter_directory_find(const inter_directory *directory, int channel, const void **address, size_t *bytes);

/** How many channels of a process are known: their numbers begin at 0. */
int inter_directory_count(const inter_directory *directory, int process);

/** Writes channels first … end-1 of a process down at `to` (NULL: nowhere); the bytes that this takes. */
size_t inter_directory_pack(const inter_directory *directory, int process, int first, int end, void *to);
/** Puts in what another process has packed. Errors: WEFT_ERR_BOOTSTRAP (it is malformed), WEFT_ERR_NOMEM. */
int inter_directory_unpack(inter_directory *directory, int process, const void *from, size_t bytes);

#endif
