// SPDX-License-Identifier: BSD-3-Clause
/**
 * Who has what: blocks of the key sequence before the exchange, ranges of buckets after it. Pure functions.
 */
#ifndef IS_PARTITION_H
#define IS_PARTITION_H

#include <stddef.h>
#include <stdint.h>

/** The first of the `total` keys that rank `rank` of `size` generates; its block ends where the next rank's begins. */
uint64_t is_partition_first_key(uint64_t total, int rank, int size);

/**
 * Cuts the buckets into `size` contiguous ranges of nearly equal numbers of keys: rank r gets buckets first_bucket[r] …
 * first_bucket[r+1]-1 (none when they are equal). first_bucket has size + 1 entries. A cut is at most half a bucket's
 * keys away from the even one. bucket_keys[b] is how many keys bucket b has.
 */
void is_partition_buckets(const uint32_t *bucket_keys, size_t buckets, int size, size_t *first_bucket);

#endif
