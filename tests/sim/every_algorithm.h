// SPDX-License-Identifier: BSD-3-Clause
// The parameter of the tests that every algorithm of the table goes through.
#ifndef TESTS_SIM_EVERY_ALGORITHM_H
#define TESTS_SIM_EVERY_ALGORITHM_H

#include <cctype>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>
extern "C" {
#include <inter/algorithm.h>
}

namespace sim {

constexpr int largest_job = 128;

class EveryAlgorithm : public ::testing::TestWithParam<const inter_algorithm *> {};

inline std::vector<const inter_algorithm *> every_algorithm() {
    std::vector<const inter_algorithm *> all;
    for (const inter_algorithm *algorithm = inter_algorithms; algorithm->name; algorithm++)
        all.push_back(algorithm);
    return all;
}

inline std::string algorithm_name(const ::testing::TestParamInfo<const inter_algorithm *> &info) {
    std::string name = std::string(inter_collective_name(info.param->collective)) + "_" + info.param->name;
    for (char &c : name)
        if (!isalnum(static_cast<unsigned char>(c)))
            c = '_';
    return name;
}

// The first, the last, the two around the middle, and one more.
inline std::set<int> some_roots(int size) {
    return {0, size - 1, size / 2, (size - 1) / 2, size * 2 / 3};
}

} // namespace sim

#endif
