// SPDX-License-Identifier: BSD-3-Clause
/* Ranks in twos. */
#include "pairs.h"

enum bench_pairs bench_kind_of_pairs(enum bench_pairs kind, int threads) {
    return kind != BENCH_PAIRS_UNSAID ? kind : threads >= 2 ? BENCH_SAME_NODE : BENCH_OTHER_NODE;
}

const char *bench_pairs_name(enum bench_pairs kind) {
    return kind == BENCH_SAME_NODE ? "same-node" : "other-node";
}

int bench_count_pairs(enum bench_pairs kind, int processes, int threads) {
    return kind == BENCH_SAME_NODE ? processes * (threads / 2) : processes / 2 * threads;
}

bench_pair bench_pair_of(int rank, enum bench_pairs kind, int processes, int threads) {
    int process = rank / threads, thread = rank % threads;
    bool same = kind == BENCH_SAME_NODE, first = (same ? thread : process) % 2 == 0;
    int partner = rank + (first ? 1 : -1) * (same ? 1 : threads);
    if (same ? thread == threads - 1 && first : process == processes - 1 && first)
        return (bench_pair){.partner = -1};
    return (bench_pair){.partner = partner,
                        .number = same ? process * (threads / 2) + thread / 2 : process / 2 * threads + thread,
                        .first = first};
}
