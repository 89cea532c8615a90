// SPDX-License-Identifier: BSD-3-Clause
/**
 * The random numbers of the NAS Parallel Benchmarks (report RNR-94-007, section 2.3) and the keys that IS makes of
 * them.
 *
 *     x(0) = 314159265,   x(k+1) = 5^13 · x(k)  mod 2^46,   number k is x(k) / 2^46
 *     key i = floor(maximum key · mean of numbers 4i+1 … 4i+4)
 *
 * Everything is exact in 64-bit integers: 2^46 divides 2^64, so a product that wraps is right in its low 46 bits, and
 * the maximum key is a power of two, so the mean and the product are one shift of the sum.
 */
#ifndef IS_RANDOM_H
#define IS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/** x(k), in O(log k) steps. */
uint64_t is_random_at(uint64_t k);

/** x(k+1) from x(k). */
uint64_t is_random_next(uint64_t x);

/** Writes keys first … first+count-1 of the global sequence, each in 0 … 2^max_key_log2 - 1; max_key_log2 is 2 … 32. */
void is_random_keys(uint32_t *keys, uint64_t first, size_t count, unsigned max_key_log2);

#endif
