// SPDX-License-Identifier: BSD-3-Clause
// What the tests that run all algorithms share: which algorithms there are, which shapes they go through, and one call that
// proves an algorithm right for a shape.
#ifndef TESTS_SIM_PROOF_H
#define TESTS_SIM_PROOF_H

#include "runner.h"
#include <cctype>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

namespace sim {

struct Algorithm {
    inter_collective collective;
    inter_algorithm is;
    bool composition; // of named parts: "MSTReduce+nbFTBcast"
};

inline std::string name_of(const Algorithm &algorithm) {
    return std::string(inter_collective_name(algorithm.collective)) + " " + algorithm.is.name;
}

inline std::ostream &operator<<(std::ostream &out, const Algorithm &algorithm) {
    return out << name_of(algorithm);
}

// All that inter_algorithm_at() lists of some collectives.
inline std::vector<Algorithm> algorithms_of(unsigned collectives, bool compositions) {
    std::vector<Algorithm> all;
    for (int c = 0; c < INTER_COLLECTIVES; c++) {
        inter_collective collective = inter_collective(c);
        int names = inter_algorithm_names(collective);
        inter_algorithm found{};
        for (int i = compositions ? names : 0; inter_is(collective, collectives); i++) {
            if ((!compositions && i == names) || !inter_algorithm_at(collective, i, &found))
                break;
            all.push_back({collective, found, compositions});
        }
    }
    return all;
}

inline std::string test_name(const ::testing::TestParamInfo<Algorithm> &info) {
    std::string name = name_of(info.param);
    for (char &c : name)
        if (!isalnum(static_cast<unsigned char>(c)))
            c = '_';
    return name;
}

// The first, the last, the two around the middle, and one more.
inline std::set<int> some_roots(int size) {
    return {0, size - 1, size / 2, (size - 1) / 2, size * 2 / 3};
}

// Messages that a collective of `size` ranks of this algorithm takes, as textbook.h has it; to tell what takes too long.
size_t messages_of(const Algorithm &algorithm, int size);

// The names that were proven in this run of the program, as "allreduce nbBDE".
std::set<std::string> &proven();

// Builds all schedules for the shape, checks their rules, runs them in `orders` orders, and compares every word.
::testing::AssertionResult prove(const Algorithm &algorithm, Shape shape, int orders);

} // namespace sim

#endif
