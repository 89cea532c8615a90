// SPDX-License-Identifier: BSD-3-Clause
// Memory that runs out: the program's allocations (the linker wraps malloc and its kin) fail when a test says so, and those that are
// not freed are known.
#ifndef TESTS_HIER_SHORT_MEMORY_H
#define TESTS_HIER_SHORT_MEMORY_H

#include <cstddef>

namespace short_memory {

// The allocation with this number (from 1, of all threads) fails; with `and_all_after` those that follow do, too. 0: none.
void fail(size_t number, bool and_all_after = false);
// Meanwhile none does, and none counts.
void hold(bool on);
// Did one fail since?
bool failed();
// Blocks that were allocated and not freed.
size_t blocks();
// Allocations of so many bytes never fail: the stand-in's for the network.
void spare(size_t bytes);

} // namespace short_memory

#endif
