// SPDX-License-Identifier: BSD-3-Clause
#include "ranking.h"

#include "partition.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

int is_ranking_open(struct is_ranking *r, const struct is_class *spec, weft_comm *comm) {
    const uint64_t total = UINT64_C(1) << spec->keys_log2;
    const size_t buckets = (size_t)1 << spec->buckets_log2;
    memset(r, 0, sizeof *r);
    r->spec = spec;
    r->comm = comm;
    r->rank = weft_rank(comm);
    r->size = weft_size(comm);
    r->first_key = is_partition_first_key(total, r->rank, r->size);
    r->key_count = (size_t)(is_partition_first_key(total, r->rank + 1, r->size) - r->first_key);

    const size_t size = (size_t)r->size;
    r->keys =
        malloc((r->key_count + 1) * sizeof *r->keys); /* +1: a block may be empty, and its address must not be NULL */
    r->send = malloc((r->key_count + 1) * sizeof *r->send);
    r->bucket_keys = malloc((buckets + IS_PROBES) * sizeof *r->bucket_keys);
    r->bucket_totals = malloc((buckets + IS_PROBES) * sizeof *r->bucket_totals);
    r->bucket_next = malloc((buckets + 1) * sizeof *r->bucket_next);
    r->first_bucket = malloc((size + 1) * sizeof *r->first_bucket);
    r->send_counts = malloc(size * sizeof *r->send_counts);
    r->recv_counts = malloc(size * sizeof *r->recv_counts);
    r->send_displs = malloc(size * sizeof *r->send_displs);
    r->recv_displs = malloc(size * sizeof *r->recv_displs);
    /* Room for every value: only the pages of this rank's range are ever touched. */
    r->ranks = malloc(sizeof *r->ranks << spec->max_key_log2);
    if (!r->keys || !r->send || !r->bucket_keys || !r->bucket_totals || !r->bucket_next || !r->first_bucket ||
        !r->send_counts || !r->recv_counts || !r->send_displs || !r->recv_displs || !r->ranks) {
        is_ranking_close(r);
        return WEFT_ERR_NOMEM;
    }
    is_random_keys(r->keys, r->first_key, r->key_count, spec->max_key_log2);
    return WEFT_SUCCESS;
}

void is_ranking_close(struct is_ranking *r) {
    free(r->keys);
    free(r->send);
    free(r->bucket_keys);
    free(r->bucket_totals);
    free(r->bucket_next);
    free(r->first_bucket);
    free(r->send_counts);
    free(r->recv_counts);
    free(r->send_displs);
    free(r->recv_displs);
    free(r->received);
    free(r->ranks);
    memset(r, 0, sizeof *r);
}

/** The key at `index` of the sequence when it is in this rank's block, else NULL. */
static uint32_t *key_at(const struct is_ranking *r, uint64_t index) {
    return index >= r->first_key && index - r->first_key < r->key_count ? &r->keys[index - r->first_key] : NULL;
}

static void change_keys(struct is_ranking *r, int iteration) {
    const uint64_t low = (uint64_t)iteration, high = low + IS_ITERATIONS;
    uint32_t *key;
    if ((key = key_at(r, low)))
        *key = (uint32_t)iteration;
    if ((key = key_at(r, high)))
        *key = (UINT32_C(1) << r->spec->max_key_log2) - (uint32_t)iteration;
}

/** The probes travel behind the counts: exactly one rank adds the value, the others 0. */
static void count_buckets(struct is_ranking *r) {
    const unsigned shift = r->spec->max_key_log2 - r->spec->buckets_log2;
    const size_t buckets = (size_t)1 << r->spec->buckets_log2;
    const uint32_t *keys = r->keys;
    uint32_t *counts = r->bucket_keys;
    memset(counts, 0, buckets * sizeof *counts);
    for (size_t i = 0; i < r->key_count; i++)
        counts[keys[i] >> shift]++;
    for (int i = 0; i < IS_PROBES; i++) {
        const uint32_t *key = key_at(r, r->spec->probes[i].index);
        counts[buckets + (size_t)i] = key ? *key : 0;
    }
}

/** Orders the block by bucket, and with that by receiver. */
static void fill_send(struct is_ranking *r) {
    const unsigned shift = r->spec->max_key_log2 - r->spec->buckets_log2;
    const size_t buckets = (size_t)1 << r->spec->buckets_log2;
    const uint32_t *keys = r->keys;
    uint32_t *next = r->bucket_next, *send = r->send;
    next[0] = 0;
    for (size_t b = 0; b < buckets; b++)
        next[b + 1] = next[b] + r->bucket_keys[b];
    for (int to = 0; to < r->size; to++) {
        const uint32_t begin = next[r->first_bucket[to]], end = next[r->first_bucket[to + 1]];
        r->send_displs[to] = (ptrdiff_t)begin;
        r->send_counts[to] = end - begin;
    }
    for (size_t i = 0; i < r->key_count; i++)
        send[next[keys[i] >> shift]++] = keys[i];
}

/** Every rank learns what it gets and gets it. The buffer grows in the untimed first iteration; the timed ones fit in
 * it. */
static int exchange(struct is_ranking *r) {
    int code = weft_alltoall(r->send_counts, sizeof *r->send_counts, WEFT_BYTE, r->recv_counts, sizeof *r->recv_counts,
                             WEFT_BYTE, r->comm);
    if (code != WEFT_SUCCESS)
        return code;
    size_t sum = 0;
    for (int from = 0; from < r->size; from++) {
        r->recv_displs[from] = (ptrdiff_t)sum;
        sum += r->recv_counts[from];
    }
    if (sum > r->received_capacity || !r->received) {
        const size_t capacity = sum + sum / 16 + (size_t)2 * IS_ITERATIONS;
        free(r->received);
        r->received = malloc(capacity * sizeof *r->received);
        if (!r->received)
            return WEFT_ERR_NOMEM;
        r->received_capacity = capacity;
    }
    r->received_count = sum;
    return weft_alltoallv(r->send, r->send_counts, r->send_displs, WEFT_UINT32_T, r->received, r->recv_counts,
                          r->recv_displs, WEFT_UINT32_T, r->comm);
}

/**
 * Counts the received keys by value and adds up. They come ordered by bucket from each rank, so the counters in use
 * stay in the cache. The mask changes no valid key: a damaged one must fail the verification, not the process.
 */
static void rank_keys(struct is_ranking *r) {
    const unsigned shift = r->spec->max_key_log2 - r->spec->buckets_log2;
    const uint32_t mask = (UINT32_C(1) << r->spec->max_key_log2) - 1;
    const uint32_t *received = r->received;
    uint32_t *ranks = r->ranks;
    r->low_key = (uint32_t)r->first_bucket[r->rank] << shift;
    r->high_key = (uint32_t)r->first_bucket[r->rank + 1] << shift;
    r->lesser = 0;
    for (size_t b = 0; b < r->first_bucket[r->rank]; b++)
        r->lesser += r->bucket_totals[b];
    memset(&ranks[r->low_key], 0, (r->high_key - r->low_key) * sizeof *ranks);
    for (size_t i = 0; i < r->received_count; i++)
        ranks[received[i] & mask]++;
    uint32_t smaller = r->lesser;
    for (uint32_t key = r->low_key; key < r->high_key; key++) {
        const uint32_t equal = ranks[key];
        ranks[key] = smaller;
        smaller += equal;
    }
}

int is_ranking_iterate(struct is_ranking *r, int iteration) {
    const size_t buckets = (size_t)1 << r->spec->buckets_log2;
    change_keys(r, iteration);
    count_buckets(r);
    int code = weft_allreduce(r->bucket_keys, r->bucket_totals, buckets + IS_PROBES, WEFT_UINT32_T, WEFT_SUM, r->comm);
    if (code != WEFT_SUCCESS)
        return code;
    is_partition_buckets(r->bucket_totals, buckets, r->size, r->first_bucket);
    fill_send(r);
    code = exchange(r);
    if (code == WEFT_SUCCESS)
        rank_keys(r);
    return code;
}
