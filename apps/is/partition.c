// SPDX-License-Identifier: BSD-3-Clause
#include "partition.h"

uint64_t is_partition_first_key(uint64_t total, int rank, int size) {
    return total * (uint64_t)rank / (uint64_t)size;
}

void is_partition_buckets(const uint32_t *bucket_keys, size_t buckets, int size, size_t *first_bucket) {
    uint64_t total = 0, before = 0;
    size_t next = 0;
    for (size_t b = 0; b < buckets; b++)
        total += bucket_keys[b];
    /* A bucket belongs to the rank in whose even share its middle key lies. */
    for (int rank = 0; rank < size; rank++) {
        const uint64_t begin = is_partition_first_key(2 * total, rank, size);
        while (next < buckets && 2 * before + bucket_keys[next] < begin)
            before += bucket_keys[next++];
        first_bucket[rank] = next;
    }
    first_bucket[size] = buckets;
}
