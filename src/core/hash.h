// SPDX-License-Identifier: BSD-3-Clause
/**
 * A hash that tells apart what should be equal: FNV-1a, over bytes or small numbers. It keeps nobody out who means it.
 */
#ifndef CORE_HASH_H
#define CORE_HASH_H

#include <stdint.h>

#define CORE_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t core_hash_add(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

#endif
