// SPDX-License-Identifier: BSD-3-Clause
/**
 * Who sends messages to whom: ranks in twos. Pure arithmetic on ranks that are numbered process by process, each with as many
 * threads; at process level with one.
 */
#ifndef BENCH_PAIRS_H
#define BENCH_PAIRS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bench_pairs {
    BENCH_PAIRS_UNSAID, /* within a process if it has two threads, else across processes */
    BENCH_SAME_NODE,    /* threads 2k and 2k + 1 of a process */
    BENCH_OTHER_NODE    /* threads of the same number of the processes 2k and 2k + 1 */
};

typedef struct bench_pair {
    int partner; /* the other's rank; -1: this rank is left over */
    int number;  /* of the pair, from 0; of one that is left over 0 */
    bool first;  /* of the two: begins, or sends */
} bench_pair;

/** What an unsaid kind means; any other is returned as it is. */
enum bench_pairs bench_kind_of_pairs(enum bench_pairs kind, int threads);

/** "same-node", "other-node". */
const char *bench_pairs_name(enum bench_pairs kind);

/** How many pairs there are; 0 when a process has one thread, or there is one process. `kind` is not unsaid. */
int bench_count_pairs(enum bench_pairs kind, int processes, int threads);

bench_pair bench_pair_of(int rank, enum bench_pairs kind, int processes, int threads);

#ifdef __cplusplus
}
#endif
#endif
