// SPDX-License-Identifier: BSD-3-Clause
// MPI's matching rules (MPI 4.1 section 3.5) as a check of what one rank received in one phase of a program.
#ifndef TESTS_HIER_MESSAGES_MODEL_H
#define TESTS_HIER_MESSAGES_MODEL_H

#include "messages_program.h"
#include <string>

namespace messages {

// A receive of a rank, or a probe that found what was then received. Times count the rank's calls.
struct Receive {
    Pattern pattern;
    int posted;
    int message = no_message; // what it got
    int completed = 0;        // the time after the call that told of it; 0: never
    int taken_back = 0;       // the time before the call that took it back; 0: it was not
};

/*
 * Is there an order in which the messages can have arrived so that matching one after the other gives what was received? Empty,
 * or why not. `receives` in the order of posting.
 *
 * The order must have: messages of one sender as they were sent; before a message that a receive got although an older
 * receive matches it, the message that the older one got, or the time at which it was taken back; each message before the time at
 * which it was known to be received. There is such an order if and only if that has no cycle.
 */
std::string contradiction(const Program &program, int rank, int phase, const std::vector<Receive> &receives);

} // namespace messages

#endif
