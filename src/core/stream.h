// SPDX-License-Identifier: BSD-3-Clause
/**
 * Copies around the cache. When all threads that share a cache copy so much, each from one buffer to another, that the cache does not hold
 * it, then nothing of it is there when it is needed, and to fetch every line that is about to be overwritten costs a third of the memory's
 * time. (The C library does the same for a copy that is longer than the cache by itself, if it knows the cache, which it does not in
 * a virtual machine.) Of less, data that were just made are in the cache, and are wanted there by who gets them.
 */
#ifndef CORE_STREAM_H
#define CORE_STREAM_H

#include <core/topology.h>
#include <stdbool.h>

#define CORE_LINE_BYTES ((size_t)64)

/** What is shorter is never streamed. */
#define CORE_STREAM_LEAST ((size_t)1 << 20)

/** So far ahead of what is copied, the next is fetched. */
#define CORE_STREAM_AHEAD 512

/** Of what is not streamed, both sides are fetched ahead, too; but less than this comes in parts that were just read. */
#define CORE_FETCHED_LEAST ((size_t)32 << 10)

/** Sets for this machine what is; without that nothing is. Any thread. */
void core_stream_resolve(const core_topology *topology);

/** Is it more than the cache holds of pages that lie anywhere, five eighths, if each thread reads so much, and writes as much? */
bool core_stream_pays(size_t whole);

/** As memcpy, of a long part of so much that is copied in all. What is published after it is seen after it, as behind any copy. */
void core_stream(void *to, const void *from, size_t bytes, size_t whole);

/** One of several blocks, in any case; what lies `ahead` of it is read soon. Before anything is published, core_stream_end(). */
void core_stream_block(void *to, const void *from, size_t bytes, ptrdiff_t ahead);
void core_stream_end(void);

#endif
