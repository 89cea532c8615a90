// SPDX-License-Identifier: BSD-3-Clause
// What the literature says each algorithm costs, as formulas of p, the root and n. An algorithm without a row fails.
#ifndef TESTS_SIM_TEXTBOOK_H
#define TESTS_SIM_TEXTBOOK_H

#include <cstddef>
extern "C" {
#include <inter/algorithm.h>
}

namespace sim {

struct Cost {
    bool known; // is there a row for the algorithm?
    size_t messages;
    size_t elements; // in all messages
    size_t steps;    // when a message takes 1, both sides wait for it, and a rank does all of a stage at once
};

// `n` elements of each rank's contribution: a block of those collectives that have blocks, a vector else; a multiple of
// unit_of(algorithm, p), so that what is cut is cut in equal parts.
Cost cost_of(inter_collective collective, const inter_algorithm &algorithm, size_t p, size_t root, size_t n);
size_t unit_of(const inter_algorithm &algorithm, size_t p);

// How many of a rooted algorithm's messages (one contribution of each) leave their node, `width` ranks to a node.
size_t crossings_of(inter_collective collective, const inter_algorithm &algorithm, size_t p, size_t root, size_t width);

} // namespace sim

#endif
