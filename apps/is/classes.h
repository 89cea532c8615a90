// SPDX-License-Identifier: BSD-3-Clause
/**
 * The problem classes of NPB IS: sizes, and the published ranks of five keys by which each iteration is checked.
 */
#ifndef IS_CLASSES_H
#define IS_CLASSES_H

#include <stdint.h>

#define IS_ITERATIONS 10
#define IS_PROBES     5

/**
 * A key whose rank is known. The two keys that every iteration changes move it by one place up or down an iteration, so
 * in iteration i its rank is `rank + slope · i + offset`.
 */
struct is_probe {
    uint32_t index; /**< place in the key sequence */
    int64_t rank;
    int slope;
    int offset;
};

struct is_class {
    char name;
    unsigned keys_log2;
    unsigned max_key_log2; /**< keys are in 0 … 2^max_key_log2 - 1 */
    unsigned buckets_log2;
    struct is_probe probes[IS_PROBES];
};

/** The class called `name` ("S", "W", "A", "B" or "C"); NULL when there is none. */
const struct is_class *is_class_find(const char *name);

/** How many keys are smaller than probe `probe` in iteration `iteration` (1 … IS_ITERATIONS). */
int64_t is_class_expected_rank(const struct is_class *spec, int probe, int iteration);

#endif
