// SPDX-License-Identifier: BSD-3-Clause
// WEFT_ALGORITHM for a thread-level algorithm, in every collective that has it.
#ifndef TESTS_HIER_THREAD_ALGORITHMS_H
#define TESTS_HIER_THREAD_ALGORITHMS_H

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

#endif
