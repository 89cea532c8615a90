// SPDX-License-Identifier: BSD-3-Clause
#include <core/stream.h>
#include <stdatomic.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LINE_BYTES  ((size_t)64)
#define AHEAD_BYTES (8 * LINE_BYTES)

static _Atomic size_t least = SIZE_MAX;

void core_stream_resolve(const core_topology *topology) {
    int cores = topology->cache_cores < topology->allowed_cores ? topology->cache_cores : topology->allowed_cores;
    size_t half = cores > 0 ? topology->cache_bytes / (2 * (size_t)cores) : 0; /* of each one's part */
    if (half)
        atomic_store_explicit(&least, half > CORE_STREAM_LEAST ? half : CORE_STREAM_LEAST, memory_order_relaxed);
}

#if defined(__SSE2__)
/* Of whole lines; `to` is where one begins. */
static void stream_lines(char *to, const char *from, size_t bytes) {
    for (size_t line = 0; line < bytes; line += LINE_BYTES) {
        _mm_prefetch(from + line + AHEAD_BYTES, _MM_HINT_T0); /* behind the end it does nothing */
        for (size_t at = line; at < line + LINE_BYTES; at += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(void *)(to + at), _mm_loadu_si128((const __m128i *)(const void *)(from + at)));
    }
    _mm_sfence(); /* such stores are in no order with the release that publishes them */
}
#else
static void stream_lines(char *to, const char *from, size_t bytes) {
    memcpy(to, from, bytes);
}
#endif

void core_stream(void *to, const void *from, size_t bytes, size_t whole) {
    const size_t head = -(uintptr_t)to % LINE_BYTES;
    if (bytes < head || whole < atomic_load_explicit(&least, memory_order_relaxed)) {
        memcpy(to, from, bytes);
        return;
    }
    const size_t tail = (bytes - head) % LINE_BYTES, lines = bytes - head - tail;
    memcpy(to, from, head);
    stream_lines((char *)to + head, (const char *)from + head, lines);
    memcpy((char *)to + head + lines, (const char *)from + head + lines, tail);
}
