// SPDX-License-Identifier: BSD-3-Clause
#include <inter/window.h>

_Static_assert(INTER_WINDOW_LEAST << (INTER_WINDOW_SIZES - 1) == INTER_WINDOW_MOST, "the size of the largest piece");

/* Which size a piece of so many bytes has; INTER_WINDOW_SIZES: none is as large. */
static int size_of(size_t bytes) {
    int size = 0;
    while (size < INTER_WINDOW_SIZES && INTER_WINDOW_LEAST << size < bytes)
        size++;
    return size;
}

void inter_window_open(inter_window *window, void *memory) {
    *window = (inter_window){.memory = memory};
    pthread_mutex_init(&window->lock, NULL);
}

void *inter_window_take(inter_window *window, size_t bytes) {
    const int size = size_of(bytes);
    if (size == INTER_WINDOW_SIZES)
        return NULL;
    pthread_mutex_lock(&window->lock);
    void **piece = window->free[size];
    if (piece) {
        window->free[size] = *piece;
    } else if (INTER_WINDOW_BYTES - window->used >= INTER_WINDOW_LEAST << size) {
        piece = (void **)(void *)(window->memory + window->used);
        window->used += INTER_WINDOW_LEAST << size;
    }
    pthread_mutex_unlock(&window->lock);
    return piece;
}

bool inter_window_give(inter_window *window, void *memory, size_t bytes) {
    const int size = size_of(bytes);
    if ((size_t)((char *)memory - window->memory) >= INTER_WINDOW_BYTES)
        return false;
    pthread_mutex_lock(&window->lock);
    *(void **)memory = window->free[size];
    window->free[size] = memory;
    pthread_mutex_unlock(&window->lock);
    return true;
}

void inter_window_close(inter_window *window) {
    pthread_mutex_destroy(&window->lock);
}
