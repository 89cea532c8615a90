// SPDX-License-Identifier: BSD-3-Clause
// What the literature says each algorithm costs. An algorithm without a row here fails the tests.
#ifndef TESTS_SIM_TEXTBOOK_H
#define TESTS_SIM_TEXTBOOK_H

#include <cstddef>
#include <cstring>
extern "C" {
#include <inter/algorithm.h>
}

namespace sim {

// ⌊log2 p⌋ and ⌈log2 p⌉.
inline size_t log2_down(size_t p) {
    size_t log = 0;
    while (p >>= 1)
        log++;
    return log;
}
inline size_t log2_up(size_t p) {
    return log2_down(p) + ((p & (p - 1)) != 0);
}

// With q the largest power of two ≤ p: log2 q exchanges of all q, and one message each way for the p − q that fold.
inline size_t exchange_messages(size_t p) {
    size_t q = size_t(1) << log2_down(p);
    return q * log2_down(p) + 2 * (p - q);
}
inline size_t exchange_steps(size_t p) {
    return log2_down(p) + ((p & (p - 1)) ? 2 : 0);
}

struct Cost {
    inter_collective collective;
    const char *name;
    size_t (*messages)(size_t p);
    size_t (*steps)(size_t p);                 // of time, when a message takes one and a rank does a stage's at once
    size_t (*least_steps)(size_t p) = nullptr; // where the number depends on the root: steps() is the most
};

inline const Cost *textbook(const inter_algorithm &algorithm) {
    static const Cost costs[] = {
        {INTER_BARRIER, "DISS", [](size_t p) { return p * log2_up(p); }, log2_up},
        {INTER_BCAST, "MST", [](size_t p) { return p - 1; }, log2_up},
        {INTER_BCAST, "nbFT", [](size_t p) { return p - 1; }, [](size_t p) { return size_t(p > 1); }},
        {INTER_REDUCE, "MST", [](size_t p) { return p - 1; }, log2_up},
        {INTER_ALLREDUCE, "nbBDE", exchange_messages, exchange_steps},
        {INTER_ALLREDUCE, "MSTReduce+MSTBcast", [](size_t p) { return 2 * (p - 1); },
         [](size_t p) { return 2 * log2_up(p); }},
        {INTER_ALLREDUCE, "MSTReduce+nbFTBcast", [](size_t p) { return 2 * (p - 1); },
         [](size_t p) { return log2_up(p) + (p > 1); }},
        {INTER_GATHER, "MST", [](size_t p) { return p - 1; }, log2_up, log2_down},
        {INTER_SCATTER, "MST", [](size_t p) { return p - 1; }, log2_up, log2_down},
        {INTER_ALLGATHER, "nbBKT", [](size_t p) { return p * (p - 1); }, [](size_t p) { return p - 1; }},
        {INTER_ALLTOALL, "nb1FT", [](size_t p) { return p * (p - 1); }, [](size_t p) { return size_t(p > 1); }},
        {INTER_ALLTOALLV, "nb1FT", [](size_t p) { return p * (p - 1); }, [](size_t p) { return size_t(p > 1); }},
    };
    for (const Cost &cost : costs)
        if (cost.collective == algorithm.collective && strcmp(cost.name, algorithm.name) == 0)
            return &cost;
    return nullptr;
}

} // namespace sim

#endif
