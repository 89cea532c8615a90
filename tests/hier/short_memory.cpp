// SPDX-License-Identifier: BSD-3-Clause
#include "short_memory.h"
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<size_t> next{0}, first{0}, last{0}, live{0}, spared{0};
std::atomic<bool> has_failed{false}, held{false};

bool fails(size_t bytes) {
    if (!first || held || bytes == spared)
        return false;
    size_t number = ++next;
    if (number < first || number > last)
        return false;
    has_failed = true;
    errno = ENOMEM;
    return true;
}

void *made(void *block) {
    live += block != nullptr;
    return block;
}

} // namespace

namespace short_memory {

void fail(size_t number, bool and_all_after) {
    first = 0;
    next = 0;
    has_failed = false;
    last = and_all_after ? SIZE_MAX : number;
    first = number;
}

void hold(bool on) {
    held = on;
}

bool failed() {
    return has_failed;
}

size_t blocks() {
    return live;
}

void spare(size_t bytes) {
    spared = bytes;
}

} // namespace short_memory

extern "C" {

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *block);

void *__wrap_malloc(size_t bytes) {
    return fails(bytes) ? nullptr : made(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return fails(count * bytes) ? nullptr : made(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *block, size_t bytes) {
    if (fails(bytes))
        return nullptr;
    bool is_new = !block;
    void *moved = __real_realloc(block, bytes);
    return is_new ? made(moved) : moved;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return fails(bytes) ? nullptr : made(__real_aligned_alloc(alignment, bytes));
}

char *__wrap_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    void *copy = __wrap_malloc(bytes);
    return copy ? static_cast<char *>(memcpy(copy, text, bytes)) : nullptr;
}

void __wrap_free(void *block) {
    live -= block != nullptr;
    __real_free(block);
}
}
