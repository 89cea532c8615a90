// SPDX-License-Identifier: BSD-3-Clause
#include <core/stream.h>
#include <stdatomic.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static _Atomic size_t least = SIZE_MAX;

void core_stream_resolve(const core_topology *topology) {
    int cores = topology->cache_cores < topology->allowed_cores ? topology->cache_cores : topology->allowed_cores;
    const size_t part = cores > 0 ? topology->cache_bytes / (size_t)cores : 0;
    const size_t most = part / 16 * 5; /* read, and as much written: five eighths, which pages that lie anywhere fill */
    if (part)
        atomic_store_explicit(&least, most > CORE_STREAM_LEAST ? most : CORE_STREAM_LEAST, memory_order_relaxed);
}

bool core_stream_pays(size_t whole) {
    return whole >= atomic_load_explicit(&least, memory_order_relaxed);
}

/* Of whole lines; `to` is where one begins. What lies `ahead` is fetched; behind the end that does nothing. */
#if defined(__SSE2__)
static inline __attribute__((always_inline)) void copy_lines(char *to, const char *from, size_t bytes, ptrdiff_t ahead,
                                                             bool around) {
    for (size_t line = 0; line < bytes; line += CORE_LINE_BYTES) {
        _mm_prefetch(from + line + ahead, _MM_HINT_T0);
        if (!around)
            __builtin_prefetch(to + line + ahead, 1);
        for (size_t at = line; at < line + CORE_LINE_BYTES; at += sizeof(__m128i)) {
            const __m128i piece = _mm_loadu_si128((const __m128i *)(const void *)(from + at));
            __m128i *place = (__m128i *)(void *)(to + at);
            around ? _mm_stream_si128(place, piece) : _mm_store_si128(place, piece);
        }
    }
}

/* Such stores are in no order with the release that publishes them. */
void core_stream_end(void) {
    _mm_sfence();
}
#else
static inline void copy_lines(char *to, const char *from, size_t bytes, ptrdiff_t ahead, bool around) {
    (void)ahead;
    (void)around;
    memcpy(to, from, bytes);
}

void core_stream_end(void) {}
#endif

static inline __attribute__((always_inline)) void copy_block(void *to, const void *from, size_t bytes, ptrdiff_t ahead,
                                                             bool around) {
    const size_t head = -(uintptr_t)to % CORE_LINE_BYTES;
    if (bytes < head) {
        memcpy(to, from, bytes);
        return;
    }
    const size_t tail = (bytes - head) % CORE_LINE_BYTES, lines = bytes - head - tail;
    if (head)
        memcpy(to, from, head);
    copy_lines((char *)to + head, (const char *)from + head, lines, ahead, around);
    if (tail)
        memcpy((char *)to + head + lines, (const char *)from + head + lines, tail);
}

void core_stream_block(void *to, const void *from, size_t bytes, ptrdiff_t ahead) {
    copy_block(to, from, bytes, ahead, true);
}

void core_stream(void *to, const void *from, size_t bytes, size_t whole) {
    if (core_stream_pays(whole)) {
        copy_block(to, from, bytes, CORE_STREAM_AHEAD, true);
        core_stream_end();
    } else if (bytes >= CORE_FETCHED_LEAST) {
        copy_block(to, from, bytes, CORE_STREAM_AHEAD, false);
    } else {
        memcpy(to, from, bytes);
    }
}
