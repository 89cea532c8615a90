// SPDX-License-Identifier: BSD-3-Clause
// WEFT_ALGORITHM for a thread-level algorithm, in every collective that has it.
#ifndef TESTS_HIER_THREAD_ALGORITHMS_H
#define TESTS_HIER_THREAD_ALGORITHMS_H

#include <algorithm>
#include <string>
#include <vector>

extern "C" {
#include <hier/select.h>
}

inline std::string everything_by(hier_thread_algorithm algorithm) {
    std::string text;
    for (int kind = 0; kind < INTER_COLLECTIVES; kind++)
        if (hier_thread_algorithm_exists(inter_collective(kind), algorithm))
            text += std::string(text.empty() ? "" : ",") + inter_collective_name(inter_collective(kind)) + "=/" +
                    hier_thread_algorithm_name(algorithm);
    return text;
}

inline std::vector<std::string> every_thread_algorithm() {
    std::vector<std::string> texts;
    for (int algorithm = 0; algorithm < HIER_THREAD_ALGORITHMS; algorithm++)
        texts.push_back(everything_by(hier_thread_algorithm(algorithm)));
    return texts;
}

// All pairs of a process-level algorithm, compositions among them, and a thread-level one that a collective has, as PROCESS/thread.
inline std::vector<std::string> pairs_of(inter_collective kind) {
    std::vector<std::string> pairs;
    inter_algorithm algorithm;
    for (int thread = 0; thread < HIER_THREAD_ALGORITHMS; thread++)
        for (int i = 0; inter_algorithm_at(kind, i, &algorithm); i++)
            if (hier_thread_algorithm_exists(kind, hier_thread_algorithm(thread)))
                pairs.push_back(std::string(algorithm.name) + "/" +
                                hier_thread_algorithm_name(hier_thread_algorithm(thread)));
    return pairs;
}

// Texts that together name them all.
inline std::vector<std::string> every_pair() {
    std::vector<std::string> texts;
    for (size_t number = 0, most = 1; number < most; number++) {
        std::string text;
        for (int kind = 0; kind < INTER_COLLECTIVES; kind++) {
            std::vector<std::string> pairs = pairs_of(inter_collective(kind));
            most = std::max(most, pairs.size());
            text += std::string(kind ? "," : "") + inter_collective_name(inter_collective(kind)) + "=" +
                    pairs[number % pairs.size()];
        }
        texts.push_back(text);
    }
    return texts;
}

#endif
