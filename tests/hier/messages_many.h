// SPDX-License-Identifier: BSD-3-Clause
// Many messages from one rank to another: memory is where it was afterwards, and a hundred thousand that wait are found at once (the
// test's time limit says so). Between threads and between processes.
#ifndef TESTS_HIER_MESSAGES_MANY_H
#define TESTS_HIER_MESSAGES_MANY_H

#include <weft/weft.h>

namespace many {

// One end. All ranks of the communicator are ends of pairs, and call the same functions in the same order.
struct End {
    weft_comm *comm;
    int peer;
    bool sends;
    bool measures; // one rank of each process
};

// Messages of mixed size, expected and unexpected ones in turn. MESSAGES_MANY says how many, else a million in all pairs together.
void memory_is_where_it_was(const End &end);

// Posted with each kind of wildcard and none, and matched from the last to the first.
void posted_and_matched_in_reverse(const End &end);

// Sent before a receive is there, and received from the last to the first.
void unexpected_and_received_in_reverse(const End &end);

// Ten times as much as may be held without a receive (WEFT_UNEXPECTED_LIMIT), while the receiver looks for something else.
void unexpected_are_bounded(const End &end);

} // namespace many

#endif
