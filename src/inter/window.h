// SPDX-License-Identifier: BSD-3-Clause
/**
 * A window: memory of a process that the others of its host have mapped, to read. What is put there they copy without a system call, for
 * which the kernel would look up every page, under a lock that all who read that process share.
 *
 * It is given out in pieces, of powers of two. From any thread.
 */
#ifndef INTER_WINDOW_H
#define INTER_WINDOW_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/** Of addresses: what was never given out takes no memory. */
#define INTER_WINDOW_BYTES ((size_t)32 << 20)
/** Pieces of 4 KiB, 8 KiB … 1 MiB: of more the system call is not what takes long. */
#define INTER_WINDOW_LEAST ((size_t)4096)
#define INTER_WINDOW_MOST  ((size_t)1 << 20)
enum { INTER_WINDOW_SIZES = 9 };

typedef struct inter_window {
    pthread_mutex_t lock; /* guards the rest */
    char *memory;
    size_t used;                    /* bytes from the beginning that were given out at any time */
    void *free[INTER_WINDOW_SIZES]; /* pieces that are back, by size; each begins with the address of the next one */
} inter_window;

/** All of `memory`, INTER_WINDOW_BYTES on the boundary of a page, is to be given out. */
void inter_window_open(inter_window *window, void *memory);

/** A piece of at least so many bytes, on the boundary of a page; NULL: there is none left, or none as large. */
void *inter_window_take(inter_window *window, size_t bytes);

/** Takes back what was given for as many bytes; false: that is not from here. */
bool inter_window_give(inter_window *window, void *memory, size_t bytes);

/** Nothing is given out any more. */
void inter_window_close(inter_window *window);

#endif
