// SPDX-License-Identifier: BSD-3-Clause
#include "random.h"

#define MULTIPLIER   UINT64_C(1220703125) /* 5^13 */
#define SEED         UINT64_C(314159265)
#define STATE_BITS   46
#define NUMBERS_LOG2 2 /* numbers in a key */

static uint64_t multiply(uint64_t a, uint64_t b) {
    return a * b & ((UINT64_C(1) << STATE_BITS) - 1);
}

uint64_t is_random_next(uint64_t x) {
    return multiply(MULTIPLIER, x);
}

uint64_t is_random_at(uint64_t k) {
    uint64_t x = SEED;
    for (uint64_t power = MULTIPLIER; k > 0; k >>= 1) {
        if (k & 1)
            x = multiply(power, x);
        power = multiply(power, power);
    }
    return x;
}

void is_random_keys(uint32_t *keys, uint64_t first, size_t count, unsigned max_key_log2) {
    const unsigned shift = STATE_BITS + NUMBERS_LOG2 - max_key_log2;
    uint64_t x = is_random_at(first << NUMBERS_LOG2);
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        for (int j = 0; j < 1 << NUMBERS_LOG2; j++) {
            x = is_random_next(x);
            sum += x;
        }
        keys[i] = (uint32_t)(sum >> shift);
    }
}
