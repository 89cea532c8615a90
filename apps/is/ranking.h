// SPDX-License-Identifier: BSD-3-Clause
/**
 * The ranking of IS: finds for every key how many keys are smaller, by buckets spread over the ranks of a communicator.
 *
 *     own block of keys --count--> buckets --allreduce--> who gets which buckets --alltoall(v)--> keys --count--> ranks
 *
 * Afterwards a rank has all keys of its range of values low_key … high_key-1, and their global ranks.
 */
#ifndef IS_RANKING_H
#define IS_RANKING_H

#include "classes.h"

#include <stddef.h>
#include <stdint.h>
#include <weft/weft.h>

/** What one rank has. Its own thread alone reads and writes it, except that collectives read `send` and the counts. */
struct is_ranking {
    const struct is_class *spec;
    weft_comm *comm;
    int rank, size;

    uint32_t *keys;     /**< this rank's block of the key sequence */
    uint64_t first_key; /**< where it starts in the sequence */
    size_t key_count;

    uint32_t *
        bucket_keys; /**< keys of the block in each bucket, then IS_PROBES values of probe keys (0: not in the block) */
    uint32_t *bucket_totals; /**< the same, summed over the ranks */
    uint32_t *bucket_next;   /**< where in `send` the next key of a bucket goes */
    size_t *first_bucket;    /**< rank r gets buckets first_bucket[r] … first_bucket[r+1]-1 */

    uint32_t *send; /**< the block, ordered by bucket */
    size_t *send_counts, *recv_counts;
    ptrdiff_t *send_displs, *recv_displs;

    uint32_t *received; /**< all keys in low_key … high_key-1 */
    size_t received_count, received_capacity;
    uint32_t low_key, high_key;
    uint32_t lesser; /**< keys below low_key */
    uint32_t *ranks; /**< ranks[k]: keys smaller than k, for k in low_key … high_key-1 */
};

/** Generates this rank's keys and gets the memory. Local. Returns WEFT_SUCCESS or WEFT_ERR_NOMEM (nothing to close
 * then). */
int is_ranking_open(struct is_ranking *r, const struct is_class *spec, weft_comm *comm);

/** One iteration (1 … IS_ITERATIONS): changes the two keys of that iteration and ranks all. Collective; weft's errors.
 */
int is_ranking_iterate(struct is_ranking *r, int iteration);

void is_ranking_close(struct is_ranking *r);

#endif
