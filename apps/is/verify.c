// SPDX-License-Identifier: BSD-3-Clause
#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int is_verify_probes(const struct is_ranking *r, int iteration) {
    const uint32_t *values = &r->bucket_totals[(size_t)1 << r->spec->buckets_log2];
    int right = 0;
    for (int i = 0; i < IS_PROBES; i++) {
        if (values[i] < r->low_key || values[i] >= r->high_key)
            continue;
        const int64_t expected = is_class_expected_rank(r->spec, i, iteration), rank = r->ranks[values[i]];
        if (rank == expected)
            right++;
        else
            fprintf(stderr, "is: iteration %d: key %" PRIu32 " has rank %" PRId64 ", expected %" PRId64 "\n", iteration,
                    r->spec->probes[i].index, rank, expected);
    }
    return right;
}

/** Spreads a key over 64 bits, so that equal sums of these mean equal sets of keys (but for a chance of 2^-64). */
static uint64_t fingerprint(uint32_t key) {
    uint64_t x = (key + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 29;
}

static uint64_t fingerprint_sum(const uint32_t *keys, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += fingerprint(keys[i]);
    return sum;
}

/** Puts each received key where its rank says. False when a rank is outside this rank's part. */
static bool place(struct is_ranking *r, uint32_t *sorted) {
    for (size_t i = 0; i < r->received_count; i++) {
        const uint32_t key = r->received[i];
        if (key < r->low_key || key >= r->high_key)
            return false;
        const uint32_t at = r->ranks[key]++ - r->lesser;
        if (at >= r->received_count)
            return false;
        sorted[at] = key;
    }
    return true;
}

static bool ascending(const uint32_t *keys, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (keys[i - 1] > keys[i])
            return false;
    return true;
}

/** What the others need to know of a rank's part. */
struct edges {
    uint64_t count;
    uint32_t first, last;
};

/** The order across the ranks. A rank without keys is passed over. */
static int check_edges(const struct is_ranking *r, const uint32_t *sorted, bool *ordered) {
    struct edges mine = {r->received_count, 0, 0}, *all = malloc((size_t)r->size * sizeof *all);
    if (!all)
        return WEFT_ERR_NOMEM;
    if (mine.count > 0) {
        mine.first = sorted[0];
        mine.last = sorted[mine.count - 1];
    }
    const int code = weft_allgather(&mine, sizeof mine, WEFT_BYTE, all, sizeof mine, WEFT_BYTE, r->comm);
    uint32_t last = 0;
    *ordered = true;
    for (int i = 0; code == WEFT_SUCCESS && i < r->size; i++) {
        if (all[i].count == 0)
            continue;
        *ordered = *ordered && last <= all[i].first;
        last = all[i].last;
    }
    free(all);
    return code;
}

int is_verify_order(struct is_ranking *r, bool *sorted) {
    uint32_t *keys = calloc(r->received_count + 1, sizeof *keys);
    if (!keys)
        return WEFT_ERR_NOMEM;
    const bool placed = place(r, keys);
    bool ordered;
    int code = check_edges(r, keys, &ordered);
    if (code != WEFT_SUCCESS)
        goto out;

    enum { WRONG, KEYS, MISSING, SUMS };
    uint64_t mine[SUMS], all[SUMS];
    mine[WRONG] = !placed || !ordered || !ascending(keys, r->received_count);
    mine[KEYS] = r->received_count;
    /* Modulo 2^64 the differences add up to 0 when the ranks together hold the keys that they started with. */
    mine[MISSING] = fingerprint_sum(keys, r->received_count) - fingerprint_sum(r->keys, r->key_count);
    code = weft_allreduce(mine, all, SUMS, WEFT_UINT64_T, WEFT_SUM, r->comm);
    if (code == WEFT_SUCCESS)
        *sorted = all[WRONG] == 0 && all[KEYS] == UINT64_C(1) << r->spec->keys_log2 && all[MISSING] == 0;
out:
    free(keys);
    return code;
}
