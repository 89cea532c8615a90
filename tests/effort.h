// SPDX-License-Identifier: BSD-3-Clause
// How often tests repeat themselves. They do one part in WEFT_TEST_PARTS (an option of the build) of their rounds, seeds and
// programs, and of the pairs in long tables; with sanitizers, under which all takes several times as long, also of the sizes between
// the small ones. What a test looks at, with which numbers of threads and processes, at which levels and by which algorithms, stays.
#ifndef TESTS_EFFORT_H
#define TESTS_EFFORT_H

#include <algorithm>
#include <cstddef>

namespace effort {

extern const size_t parts; // in effort.cpp, which alone knows the build: the objects of tests serve several
extern const bool sanitized;
inline const size_t proof_parts = sanitized ? parts : 1; // what is proven is proven whole

// Elements of a long vector. Sanitizers' allocators get long pieces from the system each time, and their pages are dear.
inline const size_t long_count = sanitized ? 1500 : 5000;

// Of calls that each take worlds of their own sanitizers look at one in so many.
inline const size_t call_parts = sanitized ? 3 : 1;

// Of the numbers of ranks above 64 an algorithm takes one in so many.
inline const int rank_parts = int(std::min<size_t>(parts, 4));

// Of `all` rounds.
template <class Number> Number rounds(Number all) {
    return Number((size_t(all) + parts - 1) / parts);
}

// Of a list one part in `of`; another one for each `shift`, and something in any case.
template <class List> List part_of(const List &all, size_t shift, size_t of = parts) {
    List part;
    for (size_t i = all.empty() ? 0 : shift % std::min(of, all.size()); i < all.size(); i += of)
        part.push_back(all[i]);
    return part;
}

} // namespace effort

#endif
